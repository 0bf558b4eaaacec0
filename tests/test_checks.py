"""`scripts/test.sh` ends with 0 where every check passes, and with another status where one fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
PYTHON = """#!/bin/sh
case "$*" in
    *"$FAILING"*) echo "failed: $*"; exit 1 ;;
esac
sleep "$(case "$*" in *"$SLOW"*) echo 0.3 ;; *) echo 0 ;; esac)"
"""
"""An interpreter whose command FAILING fails and whose command SLOW takes longer than the others."""


@pytest.mark.parametrize(
    ("failing", "slow", "status"),
    [
        ("none", "-m mypy", 0),
        ("none", "-m pytest", 0),
        ("-m mypy", "-m pytest", 1),
        ("-m pytest", "-m mypy", 1),
        ("ruff check", "none", 1),
        ("ruff format", "none", 1),
    ],
)
def test_the_status_is_that_of_the_checks(tmp_path: Path, failing: str, slow: str, status: int):
    for name in ("test.sh", "venv.sh"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    for name in ("pyproject.toml", "setup.py", "constraints.txt"):
        (tmp_path / name).touch()
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)

    run = subprocess.run(
        ["bash", "scripts/test.sh"],
        cwd=tmp_path,
        env={**os.environ, "FAILING": failing, "SLOW": slow},
        capture_output=True,
        text=True,
    )
    assert run.returncode == status, run.stdout + run.stderr
    assert ("failed:" in run.stdout) == bool(status)
