"""A source, a task, a parser and a family outside the package work alike, whichever front door is used.

The doors are ``python -m lmod_train`` and the installed script `lmod-train`, which Python starts without the working
folder on its path.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lmod_train.cli.listing import options_text, tasks
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.extension import PACKAGE
from lmod_train.core.shipped import configs_folder
from tests import forks

SCRIPT = "import sys\nfrom lmod_train.__main__ import run\nif __name__ == '__main__':\n    sys.exit(run())\n"
PARSER = '''"""Reads the last word of a reply."""

from lmod_train.core.types import Unparsed


def last_word(text, choices):
    words = text.split()
    return words[-1] if words and words[-1] in choices else Unparsed("no_match")
'''
TASK = '''"""Is the picture bright?"""

from lmod_train.tasks.glaucoma import Glaucoma
from {here}reading import last_word


class Mine(Glaucoma):
    """Asks as the glaucoma task does and reads the last word."""

    name = "mine"
    version = 1

    def __init__(self, suffix: str = "") -> None:
        super().__init__()
        self.name = f"mine{{suffix}}"

    def parse(self, reply, record):
        return last_word(reply.reply, record.choices)
'''
SOURCE = '''"""REFUGE, under a name of our own."""

from lmod_train.data.sources.refuge import Refuge


class Clinic(Refuge):
    """The clinic's own eyes."""

    name = "clinic"
'''
FAMILY = '''"""A LLaVA whose pictures are turned by 180 degrees."""

from lmod_train.models.chat.family.llava import Llava


class Turned(Llava):
    model_type = "llava"

    def shaped(self, picture, processor):
        print("turned", flush=True)
        return super().shaped(picture.rotate(180), processor)
