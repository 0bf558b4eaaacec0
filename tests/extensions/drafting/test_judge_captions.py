"""Arguments of `draft judge` that do not fit; the whole way is in test_captions.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "scripted"], "not a folder written by `draft captions`"),
        (["--model", "scripted", "--share", "1.5"], "a share above 0, up to 1"),
        (["--model", "scripted", "--trainer.device", "1"], "trainer.device"),
    ],
)
def test_arguments_that_do_not_fit_are_named_before_anything_is_written(tmp_path: Path, capsys, arguments, expected):
    draft = tmp_path / "DRAFT"
    assert cli.main(["draft", "judge", str(draft), *arguments]) == 2
    assert expected in capsys.readouterr().err and not draft.exists()
