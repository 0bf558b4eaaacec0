"""Whether both languages of a sample say the same: the sample, the outcomes, and what of them still counts."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.extensions.drafting.caption_steps import compared_by, comparisons, counts, differing, sampled, summary
from lmod_train.extensions.drafting.captions import Caption, CaptionParity
from tests.captioned import predicted
from tests.extensions.drafting.example import open_question, single_choice, statement
from tests.tabled import tabled

MADE = ((1, statement), (2, statement), (1, open_question))
ITEMS = [make(n, caption=str(caption)) for caption in range(10) for n, make in MADE]
CAPTIONS = {str(n): Caption(str(n), f"{n}.jpg", "Drusen.", group=f"p{n}") for n in range(10)}


def said(texts, items=ITEMS):
    """The predictions of replies to the comparisons of some items, by item id."""
    records = comparisons([item for item in items if item.id in texts], CAPTIONS)
    task = CaptionParity()
    return predicted(task, records, {r.id: texts[f"{r.key}/{r.chain_step}"] for r in records})


def test_the_sample_has_its_share_of_each_kind_and_a_larger_one_contains_it():
    few, more = (sampled(ITEMS, share) for share in (0.2, 0.5))
    assert [sum(i.kind == kind for i in few) for kind in ("binary_question", "open_question")] == [4, 2]
    assert {i.id for i in few} < {i.id for i in more} and len(more) == 15
    assert sampled(ITEMS, 0.2, seed=1) != few == sampled(ITEMS, 0.2)
    assert sampled(ITEMS, 1.0) == ITEMS and sampled([], 1.0) == []
    assert len(sampled([single_choice()], 0.01)) == 1


def test_planted_verdicts_are_recovered_with_share_and_interval():
    ids = [item.id for item in ITEMS]
    texts = dict.fromkeys(ids, "True") | {
        ids[0]: "False",
        ids[4]: "**False**: the side differs.",
        ids[7]: "True or False",
    }
    found = compared_by(ITEMS, said(texts))
    assert counts(found) == {"agrees": 27, "differs": 2, "unparsed": 1}
    assert differing(found) == [ids[0], ids[4]] and found[ids[7]].reason == "ambiguous"
    (line,) = summary(found, 40)
    assert line.startswith("languages compared by a judge: 30 of 40 questions: agrees 27, 0.900 [")
    assert "differs 2, 0.067 [" in line and "unparsed 1, 0.033 [" in line
    assert summary({}, 40) == []


def test_a_reply_about_words_that_have_changed_does_not_count():
    found = said({ITEMS[0].id: "False", ITEMS[1].id: "True"})
    assert set(compared_by(ITEMS, found)) == {ITEMS[0].id, ITEMS[1].id}
    pair = ITEMS[0].pair
    changed = replace(ITEMS[0], pair=replace(pair, zh=replace(pair.zh, question="视盘粉红")))
    assert set(compared_by([changed, *ITEMS[1:]], found)) == {ITEMS[1].id}


@tabled("reply", ["", "I cannot say.", "agrees", "no idea", "1", "True\nFalse", "<think>True</think>"])
def test_no_verdict_is_unparsed_and_neither_of_the_others(reply):
    found = compared_by(ITEMS, said({ITEMS[0].id: reply}))
    assert [one.outcome for one in found.values()] == ["unparsed"]
