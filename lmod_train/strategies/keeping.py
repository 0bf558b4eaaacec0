"""Where checkpoints lie while the next one is written: at every moment a whole one is on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmod_train.errors import ArtifactError
from lmod_train.files import flush, flush_names, remove

LAST = "last.ckpt"
"""What a run is continued from. The one before is kept beside it, as no writing tells what a disk will give back."""
FACTS = "meta.pt"
"""In a checkpoint that is a folder: all that is not a tensor of the model or of the optimiser, loadable alone."""


def partial(ckpt: Path) -> Path:
    """Return where a checkpoint, a file or a folder, is written."""
    return ckpt.with_name(f"{ckpt.name}.partial")


def set_aside(ckpt: Path) -> Path:
    """Return where the checkpoint before lies."""
    return ckpt.with_name(f"{ckpt.name}.before")


def damaged(ckpt: Path) -> Path:
    """Return where one that cannot be read is put, for its owner to look at."""
    return ckpt.with_name(f"{ckpt.name}.damaged")


def make_room(ckpt: Path) -> None:
    """Remove what a kill has left half written, and the checkpoint before where the last one is in its place.

    So a disk holds two checkpoints at a time, not three.
    """
    ckpt.parent.mkdir(parents=True, exist_ok=True)
    remove(partial(ckpt))
    if ckpt.exists():
        remove(set_aside(ckpt))


def put_in_place(ckpt: Path) -> None:
    """Let the checkpoint at `partial(ckpt)` take the place of the last one, once it is on the disk.

    A kill between any two of these steps leaves a whole checkpoint at `ckpt` or at `set_aside(ckpt)`.
    """
    flush(partial(ckpt))
    if ckpt.exists():
        ckpt.rename(set_aside(ckpt))
    partial(ckpt).rename(ckpt)
    flush_names(ckpt.parent)
    if ckpt.name != LAST:
        remove(set_aside(ckpt))


@contextmanager
def writing(ckpt: Path) -> Iterator[Path]:
    """Yield where to write the checkpoint; what was written is removed where it cannot be written whole.

    Raises:
        ArtifactError: The disk is full, or does not take it for another reason.
    """
    try:
        yield partial(ckpt)
    except BaseException as error:  # torch's writer of shares raises one that is no Exception
        why = _reason(error)
        if not why:
            raise
        remove(partial(ckpt))
        raise ArtifactError(
            ckpt,
            f"cannot be written ({why}); the checkpoint before is untouched",
            "free some space there, and type the same command again: it continues from that checkpoint",
        ) from error


def _reason(error: BaseException) -> str:
    """Return what the system said, which PyTorch's writers hide behind errors of their own; empty for other errors."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    shares = getattr(error, "failures", {}).values()  # of CheckpointException: rank -> (error, where)
    before = next((failed for failed, *_ in shares), error.__cause__ or error.__context__)
    if found := _reason(before) if before is not None else "":
        return found
    writer = isinstance(error, RuntimeError) and any(w in str(error) for w in ("inline_container", "iostream"))
    return "the disk did not take all of it, it may be full" if writer else ""
