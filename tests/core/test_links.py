"""No function of `files` or `lock` follows a link below the folder that is written to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lmod_train import cli
from lmod_train.cli.seeds_and_folds import Series
from lmod_train.core import files
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.cache import Cache
from lmod_train.core.errors import LinkInFolder
from lmod_train.core.links import refuse_links, rooted
from lmod_train.core.lock import locked, new_folder, shared


def write(path: Path) -> None:
    with files.write_durably(path) as part:
        part.write_text("new")


def append(path: Path) -> None:
    with files.append_to(path) as file:
        file.write("new")


def in_place(path: Path) -> None:
    with files.write_in_place(path) as file:
        file.write(b"new")


def keep(path: Path) -> None:
    Cache(path.parent, "a", "b", "c", path.parent.parent).keep("x", np.zeros(2))


def move(path: Path) -> None:
    files.move(path, path.with_name("moved"))


WRITERS: list[Callable[[Path], object]] = [
    write, append, in_place, keep, files.make_folder, files.remove, files.remove_empty, files.clear_parts, move,
    lambda path: files.cut(path, 0), lambda path: files.link_or_copy(path, path.with_name("second")), ReplyFile,
]  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a").write_text("precious")
    (folder / ".a.0.part").write_text("precious")
    return folder


def content(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


@pytest.mark.parametrize("spelled", [Path, Path.resolve], ids=["as named", "resolved"])
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_behind_a_link_in_a_locked_folder(
    writer: Callable[[Path], object], spelled: Callable[[Path], Path], outside: Path, tmp_path: Path
):
    run = tmp_path / "run"
    run.mkdir()
    (run / "sub").symlink_to(outside)
    with locked(run, "--run"), pytest.raises(LinkInFolder, match="run/sub: expected a file or folder of its own"):
        writer(spelled(run) / "sub" / "a")
    assert content(outside) == {"a": "precious", ".a.0.part": "precious"}


@pytest.mark.parametrize("writer", [append, in_place, lambda path: files.cut(path, 0), ReplyFile])
def test_no_file_that_is_a_link_is_opened(writer: Callable[[Path], object], outside: Path, tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "b").symlink_to(outside / "a")
    with rooted(run), pytest.raises(LinkInFolder):
        writer(run / "b")
    with pytest.raises(OSError, match=r"[Ss]ymbolic links"):
        writer(run / "b")  # in a folder that is not locked either
    assert (outside / "a").read_text() == "precious"


def test_a_whole_file_takes_the_place_of_a_link(outside: Path, tmp_path: Path):
    (tmp_path / "b").symlink_to(outside / "a")
    with rooted(tmp_path):
        write(tmp_path / "b")
    assert (tmp_path / "b").read_text() == "new" and not (tmp_path / "b").is_symlink()
    assert (outside / "a").read_text() == "precious"


def test_a_lock_that_is_a_link_is_refused_and_nothing_is_changed(outside: Path, tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").symlink_to(outside / "a")
    with pytest.raises(LinkInFolder), locked(run, "--run"):
        pass
    assert [path.name for path in run.iterdir()] == [".lock"] and (outside / "a").read_text() == "precious"


def test_the_folder_that_is_named_and_those_above_it_may_be_links(outside: Path, tmp_path: Path):
    (tmp_path / "above").symlink_to(outside)
    (outside / "real").mkdir()
    (outside / "run").symlink_to(outside / "real")
    run = tmp_path / "above" / "run"
    with locked(run, "--run"):
        write(run / "sub" / "a")
        append(run.resolve() / "sub" / "a")
    assert (outside / "real" / "sub" / "a").read_text() == "newnew"


def test_a_folder_inside_another_is_no_root_of_its_own(outside: Path, tmp_path: Path):
    (tmp_path / "judge").symlink_to(outside)
    with rooted(tmp_path), pytest.raises(LinkInFolder), locked(tmp_path / "judge", "--name"):
        pass
    with rooted(tmp_path), pytest.raises(LinkInFolder), shared(tmp_path / "judge", "--name", 0):
        pass
    with locked(tmp_path / "judge", "--name"):
        refuse_links(tmp_path / "judge" / "a")


def test_a_new_folder_keeps_the_link_that_names_it(outside: Path, tmp_path: Path):
    (outside / "empty").mkdir()
    (tmp_path / "out").symlink_to(outside / "empty")
    with new_folder(tmp_path / "out", "--out") as part:
        (part / "a").write_text("new")
    assert (tmp_path / "out").is_symlink() and content(outside / "empty") == {"a": "new"}


def test_a_link_in_the_place_of_a_replaced_folder_is_removed_alone(outside: Path, tmp_path: Path):
    (tmp_path / "adapter").symlink_to(outside)
    with rooted(tmp_path), files.replace_folder(tmp_path / "adapter") as part:
        part.mkdir()
        (part / "a").write_text("new")
    assert content(tmp_path / "adapter") == {"a": "new"} and content(outside)["a"] == "precious"


def test_a_file_is_not_moved_behind_a_link(tmp_path: Path):
    (tmp_path / "RUN").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "RUN" / "sub").symlink_to(tmp_path / "outside")
    (tmp_path / "RUN" / "a").write_text("a")
    with rooted(tmp_path / "RUN"), pytest.raises(LinkInFolder):
        files.move(tmp_path / "RUN" / "a", tmp_path / "RUN" / "sub" / "a")
    assert not list((tmp_path / "outside").iterdir())
    (tmp_path / "outside" / "mine").write_text("mine")
    with rooted(tmp_path / "RUN"), pytest.raises(LinkInFolder):
        files.move(tmp_path / "RUN" / "sub" / "mine", tmp_path / "RUN" / "mine")
    assert (tmp_path / "outside" / "mine").exists()


def test_no_member_of_a_series_lies_elsewhere(tmp_path: Path):
    from lmod_train.core.artifacts.series import members
    from lmod_train.core.errors import LeavesFolder

    (tmp_path / "RUN").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "RUN" / "seed_0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LeavesFolder):
        members(tmp_path / "RUN")


def test_what_is_shared_is_a_root(outside: Path, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "replies").symlink_to(outside)
    with shared(tmp_path / "run", "--run", 0), pytest.raises(LinkInFolder):
        refuse_links(tmp_path / "run" / "replies" / "a")


def test_the_folder_of_a_series_is_a_root_of_its_runs(outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "seed_0").symlink_to(outside)

    def run(command: list[str], once: bool = False) -> int:
        refuse_links(tmp_path / "series" / command[1])
        return 0

    monkeypatch.setattr(cli, "run_of", lambda command: run)
    with pytest.raises(LinkInFolder):
        cli._each(Series(tmp_path / "series", (["fit", "seed_0"],)), ["fit"])
