"""The steps of docs/one-record.md and docs/architecture.md are true: they exist, and are called in this order."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from lmod_train import cli
from lmod_train.core.extension import PACKAGE
from lmod_train.core.shipped import configs_folder
from lmod_train.phantom.folders import refuge
from tests.docs.pages import DOCS, read

QUIET = ["--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
GLAUCOMA = f"[{configs_folder() / 'task/glaucoma.yaml'}]"
COMMANDS = {
    "curate": ["--config", "quickstart", "--raw", "raw", "--out", "CURATED", "--workers", "1"],
    "fit": [
        "--config",
        "cnn_glaucoma",
        "--data.curated",
        "CURATED",
        "--run",
        "FIT",
        "--trainer.max_steps",
        "2",
        *QUIET,
    ],
    "validate": ["--model", "scripted", "--data.curated", "CURATED", "--data.tasks", GLAUCOMA, "--run", "RUN", *QUIET],
    "report": ["RUN", "--out", "REPORT", "--config", "brief.yaml"],
}


def shown(command: str) -> list[tuple[str, str]]:
    """Return (file, function) of each step of a command on its page."""
    page = read(DOCS / ("one-record.md" if command == "validate" else "architecture.md"))
    table = page if command == "validate" else re.findall(rf"^### `{command}`\n(.*?)(?=^##)", page, re.M | re.S)[0]
    return [(file, name) for name, file in re.findall(r"\| `([\w.]+)` \| `([\w/]+\.py)` \|", table)]


def called(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Run a command; return (file, function) of the package in the order of their first calls, in all threads."""
    found: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        assert cli.main(list(arguments)) == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    ours = [code for code in found if Path(code.co_filename).is_relative_to(PACKAGE)]
    return list(dict.fromkeys((Path(c.co_filename).relative_to(PACKAGE).as_posix(), c.co_qualname) for c in ours))


def differences(steps: Sequence[tuple[str, str]], calls: Sequence[tuple[str, str]]) -> list[str]:
    """List the steps that were not called, and those that were called before the step above them."""
    places = {call: place for place, call in enumerate(calls)}
    absent = [f"{file}: {name} is not called" for file, name in steps if (file, name) not in places]
    there = [step for step in steps if step in places]
    early = [b for a, b in pairwise(there) if places[b] <= places[a]]
    return absent + [f"{file}: {name} is called earlier" for file, name in early]


def test_the_functions_of_the_page_are_called_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import_module("lmod_train.cli.experiment")  # imports are not what is followed
    monkeypatch.chdir(tmp_path)
    Path("brief.yaml").write_text("sections: [lmod_train.report.sections.scores.Scores]\n")  # one of thirty
    refuge.write(tmp_path / "raw", 12, 0, size=128, workers=0)
    for command, arguments in COMMANDS.items():
        steps = shown(command)
        assert len(steps) > 10
        assert differences(steps, called([command, *arguments])) == []


def test_a_step_that_is_not_called_or_called_earlier_is_found():
    calls = [("a.py", "f"), ("b.py", "C.g"), ("c.py", "h")]
    assert differences(calls, calls) == []
    assert differences([calls[0], ("b.py", "g"), calls[2]], calls) == ["b.py: g is not called"]
    assert differences([calls[0], calls[2], calls[1]], calls) == ["b.py: C.g is called earlier"]
