"""What callbacks and modules ask of each other and of the datamodule: kept by ours, refused of others."""

import pytest
from lightning import LightningDataModule, LightningModule

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.scripted import Scripted
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.protocols import Answering, EvaluationData, answering, data_of
from tests.tiny import record, trainer, write_curated


@pytest.fixture
def data(tmp_path):
    return RecordsDataModule(write_curated(tmp_path, [record()]), [Glaucoma()])


def test_ours_keep_them(data, tmp_path):
    module, quiet = Frozen(Scripted(text="a")), trainer(tmp_path)
    assert isinstance(data, EvaluationData) and isinstance(module, Answering)
    quiet.datamodule = data
    assert data_of(quiet) is data and answering(module) is module


@pytest.mark.parametrize("other", [None, LightningDataModule()])
@pytest.mark.parametrize("callback", [GenerationEval(), BestCheckpoint()])
def test_another_datamodule_is_refused_by_name(callback, other, tmp_path):
    quiet = trainer(tmp_path)
    quiet.datamodule = other
    named = "None" if other is None else "'LightningDataModule'"
    cure = "pass" if other is None else "add to it"
    with pytest.raises(BadArgument, match=rf"datamodule={named}: expected a RecordsDataModule.*\nNext: {cure}"):
        callback.setup(quiet, Frozen(Scripted(text="a")), "validate")


def test_a_module_that_does_not_answer_is_refused_by_name(data, tmp_path):
    quiet = trainer(tmp_path)
    quiet.datamodule = data
    data.setup("validate")
    with pytest.raises(BadArgument, match=r"model='LightningModule'.*\nNext: derive it from lmod_train"):
        GenerationEval().setup(quiet, LightningModule(), "validate")


def test_what_has_a_reply_is_left_out_of_evaluation_and_no_more_once_told_so(tmp_path):
    asked = [record(f"glaucoma/p/{i}", image=["a.png"], split="val") for i in range(4)]
    data, quiet, seen = RecordsDataModule(write_curated(tmp_path, asked), [Glaucoma()]), trainer(tmp_path), []

    class Watch(Scripted):
        def respond(self, batch):
            seen.extend(r.id for r in batch.records)
            return super().respond(batch)

    data.leave_out(lambda: [r.id for r in asked[:3]])
    quiet.validate(Frozen(Watch(text="GLAUCOMA")), datamodule=data, verbose=False)
    assert seen == [asked[3].id]
    data.leave_out(frozenset)
    quiet.validate(Frozen(Watch(text="GLAUCOMA")), datamodule=data, verbose=False)
    assert seen == [asked[3].id, *(r.id for r in asked)]
