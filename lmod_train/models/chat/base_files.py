"""Facts of a base that are stored in each checkpoint tuned from it: fingerprint, template and processor files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.errors import LmodError, WeightsMismatch
from lmod_train.core.links import check_folder
from lmod_train.core.types import Identity
from lmod_train.core.weight_values import known_by, tensors_of
from lmod_train.models.chat.checkpoint import Attention, Quantise
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting

SAMPLE = 1024
"""Bytes of each tensor that enter the fingerprint."""

PROCESSOR = (
    "*token*", "*processor*", "chat_template*", "vocab*", "merges.txt", "added_tokens.json", "generation_config.json",
    "spiece.model",
)  # fmt: skip
"""Names of the files that define how text and images become input, and when a reply ends."""


def fingerprint(folder: Path) -> str:
    """Return the SHA-256 of a checkpoint's tensors: name, type, shape and first kilobyte of each.

    It differs between merged weights and a delta and between two tuned checkpoints, and does not depend on how the
    weights are divided into files. It takes about a second for 7 billion parameters.

    Args:
        folder: A checkpoint with *.safetensors.
    """
    described = []
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as data:
            header, tensors = tensors_of(data)
            for name, about in tensors:
                begin, end = about["data_offsets"]
                data.seek(len(header) + begin)
                start = hashlib.sha256(data.read(min(SAMPLE, end - begin))).hexdigest()
                described.append(f"{name} {about['dtype']} {about['shape']} {start}")
    return hashlib.sha256("\n".join(sorted(described)).encode()).hexdigest()


def processor_files(folder: Path) -> dict[str, bytes]:
    """Return name -> content of the files of tokenizer, processor, chat template and generation settings.

    They are stored in every checkpoint that is tuned, so none of them is read behind a link to elsewhere.

    Raises:
        LeavesFolder: One is a link that leads out of the folder.
        NoFile: One is a pipe, socket, device or endless link.
    """
    check_folder(folder)
    found = {f.name: f for pattern in PROCESSOR for f in folder.glob(pattern) if f.is_file()}
    return {name: found[name].read_bytes() for name in sorted(found)}


def identity_of(
    folder: Path,
    prompt: Prompting,
    images: Pictures,
    attention: Attention | None,
    quantise: Quantise | None,
    **settings: str,
) -> Identity:
    """Return the identity of a checkpoint in transformers layout: everything that decides its replies.

    Args:
        folder: Folder of the checkpoint; weights and config.json enter as files, the processor files as the template.
        prompt: Options of the prompt; of these and the next three, those that differ from their defaults are stated.
        images: Options of the pictures.
        attention: Implementation of attention; None for the choice of transformers.
        quantise: Type of the language model's matrices; the files are those of the weights as published.
        settings: Decoding settings.
    """
    options: dict[str, Any] = {"prompt": prompt.settings(), "images": images.settings(), "attention": attention}
    options |= {"quantise": quantise}
    settings |= {name: json.dumps(value, sort_keys=True) for name, value in options.items() if value}
    files = [[name, hashlib.sha256(content).hexdigest()] for name, content in processor_files(folder).items()]
    template = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    return Identity((folder / "config.json", *sorted(folder.glob("*.safetensors"))), template, settings)


def write_processor_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of `processor_files` into a folder.

    Raises:
        ValueError: A name is not a plain file name and would lead out of the folder.
    """
    for name, content in files.items():
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a file in a folder")
        (folder / name).write_bytes(content)


class OtherBase(WeightsMismatch):
    """A checkpoint was tuned from another base, which its tensors fit alone."""

    def __init__(self, folder: Path, difference: str) -> None:
        LmodError.__init__(
            self,
            f"{folder}: the checkpoint was tuned from another base: {difference}. Nothing was loaded, as its tensors "
            "fit no other base.\nNext: name the base that the checkpoint was tuned from (`--base PATH`, or "
            "model.init_args.checkpoint)",
        )


def hashes_of(folder: Path) -> dict[str, str]:
    """Return file name -> SHA-256 of the weights of a base."""
    return {file.name: known_by(file) for file in sorted(folder.glob("*.safetensors"))}


def check_base(folder: Path, ours: str, theirs: Mapping[str, Any]) -> None:
    """Refuse a base other than the one that a checkpoint was tuned from: its adapters do not fit any other.

    Args:
        folder: Folder of the base.
        ours: Fingerprint of that base.
        theirs: `base`, `fingerprint` and, since 0.2, `hashes` as stored in the checkpoint. Hashes are compared where
            the weights are divided into the same files; they also find a byte that changed since the training.

    Raises:
        OtherBase: The fingerprints or hashes differ.
    """
    if ours != theirs["fingerprint"]:
        raise OtherBase(folder, f"{theirs['base']!r}, fingerprint {theirs['fingerprint'][:12]}, this is {ours[:12]}")
    before, now = theirs.get("hashes", {}), hashes_of(folder)
    changed = [name for name in now if now[name] != before[name]] if before.keys() == now.keys() else []
    if changed:
        was, found = before[changed[0]][:12], now[changed[0]][:12]
        raise OtherBase(folder, f"{changed[0]} had the SHA-256 {was}, this has {found}, and may be damaged")


def licence_of(folder: Path) -> str:
    """Return the licence in the header of a checkpoint's model card; `other` without card or licence."""
    card = folder / "README.md"
    lines = card.read_text(encoding="utf-8").splitlines() if card.is_file() else []
    if lines[:1] != ["---"]:
        return "other"
    header = lines[1 : lines.index("---", 1)] if "---" in lines[1:] else []
    named = [line.partition(":")[2].strip() for line in header if line.startswith("license:")]
    return named[0] if named and named[0] else "other"
