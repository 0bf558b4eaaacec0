"""The labelled replies are enough of each kind, and their halves are those of the hash."""

from collections import Counter

from tests.tasks.failures.labelled import LABELS, labelled, split_of


def test_half_of_the_replies_are_held_out_by_a_hash():
    rows = labelled()
    assert len(rows) >= 300 and len({(r.ask, r.reply) for r in rows}) == len(rows)
    assert all(r.split == split_of(r.ask, r.reply) for r in rows)
    assert 0.45 < sum(r.split == "held_out" for r in rows) / len(rows) < 0.55


def test_every_label_occurs_in_both_halves_beside_replies_without_one():
    counted = Counter((r.split, label) for r in labelled() for label in r.labels or {"none"})
    assert {label for _, label in counted} == {*LABELS, "none"}
    assert min(counted[half, label] for half in ("develop", "held_out") for label in (*LABELS, "none")) >= 9
