"""The versions that decide about pixels and bytes: of an earlier start, and of every machine that takes part."""

from __future__ import annotations

from importlib.metadata import version

from lmod_train import __version__


def versions() -> dict[str, str]:
    """Return the version of this package and of those that decode, shrink, hash and write."""
    return {"lmod_train": __version__, **{n: version(n) for n in ("pillow", "numpy", "scipy", "pyarrow")}}
