"""Epochs whose classes and modalities are counted by hand; every record is as likely as the next of its class."""

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core.types import Box, Region
from lmod_train.data.datamodules.class_balance import Cell, Draw, cells_of, histogram, shares
from lmod_train.data.datamodules.order import ImageBatches, by_image
from tests.tiny import record


def some(task, answer, number, modality="CFP", **fields):
    """Return records of one answer, each about an image of its own."""
    names = [f"{task}/phantom/{modality}{answer}{i:03}" for i in range(number)]
    return [record(n, image=[n], task=task, modality=modality, answer=answer, **fields) for n in names]


def anatomy(number):
    boxes = (Region("lens", Box(0, 0, 1, 1), 1),)
    return [r for i in range(number) for r in some("anatomy", f"1: lens {i}", 1, regions=boxes)]


def draw_of(records, balance, seed=0):
    cells = cells_of(records, balance)
    return Draw(by_image(records, 16), cells, shares(cells), seed)


def asked(records, draw, epoch=0):
    return [records[p] for p in chain.from_iterable(draw(epoch))]


def test_answer_words_of_a_task_come_equally_often_and_tasks_keep_their_share():
    records = [
        *some("glaucoma", "GLAUCOMA", 10),
        *some("glaucoma", "NON-GLAUCOMA", 50),
        *some("stage", "Stage: 1", 5, choices=("1", "2", "3")),
        *some("stage", "Stage: 2", 6, choices=("1", "2", "3")),
        *some("stage", "Stage: 3", 19, choices=("1", "2", "3")),
        *anatomy(20),
    ]
    made = asked(records, draw_of(records, "class"))
    assert Counter((r.task, r.answer if r.task != "anatomy" else "") for r in made) == {
        ("glaucoma", "GLAUCOMA"): 30,
        ("glaucoma", "NON-GLAUCOMA"): 30,
        ("stage", "Stage: 1"): 10,
        ("stage", "Stage: 2"): 10,
        ("stage", "Stage: 3"): 10,
        ("anatomy", ""): 20,
    }
    times = Counter(r.id for r in made)
    assert {times[r.id] for r in records if r.answer == "GLAUCOMA"} == {3}, "a rare class is repeated evenly"
    assert {times[r.id] for r in records if r.answer == "NON-GLAUCOMA"} == {0, 1}
    assert {times[r.id] for r in records if r.task == "anatomy"} == {1}


def test_a_reply_to_two_tasks_counts_under_the_task_s_own_word():
    words = ("MALE", "FEMALE")
    both = [*some("sex", "MALE / 60–69", 3, choices=words), *some("sex", "MALE / 18–29", 3, choices=words)]
    records = [*both, *some("sex", "FEMALE / 60–69", 2, choices=words)]
    made = asked(records, draw_of(records, "class"))
    assert Counter(r.answer[:4] for r in made) == {"MALE": 4, "FEMA": 4}


def test_modalities_come_equally_often_with_the_classes_as_they_are():
    records = [
        *some("four_way", "A", 30, "OCT"),
        *some("four_way", "B", 50, "OCT"),
        *some("four_way", "A", 10, "LP"),
        *some("glaucoma", "A", 10, "CFP"),
    ]
    made = asked(records, draw_of(records, "modality"))
    assert {m: abs(n - 100 / 3) < 1 for m, n in Counter(r.modality for r in made).items()} == dict.fromkeys(
        ("OCT", "LP", "CFP"), True
    )
    draw = draw_of(records, "modality")
    words = Counter(r.answer for epoch in range(300) for r in asked(records, draw, epoch) if r.modality == "OCT")
    assert words["A"] / words.total() == pytest.approx(30 / 80, abs=0.01)


def test_class_and_modality_balance_the_words_within_each_modality():
    records = [
        *some("four_way", "A", 3, "OCT"),
        *some("four_way", "B", 57, "OCT"),
        *some("four_way", "A", 15, "LP"),
        *some("four_way", "B", 5, "LP"),
    ]
    made = asked(records, draw_of(records, "class_modality"))
    assert Counter((r.modality, r.answer) for r in made) == dict.fromkeys(
        [("OCT", "A"), ("OCT", "B"), ("LP", "A"), ("LP", "B")], 20
    )


