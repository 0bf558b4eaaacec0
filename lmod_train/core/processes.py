"""How worker processes start: with the same modules of the working folder importable, anew or from one that waits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
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


def forking(modules: Sequence[str]) -> BaseContext:
    """Return the context that starts processes from one that has imported modules, so that each takes milliseconds.

    That process does no work of its own, so that a copy of it is as good as a new interpreter. Windows has no such
    processes: there they start as those of `spawning`.

    Args:
        modules: Names of the modules; the first call of a program decides.
    """
    if sys.platform == "win32":
        return spawning()
    context = _Forking()
    context.set_forkserver_preload(list(modules))
    return context


if sys.platform != "win32":
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class _Forked(ForkServerProcess):
        def __getstate__(self) -> dict[str, Any]:
            return {"_resumed": _Resumed(), **vars(self)}

    class _Forking(ForkServerContext):
        Process = _Forked
