"""What the file system refuses is two lines and status 2; other errors of the system keep their traceback."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.cli.terminal import CURES


@pytest.mark.parametrize("number", sorted(CURES))
def test_what_the_file_system_refuses_is_two_lines(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(kind: str) -> None:
        """Write somewhere."""
        raise OSError(number, os.strerror(number), "some/file")

    monkeypatch.setattr("lmod_train.cli.listing.show", refuse)
    assert main(["list", "tasks"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"error: some/file: {os.strerror(number)}" and second.startswith("Next: ")


def test_a_file_in_place_of_a_folder_and_a_read_only_one_are_two_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("")
    for typed in (["phantom", "--out", str(tmp_path / "file")], ["phantom", "--out", "/proc/none"]):
        assert main([*typed, "--n", "1"]) == 2
        first, second = capsys.readouterr().err.splitlines()
        assert first.startswith(("error: /", "error: --out='/")) and second.startswith("Next: ")


def test_an_error_of_the_system_that_a_user_cannot_mend_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch):
    def refuse(kind: str) -> None:
        """Call without a peer."""
        raise OSError(errno.ECONNREFUSED, "refused")

    monkeypatch.setattr("lmod_train.cli.listing.show", refuse)
    with pytest.raises(ConnectionRefusedError):
        main(["list", "tasks"])
