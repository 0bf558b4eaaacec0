"""Questions of a user's own: what is asked, how every kind of reply is read, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Question, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import any_of, entry
from lmod_train.tasks.building import rebuilt, tasks_asked
from lmod_train.tasks.own import Own
from lmod_train.tasks.parsing.own_choice import spelled
from lmod_train.tasks.trust import Trust
from tests.contracts import TaskContract, record_from
from tests.tabled import stored, tabled
from tests.tasks.parsing.structured import CHOSEN, PLAIN, fill

SAMPLE = Sample("clinic", "1", "CFP", Path("a.jpg"), "p1", "CC0")


def labelled(**labels: str) -> Sample:
    return replace(SAMPLE, labels={f"table/{name}": label for name, label in labels.items()})


def choice(*choices: str, **arguments) -> Own:
    return Own("found", "Which diagnosis does this photograph show?", "choice", list(choices), **arguments)


def outcome(task: Own, reply: str) -> object:
    found = task.parse(Reply("a", reply))
    return f"?{found.reason}" if isinstance(found, Unparsed) else found


class TestContractOfChoices(TaskContract):
    task = choice("DR", "PDR", "no DR", paraphrases=["What is the diagnosis?"])
    asked_of = tuple(labelled(found=label) for label in ("DR", "PDR", "no DR"))
    not_asked_of = (SAMPLE, labelled(found="dr"), labelled(found=""), labelled(other="DR"))


class TestContractOfChoicesWithCommas(TaskContract):
    task = choice("yes, urgent", "yes; later", "no, never", synonyms={"no, never": ["nothing to do"]})
    asked_of = tuple(labelled(found=label) for label in task.choices)
    not_asked_of = (SAMPLE, labelled(found="yes"))


class TestContractOfYesAndNo(TaskContract):
    task = Own("glaucoma_suspected", "Is glaucoma suspected?", "yes_no")
    asked_of = (labelled(glaucoma_suspected="yes"), labelled(glaucoma_suspected="no"))
    not_asked_of = (SAMPLE, labelled(glaucoma_suspected="maybe"))


class TestContractInChinese(TaskContract):
    task = Own("found", "这张照片显示什么？", "choice", ["青光眼", "非青光眼", "无法判断"], language="zh")
    asked_of = tuple(labelled(found=label) for label in task.choices)
    not_asked_of = (SAMPLE,)


class TestContractOfYesAndNoInChinese(TaskContract):
    task = Own("found", "有青光眼吗？", "yes_no", language="zh")
    asked_of = (labelled(found="yes"), labelled(found="no"))
    not_asked_of = (SAMPLE, labelled(found="是"))


class TestContractOfGrades(TaskContract):
    task = Own("rim", "How thin is the rim?", "grade", ["mild", "mild to moderate", "moderate"], label="rim grade")
    asked_of = tuple(replace(SAMPLE, labels={"rim grade": label}) for label in task.choices)
    not_asked_of = (SAMPLE, labelled(rim="mild"))


class OpenContract(TaskContract):
    """The contract of a question whose records have no choices: numbers, several choices, free text."""

    perfect: ClassVar[tuple[str, ...]] = ("exact_match",)
    truths: ClassVar[tuple[object, ...]]

    def test_questions_are_the_tasks_own_and_whole(self) -> None:
        for _, question in self.questions():
            (message,) = question.messages
            assert (question.task, question.choices, question.stratum) == (self.task.name, (), "")
            assert [part.type for part in message.parts] == ["image", "text"]
            assert all(one in message.parts[1].text for one in self.task.choices)

    def test_the_reference_reply_gives_the_truth_back(self) -> None:
        found = [
            self.task.parse(Reply("a", question.answer), record_from(question, sample, self.task))
            for sample, question in self.questions()
        ]
        assert tuple(found) == self.truths


class TestContractOfNumbers(OpenContract):
    task = Own("iop", "What is the pressure?", "number", unit="mmHg")
    asked_of = tuple(labelled(iop=label) for label in ("21", "14,5", "0", "-3.25", "9 mmHg"))
    truths = (21.0, 14.5, 0.0, -3.25, 9.0)
    not_asked_of = (SAMPLE, *(labelled(iop=label) for label in ("", "high", "1,250", "12-14", "nan", "inf")))


class TestContractOfSeveral(OpenContract):
    task = Own("signs", "Which signs are visible?", "several", ["Drusen", "Blutung", "hard exudates"])
    asked_of = tuple(labelled(signs=label) for label in ("", "Drusen", "Blutung; Drusen", "hard exudates; Blutung"))
    truths = ("", "Drusen", "Drusen; Blutung", "Blutung; hard exudates")
    not_asked_of = (SAMPLE, labelled(signs="Drusen; scar"), labelled(signs="drusen"), labelled(signs="Drusen; Drusen"))


class TestContractOfFreeText(OpenContract):
    task = Own("note", "What does the disc look like?", "open")
    asked_of = (labelled(note="pale"), labelled(note="pink, 0.3"))
    truths = ("pale", "pink, 0.3")
    not_asked_of = (SAMPLE, labelled(note=" "))


def test_the_prompt_is_the_question_the_choices_and_the_format() -> None:
    (question,) = choice("DR", "no DR").ask(labelled(found="no DR"))
    assert question.messages[0].parts[1].text == (
        "Which diagnosis does this photograph show? Answer with one of: DR, no DR. Follow the format: Answer: <CHOICE>."
    )
    assert (question.answer, question.stratum) == ("Answer: no DR", "no DR")
    (question,) = Own("iop", "眼压是多少？", "number", unit="mmHg", language="zh").ask(labelled(iop="21"))
    assert question.messages[0].parts[1].text == (
        "眼压是多少？ 请用一个数字回答（单位：mmHg）。请按此格式回答：答案: <数字> mmHg。"
    )
    assert (question.answer, question.language) == ("答案: 21 mmHg", "zh")


@tabled(
    ("language", "label", "answer"),
    [("en", "yes", "Answer: yes"), ("en", "no", "Answer: no"), ("zh", "yes", "答案: 是"), ("zh", "no", "答案: 否")],
)
def test_yes_is_asked_as_yes(language: str, label: str, answer: str) -> None:
    (question,) = Own("n", "Is there a notch?", "yes_no", language=language).ask(labelled(n=label))
    assert question.answer == answer


DR = ("DR", "PDR", "no DR")


LANGUAGES = (
    ("glaucoma", "retinal detachment"), ("Glaukom", "Netzhautablösung"), ("glaucome", "décollement de rétine"),
    ("glaucoma", "desprendimiento de retina"), ("glaucoma", "descolamento de retina"), ("青光眼", "视网膜脱离"),
    ("DR", "no DR"), ("0.5", "1.0"), ("R1M0", "R1M1"), ("good", "not good"), ("A", "A+"), ("none", "some"),
)  # fmt: skip


@pytest.mark.parametrize("pair", LANGUAGES, ids=" ".join)
def test_every_layout_states_each_of_two_choices(pair: tuple[str, str]) -> None:
    """Both ways round, so that no layout is readable for one of the two alone."""
    task, wrong = choice(*pair), []
    for one, other in (pair, pair[::-1]):
        replies = [fill(layout, v=one) for layout in PLAIN]
        replies += [fill(layout, a=one, b=other) for layout in CHOSEN]
        wrong += [(reply, outcome(task, reply)) for reply in replies if outcome(task, reply) != one]
    assert wrong == []


@pytest.mark.parametrize("pair", LANGUAGES, ids=" ".join)
def test_no_luck_for_replies_that_choose_nothing(pair: tuple[str, str]) -> None:
    task = choice(*pair)
    (question,) = task.ask(labelled(found=pair[0]))
    text = question.messages[0].parts[1].text
    lists = [joint.join(order) for joint in (", ", "; ", "\n", " or ", " / ") for order in (pair, pair[::-1])]
    for reply in (text, task.words, "", "I cannot tell.", "?", *lists, *(f"Answer: {one}" for one in lists)):
        assert str(outcome(task, reply)).startswith("?"), reply
    assert outcome(task, f"{text}\nAnswer: {pair[1]}") == pair[1]
    assert outcome(task, f"{task.words} {pair[0]}") == pair[0]


@tabled(
    ("reply", "answer"),
    stored(__file__, "own.several_choices"),
)  # fmt: skip
def test_several_choices(reply: str, answer: str) -> None:
    task = TestContractOfSeveral.task
    assert outcome(task, reply) == answer
    (question,) = task.ask(labelled(signs=""))
    assert outcome(task, question.messages[0].parts[1].text) == "?no_match"


def test_a_number_of_the_question_is_no_answer() -> None:
    task = Own("size", "What was measured at 3 months and 500 µm?", "number", unit="mmHg")
    assert [outcome(task, f"{task.words} {reply}") for reply in ("", "21", "500 µm")] == [
        "?no_match",
        21.0,
        "?no_match",
    ]


@tabled(
    ("reply", "answer"),
    [
        ("Yes.", "yes"), ("Nein", "no"), ("Answer: no; Explanation: as seen", "no"), ("sí", "yes"), ("TRUE", "yes"),
        ("Is there a notch? No.", "no"), ("yes or no", "?ambiguous"), ("yes no", "?ambiguous"),
        ("A notch is seen.", "yes"), ("There is no sign of a notch.", "no"), ("possible notch", "?no_match"),
        ("Yes. There is no notch.", "?ambiguous"), ('{"notch": false}', "no"), ("I cannot tell.", "?refused"),
    ],
)  # fmt: skip
def test_yes_and_no(reply: str, answer: str) -> None:
    assert outcome(Own("n", "Is there a notch?", "yes_no", synonyms={"yes": ["notch"]}), reply) == answer
    assert outcome(Own("n", "Is there a notch?", "yes_no"), reply) == answer  # the question tells what is asked
    if "A notch" in reply or "no sign" in reply:
        assert outcome(Own("n", "Look at the rim.", "yes_no"), reply) == "?no_match"


@tabled(
    ("arguments", "expected"),
    [
        ({"name": "a b"}, "name='a b'"), ({"kind": "multi"}, "kind='multi'"), ({"words": " "}, "words=' '"),
        ({"choices": ["Z", "z"]}, "in more than case"), ({"choices": ["Öl", "oel"]}, "in more than case"),
        ({"choices": ["x"]}, "2 to 1024 texts"), ({"choices": ["x", "+"]}, "with a letter or digit"),
        ({"choices": ["x", "a / b"]}, "' / '"), ({"choices": ["x", "y\nz"]}, "a line"),
        ({"kind": "several", "choices": ["x", "None"]}, "not 'none'"), ({"kind": "number"}, "none for kind number"),
        ({"kind": "yes_no", "choices": ["ja", "nein"]}, "none for kind yes_no"),
        ({"unit": "mm"}, "none for kind choice"),
        ({"paraphrases": ["Which <X>?"]}, "no <X>"),
        ({"synonyms": {"u": ["v"]}}, "one of x, y"),
        ({"synonyms": {"x": ["Y"]}}, "words of one choice alone"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_named(arguments: dict[str, object], expected: str) -> None:
    given_ = {"name": "a", "words": "Which?", "kind": "choice", "choices": ["x", "y"]} | arguments
    with pytest.raises(BadArgument, match=expected.replace("(", r"\(")):
        Own(**given_)  # type: ignore[arg-type]


EVERY = (
    TestContractOfChoices.task, TestContractOfYesAndNo.task, TestContractOfYesAndNoInChinese.task,
    TestContractOfGrades.task, TestContractOfNumbers.task, TestContractOfSeveral.task, TestContractOfFreeText.task,
    choice("a", "b", synonyms={"a": ["first"]}, sources=["clinic"]),
)  # fmt: skip


@pytest.mark.parametrize("task", EVERY, ids=lambda task: task.kind)
def test_a_question_is_rebuilt_from_what_a_manifest_states(task: Own) -> None:
    path = "lmod_train.tasks.own.Own"
    found = rebuilt({"class": path, "settings": task.settings()}, Trust())
    assert found is not None
    assert Own(**found[1]).settings() == task.settings()


def test_several_questions_of_one_folder_are_read_apart() -> None:
    tasks = [TestContractOfYesAndNo.task, TestContractOfNumbers.task, TestContractOfGrades.task]
    samples = (labelled(glaucoma_suspected="no"), labelled(iop="21"), TestContractOfGrades.asked_of[0])
    records = [record_from(q, s, t) for t, s in zip(tasks, samples, strict=True) for q in t.ask(s)]
    configured = [
        rebuilt({"class": r.task_class, "settings": t.settings()}, Trust()) for r, t in zip(records, tasks, strict=True)
    ]
    found = tasks_asked(records, [one for one in configured if one])
    assert [(t.name, t.settings()) for t in found] == [(t.name, t.settings()) for t in tasks]


def scored(task: Own, samples: list[Sample], replies: list[str]) -> dict[str, tuple[float | None, int]]:
    samples = [replace(sample, key=str(i), group=str(i)) for i, sample in enumerate(samples)]
    scores = task.score(TaskContract.predictions_of(task, samples, replies))
    return {s.metric: (s.value, s.n) for s in scores if s.subset == "all"}


def test_scores_of_choices_and_grades_have_their_baselines() -> None:
    labels = ["DR", "DR", "DR", "no DR"]
    found = scored(choice(*DR), [labelled(found=label) for label in labels], ["DR", "PDR", "?", "no DR"])
    assert found["accuracy_strict"] == (0.5, 4)
    assert found["chance"] == (pytest.approx(1 / 3), 4)
    assert found["majority"] == (0.75, 4)
    assert found["balanced_accuracy"][0] == pytest.approx((1 / 3 + 1) / 2)
    grades = Own("q", "How good?", "grade", ["poor", "fair", "good"])
    found = scored(grades, [labelled(q=one) for one in ("poor", "fair", "good")], ["good", "fair", "good"])
    assert found["mean_absolute_error"] == (pytest.approx(2 / 3), 3)
    assert found["kappa_quadratic"][0] == pytest.approx(0.0)
    binary = Own("n", "Is it?", "yes_no")
    found = scored(binary, [labelled(n=one) for one in ("yes", "no")], ["no", "no"])
    assert (found["sensitivity"], found["specificity"]) == ((0.0, 1), (1.0, 1))


def test_scores_of_numbers_and_of_several() -> None:
    iop = TestContractOfNumbers.task
    found = scored(iop, [labelled(iop=one) for one in ("10", "12", "20")], ["10", "16 mmHg", "unknown"])
    assert found["exact_match"] == (pytest.approx(1 / 3), 3)
    assert found["mean_absolute_error"] == (2.0, 2)
    assert found["mean_absolute_error_median"] == (pytest.approx(10 / 3), 3)
    signs = TestContractOfSeveral.task
    truths = ["", "", "Drusen", "Drusen; Blutung"]
    found = scored(signs, [labelled(signs=one) for one in truths], ["none", "Drusen", "Drusen", "?"])
    assert found["exact_match"] == (0.5, 4)
    assert found["f1_micro"][0] == pytest.approx(2 / 5)
    assert found["f1_macro"][0] == pytest.approx((0.5 + 0) / 2)
    assert found["majority"] == (0.5, 4)
    assert found["share_unparsed"] == (0.25, 4)


@pytest.mark.parametrize("first", [True, False])
def test_a_constant_reply_scores_no_more_than_the_most_frequent_answer(first: bool) -> None:
    labels = ["DR", "DR", "PDR", "no DR"]
    for order in (DR, DR[::-1]):
        task = choice(*order)
        found = scored(task, [labelled(found=one) for one in labels], [order[0 if first else -1]] * 4)
        assert (found["accuracy_strict"][0] or 0) <= (found["majority"][0] or 0) == 0.5
        assert found["balanced_accuracy"][0] == pytest.approx(1 / 3)


WORDS = (
    "mild", "moderate", "severe", "early", "late", "no", "DR", "PDR", "AMD", "CNV", "edema", "Ödem", "Narbe",
    "cicatrice", "rétine", "黄斑", "出血", "水肿", "1", "2", "10", "R1", "M0", "A", "B", "+", "of", "the", "with",
    "left",
    "right", "-", "not", "none", "grade", "stage", "normal", "abnormal", "sign", "œdème", "não",
)  # fmt: skip
CHOICE = (
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
    .map(" ".join)
    .filter(
        lambda text: not text.startswith("- -")  # two marks of a list before a word are no choice of anyone's
    )
)
SETS = st.lists(CHOICE, min_size=2, max_size=6, unique_by=spelled)


def asked_with(choices: list[str]) -> Own:
    """Return the question of some choices; those that a question refuses are no example."""
    try:
        return choice(*choices)
    except BadArgument:
        assume(False)
        raise


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(SETS, st.randoms(use_true_random=False))
def test_every_choice_is_read_as_itself_in_any_order(choices: list[str], random) -> None:
    task = asked_with(choices)
    shuffled = list(choices)
    random.shuffle(shuffled)
    other = asked_with(shuffled)
    for one in choices:
        (question,) = task.ask(labelled(found=one))
        for reply in (
            question.answer,
            one,
            f"**{one}**",
            f'{{"answer": "{one}"}}',
            f"Answer: {one}; Explanation: seen",
        ):
            assert outcome(task, reply) == outcome(other, reply) == one, reply


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(SETS)
def test_two_choices_are_never_one_answer(choices: list[str]) -> None:
    task = asked_with(choices)
    for one, other in ((choices[0], choices[1]), (choices[1], choices[0])):
        modifiers = re.compile(f"(?:{any_of(entry('modifiers.modifiers.en'))})", re.IGNORECASE)
        assume(not any(modifiers.fullmatch(choice) for choice in choices))  # "late, AMD" is one of them, qualified
        assume(len({" ".join(re.findall(r"\w+", choice)) for choice in choices}) == len(choices))  # "mild - moderate"
        for joint in (" or ", ", ", "\n"):
            assume(not any(spelled(f"{one}{joint}{other}") in spelled(c) for c in choices))
            assume(all(len(set(c.split())) == len(c.split()) for c in choices))  # no "mild mild", whose halves are one
            assert str(outcome(task, f"Answer: {one}{joint}{other}")).startswith("?"), (one, joint, other)


def test_a_question_asks_only_of_its_sources() -> None:
    found = [list(choice("a", "b", sources=names).ask(labelled(found="a"))) for names in (None, ["clinic"], ["other"])]
    assert [len(one) for one in found] == [1, 1, 0]
    assert all(isinstance(q, Question) for one in found for q in one)
