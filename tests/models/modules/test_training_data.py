"""Modules read their records from a datamodule of records, and from no other."""

import pytest
from lightning import LightningDataModule

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.training_data import training_data
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated


def test_ours_is_taken(tmp_path):
    quiet = trainer(tmp_path)
    quiet.datamodule = RecordsDataModule(write_curated(tmp_path, [record()]), [Glaucoma()], batch_size=3)
    assert training_data(quiet) is quiet.datamodule and training_data(quiet).batch_size == 3


@pytest.mark.parametrize(("other", "named"), [(None, "None"), (LightningDataModule(), "'LightningDataModule'")])
def test_another_is_refused_by_name(tmp_path, other, named):
    quiet = trainer(tmp_path)
    quiet.datamodule = other
    with pytest.raises(BadArgument, match=rf"datamodule={named}: expected a RecordsDataModule.*\nNext: pass"):
        training_data(quiet)
