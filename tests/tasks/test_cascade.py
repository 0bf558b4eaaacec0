"""Rounds of questions, and which saved replies count where words hold answers."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Reply
from lmod_train.tasks.asked import asked_after
from lmod_train.tasks.cascade import as_sent, chains, current_in_rounds, is_due, needed, rounds
from lmod_train.tasks.regimes import in_regime
from tests.chained import Words, chain_of, words_of
from tests.tiny import record

TASKS = {"words": Words()}


def cascade(number=1, regime="cas_all", stages=("IQA", "AL", "LC")):
    chain = chain_of(number, stages)
    return in_regime(chain, TASKS, regime, {r.id: r for r in chain})


@given(st.lists(st.sets(st.integers(0, 7)), max_size=8), st.randoms())
def test_each_question_is_in_the_first_round_after_those_it_needs(needs, random):
    made = [
        record(f"words/{n}", " ".join(f"{{answer {k}}}" for k in range(1, len(own) + 1)), needs=ids)
        for n, own in enumerate(needs)
        if (ids := tuple(f"words/{k}" for k in sorted(own) if k < n)) or True
    ]
    random.shuffle(made)
    found = rounds(made)
    place = {r.id: n for n, asked in enumerate(found) for r in asked}
    assert sorted(place) == sorted(r.id for r in made)
    for one in made:
        before = [place[need] for need in one.needs] if "{" in words_of(one) else []
        assert place[one.id] == (max(before) + 1 if before else 0)


def test_needs_outside_and_circles_do_not_hang():
    one, two = (record(f"words/{n}", "{answer 1}", needs=(f"words/{1 - n}",)) for n in range(2))
    assert rounds([one, two]) == [[one, two]]
    assert rounds([one]) == [[one]]
    assert rounds([]) == [] and chains({}) == []


def test_a_question_is_due_once_every_earlier_one_has_a_reply():
    asked = cascade()
    assert [is_due(r, {}) for r in asked] == [True, False, False]
    assert is_due(asked[2], {asked[0].id: "alpha", asked[1].id: "beta"})
    assert words_of(as_sent(asked[1], {asked[0].id: "beta"})) == "Image quality: beta.\nWhich word for AL?"
    assert as_sent(asked[0], {}) is asked[0]


def test_those_that_are_needed_come_along_once():
    asked = cascade()
    known = {r.id: r for r in asked}
    assert {r.id for r in needed([asked[2]], known)} == set(known)
    assert len(list(needed(asked, known))) == 3
    alone = chain_of(1, ("IQA", "AL"))
    assert list(needed(alone[1:], {r.id: r for r in alone})) == alone[1:]


def _saved(asked, words, base):
    """The replies of a run in which each question was asked after the words before it."""
    hashes = [asked_after(base[r.id], words[:n]) if n else base[r.id] for n, r in enumerate(asked)]
    return [Reply(r.id, word, asked=hash) for r, word, hash in zip(asked, words, hashes, strict=False)]


def test_replies_count_while_the_answers_in_their_prompts_are_todays():
    asked = cascade()
    base = {r.id: f"hash of {r.id}" for r in asked}
    saved = _saved(asked, ["alpha", "beta", "gamma"], base)
    found = current_in_rounds(asked, TASKS, base, saved)
    assert set(found.replies) == set(base) and found.stale == 0
    changed = [replace(saved[0], reply="gamma"), *saved[1:]]
    found = current_in_rounds(asked, TASKS, base, changed)
    assert set(found.replies) == {asked[0].id} and found.stale == 2
    gone = current_in_rounds(asked, TASKS, base, saved[1:])
    assert not gone.replies and gone.stale == 2
    failed = [replace(saved[0], error="down"), *saved[1:]]
    assert set(current_in_rounds(asked, TASKS, base, failed).replies) == {asked[0].id}


def test_a_parser_that_reads_more_makes_what_was_asked_after_no_answer_stale():
    asked = cascade(stages=("IQA", "AL"))
    base = {r.id: f"hash of {r.id}" for r in asked}
    none = "no answer was given"
    saved = [
        Reply(asked[0].id, "It is beta", asked=base[asked[0].id]),
        Reply(asked[1].id, "alpha", asked=asked_after(base[asked[1].id], [none])),
    ]
    assert current_in_rounds(asked, TASKS, base, saved).stale == 0
    found = current_in_rounds(asked, {"words": Words(lenient=True)}, base, saved)
    assert set(found.replies) == {asked[0].id} and found.stale == 1


def test_without_cascades_it_is_current(tmp_path):
    asked = chain_of(1, ("IQA", "AL"))
    saved = [Reply(asked[0].id, "alpha", asked="x"), Reply(asked[1].id, "beta", asked="old"), Reply(asked[1].id, "a")]
    found = current_in_rounds(asked, TASKS, {asked[0].id: "x", asked[1].id: "y"}, saved)
    assert {k: r.reply for k, r in found.replies.items()} == {asked[0].id: "alpha"} and found.stale == 2
