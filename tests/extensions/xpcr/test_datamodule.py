"""The datamodules of X-PCR: their tasks, and each of their questions once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from lmod_train.cli.short_names import data_class
from lmod_train.cli.typed import content_of
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.shipped import config_files
from lmod_train.core.types import class_path
from lmod_train.data.curation.pipeline import curate
from lmod_train.extensions.xpcr import phantom
from lmod_train.extensions.xpcr.datamodule import ChainDataModule, CrossModalityDataModule, XpcrDataModule
from lmod_train.extensions.xpcr.source import Xpcr
from lmod_train.extensions.xpcr.tasks import Chain, CrossModality
from lmod_train.tasks.building import build


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xpcr")
    phantom.write(folder, 24, 2, size=32, workers=0)
    source = Xpcr(folder / "X-PCR")
    curate([source], [Chain(), CrossModality()], folder / "curated", balance=(), workers=1, progress=False)
    return folder / "curated"


def test_their_tasks_are_those_of_the_published_curation():
    tasks = content_of("--config", str(config_files("curate")["xpcr"]))["tasks"]
    assert {build(t["class_path"], t.get("init_args") or {}).name for t in tasks} == set(XpcrDataModule.of)
    assert set(XpcrDataModule.of) == {*ChainDataModule.of, *CrossModalityDataModule.of}
    assert data_class(["--data", "XpcrDataModule"]) == class_path(XpcrDataModule)


@pytest.mark.parametrize("kind", [ChainDataModule, CrossModalityDataModule, XpcrDataModule])
def test_each_gives_the_questions_of_its_tasks_once(curated: Path, kind: type[XpcrDataModule]):
    data = kind(curated, split="all", eval_batch_size=5)
    data.collate = lambda records, root: SimpleNamespace(records=records)
    data.setup("validate")
    batches = [batch.records for batch in data.val_dataloader()]
    records = [record for batch in batches for record in batch]
    assert {record.task for record in records} == set(kind.of)
    stored = [record.id for record in read_records(curated / "records") if record.task in kind.of]
    assert sorted(record.id for record in records) == sorted(stored) and stored
