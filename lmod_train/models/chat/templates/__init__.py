"""Chat templates that weights were published with, by the names under which their own code knows them.

Each is a file of this folder. A conversation's own system message replaces the one that a template begins with.
"""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.errors import BadArgument

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all chat templates."""
    return sorted(file.stem for file in FOLDER.glob("*.jinja"))


def template_of(name: str) -> str:
    """Return a chat template.

    Raises:
        BadArgument: There is none of this name.
    """
    if name not in names():
        raise BadArgument("--template", name, f"one of {', '.join(names())}", "name one of these, or leave it out")
    return (FOLDER / f"{name}.jinja").read_text(encoding="utf-8").rstrip("\n")
