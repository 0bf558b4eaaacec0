"""The loader's place in its epoch."""

from itertools import islice
from threading import Event

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch
from lmod_train.data.datamodules.loader import RecordLoader, one_ahead
from lmod_train.data.datamodules.order import ImageBatches
from tests.tiny import record

RECORDS = [record(str(i)) for i in range(10)]


def collate(records, root):
    batch = Batch(records)
    batch.root = root
    return batch


def loader(tmp_path, shuffle=True):
    batches = ImageBatches([[i] for i in range(10)], 3, shuffle=shuffle, seed=5)
    return RecordLoader(RECORDS, batches, collate, tmp_path)


def ids(batches):
    return [[r.id for r in b.records] for b in batches]


def test_batches_are_collated_against_the_curated_folder(tmp_path):
    made = list(loader(tmp_path, shuffle=False))
    assert ids(made) == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9"]]
    assert made[0].root == tmp_path


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("done", [0, 1, 3, 4])
def test_a_resumed_loader_gives_what_remained(tmp_path, epoch, done):
    steady = loader(tmp_path)
    whole = [ids(steady) for _ in range(4)]
    killed = loader(tmp_path)
    for _ in range(epoch):
        list(killed)
    running = iter(killed)
    list(islice(running, done))
    resumed = loader(tmp_path)
    resumed.load_state_dict(killed.state_dict())
    if done == 0:  # nothing of this epoch was begun: the next iteration begins it
        assert ids(resumed) == whole[epoch]
    elif done < 4:
        assert ids(resumed) == whole[epoch][done:]
        assert ids(resumed) == whole[epoch + 1]
    else:
        assert ids(resumed) == whole[epoch + 1]


def of_ranks(tmp_path, batch_size, ranks):
    batches = ImageBatches([[i] for i in range(24)], batch_size, shuffle=True, seed=5, rank=0, ranks=ranks)
    return RecordLoader([f"{i}" for i in range(24)], batches, lambda records, root: records, tmp_path)


@pytest.mark.parametrize(("batch_size", "ranks", "goes_on"), [(2, 2, True), (4, 1, True), (2, 1, False), (2, 4, False)])
def test_mid_epoch_is_gone_on_with_only_in_steps_of_the_same_size(tmp_path, batch_size, ranks, goes_on):
    stopped = of_ranks(tmp_path, 2, 2)
    running = iter(stopped)
    list(islice(running, 3))
    resumed = of_ranks(tmp_path, batch_size, ranks)
    if goes_on:
        resumed.load_state_dict(stopped.state_dict())
        assert len(list(resumed)) == 3
        return
    with pytest.raises(BadArgument, match=f"={2 * ranks}: expected 4 questions a step"):
        resumed.load_state_dict(stopped.state_dict())
    list(running)
    if ranks == 1:  # of smaller steps there are more, and the epoch would seem half done
        with pytest.raises(BadArgument, match="expected 4 questions a step"):
            resumed.load_state_dict(stopped.state_dict())
        return
    resumed.load_state_dict(stopped.state_dict())
    fresh = of_ranks(tmp_path, batch_size, ranks)
    assert [list(fresh), list(fresh)][1] == list(resumed), "the next epoch, whole"


def test_an_epoch_left_early_is_over(tmp_path):
    cut, steady = loader(tmp_path), loader(tmp_path)
    whole = [ids(steady) for _ in range(2)]
    assert ids(islice(cut, 2)) == whole[0][:2]
    assert ids(cut) == whole[1]


def test_evaluation_cut_short_asks_the_same_again(tmp_path):
    evaluation = loader(tmp_path, shuffle=False)
    assert ids(islice(evaluation, 2)) == ids(islice(evaluation, 2)) == [["0", "1", "2"], ["3", "4", "5"]]


class Augmenting:
    """A dialect that tells which epoch it was made for."""

    def __init__(self, place=None):
        self.place = place

    def training(self, seed, epoch):
        return Augmenting((seed, epoch))

    def __call__(self, records, root):
        batch = Batch(records)
        batch.place = self.place
        return batch


def places(batches):
    return [b.place for b in batches]


def test_a_dialect_that_augments_is_that_of_the_epoch_also_after_a_resume(tmp_path):
    def made(shuffle):
        return RecordLoader(
            RECORDS, ImageBatches([[i] for i in range(10)], 3, shuffle=shuffle, seed=5), Augmenting(), tmp_path
        )

    steady = made(shuffle=True)
    assert [places(steady), places(steady)] == [[(5, 0)] * 4, [(5, 1)] * 4]
    resumed = made(shuffle=True)
    resumed.load_state_dict({**steady.state_dict(), "epoch": 1, "done": 3})
    assert [places(resumed), places(resumed)] == [[(5, 1)], [(5, 2)] * 4]
    assert places(made(shuffle=False)) == [None] * 4


def test_the_next_evaluation_batch_is_read_while_the_present_one_is_answered(tmp_path):
    read = {id: Event() for id in ("0", "3", "6", "9")}

    def marked(records, root):
        read[records[0].id].set()
        return collate(records, root)

    batches = ImageBatches([[i] for i in range(10)], 3)
    asked = iter(RecordLoader(RECORDS, batches, marked, tmp_path))
    assert next(asked).records[0].id == "0"
    assert read["3"].wait(60)
    assert not read["6"].is_set(), "one batch ahead, as each holds its images in memory"
    assert [b.records[0].id for b in asked] == ["3", "6", "9"]


def test_an_error_in_reading_is_raised_where_the_batch_would_come():
    def batches():
        yield 1
        raise OSError("no such image")

    ahead = one_ahead(batches())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="no such image"):
        next(ahead)