'''
QUIET = ["--trainer.accelerator", "cpu", "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
DOORS = pytest.mark.parametrize("door", ["module", "script"])
KINDS = pytest.mark.parametrize("package", ["", "clinic_code."], ids=["files", "package"])


def write_plug_in(folder: Path, package: str) -> None:
    """Write the four modules, as plain files or as a package, and the configs that name their classes."""
    room = folder / package.rstrip(".") if package else folder
    room.mkdir(exist_ok=True)
    if package:
        (room / "__init__.py").write_text("")
    for name, text in {
        "reading": PARSER,
        "mine": TASK.format(here=package),
        "clinic": SOURCE,
        "turned": FAMILY,
    }.items():
        (room / f"{name}.py").write_text(text)
    (folder / "curate.yaml").write_text(
        f"protocol: mine\nsources:\n- class_path: {package}clinic.Clinic\n"
        f"tasks:\n- class_path: {package}mine.Mine\n  init_args: {{suffix: _2}}\nworkers: 2\n"
    )
    data = f"  curated: curated\n  tasks:\n  - class_path: {package}mine.Mine\n    init_args: {{suffix: _2}}\n"
    scripted = configs_folder() / "model" / "scripted.yaml"
    (folder / "ask.yaml").write_text(f"model: {scripted}\ndata:\n{data}  split: all\n")
    (folder / "tune.yaml").write_text(
        "model:\n  class_path: lmod_train.models.modules.conversation.VisionLanguageModel\n  init_args:\n"
        f"    checkpoint: small_base\n    max_new_tokens: 4\n    family: {package}turned.Turned\ndata:\n{data}"
    )


def typed(door: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command through one front door, standing in `folder`."""
    script = folder / "bin" / "lmod-train"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT)
    first = ["-m", "lmod_train"] if door == "module" else [str(script)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *first, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def done(door: str, folder: Path, *arguments: str) -> str:
    ended = typed(door, folder, *arguments)
    assert ended.returncode == 0, f"{arguments}\n{ended.stdout[-2000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


def cured(door: str, folder: Path, module: str, *arguments: str) -> str:
    """Run what is refused, then what its message asks to be typed, as printed but for the door."""
    refused = typed(door, folder, *arguments)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr, refused.stderr
    (cure,) = re.findall(r"`(python -m lmod_train [^`]+)`", refused.stderr)
    assert cure.endswith(f"--trust {module}mine")
    return done(door, folder, *shlex.split(cure)[3:])


def test_the_script_is_what_the_package_declares():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"lmod-train": "lmod_train.__main__:run"}


@pytest.mark.slow
@DOORS
@KINDS
def test_a_plug_in_goes_the_whole_way(tmp_path: Path, door: str, package: str):
    write_plug_in(tmp_path, package)
    done(door, tmp_path, "phantom", "--out", "raw", "--n", "12", "--sources", "refuge")
    done(door, tmp_path, "curate", "--config", "curate.yaml", "--raw", "raw", "--out", "curated")
    assert {r.source for r in read_records(tmp_path / "curated" / "records")} == {"clinic"}
    done(door, tmp_path, "validate", "--config", "ask.yaml", "--run", "run", *QUIET)
    assert {s.task for *_, s in read_scores(tmp_path / "run" / "scores.csv")} == {"mine_2"}
    cured(door, tmp_path, package, "rescore", "run")
    assert {p.status for p in read_predictions(tmp_path / "run" / "predictions.parquet")} == {"answered"}
    cured(door, tmp_path, package, "report", "run", "--out", "the report")
    cured(door, tmp_path, package, "export", "curated", "--to", "vlmevalkit", "--out", "table", "--for_own_use")
    listed = done(door, tmp_path, "list", "tasks") + done(door, tmp_path, "list", "sources")
    assert f"  {package}mine.Mine\n" in listed and f"  {package}clinic.Clinic\n" in listed
    done(door, tmp_path, "blind", "curated")
    done(door, tmp_path, "subset", "curated", "--n", "4")


@pytest.mark.slow
@DOORS
@KINDS
def test_a_family_of_ones_own_prepares_the_pictures_in_doctor_fit_and_merge(tmp_path: Path, door: str, package: str):
    write_plug_in(tmp_path, package)
    done(door, tmp_path, "phantom", "--out", "raw", "--n", "12", "--sources", "refuge")
    done(door, tmp_path, "curate", "--config", "curate.yaml", "--raw", "raw", "--out", "curated")
    assert "turned" in typed(door, tmp_path, "doctor", "--config", "tune.yaml", "--run", "looked", *QUIET).stdout
    short = ["--trainer.max_steps", "1", "--trainer.limit_val_batches", "0", "--doctor.refuse", "false"]
    assert "turned" in done(door, tmp_path, "fit", "--config", "tune.yaml", "--run", "fit", *QUIET, *short)
    merge = [
        "weights",
        "merge",
        "--ckpt",
        "fit/checkpoints/last.ckpt",
        "--out",
        "merged",
        "--family",
        f"{package}turned.Turned",
    ]
    assert "wrote merged" in done(door, tmp_path, *merge)


@pytest.mark.slow
def test_a_family_that_is_none_or_of_another_checkpoint_is_refused(tmp_path: Path):
    write_plug_in(tmp_path, "")
    (tmp_path / "turned.py").write_text(FAMILY.replace('"llava"', '"fuyu"'))
    merge = ["weights", "merge", "--ckpt", "x", "--out", "y", "--family"]
    outside = {"turned.Nothing": typed("script", tmp_path, *merge, "turned.Nothing")}
    for family in ("reading.last_word", "nowhere.Family"):
        outside[family] = forks.run(["-m", "lmod_train", *merge, family], tmp_path)
    for family, refused in outside.items():
        assert refused.returncode == 2 and f"--family={family!r}" in refused.stderr, refused.stderr
    asked = "from lmod_train.models.backends.huggingface import HuggingFace\nfrom turned import Turned\n"
    ended = forks.run(["-c", f"{asked}HuggingFace('small_base', family=Turned)"], tmp_path)
    assert "family='turned.Turned': expected a class whose model_type is 'llava'" in ended.stderr


def test_own_tasks_are_listed_from_text_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = tasks()
    write_plug_in(tmp_path, "")
    write_plug_in(tmp_path, "clinic_code.")
    (tmp_path / "broken.py").write_text("def broken(:\n")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    monkeypatch.chdir(tmp_path)
    added = tasks().removeprefix(before)
    assert [line.strip() for line in added.splitlines() if ".Mine" in line] == ["mine.Mine", "clinic_code.mine.Mine"]
    for name in ("mine.Mine", "clinic_code.mine.Mine", "mine"):
        assert "suffix" in options_text(name)
    assert "mine" not in sys.modules
