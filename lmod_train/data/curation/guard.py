"""One guard a sample: whatever its files do costs that sample alone and is listed, and the others are curated."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Dropped, Sample

SECONDS = 30.0
"""Of a sample, all its files together. The largest photographs of the sources take half a second."""

Result = TypeVar("Result")


class TookTooLong(Exception):
    """The files of a sample were not read in time."""


def guarded(sample: Sample, read: Callable[[], Result], seconds: float = SECONDS) -> Result | Dropped:
    """Return what `read` returns, or the line with which the sample is left out where it raises or takes too long.

    An `LmodError` is not the files' fault and passes. In a worker process a decoder that does not come back even to
    Python ends the process, which `lmod_train.data.curation.workers` lists; elsewhere than in a main thread time is not
    limited.

    Args:
        sample: Whose files are read.
        read: Reads and computes; writes nothing, so that a full disk is not taken for a damaged file.
        seconds: What it may take.
    """
    try:
        with _within(seconds):
            return read()
    except LmodError:
        raise
    except Exception as error:  # decoders raise whatever the bytes of a damaged file happen to mean
        return Dropped.of(sample, "read", "sample_unreadable", detail_of(error, *_files(sample)))


def died(sample: Sample) -> Dropped:
    """Return the line for a sample over which a worker process ended."""
    detail = "the process that read it ended twice (its decoder crashed, hung, or memory ran out)"
    return Dropped.of(sample, "read", "reader_died", detail)


def _files(sample: Sample) -> list[Path]:
    return [*([sample.image] if sample.image else []), *(mask.path for mask in sample.masks)]


def detail_of(error: BaseException, *files: Path) -> str:
    """Return the text of an error about files, the first of which was read, without folders and addresses in memory."""
    text = f"{type(error).__name__}: {error}"
    for file in files[:1]:
        text = re.sub(r"<_io\.BytesIO[^>]*>", repr(file.name), text)
    for file in files:
        text = text.replace(str(file), file.name)
    return re.sub(r" at 0x[0-9a-f]+", "", text)[:500]


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block when time is up; a worker that does not hear it, in C, ends a little later."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"its files were not read in {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with ExitStack() as stack:
            if multiprocessing.parent_process() is not None:
                silent = stack.enter_context(Path(os.devnull).open("w"))
                faulthandler.dump_traceback_later(2 * seconds, exit=True, file=silent)
                stack.callback(faulthandler.cancel_dump_traceback_later)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
