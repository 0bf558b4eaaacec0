"""A backend through the Trainer."""

import pytest
import torch
from lightning.pytorch.plugins import HalfPrecision
from lightning.pytorch.plugins.precision.deepspeed import DeepSpeedPrecision
from torch.utils.data import DataLoader

from lmod_train.core.types import Batch, Identity, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import Backend
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Images
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.models.modules.frozen import Frozen
from lmod_train.models.modules.nearest_neighbour import NearestNeighbour
from lmod_train.models.vision.feature_table import Encoder
from lmod_train.models.vision.picture_batch import CropBatch, FeatureBatch, PictureBatch
from lmod_train.tasks.glaucoma import Glaucoma
from tests import forks
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=["a.png"], split="val") for i in range(5)]


class Noting(Backend):
    """Notes on which device it was prepared and what it was asked."""

    def __init__(self):
        self.collate = lambda records, root: Batch(records)
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


ONES = torch.ones(5, 2)
KINDS = [
    Batch(RECORDS),
    ChatBatch(RECORDS, [[1]] * 5, [[2]] * 5, ["?"] * 5, Images([{"pixel_values": ONES}], [1]), [(0,)] * 5),
    CropBatch(RECORDS, ONES, ONES, range(5)),
    FeatureBatch(RECORDS, ONES, ONES, range(5)),
    PictureBatch(RECORDS, ONES, ONES, range(5)),
]


@pytest.mark.parametrize("batch", KINDS, ids=lambda batch: type(batch).__name__)
@pytest.mark.parametrize("precision", [HalfPrecision("bf16-true"), DeepSpeedPrecision("bf16-mixed")])
def test_a_batch_passes_the_precision_plugins_untouched(precision, batch):
    before = dict(vars(batch))
    assert precision.convert_input(batch) is batch
    assert all(vars(batch)[name] is value for name, value in before.items())


def test_every_batch_travels_from_another_process_and_keeps_its_kind():
    received = DataLoader(KINDS, batch_size=None, num_workers=1, multiprocessing_context=forks.FORKING)
    for there, batch in zip(received, KINDS, strict=True):
        assert type(there) is type(batch) and vars(there).keys() == vars(batch).keys() and there.records == RECORDS
        for name, value in vars(batch).items():
            assert type(vars(there)[name]) is type(value), (type(batch), name)
            if isinstance(value, torch.Tensor):
                assert torch.equal(vars(there)[name], value), (type(batch), name)


@pytest.mark.parametrize("batch", KINDS, ids=lambda batch: type(batch).__name__)
def test_a_module_refuses_a_batch_of_another_kind(batch, tiny):
    choices = ("GLAUCOMA", "NON-GLAUCOMA")
    modules = {
        ChatBatch: VisionLanguageModel(str(tiny)),
        CropBatch: Classifier(choices),
        FeatureBatch: NearestNeighbour(Encoder("random", "tiny", 32), choices),
        PictureBatch: FineTuning("random", choices, size="tiny", image_size=32),
    }
    modules[ChatBatch].configure_model()
    for kind, module in modules.items():
        if not isinstance(batch, kind):
            with pytest.raises(TypeError, match=rf"batch=.*expected a .*\.{kind.__name__}\.\nNext: collate"):
                module.respond(batch)
