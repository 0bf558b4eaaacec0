"""Two commands at once on one folder: what is written is whole, and the second one ends with a sentence."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_links import PROGRAM, QUICK, snapshot
from tests.cli.test_links import states as states
from tests.core.test_lock import end, hold
from tests.writing import WAYS, Way, type_in

BY_NAME = {way.name: way for way in WAYS}


def start(here: Path, typed: tuple[str, ...]) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PROGRAM, *typed], cwd=here, **pipes)


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def together(here: Path, first: tuple[str, ...], second: tuple[str, ...], gap: float) -> list[tuple[int, str]]:
    """Run two commands, the second begun `gap` seconds after the first; return status and errors of both."""
    one = start(here, first)
    time.sleep(gap)
    other = start(here, second)
    found = []
    for process in (one, other):
        _, error = process.communicate(timeout=300)
        found.append((process.returncode, error))
    return found


def check(found: list[tuple[int, str]]) -> None:
    """At least one succeeds, and whoever does not says why in two lines."""
    assert any(status == 0 for status, _ in found), found
    for status, error in found:
        assert "Traceback" not in error, error
        if status:
            said = error[error.index("error: ") :]
            assert re.search(r"another process is writing|a new or empty folder|with other settings|a new file", said)
            assert "\nNext: " in said


SAME = ("export-llava", "export-hugging_face", "export-vlmevalkit", "answers-blank", "phantom", "curate", "import",
        "report", "rescore", "verify", "merge", "convert", "apply-delta", "subset")  # fmt: skip
DIFFERENT = (("export-llava", "export-sharegpt"), ("export-llava", "export-hugging_face"), ("subset", "blind"),
             ("rescore", "answers"), ("export-sharegpt", "export-lmms_eval"), ("validate", "predict"))  # fmt: skip


def sorts(states: Callable[[Way], tuple[Path, Path]], pair: tuple[str, str], here: Path) -> list[set[str]]:
    """Prepare a working folder for two commands; return what each of them alone leaves in the written folder."""
    shutil.copytree(states(BY_NAME[pair[0]])[0], here)
    return [names(states(BY_NAME[name])[1] / BY_NAME[name].root) for name in dict.fromkeys(pair)]


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, marks=() if pair == ("export-llava", "export-sharegpt") else pytest.mark.slow)
        for pair in [*((name, name) for name in SAME), *DIFFERENT]
    ],
    ids="+".join,
)
def test_two_commands_at_once_leave_a_whole_folder(pair: tuple[str, str], states, tmp_path: Path):
    first, second = (BY_NAME[name] for name in pair)
    alone = sorts(states, pair, tmp_path / "here")
    found = together(tmp_path / "here", first.typed, second.typed, random.Random("+".join(pair)).uniform(0, 0.8))
    check(found)
    left = names(tmp_path / "here" / first.root)
    assert ".lock" not in left and not [name for name in left if name.endswith(".part")]
    assert left in (*alone, set.union(*alone)), found


def test_a_command_waits_for_none_and_names_the_other_one(states, tmp_path: Path, capsys):
    here = shutil.copytree(states(BY_NAME["export-llava"])[0], tmp_path / "here")
    other = hold(here / "OUT")
    assert type_in(here, BY_NAME["export-llava"].typed) == 2
    error = capsys.readouterr().err
    assert f"process {other.pid} on" in error and "another process is writing" in error
    typed = BY_NAME["export-llava"].typed[:-1]
    assert "`--out DIR`" in error and type_in(here, (*typed, "DIR")) == 0, "the next command that is printed"
    end(other)
    assert type_in(here, BY_NAME["export-llava"].typed) == 0


LOCKED = {
    "judge-people": "RUN/judgements/people",
    "judge-model": "RUN/judgements/j",
    "fit-seeds": "RUN/seed_0",
    "review-sheets": "DRAFT",
}
"""Command -> the folder that it locks first, where this is not the one that it writes to."""
FOLDERS = [way for way in WAYS if way.name not in ("pack", "judge-sheet")]


@pytest.mark.parametrize(
    "way",
    [way if way.name in QUICK else pytest.param(way, marks=pytest.mark.slow) for way in FOLDERS],
    ids=lambda way: way.name,
)
def test_every_command_is_refused_a_folder_that_another_process_holds(way: Way, states, tmp_path: Path, capsys):
    here = shutil.copytree(states(way)[0], tmp_path / "here")
    folder = here / LOCKED.get(way.name, way.root)
    capsys.readouterr()
    other = hold(folder)
    before = snapshot(here)
    assert type_in(here, way.typed) == 2
    assert f"process {other.pid} on" in capsys.readouterr().err
    assert {k: v for k, v in snapshot(here).items() if k in before} == before
    end(other)


def test_what_a_killed_command_leaves_is_replaced_by_the_next(states, tmp_path: Path):
    here = shutil.copytree(states(BY_NAME["export-llava"])[0], tmp_path / "here")
    code = (
        "import os, sys, time; from pathlib import Path; from lmod_train.core.lock import new_folder\n"
        "with new_folder(Path('OUT'), '--out') as part:\n"
        "    (part / 'a').write_text('half'); print('begun', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=here, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.kill()
    process.wait()
    assert (here / "OUT" / ".lock").exists() and list(here.glob(".OUT.*.part"))
    assert type_in(here, BY_NAME["export-llava"].typed) == 0
    assert not list(here.glob(".OUT.*.part")) and not (here / "OUT" / ".lock").exists()


@contextmanager
def held_by(folder: Path, said: str, instead: str) -> Iterator[None]:
    """Hold a lock whose file states another holder."""
    process = hold(folder)
    file = folder / ".lock"
    file.write_text(re.sub(said, instead, file.read_text()))
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("said", "instead", "expected"),
    [
        (r'"host": "[^"]*"', '"host": "elsewhere"', "if that machine is off or out of reach"),
        (r'"pid": \d+', '"pid": 999999999', "that process is not found here"),
    ],
)
def test_a_lock_of_another_machine_or_a_dead_process_says_how_to_go_on(
    said: str, instead: str, expected: str, states, tmp_path: Path, capsys
):
    here = shutil.copytree(states(BY_NAME["rescore"])[0], tmp_path / "here")
    with held_by(here / "RUN", said, instead):
        assert type_in(here, BY_NAME["rescore"].typed) == 2
        error = capsys.readouterr().err
        (removal,) = re.findall(r"`(rm [^`]+)`", error)
        assert expected in error
        subprocess.run(shlex.split(removal), check=True, cwd=here)
        assert type_in(here, BY_NAME["rescore"].typed) == 0


def test_images_that_vanish_while_an_export_writes_are_counted(
    states, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    from lmod_train.data.formats.folder import ExportFolder

    here = shutil.copytree(states(BY_NAME["export-llava"])[0], tmp_path / "here")
    describe = ExportFolder.describe

    def lose(self: ExportFolder, *about: str) -> None:
        next((self.path / "images").rglob("*.jpg")).unlink()
        describe(self, *about)

    monkeypatch.setattr(ExportFolder, "describe", lose)
    assert type_in(here, BY_NAME["export-llava"].typed) == 2
    printed = capsys.readouterr()
    assert re.search(r"OUT: 1 of \d+ images are not there", printed.err) and "wrote" not in printed.out
    assert not (here / "OUT").exists()
    monkeypatch.undo()
    typed = BY_NAME["export-llava"].typed[:-1]
    assert type_in(here, (*typed, "DIR")) == 0, "the next command that is printed"


def read_only(here: Path, typed: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder that is mounted read-only, in a mount namespace of its own."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
    shell = ["unshare", "-rm", "sh", "-c", mount, str(here)]
    return subprocess.run([*shell, *PROGRAM, *typed], capture_output=True, text=True, check=False)


def can_mount() -> bool:
    return (
        shutil.which("unshare") is not None and not subprocess.run(["unshare", "-rm", "true"], check=False).returncode
    )


@pytest.mark.skipif(not can_mount(), reason="needs mount namespaces")
@pytest.mark.parametrize(
    "way",
    [way if way.name == "export-llava" else pytest.param(way, marks=pytest.mark.slow) for way in WAYS],
    ids=lambda way: way.name,
)
def test_a_read_only_disk_is_a_sentence(way: Way, states, tmp_path: Path):
    for state in states(way):
        here = shutil.copytree(state, tmp_path / state.name)
        done = read_only(here, way.typed)
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode:  # some write nothing where all is written
            assert done.returncode == 2 and "\nNext: " in done.stderr, done.stderr
            said = r"Read-only file system|a new or empty folder|a new file|has other content"
            assert re.search(said, done.stderr), done.stderr