def test_unbalanced_is_every_record_once_in_the_groups_as_they_are():
    records = [*some("glaucoma", "GLAUCOMA", 3), *some("glaucoma", "NON-GLAUCOMA", 8)]
    assert draw_of(records, "none")(5) == by_image(records, 16)
    assert draw_of([], "class")(0) == [] and shares([]) == {}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("mno")), min_size=1, max_size=40),
    st.sampled_from(["none", "class", "modality", "class_modality"]),
    st.integers(0, 3),
)
def test_an_epoch_is_as_long_as_the_records_and_meets_every_number_within_one(kinds, balance, epoch):
    records = [
        record(str(i), image=[str(i // 3)], task=t, answer=w, modality=m, choices=tuple("xyz"))
        for i, (t, w, m) in enumerate(kinds)
    ]
    draw = draw_of(records, balance)
    positions = list(chain.from_iterable(draw(epoch)))
    assert len(positions) == len(records)
    counts = Counter(draw.cells[p] for p in positions)
    assert all(abs(counts[cell] - n) < 1 for cell, n in draw.numbers.items())
    times = Counter(positions)
    for cell in draw.numbers:
        within = [times[p] for p, c in enumerate(draw.cells) if c == cell]
        assert max(within) - min(within) <= 1


def test_every_record_of_a_frequent_class_is_as_likely_as_the_next():
    records = [*some("glaucoma", "GLAUCOMA", 4), *some("glaucoma", "NON-GLAUCOMA", 12)]
    draw = draw_of(records, "class")
    times = Counter(r.id for epoch in range(600) for r in asked(records, draw, epoch))
    frequent = [times[r.id] for r in records if r.answer == "NON-GLAUCOMA"]
    assert sum(frequent) == 600 * 8 and min(frequent) > 340 and max(frequent) < 460  # 400 each, sd 11.5


def test_questions_about_one_image_stay_together():
    """Thirteen questions an image, mostly FALSE: the draw leaves out whole images before it thins all of them."""
    records = [
        record(f"{i}/{c}", image=[str(i)], task="conditions", answer=f"C{c} {i % 10 == c}", choices=("True", "False"))
        for i in range(100)
        for c in range(13)
    ]
    groups = [g for g in draw_of(records, "class")(0) if len(g) > 1]
    independent = 100 * 13 / 2 / 100  # what a draw of single questions would leave of an image: 6.5 on average
    assert sum(map(len, groups)) / len(groups) > 1.2 * independent
    assert all(len({records[p].image for p in g}) == 1 for g in groups)


def test_the_order_is_of_seed_and_epoch_alone():
    records = [*some("glaucoma", "GLAUCOMA", 3), *some("glaucoma", "NON-GLAUCOMA", 29)]
    assert draw_of(records, "class")(4) == draw_of(records, "class")(4)
    assert draw_of(records, "class")(4) != draw_of(records, "class")(5)
    assert draw_of(records, "class")(4) != draw_of(records, "class", seed=1)(4)


@pytest.mark.parametrize("like_length", [False, True])
def test_ranks_take_disjoint_shares_of_one_order_and_resume_where_they_were(like_length):
    from lmod_train.data.datamodules.lengths import length_of

    records = [*some("glaucoma", "GLAUCOMA", 5), *some("glaucoma", "NON-GLAUCOMA", 35)]
    draw, lengths = draw_of(records, "class"), [length_of(r) for r in records] if like_length else None

    def batches(rank, ranks, start=0, size=4):
        made = ImageBatches(draw.groups, size, shuffle=True, seed=3, rank=rank, ranks=ranks, draw=draw, lengths=lengths)
        made.epoch, made.start = 2, start
        return list(made)

    one = batches(0, 1, size=8)
    two = [batches(rank, 2) for rank in range(2)]
    assert [a + b for a, b in zip(*two, strict=True)] == one
    assert Counter(chain.from_iterable(one)) == Counter(chain.from_iterable(draw(2)))
    assert batches(1, 2, start=3) == two[1][3:]


def test_the_histogram_says_what_there_is_and_what_is_asked():
    records = [*some("glaucoma", "GLAUCOMA", 2), *some("glaucoma", "NON-GLAUCOMA", 6), *some("conversation", "Hm.", 5)]
    cells = [*cells_of(records[:8], "class"), *[Cell(replayed=True)] * 5]
    draw = Draw(by_image(records, 16), cells, shares(cells[:8]) | {Cell(replayed=True): 2})
    assert histogram(records, draw) == [
        "CFP glaucoma GLAUCOMA: 2 -> 4",
        "CFP glaucoma NON-GLAUCOMA: 6 -> 4",
        "general conversations: 5 -> 2",
    ]
