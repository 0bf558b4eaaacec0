"""A backend through the Trainer."""

import pytest
from lightning.pytorch.plugins import HalfPrecision
from lightning.pytorch.plugins.precision.deepspeed import DeepSpeedPrecision

from lmod_train.backends.base import Backend
from lmod_train.datamodules.records import RecordsDataModule
from lmod_train.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.types import Batch, Identity, Reply
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=["a.png"], split="val") for i in range(5)]


class Noting(Backend):
    """Notes on which device it was prepared and what it was asked."""

    def __init__(self):
        self.collate = lambda records, root: Batch(records, [-1] * len(records), {})
        self.prepared, self.asked = [], []

    def prepare(self, device):
        self.prepared.append(device)

    def identity(self):
        return Identity()

    def respond(self, batch):
        assert self.prepared
        self.asked += [r.id for r in batch.records]
        return [Reply(r.id, r.answer) for r in batch.records]


@pytest.mark.parametrize("command", ["validate", "test", "predict"])
@pytest.mark.parametrize("precision", ["32-true", "bf16-true"])
def test_a_backend_answers_through_every_loop(tmp_path, command, precision):
    backend = Noting()
    data = RecordsDataModule(write_curated(tmp_path, RECORDS), [Glaucoma()], eval_batch_size=2, split="all")
    getattr(trainer(tmp_path, precision=precision), command)(Frozen(backend), datamodule=data)
    assert backend.asked == [r.id for r in RECORDS]
    assert len(backend.prepared) == 1


def test_a_backend_is_prepared_on_the_device_the_trainer_moved_to():
    backend = Noting()
    module = Frozen(backend)
    module.configure_model()
    module.to("meta")
    module.on_validation_start()
    assert [d.type for d in backend.prepared] == ["meta"]


@pytest.mark.parametrize("precision", [HalfPrecision("bf16-true"), DeepSpeedPrecision("bf16-mixed")])
def test_a_batch_passes_the_precision_plugins_untouched(precision):
    batch = Batch(RECORDS, [-1] * 5, {})
    assert precision.convert_input(batch) is batch
