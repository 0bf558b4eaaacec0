"""No command writes through a link inside a folder, wherever in what it writes the link lies."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lmod_train import cli
from tests.writing import WAYS, Way, standing, type_in

PROGRAM = [sys.executable, "-m", "lmod_train"]

MOST = 24
"""Places of a command that are tried, one of each folder and ending first."""

Snapshot = dict[str, tuple[str, int]]


def snapshot(root: Path) -> Snapshot:
    """Return path -> (hash of the content, time of the last change), of files and folders."""
    found: Snapshot = {}
    for path in sorted(root.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            found[path.relative_to(root).as_posix()] = "folder", 0
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else str(path.readlink())
            found[path.relative_to(root).as_posix()] = content, path.stat().st_mtime_ns
    return found


@pytest.fixture(scope="module")
def states(curated: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Way], tuple[Path, Path]]:
    """A function of a command that returns its working folder before it is run, and after."""
    made: dict[str, tuple[Path, Path]] = {}

    def of(way: Way) -> tuple[Path, Path]:
        if way.name not in made:
            base = tmp_path_factory.mktemp(way.name)
            before, after = base / "before", base / "after"
            before.mkdir()
            with standing(before):
                way.prepare(curated)
            shutil.copytree(before, after)
            assert type_in(after, way.typed) == 0
            made[way.name] = before, after
        return made[way.name]

    return of


def images_of(before: Path) -> list[str]:
    """Return the images that an interrupted curation has written, and their folders."""
    images = before / "OUT" / "images"
    return [path.relative_to(before).as_posix() for path in [images, *sorted(images.rglob("*"))]]


def written(before: Path, after: Path, way: Way) -> list[str]:
    """Return what a command created or changed, and its locks: one of each folder and ending first."""
    old, new = snapshot(before), snapshot(after)
    found = [path for path in new if path not in old or new[path] != old[path]]
    found += images_of(before) if way.name == "curate-continued" else []
    root = Path(way.root)
    if (after / root).is_dir():
        found += [str(root / name) for name in (".lock", ".journal.jsonl", "logs", "wandb")]
        found = [path for path in found if path != way.root]  # the folder itself may be a link
    kinds: dict[tuple[str, str], list[str]] = {}
    for path in dict.fromkeys(found):
        kind = "" if (after / path).is_dir() or Path(path).name[0] == "." else Path(path).suffix
        kinds.setdefault((path if not kind else str(Path(path).parent), kind), []).append(path)
    several = list(kinds.values())
    rounds = range(max(map(len, several), default=0))
    return [paths[i] for i in rounds for paths in several if i < len(paths)][: max(MOST, len(several))]


def plant(here: Path, path: str, after: Path, outside: Path, same: bool) -> None:
    """Put a link in the place of a file or folder that a command writes; it leads to a copy, or to something else."""
    place, outside = here / path, outside / "precious"
    outside.parent.mkdir()
    if (after / path).is_dir() or path.endswith(("/logs", "/wandb")):
        if same and (after / path).is_dir():
            shutil.copytree(after / path, outside)
        outside.mkdir(exist_ok=True)
        (outside / "precious.txt").write_text("precious")
    elif same and (after / path).is_file():
        shutil.copy2(after / path, outside)
    else:
        outside.write_text("precious")
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(outside, target_is_directory=outside.is_dir())


def attempts(way: Way, states: tuple[Path, Path], tmp_path: Path, places: list[str]) -> Iterator[tuple[str, int]]:
    """Run a command once with each link, in a new folder and in a written one; yield the place and the status."""
    before, after = states
    for number, path in enumerate(places):
        for state, same in ((before, False), (after, True)):
            here, outside = tmp_path / f"{number}{same}", tmp_path / f"{number}{same}-outside"
            shutil.copytree(state, here)
            plant(here, path, after, outside, same)
            precious = snapshot(outside)
            status = type_in(here, way.typed)
            assert snapshot(outside) == precious, f"{way.name} wrote through a link at {path} ({state.name})"
            yield path, status
            shutil.rmtree(here)
            shutil.rmtree(outside)


QUICK = ("subset", "rescore", "answers", "export-llava", "import", "verify")


@pytest.mark.parametrize("way", [way for way in WAYS if way.name in QUICK], ids=lambda way: way.name)
def test_no_light_command_writes_through_a_link(way: Way, states, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    own = states(way)
    places = written(*own, way)
    for path, status in attempts(way, own, tmp_path, [*places[:2], f"{way.root}/.lock"]):
        error = capsys.readouterr().err
        assert status in (0, 2) and "Traceback" not in error, (path, error)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_no_command_writes_through_a_link(way: Way, states, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    own = states(way)
    refused = replaced = 0
    for path, status in attempts(way, own, tmp_path, written(*own, way)):
        error = capsys.readouterr().err
        assert status in (0, 2) and "Traceback" not in error, (path, error)
        refused, replaced = refused + (status == 2), replaced + (status == 0)
    with capsys.disabled():
        print(f"\n{way.name}: {refused + replaced} links, {refused} refused, {replaced} replaced or not written to")


@pytest.mark.parametrize(
    "way",
    [way if way.name in QUICK else pytest.param(way, marks=pytest.mark.slow) for way in WAYS],
    ids=lambda way: way.name,
)
def test_the_folder_that_is_named_may_be_a_link(way: Way, states, tmp_path: Path):
    before, after = states(way)
    here, elsewhere = shutil.copytree(before, tmp_path / "here"), tmp_path / "elsewhere"
    if not (after / way.root).is_dir():
        pytest.skip("a file")
    if (here / way.root).exists():
        (here / way.root).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (here / way.root).symlink_to(elsewhere)
    assert type_in(here, way.typed) == 0
    assert (here / way.root).is_symlink()
    names = {path.relative_to(after / way.root) for path in (after / way.root).rglob("*")}
    assert {path.relative_to(elsewhere) for path in elsewhere.rglob("*")} == names


def test_both_printed_cures_let_the_command_run(states, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (way,) = (way for way in WAYS if way.name == "rescore")
    _, after = states(way)
    here = shutil.copytree(after, tmp_path / "here")
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    (here / "RUN" / ".lock").symlink_to(precious)
    assert type_in(here, way.typed) == 2
    error = capsys.readouterr().err
    assert "RUN/.lock: expected a file or folder of its own" in error and str(precious) in error
    removal, copy = re.findall(r"`([^`]+)`", error)
    assert removal.startswith("rm ") and copy.startswith("cp -rL ")
    with standing(here):
        subprocess.run(shlex.split(copy), check=True)
        assert not (here / "RUN-copied" / ".lock").is_symlink()
        assert cli.main(["rescore", shlex.split(copy)[-1]]) == 0
        subprocess.run(shlex.split(removal), check=True)
        assert cli.main(list(way.typed)) == 0
    assert precious.read_text() == "precious"


def test_an_export_of_links_and_hard_links_of_a_report_continue(states, tmp_path: Path):
    (way,) = (way for way in WAYS if way.name == "rescore")
    here = shutil.copytree(states(way)[1], tmp_path / "here")
    assert type_in(here, ("export", "CURATED", "--to", "llava", "--out", "OUT", "--images", "link")) == 0
    linked = [file for file in (here / "OUT" / "images").rglob("*") if file.is_symlink()]
    assert linked and all(file.is_file() for file in linked)
    assert type_in(here, ("export", "CURATED", "--to", "llava", "--out", "OUT", "--images", "link")) == 2


def test_workers_of_a_curation_follow_no_link(states, tmp_path: Path):
    (way,) = (way for way in WAYS if way.name == "curate-continued")
    before, _ = states(way)
    here, outside = shutil.copytree(before, tmp_path / "here"), tmp_path / "outside"
    images = here / "OUT" / "images" / "eye_diseases"
    images.rename(outside)
    images.symlink_to(outside)
    file = next(outside.rglob("*.jpg"))
    file.write_bytes(b"precious")
    typed = [*PROGRAM, *way.typed[:-1], "2"]
    done = subprocess.run(typed, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "images/eye_diseases: expected a file or folder of its own" in done.stderr
    assert file.read_bytes() == b"precious" and "Traceback" not in done.stderr
