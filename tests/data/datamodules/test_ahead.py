"""A module that reads ahead is fed through the datamodule's own loader, and gives every record once."""

import pytest

from lmod_train.core.types import Batch
from lmod_train.data.datamodules.ahead import AnsweredLoader, ReadingAhead
from lmod_train.data.datamodules.loader import RecordLoader
from lmod_train.data.datamodules.order import ImageBatches
from tests.tiny import record

RECORDS = [record(str(i)) for i in range(7)]


def collate(records, root):
    return Batch(records)


def one_by_one(batches):
    for batch in batches:
        for one in batch.records:
            yield Batch([one])


def backwards(batches):
    yield from reversed(list(one_by_one(batches)))


def made(stream, root, rank=0, ranks=1):
    batches = ImageBatches([[i] for i in range(7)], 3, rank=rank, ranks=ranks)
    loader = RecordLoader(RECORDS, batches, collate, root)
    return AnsweredLoader(loader, stream, batches.most_questions)


@pytest.mark.parametrize("stream", [one_by_one, backwards])
def test_its_length_is_that_of_the_questions_and_each_comes_once(stream, tmp_path):
    loader = made(stream, tmp_path)
    for _ in range(2):  # every iteration is one of its own
        asked = [r.id for batch in loader for r in batch.records]
        assert sorted(asked) == [r.id for r in RECORDS] and len(loader) == 7


def test_processes_take_as_many_items_and_all_records_together_once(tmp_path):
    loaders = [made(one_by_one, tmp_path, rank, 2) for rank in range(2)]
    items = [list(loader) for loader in loaders]
    assert [len(loader) for loader in loaders] == [len(own) for own in items] == [4, 4]
    assert [len(own) for batches in items for own in batches].count(0) == 1
    assert sorted(r.id for batches in items for b in batches for r in b.records) == [r.id for r in RECORDS]


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    read = []

    def noting(batches):
        for batch in batches:
            read.append(len(batch))
            yield from (Batch([one]) for one in batch.records)

    items = iter(made(noting, tmp_path))
    assert read == []
    next(items)
    assert read == [3]


def test_a_module_without_a_stream_does_not_read_ahead():
    class Ahead:
        stream = None

    assert isinstance(Ahead(), ReadingAhead) and not isinstance(object(), ReadingAhead)
