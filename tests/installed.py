"""Packages of strangers as `pip` would install them: a folder on the search path with a module and its metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmod_train.core import extension

RECORD = "from lmod_train.core.extension import Extension\nEXTENSION = Extension(name={name!r}, about='a test'{more})\n"


def record(name: str, **more: object) -> str:
    """Return the text of a module that states an extension."""
    return RECORD.format(name=name, more="".join(f", {key}={value!r}" for key, value in more.items()))


def forget() -> None:
    """Let the next question for extensions look at what is installed, and every line be written again."""
    for kept in (extension.extensions, extension._found, extension.say, extension.absent):
        kept.cache_clear()


def write_package(folder: Path, module: str, text: str, point: str = "", name: str = "") -> None:
    """Write a package and its metadata.

    Args:
        folder: Folder on the search path.
        module: Name of the package.
        text: Its ``__init__.py``; empty writes none.
        point: What its entry point names; default: ``MODULE:EXTENSION``.
        name: Name of the entry point; default: the module.
    """
    if text:
        (folder / module).mkdir(parents=True)
        (folder / module / "__init__.py").write_text(text, encoding="utf-8")
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
    line = f"{name or module} = {point or f'{module}:EXTENSION'}\n"
    (about / "entry_points.txt").write_text(f"[{extension.GROUP}]\n{line}")


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Put a folder on the search path in the block, and forget it afterwards with the modules it brought."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        forget()
        yield
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(f"{folder}/"):
            del sys.modules[module]
    forget()
