"""Shards of an evaluation: disjoint, complete, of whole images, of equal size."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.shard import Shard
from tests.tiny import record

some_records = st.lists(st.sampled_from(["", "a", "b", "c", "d"]), max_size=20).map(
    lambda images: [record(f"{i:02}", image=[name] if name else []) for i, name in enumerate(images)]
)


@given(some_records, st.integers(1, 7))
def test_shards_are_disjoint_complete_and_of_whole_images(records, count):
    shards = [Shard(i + 1, count).of(records) for i in range(count)]
    assert sorted(r.id for shard in shards for r in shard) == [r.id for r in records]
    assert all([r.id for r in shard] == sorted(r.id for r in shard) for shard in shards)
    homes = [{r.image or (r.id,) for r in shard} for shard in shards]
    assert max(Counter(image for home in homes for image in home).values(), default=1) == 1
    sizes = [len(home) for home in homes]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "1/0", "a/b", "1/2/3", " 1/2", "-1/2", "1.0/2", "1/²", "٣/٤"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(BadArgument, match=r"(?s)data\.shard=.*--data\.shard 1/n"):
        Shard.parse(text)


def test_a_shard_is_parsed():
    assert Shard.parse("12/100") == Shard(12, 100)
    assert str(Shard.parse("1/1")) == "1/1"


@given(st.integers(2, 5), st.lists(st.integers(0, 8), min_size=2, max_size=20))
def test_a_chain_over_several_images_is_in_one_shard(count, images):
    numbers = range(len(images))
    chained = [
        record(f"{n:02}", image=[f"{image}.png"], chain=f"c{n % 4}") for n, image in zip(numbers, images, strict=True)
    ]
    needing = [record(f"{n:02}", image=[f"{n}.png"], needs=(f"{n - 1:02}",) if n % 3 else ()) for n in numbers]
    for records, together in ((chained, lambda r: r.chain), (needing, lambda r: int(r.id) // 3)):
        shards = [Shard(i + 1, count).of(records) for i in range(count)]
        assert sorted(r.id for shard in shards for r in shard) == [r.id for r in records]
        homes = Counter(key for shard in shards for key in {together(r) for r in shard})
        assert set(homes.values()) == {1}
