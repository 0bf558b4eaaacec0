"""Compiles the LaTeX of tables, where TeX is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PREAMBLE = r"\documentclass{article}\usepackage[a4paper,margin=2.5cm]{geometry}\usepackage{array,booktabs,longtable}"
FONTS = {"pdflatex": r"\usepackage[T1]{fontenc}", "xelatex": r"\usepackage{fontspec}"}


def typeset(folder: Path, files: str, engine: str) -> list[float]:
    """Compile files of a folder in one document; return by how many points each line is too wide."""
    if not shutil.which(engine):
        pytest.skip(f"needs {engine}")
    inputs = "".join(rf"\input{{{file.name}}}" for file in sorted(folder.glob(files)) if "%" not in file.name)
    inputs += "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob(files)) if "%" in file.name)
    document = rf"{PREAMBLE}{FONTS[engine]}\begin{{document}}{inputs}\end{{document}}"
    (folder / "main").mkdir(exist_ok=True)
    (folder / "main" / "main.latex").write_text(document, encoding="utf-8")
    command = [engine, "-interaction=batchmode", "-halt-on-error", "-output-directory=main", "main/main.latex"]
    for _ in range(2):  # a longtable takes its widths from the run before
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    log = (folder / "main" / "main.log").read_text(encoding="utf-8", errors="replace")
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
