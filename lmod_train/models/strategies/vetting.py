"""Vetting of checkpoint folders: their pickles may load tensors, plain values and a few known classes, nothing else.

PyTorch's and DeepSpeed's own readers of such folders execute any code that a pickle names. Each pickle is therefore
first read by an unpickler that only loads the classes that the strategies write.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from lmod_train.core.errors import ArtifactError, LmodError, Untrusted
from lmod_train.core.package_data import package_data

FSDP: dict[str, list[str]] = package_data(__file__, "allowed.yaml")
"""Classes and functions in the metadata of an FSDP2 checkpoint, by module."""


class UntrustedCheckpoint(Untrusted):
    """Raised where a pickle asks for a class or function that checkpoints do not need."""

    def __init__(self, folder: Path, file: Path, asked: str) -> None:
        is_folder = folder != file  # a file is never loaded with other classes
        self.module = str(folder) if is_folder else ""
        cure = "use checkpoints of your own runs only"
        cure += (
            "; if you know who wrote this one, and let it run code here" if is_folder else ": RUN/checkpoints/last.ckpt"
        )
        what = f"{file.name} is a pickle that asks for {asked}, which no checkpoint needs; it is not loaded"
        LmodError.__init__(self, f"{folder}: {what}\nNext: {cure}")


def vet(folder: Path, trusted: Sequence[Path] = ()) -> None:
    """Raise an error if the pickles of a checkpoint folder ask for more than checkpoints need.

    Args:
        folder: A checkpoint folder of FSDP2 or DeepSpeed.
        trusted: Folders that the user named with ``--trust``; they are not checked.

    Raises:
        UntrustedCheckpoint: A pickle asks for another class or function, or names a file outside the folder.
        ArtifactError: A pickle cannot be read.
    """
    if any(path.resolve() == folder.resolve() for path in trusted):
        return
    if (folder / "latest").is_file():
        _vet_deepspeed(folder)
    else:
        storage(folder)


def storage(folder: Path) -> list[tuple[str, Any]]:
    """Return name and storage (file, offset, length) of each piece of an FSDP2 checkpoint.

    Raises:
        ArtifactError: See `vet`.
    """
    pieces: list[tuple[str, Any]] = []
    for file in sorted(folder.glob("*.metadata")):
        found = _described(folder, file)
        for index, info in (found.storage_data or {}).items():
            if Path(info.relative_path).name != info.relative_path or getattr(info, "transform_descriptors", None):
                raise _refused(folder, file, f"a piece in {str(info.relative_path)!r}")
            pieces.append((index.fqn, info))
            if type(found.state_dict_metadata.get(index.fqn)).__name__ == "BytesStorageMetadata":
                _vet_piece(folder, info)
    return pieces


def _described(folder: Path, file: Path) -> Any:
    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            known = name in FSDP.get(module, ()) or (
                module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
            )
            if not known:
                raise _refused(folder, file, f"{module}.{name}")
            return super().find_class(module, name)

    try:
        with file.open("rb") as stream:
            found = Reader(stream).load()
        if type(found).__name__ != "Metadata":
            raise TypeError(f"it holds a {type(found).__name__}")
    except Untrusted:
        raise
    except Exception as error:  # a damaged pickle can make the unpickler raise anything
        raise ArtifactError(folder, f"{file.name} cannot be read ({type(error).__name__})", _AGAIN) from error
    return found


def _vet_piece(folder: Path, info: Any) -> None:
    file = folder / info.relative_path
    if not file.is_file():
        raise ArtifactError(folder, f"{file.name} is missing", _AGAIN)
    with file.open("rb") as stream:
        stream.seek(info.offset)
        content = io.BytesIO(stream.read(info.length))
    _loadable(folder, file, content)


def _vet_deepspeed(folder: Path) -> None:
    tag = (folder / "latest").read_text(encoding="utf-8", errors="replace").strip()
    if (folder / tag).resolve().parent != folder.resolve():
        raise _refused(folder, folder / "latest", f"the folder {tag!r}")
    with torch.serialization.safe_globals(_of_deepspeed()):
        for file in sorted(folder.rglob("*.pt")):
            _loadable(folder, file, file)


def _of_deepspeed() -> list[Any]:
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    return [LossScaler, DynamicLossScaler, ZeroStageEnum, fragment_address]


def _loadable(folder: Path, file: Path, content: Any) -> None:
    """Raise an error unless `content` unpickles to tensors and plain values; a file is memory-mapped."""
    try:
        torch.load(content, map_location="cpu", weights_only=True, mmap=isinstance(content, Path))
    except pickle.UnpicklingError as error:
        raise refused(folder, file, error) from error
    except Exception as error:  # damaged bytes can make the reader raise anything
        raise ArtifactError(folder, f"{file.name} cannot be read ({type(error).__name__})", _AGAIN) from error


def refused(folder: Path, file: Path, error: pickle.UnpicklingError) -> UntrustedCheckpoint:
    """Return the error for a pickle that torch refuses, without torch's advice to run it.

    Args:
        folder: The checkpoint, a folder or the file itself.
        file: The file with the pickle.
        error: Error of `torch.load`.
    """
    asked = re.search(r"GLOBAL (\S+)|(?:function|class|type) ([\w.]+)", str(error))
    return _refused(folder, file, next(filter(None, asked.groups())) if asked else "another kind of value")


_AGAIN = "copy the folder again, or name another checkpoint of the run"


def _refused(folder: Path, file: Path, asked: str) -> UntrustedCheckpoint:
    return UntrustedCheckpoint(folder, file, asked.rstrip("."))
