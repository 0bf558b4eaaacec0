"""`data:` takes a class: a named datamodule of this package, or one of the user's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from lmod_train.cli import main
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.training.callbacks.protocols import EvaluationData

NAMED = "lmod_train.data.datamodules.named.GlaucomaDataModule"

OWN = '''
from lightning import LightningDataModule
from torch.utils.data import DataLoader

from lmod_train import Curated, read_records
from lmod_train.tasks.glaucoma import Glaucoma


class Every(LightningDataModule):
    """Every n-th glaucoma question of a folder."""

    def __init__(self, root: str, n: int = 2) -> None:
        super().__init__()
        task = Glaucoma(image_type="an eye")
        self.images, self.tasks, self.shard, self.choices = Curated(root), {task.name: task}, "", task.choices
        self.kept = [r for r in read_records(self.images.root / "records") if r.task == task.name][::n]
        self.answered = frozenset

    def records(self, split):
        return [r for r in self.kept if split in ("all", r.split)]

    def asked(self, stage):
        return self.records("val" if stage == "fit" else "all")

    def leave_out(self, answered, failed=frozenset):
        self.answered = answered

    def ask_when_due(self, due):
        pass

    def loader(self, records):
        collate = self.trainer.lightning_module.collate
        return DataLoader(records, 4, collate_fn=lambda some: collate(some, self.images))

    def train_dataloader(self):
        return self.loader(self.records("train"))

    def val_dataloader(self):
        done = set(self.answered())
        return self.loader([r for r in self.asked(self.trainer.state.fn) if r.id not in done])


class Bare(LightningDataModule):
    def __init__(self) -> None:
        super().__init__()
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clinic_data.py").write_text(OWN)
    monkeypatch.delitem(sys.modules, "clinic_data", raising=False)


def asked(run: str) -> set[str]:
    return {p.record.id for p in read_predictions(Run(Path(run)).predictions)}


def write(data: object) -> str:
    Path("mine.yaml").write_text(yaml.safe_dump({"model": "configs/model/scripted.yaml", "data": data}))
    return "mine.yaml"


@pytest.mark.parametrize("form", ["short", "path", "class_path", "nested", "flat", "file"])
def test_a_class_is_named_in_every_form(form: str, curated: Path):
    options = {"curated": str(curated), "split": "all"}
    typed = [f"--data.{name}={value}" for name, value in options.items()]
    Path("part.yaml").write_text(yaml.safe_dump({"class_path": NAMED, "init_args": options}))
    given = {
        "short": ["--model", "scripted", "--data", "GlaucomaDataModule", *typed],
        "path": ["--model", "scripted", *typed, f"--data={NAMED}"],
        "class_path": ["--model", "scripted", *typed, "--data.class_path", NAMED],
        "nested": ["--config", write({"class_path": "GlaucomaDataModule", "init_args": options})],
        "flat": ["--config", write({"class_path": NAMED, **options})],
        "file": ["--config", write("part.yaml")],
    }[form]
    assert main(["validate", "--run", "run", *given]) == 0
    assert {id.partition("/")[0] for id in asked("run")} == {"glaucoma"}
    written = Run(Path("run")).read_config()["data"]
    assert written["class_path"] == NAMED and [t["class_path"] for t in written["tasks"]]
    assert main(["validate", "--run", "run", "--config", "run/config.yaml"]) == 0  # its own config continues it


@pytest.mark.parametrize("nested", [True, False])
def test_of_two_configs_the_later_one_names_the_folder(nested: bool, curated: Path):
    options = {"curated": str(curated), "split": "all"}
    Path("second.yaml").write_text(
        yaml.safe_dump({"data": {"class_path": "GlaucomaDataModule", "init_args": options} if nested else options})
    )
    named = [] if nested else ["--data", "GlaucomaDataModule"]
    assert main(["validate", "--run", "run", "--config", "scripted", "--config", "second.yaml", *named]) == 0
    assert {id.partition("/")[0] for id in asked("run")} == {"glaucoma"}


def test_another_class_is_another_run(curated: Path, capsys: pytest.CaptureFixture[str]):
    typed = ["validate", "--run", "run", "--model", "scripted", f"--data.curated={curated}", "--data.split=all"]
    assert main([*typed, "--data.tasks", "glaucoma", "--data", "GlaucomaDataModule"]) == 0
    assert main([*typed, "--data.tasks", "glaucoma"]) == 2
    assert "data.class_path" in capsys.readouterr().err


def test_an_unknown_name_and_an_unknown_option_have_their_cure(curated: Path, capsys: pytest.CaptureFixture[str]):
    typed = ["validate", "--run", "run", "--model", "scripted", "--data.curated", str(curated), "--data"]
    assert main([*typed, "GlaucomDataModule"]) == 2
    assert "did you mean `--data GlaucomaDataModule`?" in capsys.readouterr().err
    assert main([*typed, "GlaucomaDataModule", "--data.splt", "all"]) == 2
    assert "did you mean `--data.split`?" in capsys.readouterr().err
    assert main([*typed, "clinic_data.Nothing"]) == 2
    assert "clinic_data.Nothing" in capsys.readouterr().err
    nested = write({"class_path": "GlaucomaDataModule", "init_args": {"curated": str(curated), "splt": "all"}})
    assert main(["validate", "--run", "run", "--config", nested]) == 2
    assert "did you mean `data.split`?" in capsys.readouterr().err
    assert not Path("run").exists()


def test_the_class_of_a_test_meets_the_contract(curated: Path):
    namespace: dict[str, type] = {}
    exec(OWN, namespace)
    assert isinstance(namespace["Every"](str(curated)), EvaluationData)
    assert not isinstance(namespace["Bare"](), EvaluationData)


def test_a_datamodule_of_ones_own_is_evaluated_continued_and_scored_again(curated: Path):
    typed = ["validate", "--run", "run", "--config", "zero_shot", "--model", "scripted", "--data", "clinic_data.Every"]
    assert main([*typed, "--data.root", str(curated), "--data.n", "3"]) == 0
    every, own = asked("run"), Run(Path("run")).read_config()
    assert 0 < len(every) < 12 and own["data"]["class_path"] == "clinic_data.Every" and own["data"]["n"] == 3
    (task,) = own["provenance"]["tasks"]
    assert task["init_args"]["image_type"] == "an eye"  # not the class's default
    before = read_scores(Run(Path("run")).scores)
    lines = [file.read_text() for file in Run(Path("run")).replies.glob("*.jsonl")]
    assert main([*typed, "--data.root", str(curated), "--data.n", "3"]) == 0
    assert [file.read_text() for file in Run(Path("run")).replies.glob("*.jsonl")] == lines  # nothing is asked again
    assert main(["rescore", "run"]) == 0 and read_scores(Run(Path("run")).scores) == before


def test_a_classifier_trains_on_a_datamodule_of_ones_own(curated: Path):
    typed = ["--model", "cnn", "--model.side", "32", "--data", "clinic_data.Every", "--data.root", str(curated)]
    assert main(["fit", "--run", "fit", *typed, "--data.n", "1", "--trainer.max_epochs", "1"]) == 0
    assert Run(Path("fit")).last.exists()
    checked = ["validate", "--run", "run", *typed, "--ckpt_path", str(Run(Path("fit")).last)]
    assert main(checked) == 0 and len(asked("run")) > 0


def test_what_a_datamodule_lacks_is_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["validate", "--run", "run", "--model", "scripted", "--data", "clinic_data.Bare"]) == 2
    error = capsys.readouterr().err
    assert "datamodule='Bare'" in error and "ask_when_due, asked, images, leave_out, records, shard, tasks" in error


def test_the_doctor_examines_a_datamodule_of_ones_own(curated: Path, capsys: pytest.CaptureFixture[str]):
    own = ["--data", "clinic_data.Every", "--data.root", str(curated), "--data.n", "1"]
    main(["doctor", "--config", "quickstart", *own, "--trainer.accelerator", "cpu"])
    out = capsys.readouterr().out
    assert "supervised tokens of" in out and "has no attribute" not in out
