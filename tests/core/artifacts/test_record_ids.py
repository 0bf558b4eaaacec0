"""Files of record ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.records import read_ids
from lmod_train.core.errors import BadArgument


def test_ids_are_read_one_per_line(tmp_path: Path):
    (tmp_path / "ids.txt").write_text("a/b/1\r\n\na/b/2\n", encoding="utf-8")
    assert read_ids(tmp_path / "ids.txt", "--subset") == {"a/b/1", "a/b/2"}


@pytest.mark.parametrize("content", [None, "", "\n \n"])
def test_a_missing_or_empty_file_is_an_error_with_its_option(tmp_path: Path, content: str | None):
    path = tmp_path / "ids.txt"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(BadArgument, match=r"--subset=.*one per line"):
        read_ids(path, "--subset")
