"""A step has the same questions on any number of devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=Glaucoma.choices[i % 2]) for i in range(12)]


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_curated(tmp_path_factory.mktemp("curated"), RECORDS, side=40)


@pytest.mark.parametrize(
    ("devices", "size", "number"),
    [(1, 4, 32), (8, 4, 4), (2, 4, 16), (1, 128, 1), (128, 1, 1), (3, 4, None), (1, 5, None)],
)
def test_batches_are_accumulated_to_it_or_refused_with_a_size_that_works(curated, devices, size, number):
    data = RecordsDataModule(curated, [Glaucoma()], batch_size=size, global_batch=128)
    if number is not None:
        assert data.accumulated(devices) == number and number * size * devices == 128
        return
    with pytest.raises(BadArgument, match=rf"data.global_batch=128.*a multiple of {size * devices}") as refused:
        data.accumulated(devices)
    cure = str(refused.value).partition("Next: ")[2]
    if "data.batch_size" in cure:
        other = int(cure.removeprefix("set data.batch_size to "))
        again = RecordsDataModule(curated, [Glaucoma()], batch_size=other, global_batch=128)
        assert again.accumulated(devices) * other * devices == 128
    else:
        assert cure == f"set it to a multiple of {devices}"


@pytest.mark.parametrize(("options", "steps"), [({"global_batch": 6}, 2), ({"global_batch": 12}, 1), ({}, 6)])
def test_a_training_makes_so_many_steps(curated, tmp_path, options, steps):
    data = RecordsDataModule(curated, [Glaucoma()], batch_size=2, **options)
    module = FineTuning("random", Glaucoma.choices, size="tiny", image_size=32)
    running = trainer(tmp_path, max_epochs=1, limit_val_batches=0)
    running.fit(module, data)
    assert running.global_step == steps
    assert running.accumulate_grad_batches == 6 // steps


def test_another_number_of_batches_is_refused_beside_it(curated, tmp_path):
    data = RecordsDataModule(curated, [Glaucoma()], batch_size=2, global_batch=12)
    module = FineTuning("random", Glaucoma.choices, size="tiny", image_size=32)
    with pytest.raises(BadArgument, match=r"trainer.accumulate_grad_batches=4: expected 6"):
        trainer(tmp_path, max_epochs=1, limit_val_batches=0, accumulate_grad_batches=4).fit(module, data)
