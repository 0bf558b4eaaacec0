"""Phantoms in the folder layouts of sources that `phantom` does not draw, for the tests of these sources."""

from pathlib import Path

from lmod_train.cli import phantoms
from lmod_train.data.sources.discovery import source_classes


def drawn_folders() -> dict[str, str]:
    """Return name -> module of every source that can be drawn, by the package or here."""
    here = {file.stem: f"{__name__}.{file.stem}" for file in Path(__file__).parent.glob("[a-z]*.py")}
    return {name: module for name, module in here.items() if name != "roboflow"} | phantoms.drawn_folders()


def drawn_sources() -> list[str]:
    """Return the sources that are read without a question, each of which can be drawn.

    `lmod_plus_sample` asks first how its boxes are numbered; its tests stand in the tests of its extension.
    """
    return [name for name in source_classes() if name != "lmod_plus_sample"]
