"""Files of an earlier report in a folder, which the next report there replaces.

Only files that a report has listed as its own are removed, so that nothing else in the folder is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lmod_train.core.files import write_durably

LIST = "files.txt"
"""The list: one path a line, relative to the folder."""


def replace_files(out: Path, files: Iterable[str]) -> None:
    """Remove the files that the last report listed, and list those of the next before any of them is written.

    Args:
        out: Folder of the report.
        files: Paths of the next report's files, relative to `out`.
    """
    for name in _listed(out):
        if (out / name).resolve().is_relative_to(out.resolve()) and (out / name).is_file():
            (out / name).unlink()
    with write_durably(out / LIST) as beside:
        beside.write_text("".join(f"{name}\n" for name in files), encoding="utf-8")


def _listed(out: Path) -> list[str]:
    file = out / LIST
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
