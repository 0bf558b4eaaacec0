"""A model is not validated externally on what it was trained on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import TrainedImage, read_training_set
from lmod_train.training.callbacks import training_images as training_set
from lmod_train.training.callbacks.training_images import Leaked, TrainingSet, leaks
from tests.tiny import record


def of(name, source="a", **fields):
    return record(f"glaucoma/{source}/{name}", source=source, **{"image_sha256": (f"sha {name}",), **fields})


class Data:
    """A datamodule of given records."""

    def __init__(self, records, external, families, fold=""):
        self._records, self.external, self.fold = records, external, fold
        self._families = {r.id: families.get(r.id, r.id) for r in records}

    def families(self):
        return self._families

    def records(self, split):
        return [r for r in self._records if r.split == split]

    def asked(self, stage):
        return self.records(stage)


def trainer(folder: Path, data: Any, checkpoint: Path | None = None) -> Any:
    return SimpleNamespace(datamodule=data, default_root_dir=str(folder), ckpt_path=checkpoint, is_global_zero=True)


@pytest.fixture
def trained(tmp_path):
    """A run that was trained on source a: one image each of three patients, and validated on a fourth."""
    records = [of(str(i), split="train") for i in range(3)] + [of("3", split="val"), of("4", split="test")]
    TrainingSet().on_fit_start(trainer(tmp_path / "FIT", Data(records, True, {})), None)
    return tmp_path / "FIT" / "checkpoints" / "last.ckpt"


TESTED = [of("1", "b", split="test", image_sha256=("sha 1",)), of("8", "b", split="test"), of("9", "b", split="test"),
          of("5", "b", split="test", image_sha256=("sha 3",))]  # fmt: skip
"""A copy of a training image, a photograph of a training patient (as `FAMILIES` knows), an unseen one, and a copy of an
image of the validation split."""
FAMILIES = {"glaucoma/b/8": "glaucoma/a/2"}


def test_the_images_of_both_splits_are_recorded(trained):
    found = read_training_set(trained.parents[1])
    assert found[0] == TrainedImage("train", "a", "glaucoma/a/0", "sha 0")
    assert [(i.split, i.sha256) for i in found] == [
        ("train", "sha 0"),
        ("train", "sha 1"),
        ("train", "sha 2"),
        ("val", "sha 3"),
    ]


def test_copies_and_patients_of_the_training_are_refused_with_the_others_listed(trained, tmp_path):
    data = Data(TESTED, True, FAMILIES)
    with pytest.raises(
        Leaked, match=r"^3 of 4 records belong to the training of .*glaucoma/b/1 \(the same image file\)"
    ) as error:
        TrainingSet().on_test_start(trainer(tmp_path / "TEST", data, trained), None)
    unseen = Run(tmp_path / "TEST").unseen
    assert unseen.read_text() == "glaucoma/b/9\n" and str(error.value).endswith(f"add `--data.subset {unseen}`")
    TrainingSet().on_test_start(trainer(tmp_path / "TEST", Data(TESTED[2:3], True, {}), trained), None)


def test_within_the_sources_of_the_training_a_leak_is_a_warning(trained, tmp_path, monkeypatch):
    warned = []
    monkeypatch.setattr(training_set, "rank_zero_warn", warned.append)
    TrainingSet().on_test_start(trainer(tmp_path / "TEST", Data(TESTED, False, {}), trained), None)
    assert len(warned) == 1 and warned[0].startswith("2 of 4 records")
    TrainingSet().on_test_start(trainer(tmp_path / "TEST", Data(TESTED[2:], False, {}), None), None)
    assert len(warned) == 1, "without a checkpoint there is nothing to compare with"


def test_a_checkpoint_without_a_list_is_named(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(training_set, "rank_zero_info", said.append)
    TrainingSet().on_test_start(trainer(tmp_path, Data(TESTED, True, {}), tmp_path / "x" / "last.ckpt"), None)
    assert "leaks cannot be checked" in said[0]


def test_records_without_hashes_leak_by_their_family_only():
    bare = [of("1", image_sha256=()), of("2", image_sha256=())]
    images = [TrainedImage("train", "a", "f", "")]
    assert leaks(bare, {bare[0].id: "f", bare[1].id: "g"}, images) == {bare[0].id: "the same patient or photograph"}
    assert leaks(bare, {}, []) == {}


def test_a_patient_of_the_training_is_found_in_every_way_of_asking(trained, tmp_path):
    asked = [record(f"{r.id}{end}", source="b", image_sha256=r.image_sha256, split="test", tags=tags)
             for r in TESTED for end, tags in (("", {"order": "0"}), ("/order-1", {"order": "1"}))]  # fmt: skip
    data = Data(TESTED, True, FAMILIES)
    data.asked = lambda stage: asked
    with pytest.raises(Leaked, match=r"^6 of 8 records"):
        TrainingSet().on_test_start(trainer(tmp_path / "TEST", data, trained), None)
    assert Run(tmp_path / "TEST").unseen.read_text() == "glaucoma/b/9\n", "ids as curated, which data.subset takes"


def test_what_asks_about_a_changed_training_image_leaks_and_who_is_shown_it_does_not():
    """Eye 1 was trained on; eye 2 was not, and is once asked about with eye 1 in its place."""
    shown = {"1/as_is": "sha 1", "1/evidence_removed.blur": "sha x", "1/other_answer": "sha 2",
             "2/as_is": "sha 2", "2/other_answer": "sha 1"}  # fmt: skip
    asked = [of(n, variant=n[2:], image_sha256=(digest,)) for n, digest in shown.items()]
    families = {r.id: f"eye {n[0]}" for n, r in zip(shown, asked, strict=True)}
    found = leaks(asked, families, [TrainedImage("train", "a", "sha 1", "sha 1")])
    assert {name.removeprefix("glaucoma/a/"): why for name, why in found.items()} == {
        "1/as_is": "the same image file",
        "1/evidence_removed.blur": "the same patient or photograph",
        "1/other_answer": "the same patient or photograph",
        "2/other_answer": "the same image file",
    }
