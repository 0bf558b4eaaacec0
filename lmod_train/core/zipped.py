"""Checksums of zip files written by `torch.save`, which PyTorch does not verify."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from lmod_train.core.files import sha256_of


def sha256_and_damage(path: Path) -> tuple[str, str]:
    """Return a file's SHA-256 and, for a zip file, a description of its damage.

    Args:
        path: Any file; one that is not a zip file has no checksums, and its damage is empty.
    """
    return sha256_of(path), damage(path) if zipfile.is_zipfile(path) else ""


def damage(path: Path) -> str:
    """Return a description of the damage of a zip file, empty if all checksums are correct.

    Args:
        path: A file written by `torch.save`; any other is reported as truncated.
    """
    with path.open("rb") as stream:
        return damage_in(stream)


def damage_in(stream: IO[bytes]) -> str:
    """Return `damage` of an open file."""
    if not zipfile.is_zipfile(stream):
        return "truncated: its directory, at its end, is missing"
    try:
        with zipfile.ZipFile(stream) as opened:
            listed = opened.infolist()
            if not any(entry.CRC for entry in listed):  # written with torch.serialization.set_crc32_options(False)
                return ""
            stored = (entry for entry in listed if entry.compress_type == zipfile.ZIP_STORED)
            found = next((e.filename for e in stored if e.compress_size != e.file_size), None) or opened.testzip()
    except Exception as error:  # damaged bytes can make the reader raise anything
        return f"not a complete zip file ({error})"
    return f"{found} has a wrong checksum" if found else ""


def directory(stream: IO[bytes]) -> bytes:
    """Return the directory of a zip file, which holds all checksums; of a file without checksums all its bytes."""
    begin = 0
    with suppress(Exception), zipfile.ZipFile(stream) as opened:  # see `damage_in`
        begin = opened.start_dir if any(entry.CRC for entry in opened.infolist()) else 0
    stream.seek(begin)
    return stream.read()
