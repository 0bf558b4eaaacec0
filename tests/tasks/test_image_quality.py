"""Which questions are about the quality of an image, and what is left of a chain without them."""

from dataclasses import replace

from lmod_train.core.types import Need, Question
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.perturbed import _without_quality
from lmod_train.tasks.prompt import prompt
from tests.extensions.xpcr.samples import scan

CHAIN = list(Chain(perturbed=0).ask(scan(quality="blurred")))


def one(step, *needs, words="Which?", **fields):
    return Question("chain", prompt(words), ("a", "b"), "a", chain_step=step, needs=needs, **fields)


def test_the_stage_is_that_of_the_step_or_of_the_tag_under_any_of_its_names():
    found = [Chain().is_about_quality(one(step)) for step in ("IQA", "qa", "PF", "1", "")]
    assert found == [True, True, False, False, False]
    assert Chain().is_about_quality(one("1", tags={"stage": "QA"}))


def test_the_other_stages_stay_and_need_only_what_is_left():
    kept = _without_quality(Chain(), CHAIN)
    assert [q.chain_step for q in kept] == ["AL", "LC", "DD", "SG", "CD"]
    assert [[n.chain_step for n in q.needs] for q in kept[:3]] == [[], ["AL"], ["AL", "LC"]]
    assert [replace(q, needs=()) for q in kept] == [replace(q, needs=()) for q in CHAIN[1:]]


def test_variants_are_told_apart_and_needs_of_other_tasks_stay():
    first, second = one("QA", variant="0"), one("AL", variant="0")
    needs = (Need("QA", variant="0"), Need("AL", variant="0"), Need("QA", "other"), Need("QA", "chain", "0"))
    (place, lesion) = _without_quality(Chain(), [first, second, one("LC", *needs)])
    assert place == second and lesion.needs == (Need("AL", variant="0"), Need("QA", "other"))


def test_words_that_hold_the_answer_about_the_quality_are_left_out_and_those_that_hold_theirs():
    held = one("AL", Need("IQA"), words="Quality: {answer 1}. Where?")
    after = one("LC", Need("AL"), words="At {answer 1}: which?")
    plain = one("DD", Need("IQA"), Need("LC"))
    (kept,) = _without_quality(Chain(), [one("IQA"), held, after, plain])
    assert kept == replace(plain, needs=())


def test_questions_without_a_stage_stay_as_they_are():
    several = [one("1"), one("2", Need("1"))]
    assert _without_quality(Chain(), several) == several
