"""A package of somebody else, `stranger`, adds a source, a task, a section and a command without a line in ours."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.extension import PACKAGE, extensions
from lmod_train.data.sources.discovery import source_classes
from lmod_train.report.section import shipped_sections
from tests.contracts import SourceContract
from tests.installed import installed, write_package
from tests.scoring.make import record

STRANGER = Path(__file__).parent / "stranger"
QUIET = "--trainer.logger false --trainer.enable_progress_bar false"


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The package as if it were installed."""
    write_package(tmp_path / "site", "retina_grades", "")
    monkeypatch.syspath_prepend(STRANGER)
    with installed(tmp_path / "site"):
        yield importlib.import_module("retina_grades")


@pytest.fixture
def drawn(stranger, tmp_path):
    source = importlib.import_module("retina_grades.source")
    source.write(tmp_path / "raw", 6, 0)
    return source.RetinaGrades(tmp_path / "raw" / "grades")


class TestSource(SourceContract):
    own_labels: ClassVar = {"clinic_grade": {"none", "mild", "severe"}}

    @pytest.fixture
    def source(self, drawn):
        return drawn


def test_it_is_short():
    files = [STRANGER / "pyproject.toml", *sorted((STRANGER / "retina_grades").glob("*.py"))]
    assert len(files) == 6 and sum(len(file.read_text().splitlines()) for file in files) <= 120


def test_what_it_adds_is_found_by_name(stranger, capsys, tmp_path):
    assert extensions()[-1] is stranger.EXTENSION
    assert source_classes()["retina_grades"].__module__ == "retina_grades.source"
    names = [type(section).__name__ for section in shipped_sections()]
    assert names[:2] == ["Scores", "Grades"]
    curated = tmp_path / "curated"
    asked = [replace(record(str(i), "MILD", task="clinic_grade"), task="clinic_grade") for i in range(3)]
    write_records(curated / "records" / "clinic_grade.parquet", asked)
    shown = {
        "--help": "\n  retina_grades  Grades of a clinic: retina-grades count\n",
        "list sources": "retina_grades  (CFP; licence: CC0-1.0)\n  retina_grades.source.RetinaGrades\n",
        "list tasks": "clinic_grade  (version 1)\n  retina_grades.task.Grade\n",
        "list options clinic_grade": "retina_grades.task.Grade has no options.\n",
        "retina-grades --help": "\n  count  Count the grades of a curated folder.\n",
        f"retina-grades count {curated}": "MILD 3\n",
    }
    for command, text in shown.items():
        assert cli.main(command.split()) == 0
        said = capsys.readouterr()
        assert text in said.out and not said.err, command


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    """An interpreter of a fresh environment in which pip has installed the package; it sees the libraries of ours."""
    place = tmp_path_factory.mktemp("environment")
    shutil.copytree(STRANGER, place / "stranger", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    own = str(place / "venv" / "bin" / "python")
    (site,) = (place / "venv").glob("lib/python*/site-packages")
    (site / "ours.pth").write_text(f"{PACKAGE.parent}\n{sysconfig.get_paths()['purelib']}\n")
    pip = [sys.executable, "-m", "pip", "--python", own, "install", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, place / "stranger"], check=True, capture_output=True)
    assert (site / "retina_grades" / "command.py").is_file()
    return own


@pytest.mark.slow
def test_installed_by_pip_it_goes_the_whole_way(python, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(command: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        words = [python, "-m", "lmod_train", *shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{command}\n{done.stderr[-3000:]}"
        return done

    assert "\n  retina_grades  Grades of a clinic: retina-grades count\n" in run("--help").stdout
    assert "retina_grades.source.RetinaGrades" in run("list sources").stdout
    run("phantom --sources retina_grades --n 30 --out raw")
    assert "found retina_grades in raw/grades" in run("curate --raw raw --out curated --tasks clinic_grade").stdout
    assert run("retina-grades count curated").stdout == "MILD 10, NONE 10, SEVERE 10\n"
    for command in (
        f"validate --config scripted --data.curated curated --data.split all --run run {QUIET}",
        "rescore run",
        "report run --out report",
    ):
        refused = run(command, 2).stderr
        assert "task_class='retina_grades.task.Grade'" in refused and "it would be imported from " in refused
        again = refused.split("`")[-2].removeprefix("python -m lmod_train ")
        assert again == f"{command} --trust retina_grades.task"
        run(again)
    run("report run --out again --trust retina_grades --sections scores,clinic_grades")
    for report in ("report", "again"):
        assert "30 of 30 grades are right" in (tmp_path / report / "index.html").read_text()
        assert "30 of 30 grades are right" in (tmp_path / report / "tables.md").read_text()
    assert {score.task for *_, score in read_scores(tmp_path / "run" / "scores.csv")} == {"clinic_grade"}
