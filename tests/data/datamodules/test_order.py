"""The order of questions: every one once in evaluation, the same number of batches on every rank and in every epoch."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.data.datamodules.order import ImageBatches, by_image
from tests.tiny import record

SIZES = [5, 1, 3, 7, 2, 2, 4, 1, 6]
GROUPS = [list(range(sum(SIZES[:i]), sum(SIZES[: i + 1]))) for i in range(len(SIZES))]

some_groups = st.lists(st.integers(1, 6), min_size=1, max_size=12).map(
    lambda sizes: [list(range(sum(sizes[:i]), sum(sizes[: i + 1]))) for i in range(len(sizes))]
)


def epochs(batches, number):
    for epoch in range(number):
        batches.epoch = epoch
        yield list(batches)


def test_questions_about_one_image_are_a_group():
    images = ["a", "b", "a", "", "a", "b", "", "a"]
    records = [record(str(i), image=[n] if n else []) for i, n in enumerate(images)]
    assert by_image(records, 16) == [[0, 2, 4, 7], [1, 5], [3], [6]]
    assert by_image(records, 3) == [[0, 2, 4], [7], [1, 5], [3], [6]]
    assert by_image([], 3) == []


def test_evaluation_tears_no_group_apart_and_keeps_the_order():
    batches = list(ImageBatches(GROUPS, 7))
    assert batches == [
        GROUPS[0] + GROUPS[1],
        GROUPS[2],
        GROUPS[3],
        GROUPS[4] + GROUPS[5],
        GROUPS[6] + GROUPS[7],
        GROUPS[8],
    ]


@given(some_groups, st.integers(6, 9), st.integers(1, 4))
def test_evaluation_over_ranks_loses_nothing_and_repeats_nothing(groups, size, ranks):
    shards = [ImageBatches(groups, size, rank=rank, ranks=ranks) for rank in range(ranks)]
    assert sorted(p for shard in shards for batch in shard for p in batch) == [p for g in groups for p in g]
    assert {len(list(shard)) for shard in shards} == {len(shards[0])}, (
        "a rank with fewer batches would not be waited for"
    )
    assert all(len(batch) <= size for shard in shards for batch in shard)
    places = [{p: (r, b) for r, shard in enumerate(shards) for b, batch in enumerate(shard) for p in batch}]
    assert all(len({places[0][p] for p in g}) == 1 for g in groups), "a group was torn apart"


@given(some_groups, st.integers(1, 7), st.integers(1, 4), st.integers(0, 3))
def test_training_batches_are_as_many_in_every_epoch_and_on_every_rank(groups, size, ranks, seed):
    shards = [ImageBatches(groups, size, shuffle=True, seed=seed, rank=rank, ranks=ranks) for rank in range(ranks)]
    total = sum(map(len, groups))
    for epoch in zip(*(epochs(shard, 3) for shard in shards), strict=True):
        assert {len(batches) for batches in epoch} == {len(shards[0])}
        seen = Counter(p for batches in epoch for batch in batches for p in batch)
        assert max(seen.values(), default=1) == 1 and len(seen) == (total if total >= ranks else 0)
        assert {len(b) for batches in epoch for b in batches[:-1]} <= {size}
        assert all(len(b) <= size + 1 for batches in epoch for b in batches[-1:])
        assert all(b for batches in epoch for b in batches)
        assert all(max(map(len, step)) - min(map(len, step)) <= 1 for step in zip(*epoch, strict=True))


def test_an_epoch_is_shuffled_by_seed_and_number_alone():
    def order(seed, epoch):
        batches = ImageBatches(GROUPS, 4, shuffle=True, seed=seed)
        batches.epoch = epoch
        return list(batches)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1) and order(0, 0) != order(1, 0)
    flat = [p for batch in order(0, 0) for p in batch]
    assert all(flat[flat.index(g[0]) :][: len(g)] == g for g in GROUPS), "questions about one image travel together"


@pytest.mark.parametrize("shuffle", [True, False])
def test_start_leaves_out_what_is_done(shuffle):
    batches = ImageBatches(GROUPS, 7, shuffle=shuffle)
    whole = list(batches)
    batches.start = 2
    assert list(batches) == whole[2:] and len(batches) == len(whole)


def test_nothing_asked_is_no_batch():
    assert list(ImageBatches([], 4, ranks=2)) == [] and list(ImageBatches([], 4, shuffle=True)) == []
