"""The one way in which worker processes start: anew, with the same modules of the working folder importable."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from lmod_train.core.own_modules import resume


class _Resumed:
    """Calls `resume` where it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return resume, ()


class _Process(SpawnProcess):
    def __getstate__(self) -> dict[str, Any]:
        return {"_resumed": _Resumed(), **vars(self)}  # first, so that it comes before classes of the user's modules


class _Spawning(SpawnContext):
    Process = _Process


def spawning() -> SpawnContext:
    """Return the context that starts processes as interpreters of their own."""
    return _Spawning()
