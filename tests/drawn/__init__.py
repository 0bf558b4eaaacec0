"""Phantoms in the folder layouts of sources that `phantom` does not draw, for the tests of these sources."""

from pathlib import Path

from lmod_train.cli import phantoms


def drawn_folders() -> dict[str, str]:
    """Return name -> module of every source that can be drawn, by the package or here."""
    here = {file.stem: f"{__name__}.{file.stem}" for file in Path(__file__).parent.glob("[a-z]*.py")}
    return {name: module for name, module in here.items() if name != "roboflow"} | phantoms.drawn_folders()
