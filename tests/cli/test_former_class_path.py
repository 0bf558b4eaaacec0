"""A run of an earlier version, whose ``config.yaml`` holds a former class path, is used as any other run."""

import re
import shutil
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.shipped import configs_folder

FORMER, TODAY = (
    "lmod_train.modules.conversation.Conversation",
    "lmod_train.models.modules.conversation.VisionLanguageModel",
)
WORDS = ["--model.init_args.max_new_tokens", "2"]
CALLBACK = "lmod_train.training.callbacks.prediction_table.PredictionTable"
QUIET = [
    *("--trainer.enable_progress_bar", "false", "--trainer.logger", "false", "--doctor.refuse", "false"),
    f"--trainer.callbacks+={CALLBACK}",
]
SHORT = ["--trainer.max_epochs", "1", "--trainer.check_val_every_n_epoch", "1", "--data.limit", "2"]


@pytest.fixture(scope="module")
def trained(curated: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """A short training in the run folder ``old``, whose config then holds the former class path."""
    config = ["--config", str(configs_folder() / "quickstart.yaml"), "--data.curated", str(curated)]
    typed = ["fit", *config, "--model.init_args.checkpoint", str(tiny), *SHORT, *WORDS, *QUIET, "--run", "old"]
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        assert cli.main(typed) == 0
    written = folder / "old" / "config.yaml"
    assert TODAY in written.read_text()
    former = written.read_text().replace(TODAY, FORMER)
    assert CALLBACK in former
    written.write_text(former.replace(CALLBACK, CALLBACK.replace(".training.", ".")))
    return typed, folder / "old"


@pytest.fixture
def fit(trained: tuple[list[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command of that training, and a copy of its run folder ``old`` in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained[1], tmp_path / "old")
    return trained[0]


def test_it_is_continued_by_the_command_that_began_it(fit: list[str]):
    before = read_replies(Path("old/replies"))
    assert before and cli.main(fit) == 0
    assert read_replies(Path("old/replies")) == before
    assert f"class_path: {TODAY}\n" in Path("old/config.yaml").read_text()


def test_an_option_that_it_did_not_have_has_its_default_and_no_other_value(fit: list[str]):
    written = Path("old/config.yaml")
    (added,) = re.findall("^ *likelihoods: none\n", written.read_text(), re.M)
    written.write_text(written.read_text().replace(added, ""))
    assert cli.main(fit) == 0
    assert cli.main([*fit, "--model.init_args.likelihoods", "sum"]) == 2


def test_its_replies_are_scored_again_and_reported(fit: list[str]):
    scores = Path("old/scores.csv").read_text()
    assert cli.main(["rescore", "old"]) == 0 and Path("old/scores.csv").read_text() == scores
    assert cli.main(["report", "old", "--out", "page"]) == 0 and any(Path("page").iterdir())


def test_its_config_and_checkpoint_are_evaluated(fit: list[str]):
    typed = ["validate", "--config", "old/config.yaml", "--ckpt_path", "old/checkpoints/last.ckpt", "--run", "new"]
    assert cli.main(typed) == 0 and cli.main(typed) == 0, "begun, and continued"
    assert f"class_path: {TODAY}\n" in Path("new/config.yaml").read_text()
    assert {step for _, step, _ in read_replies(Path("new/replies"))} == {1}


def test_own_configs_and_arguments_may_hold_former_class_paths(curated: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = "class_path: lmod_train.tasks.four_way.FourWay"
    Path("own.yaml").write_text(
        "model:\n  class_path: lmod_train.modules.frozen.Frozen\n  init_args:\n    backend:\n"
        "      class_path: lmod_train.backends.scripted.Scripted\n      init_args: {text: Normal}\n"
        f"data:\n  curated: {curated}\n  tasks:\n    - {task}\n"
    )
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
    assert cli.main(["validate", "--config", "own.yaml", *quiet, "--run", "one"]) == 0
    typed = ["--model", "lmod_train.modules.frozen.Frozen", "--model.backend", "lmod_train.backends.scripted.Scripted"]
    backend = ["--model.backend.text", "Normal", "--data.tasks", f"[{{{task}}}]", "--data.curated", str(curated)]
    assert cli.main(["validate", *typed, *backend, *quiet, "--run", "two"]) == 0
    assert read_replies(Path("one/replies")).keys() == read_replies(Path("two/replies")).keys()
    for run in ("one", "two"):
        assert "lmod_train.models.backends.scripted.Scripted" in Path(run, "config.yaml").read_text()


def test_the_cure_of_a_plug_in_whose_import_moved_names_the_new_one(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("former.py").write_text("from lmod_train.sources.base import Source\n\n\nclass Former(Source):\n    pass\n")
    tasks = "tasks:\n  - class_path: lmod_train.tasks.glaucoma.Glaucoma\n"
    Path("own.yaml").write_text(f"protocol: own\nsources:\n  - class_path: former.Former\n{tasks}")
    Path("raw").mkdir()
    with pytest.raises(SystemExit, match="2"):
        cli.main(["curate", "--config", "own.yaml", "--raw", "raw", "--out", "OUT"])
    said = capsys.readouterr().err
    assert "\nNext: lmod_train.sources is lmod_train.data.sources now; import " in said
