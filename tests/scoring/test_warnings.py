import random
from dataclasses import replace

import pytest

from lmod_train.core.types import Patient, Score, Unparsed
from lmod_train.scoring.completeness import Account
from lmod_train.scoring.warnings import CHECKS, INCOMPLETE, TaskOfRun, one_answer_unread, warnings_of
from tests.scoring.make import item, prediction

WORDS = ("GLAUCOMA", "NORMAL")


def items(answers="ab" * 10, truths="ab" * 10, groups=None, **facts):
    """Items of two classes, ten each, of a patient each, every answer right unless stated."""
    word = {
        "a": WORDS[0],
        "b": WORDS[1],
        "-": Unparsed("no_match"),
        "!": Unparsed("refused"),
        "~": Unparsed("truncated"),
    }
    groups = groups or [f"p{i}" for i in range(len(truths))]
    return [
        item(i, word[a], word[t], WORDS, group=g, **facts)
        for i, (a, t, g) in enumerate(zip(answers, truths, groups, strict=True))
    ]


def asked(n=4, version=3, **reply):
    several = [prediction(f"n{i}", "yes") for i in range(n)]
    return [
        replace(p, record=replace(p.record, task_version=version), reply=replace(p.reply, **reply)) for p in several
    ]


def phrases(case):
    return [w.phrase for w in warnings_of(case)]


def of_sources(several, names):
    """Items whose sources follow their order."""
    return [replace(one, source=names[i % len(names)]) for i, one in enumerate(several)]


def of_split(*splits):
    own = asked(len(splits) * 2)
    return [replace(p, record=replace(p.record, split=splits[i % len(splits)])) for i, p in enumerate(own)]


def three_classes(answers, truths):
    """Items of three classes."""
    words = dict(zip("abc", (*WORDS, "DRUSEN"), strict=True))
    pairs = enumerate(zip(answers, truths, strict=True))
    return [item(i, words[a], words[t], tuple(words.values()), group=f"p{i}") for i, (a, t) in pairs]


RARE = three_classes("a" * 10 + "b" * 10 + "ab" * 2, "a" * 10 + "b" * 10 + "c" * 4)
SCORE = Score("glaucoma", "all", "accuracy_strict", 20, 0.9, 0.8, 0.95)
QUIET = TaskOfRun(items(), asked(), SCORE, 0.5, installed=3)
FEW_PATIENTS = ["x" if i % 2 == 0 else f"p{i}" for i in range(20)]
LIKELY = {"likelihoods": {WORDS[0]: -0.1, WORDS[1]: -2.0}}

UNPARSED = Score("glaucoma", "sex=male", "share_unparsed", 10, 0.1)
COUNTED = replace(QUIET, stated=(SCORE, UNPARSED), counted=((0.9, 20), (0.1, 10)))

CASES = {
    INCOMPLETE: replace(QUIET, account=Account(18, failed=1, not_asked=1)),
    "requests of a class failed": replace(QUIET, failed=items("a" * 3, "a" * 3)),
    "scores of other replies": replace(COUNTED, counted=((0.9, 20), (0.2, 10))),
    "one class only": replace(QUIET, items=items("a" * 10 + "b" * 10, "a" * 20)),
    "one patient behind a class": replace(QUIET, items=items(groups=FEW_PATIENTS)),
    "interval includes chance": replace(QUIET, score=replace(SCORE, low=0.5)),
    "below chance": replace(QUIET, score=replace(SCORE, low=0.1, high=0.4)),
    "one answer to all": replace(QUIET, items=items("a" * 19 + "b")),
    "class never answered": replace(QUIET, items=RARE),
    "source or camera tells the class": replace(QUIET, items=of_sources(items(), "xy")),
    "nothing learned": replace(QUIET, training={"nothing learned": "the training loss never left ln 2"}),
    "classes balanced twice": replace(QUIET, training={"classes balanced twice": "weights and draws"}),
    "unparsed above 5 %": replace(QUIET, items=items("--" + "ab" * 9)),
    "truncated above 5 %": replace(QUIET, items=items("~~" + "ab" * 9)),
    "refused above 5 %": replace(QUIET, items=items("!!" + "ab" * 9)),
    "one answer not read": replace(QUIET, items=items("a" * 14 + "!" * 8 + "b" * 8, "a" * 14 + "b" * 16)),
    "trained on these records": replace(QUIET, trained_on=("demo/x/1",)),
    "records of the training split": replace(QUIET, predictions=of_split("train")),
    "leak between splits": replace(QUIET, leaks={"exact": 0, "near": 2}),
    "records of another folder": replace(QUIET, elsewhere=("demo/x/1",)),
    "other task version": replace(QUIET, installed=4),
    "constrained to the choices": replace(QUIET, predictions=asked(settings='{"constrain": "choices"}')),
    "asked otherwise": replace(QUIET, otherwise=("than a: wording of 11 of 20 questions", 0.55)),
    "partly asked otherwise": replace(QUIET, otherwise=("than a: wording of 10 of 20 questions", 0.5)),
    "mixed settings": replace(QUIET, predictions=[*asked(settings='{"t": 0}'), *asked(settings='{"t": 1}')]),
    "likelihoods of a part": replace(QUIET, items=[*items(**LIKELY)[:10], *items()[10:]]),
    "likelihoods rank better": replace(
        QUIET,
        balanced=replace(SCORE, metric="balanced_accuracy", value=0.5, low=0.5, high=0.5),
        auroc=replace(SCORE, metric="auroc_macro", value=0.97, low=0.9, high=1.0),
    ),
}


