"""The user's own classes, and nobody else's: what lies in the working folder or in a received one is not executed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.typed import own_classes, own_modules
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import read_records, write_records, write_run_records
from lmod_train.core.artifacts.replies import reply_line
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.extension import PACKAGE
from lmod_train.data.formats.export import formats
from tests import forks
from tests.report.make import run as write_run

OPTIONAL = (
    "numexpr",
    "bottleneck",
    "orjson",
    "ujson",
    "lxml",
    "IPython",
    "dask",
    "cupy",
    "jax",
    "tensorflow",
    "polars",
)
"""What libraries try to import without asking for it."""

MARKS = "import os\nopen({mark!r}, 'a').write(__name__ + chr(10))\n"
EVIL = MARKS + "from lmod_train.tasks.glaucoma import Glaucoma\nclass Evil(Glaucoma):\n    pass\n"
FORMATS = tuple(formats())


def copied(source: Path, to: Path) -> None:
    """Copy a file or a folder."""
    (shutil.copytree if source.is_dir() else shutil.copy)(source, to)


def shadows() -> list[str]:
    """Names of every module of Python's own and of every installed package but ours."""
    names = {*sys.stdlib_module_names, *packages_distributions(), *OPTIONAL, "sitecustomize", "usercustomize"}
    return sorted(n for n in names if n.isidentifier() and n not in ("lmod_train", "tests"))


def write_shadows(folder: Path, mark: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in shadows():
        (folder / f"{name}.py").write_text(MARKS.format(mark=str(mark)))
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    (folder / "lmod_train").mkdir(exist_ok=True)  # a folder without __init__.py comes after every real package
    (folder / "lmod_train" / "evil.py").write_text(EVIL.format(mark=str(mark)))


@pytest.fixture(scope="module")
def received(curated, tmp_path_factory):
    """A run and a curated folder, in a working folder full of shadows, which lie in both of them too."""
    place = tmp_path_factory.mktemp("received")
    mark = place / "mark"
    shutil.copytree(curated, place / "here" / "curated")
    write_run(place / "here" / "run", 0.8, curated=place / "here" / "curated")
    (place / "here" / "run" / "replies").mkdir()
    said = read_predictions(place / "here" / "run" / "predictions.parquet")
    said = [replace(p, reply=replace(p.reply, asked=f"asked {p.record.id}")) for p in said]
    write_predictions(place / "here" / "run" / "predictions.parquet", said)
    asked = {p.record.id: p.reply.asked for p in said}
    write_run_records(place / "here" / "run" / "records.parquet", [p.record for p in said], asked)
    lines = "".join(reply_line(p.reply) for p in said)
    (place / "here" / "run" / "replies" / "rank-0.jsonl").write_text(lines)
    for folder in (place / "here", place / "here" / "run", place / "here" / "curated"):
        write_shadows(folder, mark)
    return place


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does who stands in `folder`, with the package installed elsewhere."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "lmod_train", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def forked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as `started` does, where nothing has to be imported under the eyes of the test."""
    return forks.run(["-m", "lmod_train", *arguments], folder)


COMMANDS = {
    "report": ["report", "run", "--out", "report"],
    "rescore": ["rescore", "run"],
    **{f"export {to}": ["export", "curated", "--to", to, "--out", to, "--for_own_use"] for to in FORMATS},
}


QUICK = ("rescore", "export hugging_face")
"""The commands with the fewest and the most imports; each is an interpreter that starts anew."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in COMMANDS])
def test_nothing_of_the_working_folder_is_executed_by_a_command_that_reads(received, name):
    """With ``-m`` Python itself puts the working folder first: a ``yaml.py`` in it would be ours."""
    done = started(received / "here", *COMMANDS[name])
    assert not (received / "mark").exists(), f"executed: {(received / 'mark').read_text()}"
    assert done.returncode == 0, done.stderr[-2000:]


def evil(received: Path, folder: Path, path: str = "evil.Evil") -> Path:
    """Write the run and the records again, of a task whose class is the received folder's own."""
    predictions = read_predictions(received / "here" / "run" / "predictions.parquet")
    made = [replace(p, record=replace(p.record, task_class=path)) for p in predictions if p.record.task == "glaucoma"]
    write_predictions(folder / "run" / "predictions.parquet", made)
    asked = {p.record.id: p.reply.asked for p in made}
    write_run_records(folder / "run" / "records.parquet", [p.record for p in made], asked)
    for name in ("replies", "scores.csv"):
        copied(received / "here" / "run" / name, folder / "run" / name)
    records = read_records(received / "here" / "curated" / "records" / "glaucoma.parquet")
    write_records(folder / "curated" / "records" / "glaucoma.parquet", [replace(r, task_class=path) for r in records])
    for name in ("images", "manifest.json"):
        copied(received / "here" / "curated" / name, folder / "curated" / name)
    return folder


IMPORTING = ("report", "rescore", "export vlmevalkit", "export lmms_eval", "export hugging_face")


@pytest.mark.parametrize("name", IMPORTING)
@pytest.mark.parametrize("where", ["", "run", "curated"])
def test_a_class_that_a_file_names_is_not_imported_wherever_it_lies(
    received, tmp_path, monkeypatch, capsys, name, where
):
    """Even where the folder is on the search path: the check comes before the import."""
    here = evil(received, tmp_path / "here")
    (here / where / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "mark")))
    monkeypatch.syspath_prepend(here / where)
    monkeypatch.chdir(here / where)
    arguments = [str(here / a) if a in ("run", "curated") else a for a in COMMANDS[name]]
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert not (tmp_path / "mark").exists() and "evil" not in sys.modules
    assert "task_class='evil.Evil'" in said and str(here / where / "evil.py") in said
    if where and str(here / where) in arguments:
        assert f"code in {here / where} is never run" in said and "--trust" not in said
    else:
        assert f"`python -m lmod_train {' '.join(arguments)} --trust evil`" in said


