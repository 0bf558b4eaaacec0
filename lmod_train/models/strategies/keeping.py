"""Safe replacement of checkpoints: at every moment a complete one is on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import flush, flush_names, make_folder, move, remove
from lmod_train.models.strategies.checksums import write_sums

LAST = "last.ckpt"
"""The checkpoint that a run resumes from. The previous one is kept beside it, as a disk may lose what it accepted."""
FACTS = "meta.pt"
"""File of a checkpoint folder with all that is not a tensor of the model or of the optimiser."""


def partial(ckpt: Path) -> Path:
    """Return the path at which a checkpoint, a file or a folder, is written until it is complete."""
    return ckpt.with_name(f"{ckpt.name}.partial")


def set_aside(ckpt: Path) -> Path:
    """Return the path of the previous checkpoint."""
    return ckpt.with_name(f"{ckpt.name}.before")


def damaged(ckpt: Path) -> Path:
    """Return the path to which a checkpoint is moved that cannot be read."""
    return ckpt.with_name(f"{ckpt.name}.damaged")


def make_room(ckpt: Path) -> None:
    """Remove an incomplete checkpoint of a killed process, and the previous one if the last one exists.

    The disk then holds two checkpoints at a time, not three.
    """
    make_folder(ckpt.parent)
    remove(partial(ckpt))
    if ckpt.exists():
        remove(set_aside(ckpt))


def put_in_place(ckpt: Path) -> None:
    """Flush the checkpoint at `partial(ckpt)` to disk and replace the last one by it; a folder gets its checksums.

    A kill between any two of these calls leaves a complete checkpoint at `ckpt` or at `set_aside(ckpt)`.
    """
    if partial(ckpt).is_dir():
        write_sums(partial(ckpt))
    flush(partial(ckpt))
    if ckpt.exists():
        move(ckpt, set_aside(ckpt))
    move(partial(ckpt), ckpt)
    flush_names(ckpt.parent)
    if ckpt.name != LAST:
        remove(set_aside(ckpt))


@contextmanager
def writing(ckpt: Path) -> Iterator[Path]:
    """Yield the path to write a checkpoint to; an incomplete one is removed.

    Raises:
        ArtifactError: The disk is full or cannot be written to.
    """
    try:
        yield partial(ckpt)
    except BaseException as error:  # torch's distributed writer raises CheckpointException, a BaseException
        why = _reason(error)
        if not why or isinstance(error, KeyboardInterrupt):
            raise
        remove(partial(ckpt))
        cure = "free some disk space, and type the same command again: it continues from the previous checkpoint"
        raise ArtifactError(ckpt, f"cannot be written ({why}); the previous checkpoint is unchanged", cure) from error


def _reason(error: BaseException) -> str:
    """Return the operating system's message, which PyTorch wraps in its own errors; empty for other errors."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    failures = getattr(error, "failures", {}).values()  # of CheckpointException: rank -> (error, traceback)
    before = next((failed for failed, *_ in failures), error.__cause__ or error.__context__)
    if found := _reason(before) if before is not None else "":
        return found
    writer = isinstance(error, RuntimeError) and any(w in str(error) for w in ("inline_container", "iostream"))
    return "writing failed, the disk may be full" if writer else ""