BESIDE = {"one answer not read": ["refused above 5 %"]}
"""Phrase -> others that its case cannot be without."""


def test_every_check_has_a_case():
    assert list(CASES) == list(CHECKS)


@pytest.mark.parametrize("phrase", CHECKS)
def test_a_case_triggers_exactly_its_warning(phrase):
    assert phrases(CASES[phrase]) == [*BESIDE.get(phrase, []), phrase]


@pytest.mark.parametrize("case", [QUIET, TaskOfRun()])
def test_an_ordinary_case_and_an_empty_one_trigger_none(case):
    assert phrases(case) == []


@pytest.mark.parametrize(
    ("phrase", "near"),
    [
        ("scores of other replies", COUNTED),
        ("scores of other replies", replace(COUNTED, counted=((0.9000009, 20), (0.1, 10)))),
        ("one class only", replace(QUIET, items=items("a" * 10 + "b" * 10, "a" * 18 + "bb"))),
        ("one patient behind a class", replace(QUIET, items=items(groups=["x", "p1", *FEW_PATIENTS[1:19]]))),
        ("one patient behind a class", replace(QUIET, items=items("a" * 19 + "b", "a" * 19 + "b"))),
        ("interval includes chance", replace(QUIET, score=replace(SCORE, low=0.501))),
        ("interval includes chance", replace(QUIET, score=replace(SCORE, low=0.1, high=0.4))),
        ("interval includes chance", replace(QUIET, score=replace(SCORE, low=None, high=None))),
        ("interval includes chance", replace(QUIET, chance=None)),
        ("below chance", replace(QUIET, score=replace(SCORE, low=0.1, high=0.5))),
        ("below chance", replace(QUIET, items=items("--" + "ab" * 9), score=replace(SCORE, low=0.1, high=0.4))),
        ("nothing learned", replace(QUIET, training={"classes balanced twice": "weights and draws"})),
        ("one answer to all", replace(QUIET, items=items("a" * 18 + "bb"))),
        ("one answer to all", replace(QUIET, items=items("a" * 9, "aaaaaaabb"))),
        ("one answer to all", replace(QUIET, items=items("a" * 20, "a" * 19 + "b"))),
        ("unparsed above 5 %", replace(QUIET, items=items("-b" + "ab" * 9))),
        ("unparsed above 5 %", replace(QUIET, items=items("!!!!" + "ab" * 8))),
        ("truncated above 5 %", replace(QUIET, items=items("~b" + "ab" * 9))),
        ("refused above 5 %", replace(QUIET, items=items("!b" + "ab" * 9))),
        ("below chance", replace(QUIET, items=items("~~" + "ab" * 9), score=replace(SCORE, low=0.1, high=0.4))),
        ("one answer not read", replace(QUIET, items=items("a" * 14 + "!" * 7 + "b" * 9, "a" * 14 + "b" * 16))),
        (
            "one answer not read",
            replace(QUIET, items=items("a" * 7 + "!" * 7 + "b" * 2 + "!" * 14, "a" * 14 + "b" * 16)),
        ),
        ("one answer not read", replace(QUIET, items=items("a" * 9 + "!" * 9, "a" * 9 + "b" * 9))),
        ("leak between splits", replace(QUIET, leaks={"exact": 0})),
        ("other task version", replace(QUIET, installed=0)),
        ("mixed settings", replace(QUIET, predictions=asked(settings='{"t": 0}'))),
        ("likelihoods of a part", replace(QUIET, items=items(**LIKELY))),
    ],
)
def test_a_case_just_within_the_limit_does_not_trigger(phrase, near):
    assert phrase not in phrases(near)


