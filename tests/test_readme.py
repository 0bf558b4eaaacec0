"""The README is true: its commands run, in its order, and print what it says they print."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.artifacts.records import read_records
from lmod_train.cli.listing import PACKAGE, configs_folder
from lmod_train.types import Box, Dropped, Sample

README = PACKAGE.parent / "README.md"
BLOCK = re.compile(r"^```bash run\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"^```\w+ file=(?P<name>\S+)\n(?P<text>.*?)^```\n", re.M | re.S)
TINY = {"--n 64": "--n 24", "--run FIT": "--run FIT --trainer.max_epochs 1 --trainer.check_val_every_n_epoch 1"}


def expected(line: str) -> str:
    """Return the pattern of a line: its numbers may differ, with the spaces before them, and ``...`` is anything."""
    loose = re.sub(r"(?:\\ )+", " +", re.escape(line).replace(r"\.\.\.", ".*"))
    return re.sub(r"\d+", r"\\d+", loose)


def missing(shown: str, printed: str) -> list[str]:
    """List the lines of `shown` that are not printed, in this order; other lines may stand between them."""
    left = iter(printed.splitlines())
    return [line for line in shown.splitlines() if not any(re.fullmatch(expected(line), real) for real in left)]


def run(command: str, folder: Path) -> str:
    for written, tiny in TINY.items():
        command = command.replace(written, tiny)
    program, *arguments = shlex.split(command)
    assert program == "python"
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def clinic(folder: Path) -> None:
    """Write the set that the README's example speaks of: 20 photographs of 10 patients, half with glaucoma."""
    (folder / "photos").mkdir(parents=True)
    rows = ["photo,patient,glaucoma,x0,y0,x1,y1"]
    for i in range(20):
        coarse = np.random.default_rng(i).integers(0, 200, (6, 8, 3), dtype=np.uint8)  # no copy of another
        photo = Image.fromarray(coarse).resize((64, 48))
        photo.paste((250, 220, 150), (10 + i, 12, 26 + i, 30))
        photo.save(folder / "photos" / f"eye{i:02}.png")
        rows.append(f"eye{i:02},p{i // 2},{i // 2 % 2},{10 + i},12,{26 + i},30")
    (folder / "findings.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def written(folder: Path) -> list[str]:
    """Write the files that the README shows, and return their names."""
    files = list(FILE.finditer(README.read_text(encoding="utf-8")))
    for file in files:
        (folder / file["name"]).write_text(file["text"], encoding="utf-8")
    return [file["name"] for file in files]


def test_a_dataset_is_added_as_the_readme_says(tmp_path: Path):
    """One file, one config, one test: the source keeps its promises, and its disc is boxed where it was painted."""
    assert written(tmp_path) == ["papilla.py", "papilla.yaml", "test_papilla.py"]
    clinic(tmp_path / "clinic" / "papilla")
    run("python -m lmod_train curate --config papilla.yaml --raw clinic --out PAPILLA", tmp_path)
    records = {r.key: r for r in read_records(tmp_path / "PAPILLA" / "records") if r.task == "anatomy"}
    assert {key: [(r.structure, r.box) for r in one.regions] for key, one in records.items()} == {
        f"eye{i:02}": [("optic disc", Box(10 + i, 12, 26 + i, 30))] for i in range(20)
    }
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    path = f"{PACKAGE.parent}{os.pathsep}{tmp_path}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_papilla.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr


def test_the_dataset_that_was_added_survives_what_tables_are_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Byte-order mark, semicolons, blanks and empty cells: what is lost is listed, and the rest is read."""
    written(tmp_path)
    clinic(tmp_path / "clinic")
    table = tmp_path / "clinic" / "findings.csv"
    rows = [" Photo ;Patient;GLAUCOMA;x0;y0;x1;y1;note"]
    rows += [f" eye{i:02} ;p{i // 2};{i // 2 % 2};{10 + i};12;{26 + i};30;" for i in range(18)]
    rows[1], rows[2], rows[3] = "eye00;p0;;10;12;26;30;", "eye01;p0;0;;12;27;30;", "eye02;;1;12;12;28;30;"
    rows[4] = "eye03;p1;1;13;12;29;30;;left over"
    table.write_bytes("\r\n".join([*rows, "eye99;p9;1;1;1;9;9;", ";;;;;;;", ""]).encode("utf-8-sig"))
    monkeypatch.syspath_prepend(tmp_path)
    source = importlib.import_module("papilla").Papilla(tmp_path / "clinic")
    told = list(source.samples())
    samples = {item.key: item for item in told if isinstance(item, Sample)}
    assert [*samples] == [f"eye{i:02}" for i in range(18) if i not in (2, 3)]
    assert [key for key, s in samples.items() if not s.labels] == ["eye00"]
    assert [key for key, s in samples.items() if not s.outlines] == ["eye01"]
    assert {(d.key, d.reason, d.extent) for d in told if isinstance(d, Dropped)} == {
        ("eye99", "missing photograph", "gone"),
        ("eye18", "missing row", "gone"),
        ("eye19", "missing row", "gone"),
        ("eye00", "missing label", "part"),
        ("eye01", "missing outline", "part"),
        ("eye02", "unusable row", "gone"),
        ("eye03", "unusable row", "gone"),
    }


def test_marked_blocks_run_and_print_what_is_shown(tmp_path: Path):
    (tmp_path / "configs").symlink_to(configs_folder())
    written(tmp_path)
    clinic(tmp_path / "clinic" / "papilla")
    blocks = list(BLOCK.finditer(README.read_text(encoding="utf-8")))
    assert len(blocks) == README.read_text(encoding="utf-8").count("bash run\n") >= 6
    for block in blocks:
        printed = "".join(run(command, tmp_path) for command in block["commands"].splitlines())
        assert missing(block["shown"] or "", printed) == [], printed


def test_every_command_is_in_the_readme_and_every_command_of_the_readme_exists():
    named = set(re.findall(r"(?:python|\d) -m lmod_train ([a-z]+(?:-[a-z]+)*)", README.read_text(encoding="utf-8")))
    assert named <= {*cli.PLAIN, *cli.LIGHTNING, *cli.LATE}
    assert {*cli.PLAIN, *cli.LATE} <= named


def test_every_file_the_readme_names_exists_or_is_said_to_be_being_built():
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:configs|lmod_train|tests|scripts)/[\w/.]+\.\w+)`", text)) | {"LICENSE", "Dockerfile"}
    assert [name for name in sorted(named) if not (PACKAGE.parent / name).exists()] == []


@pytest.mark.parametrize(
    ("shown", "printed", "left"),
    [
        ("a 12 b\n", "x\na 7 b\ny\n", []),
        ("a (...)\n", "a (z z)\n", []),
        ("two\none\n", "one\ntwo\n", ["one"]),
        ("a.b\n", "axb\n", ["a.b"]),
        ("| 10 | b |\n", "|  4 | b |\n", []),
        ("a b\n", "ab\n", ["a b"]),
    ],
)
def test_the_comparison_can_fail(shown: str, printed: str, left: list[str]):
    assert missing(shown, printed) == left
