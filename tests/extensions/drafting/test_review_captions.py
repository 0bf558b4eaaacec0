"""Arguments of `draft review-captions` that do not fit; the whole way is in test_captions.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.extensions.drafting.caption_files import Folder
from lmod_train.extensions.drafting.caption_steps import Settings


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "one of `--blank SHEET.csv`"),
        (["--blank", "S.csv", "--sheets", "A.csv"], "review-captions --help"),
        (["--sheets", "A.csv", "--kappa", "2"], "a kappa above 0"),
        (["--blank", "S.csv", "--share", "0"], "a share above 0"),
        (["--blank", "S.csv"], "a folder with a question that was kept"),
    ],
)
def test_arguments_that_do_not_fit_are_named(tmp_path: Path, arguments: list[str], expected: str, capsys):
    Folder(tmp_path / "DRAFT", {}, Settings()).write()
    assert cli.main(["draft", "review-captions", str(tmp_path / "DRAFT"), *arguments]) == 2
    assert expected in capsys.readouterr().err