@pytest.mark.parametrize("score", [replace(SCORE, value=None), replace(SCORE, n=19), replace(SCORE, value=0.91)])
def test_another_value_or_n_is_of_other_replies(score):
    assert phrases(replace(COUNTED, stated=(score, UNPARSED))) == ["scores of other replies"]


def test_failed_requests_do_not_make_two_models_or_settings():
    replies = asked(model="m-2026", settings='{"seed": 1}')
    lost = [replace(p, reply=replace(p.reply, model="m", settings="", error="HTTP 500"), answer=Unparsed("failed"))
            for p in replies[:2]]  # fmt: skip
    withheld = [replace(p, reply=replace(p.reply, model="m", settings="{}", finish_reason="content_filter"))
                for p in replies[2:3]]  # fmt: skip
    assert phrases(replace(QUIET, predictions=[*lost, *withheld, *replies[3:]])) == []


@pytest.mark.parametrize(
    ("account", "text"),
    [
        (None, ""), (Account(20), ""), (Account(20, failed=1), "20 of 21 records have a reply, 1 failed;"),
        (Account(0, not_asked=3), "0 of 3 records have a reply, 3 not asked;"),
    ],
)  # fmt: skip
def test_records_without_a_reply_make_a_run_incomplete(account, text):
    found = [w.text for w in warnings_of(replace(QUIET, account=account)) if w.phrase == INCOMPLETE]
    assert (len(found) == 1 and found[0].startswith(text)) if text else found == []


def test_replies_of_two_models_or_checkpoints_are_mixed():
    for mixed in ([*asked(model="a"), *asked(model="b")], [*asked(step=0), *asked(step=9)]):
        assert phrases(replace(QUIET, predictions=mixed)) == ["mixed settings"]


@pytest.mark.parametrize("order", [1, -1])
def test_either_answer_may_be_the_one_that_is_not_read(order):
    read, unread = "ab"[::order]
    text = one_answer_unread(TaskOfRun(items(read * 20 + "!" * 20, read * 20 + unread * 20)))
    assert text.startswith(f"100 % of the replies are read where the truth is {WORDS['ab'.index(read)]}, and 0 %")
    never = one_answer_unread(TaskOfRun(items(read * 30 + "!" * 10, (read + unread) * 20)))
    assert never.startswith(f"{WORDS['ab'.index(unread)]} is never read as an answer, and 10 replies")
    assert one_answer_unread(TaskOfRun(items(read * 30 + unread + "!" * 9, (read + unread) * 20))) == ""


def test_collapse_of_region_answers_is_found():
    truth = {1: "optic disc", 2: "optic cup"}
    regions = [item(i, {1: "optic cup", 2: "optic cup"}, truth, group=f"p{i}") for i in range(6)]
    assert phrases(TaskOfRun(regions)) == ["one answer to all"]
    assert phrases(TaskOfRun([replace(r, answer=truth) for r in regions])) == []


def test_sentences_state_the_numbers():
    text = {phrase: warnings_of(case)[0].text for phrase, case in CASES.items()}
    assert text["one class only"].startswith("the truth of all 20 records is GLAUCOMA")
    assert "GLAUCOMA (10 records)" in text["one patient behind a class"]
    assert text["one answer to all"] == "19 of 20 answers are GLAUCOMA, which is the truth of 10 of 20"
    assert text["unparsed above 5 %"].startswith("no answer is found in 2 of 20 replies (no_match 2)")
    assert "near 2" in text["leak between splits"] and "exact" not in text["leak between splits"]
    assert "1 of 4 records are not in the curated folder, e.g. demo/x/1" in text["records of another folder"]


def test_options_of_single_questions_are_no_classes():
    case = replace(QUIET, items=items(groups=FEW_PATIENTS), own_options=True)
    assert phrases(case) == []


