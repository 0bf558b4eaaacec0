"""Counts of chains, missing earlier answers, followed answers and shuffled options, recomputed by hand."""

from dataclasses import replace

import pytest

from lmod_train.report.contents import Table
from lmod_train.report.sections.chain_account import ChainAccount
from lmod_train.types import Message, Part
from tests.report.chained import MISSING, answered, asked, chain_run, planted, results_of
from tests.report.scored import scored


def tables(*runs):
    return {p.name: p.rows for p in ChainAccount().parts(results_of(*runs)) if isinstance(p, Table)}


def cascade(rows, *, last=False):
    """Predictions whose words hold a placeholder for each need, as the engine asks them."""
    made, before = [], {}
    for p in planted(rows, regime="cas_last" if last else "cas_all"):
        earlier = before.setdefault(p.record.chain, [])
        needs = tuple(earlier[-1:] if last else earlier)
        text = " ".join(f"{{answer {n}}}" for n in range(1, len(needs) + 1))
        record = replace(p.record, needs=needs, messages=(Message("user", (Part("text", f"{text} Which?"),)),))
        earlier.append(record.id)
        made.append(replace(p, record=record))
    return made


ROWS = [
    [True] * 6,
    [True, MISSING, True, True, True, True],
    [True, True, None, True, True, None],
]


def test_chains_and_missing_earlier_answers():
    found = tables(chain_run("all", cascade(ROWS)), chain_run("last", cascade(ROWS, last=True)))
    assert found["chain_account-chain"] == (
        ("base, cas_all", "cas_all", 16, 3, 2, 1, 13, 4, 4 / 13),  # LC, DD, SG and CD of the second chain
        ("base, cas_last", "cas_last", 16, 3, 2, 1, 13, 1, 1 / 13),
    )
    assert found["incomplete-chain"][:2] == (("base, cas_all", "LC", 1, 1), ("base, cas_all", "CD", 1, 1))


def test_alone_no_question_holds_an_earlier_answer():
    found = tables(chain_run("one", planted(ROWS[:2])))
    assert found == {"chain_account-chain": (("one", "independent", 12, 2, 2, 0, 0, 0, None),)}


def test_a_wrong_answer_is_followed_if_the_answer_is_an_option_that_contains_it():
    options = ("Retinal vein occlusion, refer", "Glaucoma, refer", "Normal, review", "Glaucoma, observe")
    made = []
    for case, answer in enumerate((options[0], options[2], MISSING, options[0], options[0])):
        question = asked(case, "CD", tags={"regime": "planted", "planted": "retinal vein occlusion"})
        truth = options[0] if case == 4 else options[1]  # of the last one the truth contains it: nothing to follow
        made.append(answered(replace(question, choices=options, answer=truth), answer))
    unlike = asked(9, "SG", tags={"regime": "planted", "planted": "drusen"})
    found = tables(chain_run("one", [*made, answered(unlike, "alpha")]))["followed-chain"]
    assert [row[:4] for row in found] == [("one", "all", 4, 0.5), ("one", "CD", 4, 0.5)]


def test_right_answers_that_a_planted_answer_turns_into_wrong_ones():
    alone = [[True, True, True, True, False, True], [True, True, False, True, True, True]]
    after = [[False, False, True, False, True, True], [True, True, False, True, True, False]]
    runs = [planted(alone), planted(after, regime="planted", tags={"planted": "drusen"})]
    runs[1] = [p for p in runs[1] if p.record.chain_step != "IQA"] + [
        p for p in runs[0] if p.record.chain_step == "IQA"
    ]
    found = tables(chain_run("a", runs[0]), chain_run("b", runs[1]))["turned-chain"]
    rows = {row[1]: (row[2], row[3]) for row in found}
    assert rows["all"] == (8, 3 / 8)  # AL, LC, DD, SG and CD have ten questions, eight of them right alone
    assert (rows["AL"], rows["LC"], rows["DD"], rows["SG"], rows["CD"]) == (
        (2, 0.5),
        (1, 0),
        (2, 0.5),
        (1, 0),
        (2, 0.5),
    )
    assert "IQA" not in rows, "the first question holds no earlier answer"


def test_shuffled_options_have_the_same_answer():
    made = []
    for case, (first, second) in enumerate(
        [("beta", "beta"), ("alpha", "beta"), (MISSING, MISSING), ("gamma", "gamma")]
    ):
        for order, answer in (("0", first), ("1", second)):
            question = asked(case, "DD", tags={"order": order})
            id = question.id if order == "0" else f"{question.id}/order-1"
            made.append(answered(replace(question, id=id), answer))
    found = tables(chain_run("one", made))["shuffled-chain"]
    assert [row[:4] for row in found] == [("one", "all", 4, 0.5), ("one", "DD", 4, 0.5)]
    assert found[0][4][0] < 0.5 < found[0][4][1] and found[0][3] == pytest.approx(0.5)


def test_nothing_without_chains():
    assert list(ChainAccount().parts(scored({}))) == []
