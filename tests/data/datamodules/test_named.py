"""Datamodules of one task or benchmark, and their use with a LightningModule that has no dialect of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lightning import LightningModule, Trainer
from PIL import Image
from torch.nn import functional
from torchvision.transforms.functional import to_tensor

from lmod_train.cli.typed import content_of
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import config_files
from lmod_train.data.datamodules import named
from lmod_train.data.datamodules.named import AnatomyDataModule, GlaucomaDataModule, LmodDataModule, LmodPlusDataModule
from lmod_train.data.datamodules.plain_images import PlainBatch, PlainImages
from lmod_train.tasks.building import build
from lmod_train.tasks.four_way import FourWay

CLASSES = [c for c in vars(named).values() if isinstance(c, type) and c.__module__ == named.__name__]
NAMED_BY_THE_USER = ("Own", "Probe", "Perturbed")


def name_of(task: dict) -> str:
    return build(task["class_path"], task.get("init_args") or {}).name


def shipped_tasks() -> set[str]:
    """Names of the tasks in the shipped configs of the main path, but those that the user names."""
    files = [file for file in config_files("task").values() if "extensions" not in file.parts]
    found = [content_of("--tasks", str(file)) for file in files]
    found += content_of("--config", str(config_files("curate")["default"]))["tasks"]
    return {name_of(t) for t in found if t["class_path"].rpartition(".")[2] not in NAMED_BY_THE_USER}


def test_each_task_has_a_datamodule_and_each_name_is_a_task():
    single = {name for c in CLASSES if not c.protocols for name in c.of}
    assert single == shipped_tasks() | {"question"}


@pytest.mark.parametrize("kind", [LmodDataModule, LmodPlusDataModule])
def test_a_benchmark_has_the_tasks_of_its_protocols(kind):
    for protocol in kind.protocols:
        tasks = content_of("--config", str(config_files("curate")[protocol]))["tasks"]
        assert {name_of(task) for task in tasks} <= set(kind.of)
    first = content_of("--config", str(config_files("curate")[kind.protocols[0]]))["tasks"]
    assert set(kind.of) == {name_of(task) for task in first}


def test_tasks_are_those_of_the_folder_as_they_were_curated(curated: Path):
    anatomy = AnatomyDataModule(curated)
    assert list(anatomy.tasks) == ["anatomy"]
    stated = read_manifest(curated)["settings"]["tasks"]
    assert anatomy.tasks["anatomy"].settings()["options"] == stated["anatomy/en"]["settings"]["options"]


def test_a_benchmark_says_what_the_folder_lacks(curated: Path, capsys: pytest.CaptureFixture[str]):
    manifest = read_manifest(curated)
    assert manifest["protocol"] == "lmod_v1"
    assert list(LmodDataModule(curated).tasks) == ["anatomy", "glaucoma"]
    assert "no records of macular_hole_stage, sex, age_group; used: anatomy, glaucoma" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="LmodPlusDataModule is for the protocol lmod_plus; this folder's is lmod_v1"):
        assert list(LmodPlusDataModule(curated).tasks) == ["anatomy", "four_way", "glaucoma"]


def test_other_tasks_and_a_folder_without_records_are_refused(curated: Path):
    with pytest.raises(BadArgument, match="tasks of GlaucomaDataModule: glaucoma"):
        GlaucomaDataModule(curated, [FourWay()])
    with pytest.raises(BadArgument, match="a folder with records of sdrg; this one has anatomy, four_way, glaucoma"):
        named.SdrgDataModule(curated)


def test_without_a_trainer_batches_hold_images_and_classes(curated: Path):
    data = GlaucomaDataModule(curated, batch_size=4, split="all", eval_batch_size=3)
    data.collate = PlainImages(32, {"glaucoma": data.choices})
    data.setup("fit")
    trained = [record for batch in data.train_dataloader() for record in batch.records]
    assert {r.split for r in trained} == {"train"} and len(trained) == len(data.records("train"))
    data.setup("validate")
    seen = set()
    for batch in data.val_dataloader():
        assert isinstance(batch, PlainBatch) and batch.images.shape == (len(batch), 3, 32, 32)
        for record, image, target in zip(batch.records, batch.images, batch.targets, strict=True):
            assert record.answer == data.choices[target]
            pixels = Image.open(curated / record.image[0]).convert("RGB").resize((32, 32), Image.Resampling.BICUBIC)
            assert torch.equal(image, to_tensor(pixels))
            seen.add(int(target))
    assert seen == {0, 1}


def test_an_answer_that_is_not_one_class_is_refused_as_a_target_and_its_image_is_there(curated: Path):
    data = AnatomyDataModule(curated, split="all", eval_batch_size=1)
    data.setup("validate")
    batches = list(data.val_dataloader())
    assert [len(batch.images) for batch in batches] == [1] * len(data.asked("validate"))
    for batch in batches:
        assert len(batch.records[0].regions) > 1
        with pytest.raises(BadArgument, match=r"data\.tasks='anatomy': expected one class an answer, not 'Region"):
            assert batch.targets is None


def test_choices_that_no_answer_has_are_refused(curated: Path):
    data = GlaucomaDataModule(curated, split="all")
    data.collate = PlainImages(8, {"glaucoma": ("Ja", "Nein")})
    data.setup("validate")
    (batch, *_) = data.val_dataloader()
    with pytest.raises(BadArgument, match=r"PlainImages.choices"):
        assert batch.targets is None


def test_a_record_without_an_image_or_with_two_is_refused(curated: Path):
    from dataclasses import replace

    data = GlaucomaDataModule(curated, split="all")
    data.setup("validate")
    record = data.asked("validate")[0]
    for image in ((), record.image * 2):
        with pytest.raises(BadArgument, match=f"has {len(image) or 'none'}"):
            PlainImages(8)([replace(record, image=image)], curated)
    assert len(PlainImages(8)([], curated)) == 0


class Plain(LightningModule):
    """A module that knows nothing of this package."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3 * 16 * 16, 2)

    def _loss(self, batch: PlainBatch) -> torch.Tensor:
        return functional.cross_entropy(self.layer(batch.images.flatten(1)), batch.targets)

    def training_step(self, batch: PlainBatch, batch_idx: int) -> torch.Tensor:
        return self._loss(batch)

    def validation_step(self, batch: PlainBatch, batch_idx: int) -> None:
        self.log("val/loss", self._loss(batch), batch_size=len(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


@pytest.mark.parametrize("precision", ["32-true", "bf16-true", "64-true"])
def test_any_lightning_module_trains_on_it(curated: Path, tmp_path: Path, precision: str):
    data = GlaucomaDataModule(curated, batch_size=4, split="all")
    data.collate = PlainImages(16, {"glaucoma": data.choices})
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "precision": precision}
    trainer = Trainer(max_epochs=3, accelerator="cpu", default_root_dir=tmp_path, enable_model_summary=False, **options)
    module = Plain()
    before = module.layer.weight.clone()
    trainer.fit(module, datamodule=data)
    assert not torch.equal(before, module.layer.weight) and "val/loss" in trainer.callback_metrics
    assert trainer.global_step == 3 * len(data.train_dataloader())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("batch_size", 0), ("batch_size", -1), ("eval_batch_size", 0), ("max_questions", 0), ("limit", -1),
        ("workers", -1), ("balance", "classes"), ("regime", "cas"), ("tasks", ["glaucoma"]),
    ],
)  # fmt: skip
def test_an_option_out_of_its_range_is_refused_before_anything_is_read(option: str, value: object, curated: Path):
    with pytest.raises(BadArgument, match=f"data.{option}="):
        GlaucomaDataModule(curated, **{option: value})


def test_loaders_read_the_folder_without_setup(curated: Path):
    alone = GlaucomaDataModule(curated, batch_size=4)
    assert sum(map(len, alone.train_dataloader())) == len(alone.records("train")) > 0
    assert sum(map(len, GlaucomaDataModule(curated).val_dataloader())) == len(alone.records("val")) > 0
