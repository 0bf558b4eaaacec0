"""The check of answers: constant answers, and prompts that contain their own answer."""

from types import SimpleNamespace

from lmod_train.training.doctor.reply_checks import answers, leaking
from lmod_train.training.doctor.subject import Subject
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
LISTED = "Is this GLAUCOMA or NON-GLAUCOMA? Answer with one of the words."


def found(asked):
    return list(answers(Subject({}, data=SimpleNamespace(training=lambda: list(asked)))))


def asked(words, n=40, given=1.0, right=WORDS, task="glaucoma", choices=WORDS):
    """Return `n` records with the prompt `words`; a callable makes the prompts of the first share `given` of them.

    The callable takes the record's own answer, another answer and the record's number.
    """
    made = []
    for i in range(n):
        own, other = right[i % len(right)], right[(i + 1) % len(right)]
        text = words(own, other, i) if callable(words) and i < given * n else LISTED if callable(words) else words
        made.append(record(f"{task}/{i}", text, [f"{i}.png"], own, task=task, choices=choices))
    return made


LEAKING = {
    "named before": lambda own, other, i: f"The diagnosis is {own}. {LISTED}",
    "named after": lambda own, other, i: f"{LISTED} ({own.lower()})",
    "wrong choices left out": lambda own, other, i: f"Answer with {own}.",
    "in the name of the file": lambda own, other, i: f"File {own}_{i}: what is the diagnosis? {own} {i}.png",
}


def test_prompts_that_contain_their_answer_are_found():
    wrong = []
    for name, words in LEAKING.items():
        for share, level in ((1.0, "fail"), (0.6, "fail"), (0.2, "warn")):
            results = found(asked(words, given=share))
            said = f"the prompts of {round(40 * share)} of 40 records"
            if [r.level for r in results] != [level] or said not in results[0].what:
                wrong.append((name, share, results))
    assert not wrong


HEALTHY = {
    "choices listed": asked(LISTED),
    "one choice named in every prompt": asked("Is this GLAUCOMA?"),
    "choices in any order": asked(
        lambda own, other, i: f"Is this {(own, other)[i % 3 % 2]} or {(other, own)[i % 3 % 2]}?"
    ),
    "numbered pictures": asked(lambda own, other, i: f"Picture {i}: {LISTED}"),
    "letters": asked("A: drusen, B: none. A or B?", right=("A", "B"), choices=("A", "B")),
    "yes or no among other questions": [
        *asked("Is the disc pale, yes or no?", right=("Yes", "No"), choices=()),
        *asked("What is the pale structure?", right=("disc", "fovea", "vessel"), choices=()),
    ],
    "own words": asked("Describe the picture.", right=[f"A disc of size {i}." for i in range(40)], choices=()),
    "a few": asked(LEAKING["named after"], given=0.02),
}


def test_prompts_without_a_leak_pass():
    results = {name: found(records) for name, records in HEALTHY.items()}
    assert {name: made for name, made in results.items() if [f.level for f in made] != ["ok"]} == {}


def test_a_constant_answer_fails_alone_and_warns_beside_other_tasks():
    one = asked(LISTED, right=("GLAUCOMA",))
    (failed,) = found(one)
    assert failed.level == "fail" and failed.what == "glaucoma: all 40 answers are 'GLAUCOMA'"
    (warned,) = found([*one, *asked("Male or female?", right=("MALE", "FEMALE"), task="sex")])
    assert warned.level == "warn"
    assert [f.level for f in found(one[:1])] == ["ok"], "one record has one answer"


def test_an_answer_is_part_of_the_question_by_the_prompts_of_other_answers_however_many_are_its_own():
    wrong = []
    for n in (4, 40, 400):
        own = [record(f"glaucoma/{i:03}", "Is it GLAUCOMA?", answer="GLAUCOMA", choices=()) for i in range(n)]
        for naming, leak in ((4, False), (3, False), (2, False), (1, True), (0, True)):
            words = ["Is it GLAUCOMA?"] * naming + ["What is it?"] * (4 - naming)
            others = [record(f"glaucoma/x{i}", text, answer="HEALTHY", choices=()) for i, text in enumerate(words)]
            if leaking([*own, *others]) != (own if leak else []):
                wrong.append((n, naming))
    assert not wrong