def test_the_command_that_the_message_asks_for_works_from_the_working_folder_and_not_from_the_run_s(received, tmp_path):
    here = evil(received, tmp_path / "here")
    (here / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "mark")))
    assert forked(here, "rescore", "run").returncode == 2 and not (tmp_path / "mark").exists()
    done = forked(here, "rescore", "run", "--trust", "json", "--trust", "evil")
    assert done.returncode == 0 and (tmp_path / "mark").read_text() == "evil\n", done.stderr
    (tmp_path / "mark").unlink()
    (here / "evil.py").rename(here / "run" / "evil.py")
    within = forked(here / "run", "rescore", ".", "--trust", "evil")
    assert within.returncode == 2 and "is never run" in within.stderr and not (tmp_path / "mark").exists()


MINE = '''
from lmod_train.tasks.glaucoma import Glaucoma

class Mine(Glaucoma):
    """Asks in its own words."""

    name = "mine"
    version = 1
'''


@pytest.mark.slow
def test_a_task_of_the_working_folder_goes_the_whole_way_by_the_user_s_word(tmp_path):
    """Named in the user's own config it needs no further word; where a file names it, `--trust`."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "mine.yaml").write_text("protocol: mine\ntasks:\n- class_path: mine.Mine\nworkers: 2\n")
    config = "model: {model}\ndata:\n  curated: curated\n  split: all\n  tasks: [{{class_path: mine.Mine}}]\n"
    (tmp_path / "ask.yaml").write_text(config.format(model=PACKAGE.parent / "configs" / "model" / "scripted.yaml"))
    quiet = ["--trainer.accelerator", "cpu", "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
    steps = [
        ["phantom", "--out", "raw", "--n", "8", "--sources", "refuge"],
        ["curate", "--config", "mine.yaml", "--raw", "raw", "--out", "curated"],
        ["validate", "--config", "ask.yaml", "--run", "run", *quiet],
        ["rescore", "run", "--trust", "mine"],
        ["report", "run", "--out", "report", "--trust", "mine"],
        ["export", "curated", "--to", "vlmevalkit", "--out", "table", "--for_own_use", "--trust", "mine"],
    ]
    for step in steps:
        done = started(tmp_path, *step)
        assert done.returncode == 0, f"{step}\n{done.stderr[-3000:]}"
    assert {s.task for *_, s in read_scores(tmp_path / "run" / "scores.csv")} == {"mine"}
    refused = started(tmp_path, "rescore", "run")
    assert refused.returncode == 2 and "`python -m lmod_train rescore run --trust mine`" in refused.stderr


def test_the_working_folder_is_never_on_the_path_and_only_named_modules_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"mine": "from near import A\n", "near": "import far_away\n", "strange": ""}.items():
        (tmp_path / f"{name}.py").write_text(text)
    path, finders = list(sys.path), list(sys.meta_path)
    for command in ("curate", "fit", "rescore", "report", "list", "weights merge"):
        for named in (["--trust", "mine"], ["--trust=mine"], ["--family=mine.X"], ["--model", "mine.X"]):
            with own_classes([command, *named]):
                assert sys.path == path
                assert [find_spec(n) is not None for n in ("mine", "near", "strange")] == [True, True, False]
            assert (sys.path, sys.meta_path, find_spec("mine")) == (path, finders, None)
        with own_classes([command, "mine", "--out", "mine.html"]):
            assert find_spec("mine") is None


NAMED = {
    "class_path: a.B": ["a"],
    "tasks: [{class_path: a.b.C, init_args: {family: d.e}}]": ["a.b", "d"],
    "model: a.B\nweights: sentencepiece.bpe.model": ["a"],
    "trust: [a, b.c]": ["a", "b.c"],
    "model: part.yaml": ["inside"],
    "x: !!python/object:a.B {}": [],
    "nothing": [],
}


@pytest.mark.parametrize("text", NAMED)
def test_the_modules_that_a_config_names_are_those_of_its_classes(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(text)
    (tmp_path / "part.yaml").write_text("class_path: inside.Model\n")
    assert own_modules(["fit", "--config", "own.yaml"]) == own_modules(["curate", "--config=own.yaml"]) == NAMED[text]
    assert own_modules(["fit", "--data.tasks+", '{"class_path": "e.F"}', "--family", "g.h"]) == ["e", "g"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["rescore", "run"],
        ["report", "run", "--out", "report"],
        ["export", "curated", "--to", "llava", "--out", "llava"],
        ["validate", "--config", "own.yaml"],
        ["fit"],
    ],
)
def test_trusting_what_is_nowhere_is_refused(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("run: run\n")
    assert cli.main([*arguments, "--trust", "nowhere_at_all"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --trust='nowhere_at_all': expected a module") and said.count("\n") == 2
    assert [f.name for f in tmp_path.iterdir()] == ["own.yaml"]


def test_trusted_modules_reach_the_report(tmp_path, monkeypatch):
    reached = []
    page = tmp_path / "out" / "index.html"
    monkeypatch.setattr("lmod_train.report.report.write_report", lambda *a, **k: reached.append(a[4]) or page)
    assert cli.main(["report", str(tmp_path), "--out", str(tmp_path / "out"), "--trust", "json"]) == 0
    assert [list(trust) for trust in reached] == [["json"]]
