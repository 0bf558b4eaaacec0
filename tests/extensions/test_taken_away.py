"""The main path works with the folder of any extension taken away, and with all of them taken away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lmod_train.core.extension import PACKAGE
from lmod_train.core.shipped import configs_folder

NAMES = sorted(file.parent.name for file in (PACKAGE / "extensions").glob("*/__init__.py"))
ALL = "all"
QUICK = ["--help", "list tasks"]
READING = ["list sources", "list models", "list configs", "report --help", "curate --help", "export --help"]
WHOLE_WAY = [
    "phantom --n 2 --out raw",
    "curate --raw raw --out curated",
    "validate --config scripted --data.curated curated --data.split all --run run --trainer.logger false",
    "fit --config cnn_glaucoma --data.curated curated --run fitted --trainer.max_steps 2 --trainer.logger false",
    "rescore run",
    "report run --out report",
]


def linked(source: str, to: str) -> None:
    """Copy a file, by a link where that is possible."""
    with suppress(OSError):
        os.link(source, to)
        return
    shutil.copy2(source, to)


def copied(folder: Path, without: list[str], commands: list[str]) -> Path:
    """Copy the package and its configs without some extensions."""
    copy = folder / "lmod_train"
    shutil.copytree(PACKAGE, copy, copy_function=linked)
    for name in without:
        shutil.rmtree(copy / "extensions" / name)
    if not (copy / "configs").is_dir():
        shutil.copytree(configs_folder(), folder / "configs", copy_function=linked)
    (folder / "commands").write_text("\n".join(commands))
    return folder


def run(*arguments: Path | str) -> None:
    """Run the commands of copies; this is one process, as importing the libraries takes seconds."""
    program = Path(__file__).parents[1] / "taken_away.py"
    environment = {**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, program, *arguments], env=environment, check=True)


def failures(copy: Path) -> list[str]:
    """Return the commands of a copy that did not end with 0, and what was printed."""
    failed = [line for line in (copy / "statuses").read_text().splitlines() if not line.startswith("0\t")]
    return [*failed, (copy / "printed").read_text()[-4000:]] if failed else []


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> dict[str, Path]:
    """The package without each extension, and without all, where the quick commands have been run."""
    place = tmp_path_factory.mktemp("copies")
    found = {name: copied(place / name, [name], QUICK) for name in NAMES}
    found[ALL] = copied(place / ALL, NAMES, [*QUICK, *READING])
    run(*found.values())
    return found


@pytest.mark.parametrize("name", [*NAMES, ALL])
def test_help_and_tasks_are_listed_without_an_extension(copies, name):
    assert not failures(copies[name])
    printed = (copies[name] / "printed").read_text()
    shown = printed.partition("$ list tasks")[0].partition("extensions:")[2]
    assert [other for other in NAMES if f"\n  {other} " in shown] == [n for n in NAMES if name not in (n, ALL)]
    assert f"lmod_train.extensions.{name}" not in printed and "\nextension " not in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, ALL])
def test_the_whole_way_without_one_extension_and_without_all(tmp_path, name):
    """The modules of the main path and of the other extensions among it."""
    copy = copied(tmp_path / "copy", NAMES if name == ALL else [name], ["import", *READING, *WHOLE_WAY])
    run("--libraries", copy)
    assert not failures(copy) and (copy / "run" / "scores.csv").is_file() and (copy / "report" / "index.html").is_file()