@pytest.mark.parametrize("mark", "-!~")
@pytest.mark.parametrize("lost", [2, 6, 20])
def test_answers_are_lost_with_a_warning_whatever_the_way(mark, lost):
    (phrase,) = phrases(replace(QUIET, items=items(mark * lost + "ab" * ((20 - lost) // 2))))
    assert phrase.endswith("above 5 %")


@pytest.mark.parametrize("rare", "abc")
def test_a_class_that_is_never_answered_is_named_with_its_records_whichever_it_is(rare):
    others = [c for c in "abc" if c != rare]
    truths = "".join(c * (4 if c == rare else 10) for c in "abc")
    answers = "".join(c if c != rare else others[i % 2] for i, c in enumerate(truths))
    found = {w.phrase: w.text for w in warnings_of(replace(QUIET, items=three_classes(answers, truths)))}
    word = three_classes(rare, rare)[0].truth
    assert found["class never answered"].startswith(f"{word} (4 of 24 records) is never the answer")
    once = answers[: truths.index(rare)] + rare + answers[truths.index(rare) + 1 :]
    assert phrases(replace(QUIET, items=three_classes(once, truths))) == []


@pytest.mark.parametrize(("positive", "negative", "named"), [(3, 0, True), (2, 0, False), (3, 3, False), (0, 9, True)])
def test_failed_requests_are_told_by_class_where_they_differ(positive, negative, named):
    lost = items("a" * positive + "b" * negative, "a" * positive + "b" * negative)
    found = {w.phrase: w.text for w in warnings_of(replace(QUIET, failed=lost))}
    assert ("requests of a class failed" in found) is named
    word, n, others = (WORDS[0], positive, negative) if positive > negative else (WORDS[1], negative, positive)
    if named:
        said = f"{n} of {n + 10} requests about {word} ({others} of {others + 10} about the others)"
        assert said in found["requests of a class failed"]


def test_a_source_tells_the_class_only_if_it_tells_other_records():
    alone = of_sources(items(), [f"s{i}" for i in range(20)])
    assert phrases(replace(QUIET, items=alone)) == []
    assert phrases(replace(QUIET, items=of_sources(items(), "xxyy"))) == []
    asked_of_each = [replace(one, variant=one.source) for one in of_sources(items(), "xy")]
    assert phrases(replace(QUIET, items=asked_of_each)) == [], "a question of its own is no source"


def test_records_of_the_training_split_are_told_beside_a_trained_model():
    mixed = replace(QUIET, predictions=of_split("test", "train"))
    assert phrases(mixed) == []
    assert phrases(replace(mixed, trained_beside=True)) == ["records of the training split"]
    assert phrases(replace(QUIET, predictions=of_split("test"), trained_beside=True)) == []


@pytest.mark.parametrize(("low", "reached", "named"), [(0.9, 0.5, True), (0.9, 0.8, False), (0.6, 0.5, False)])
def test_likelihoods_are_told_only_if_they_promise_more_than_the_answers(low, reached, named):
    balanced = replace(SCORE, value=reached, low=reached - 0.02, high=reached + 0.02)
    case = replace(QUIET, balanced=balanced, auroc=replace(SCORE, value=0.97, low=low, high=1.0))
    assert phrases(case) == ["likelihoods rank better"] * named
    assert phrases(replace(case, auroc=None)) == []


@pytest.mark.parametrize("seed", range(20))
def test_balanced_classes_in_mixed_sources_are_no_alarm(seed):
    """22 and 18 of 40 in each of two sources: one answer per source is right in 55 %, one to all in 50 %."""
    rng = random.Random(seed)
    more = rng.randint(20, 23)
    truths = "a" * more + "b" * (40 - more) + "a" * (40 - more) + "b" * more
    several = [replace(one, source="x" if i < 40 else "y") for i, one in enumerate(items(truths, truths))]
    assert "source or camera tells the class" not in phrases(replace(QUIET, items=several))


@pytest.mark.parametrize("fact", ["source", "camera", "modality"])
def test_what_tells_the_class_is_named(fact):
    several = []
    for i, one in enumerate(items()):
        own = "xy"[i % 2]
        several.append(replace(one, **({"patient": Patient(camera=own)} if fact == "camera" else {fact: own})))
    found = {w.phrase: w.text for w in warnings_of(replace(QUIET, items=several))}
    said = found["source or camera tells the class"]
    assert said.startswith(f"one answer per {fact} would be right in 100 % of the records, and one to all in 50 %")
