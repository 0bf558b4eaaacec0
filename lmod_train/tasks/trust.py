"""Which classes that a file names may be imported: a received run or curated folder is data, and must not run code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from lmod_train.core.errors import Untrusted

PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose classes may be imported when a file names them: those of this package, and what the user trusts by name.

    Attributes:
        modules: Modules or packages, as `--trust` names them.
        folder: Where the file lies, e.g. a run; what is to be imported must not lie there itself, whoever trusts it.
    """

    modules: tuple[str, ...] = ()
    folder: Path | None = None

    def check(self, path: str) -> None:
        """Refuse a class path unless it is trusted. Nothing is imported for it.

        Raises:
            Untrusted: It is neither of this package nor of a trusted module, or it lies in `folder`.
        """
        module = path.rpartition(".")[0]
        if _within(module, (PACKAGE,)):
            return
        place = place_of(module)
        if place is not None and self.folder is not None and place.is_relative_to(self.folder.resolve()):
            raise Untrusted(path, module, place, str(self.folder))
        if not _within(module, self.modules):
            raise Untrusted(path, module, _file_of(module, place) if place else None, "")


def _within(module: str, trusted: Sequence[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in trusted)


def _file_of(module: str, place: Path) -> Path:
    """Return the file of a module whose package lies at `place`; `place` itself where the package has no such file."""
    _, *inner = module.split(".")
    folder = place.parent if place.name == "__init__.py" else place
    file = folder.joinpath(*inner)
    own = (file.with_suffix(".py"), file / "__init__.py") if inner and all(map(str.isidentifier, inner)) else ()
    return next((one for one in own if one.is_file()), place)


def place_of(module: str) -> Path | None:
    """Return where a module would be imported from once it is trusted, found without importing anything.

    None where it is nowhere, neither installed nor in the working folder. Of a module in a package, the package.
    """
    name = module.partition(".")[0]
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded:
        return Path(loaded).resolve()
    try:
        found = PathFinder.find_spec(name, [*sys.path, str(Path.cwd())]) if name else None
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    places = [found.origin] if found.has_location else list(found.submodule_search_locations or ())
    return Path(places[0]).resolve() if places and places[0] else None
