"""Check sums of the zip files that `torch.save` writes; PyTorch itself reads them without a look at these."""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

AT_ONCE = 1 << 22
"""Bytes read in one call."""
HEADER = struct.Struct("<4s22xHH")
"""Of an entry's own header: its mark, and the lengths of name and extra field, which the entry's bytes follow."""


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


class _Nothing:
    def update(self, data: Any, /) -> None:
        """Take no notice."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    begin: int
    end: int
    crc: int


def sha256_and_damage(path: Path) -> tuple[str, str]:
    """Return a file's SHA-256, and what is damaged in it where it is a zip file; it is read once.

    Args:
        path: Any file; one that is no zip file has no check sums, and so no damage that could be seen.
    """
    digest = hashlib.sha256()
    said = _read(path, digest)
    return digest.hexdigest(), said


def damage(path: Path) -> str:
    """Return what is damaged in a zip file, empty where each entry is as it was written.

    Args:
        path: A file of `torch.save`; any other is named as cut off.
    """
    if not zipfile.is_zipfile(path):
        return "cut off: its table of contents, at its end, is missing"
    return _read(path, _Nothing())


def _read(path: Path, digest: _Hash) -> str:
    """Feed a file to a hash from its first byte to its last, and return the first damage on the way."""
    with path.open("rb") as stream:
        entries, said = _entries(path, stream)
        stream.seek(0)
        for entry in entries:
            _feed(stream, entry.begin - stream.tell(), digest)
            if _feed(stream, entry.end - entry.begin, digest) != entry.crc:
                said = said or f"{entry.name} is not as it was written (its check sum differs)"
        _feed(stream, path.stat().st_size - stream.tell(), digest)
    return said


def _feed(stream: IO[bytes], length: int, digest: _Hash) -> int:
    """Read so many bytes, and return their CRC-32."""
    crc = 0
    while length > 0 and (piece := stream.read(min(length, AT_ONCE))):
        digest.update(piece)
        crc = zlib.crc32(piece, crc)
        length -= len(piece)
    return crc


def _entries(path: Path, stream: IO[bytes]) -> tuple[list[_Entry], str]:
    """Return where each entry's bytes lie, in the file's order, and what is wrong with the file's own structure."""
    if not zipfile.is_zipfile(path):
        return [], ""
    try:
        with zipfile.ZipFile(path) as opened:
            listed = sorted(opened.infolist(), key=lambda i: i.header_offset)
        if any(i.compress_type != zipfile.ZIP_STORED for i in listed):
            return [], _unpacked(path)
        if not any(i.CRC for i in listed):  # written with torch.serialization.set_crc32_options(False)
            return [], ""
        return list(_placed(listed, stream)), ""
    except (zipfile.BadZipFile, struct.error, zlib.error, ValueError, OSError, RuntimeError) as error:
        return [], f"it is no whole zip file ({error})"


def _placed(listed: list[zipfile.ZipInfo], stream: IO[bytes]) -> Iterator[_Entry]:
    end = 0
    for info in listed:
        stream.seek(info.header_offset)
        mark, name, extra = HEADER.unpack(stream.read(HEADER.size))
        begin = info.header_offset + HEADER.size + name + extra
        if mark != b"PK\x03\x04" or begin < end:
            raise zipfile.BadZipFile(f"no entry where {info.filename} should begin")
        end = begin + info.file_size
        yield _Entry(info.filename, begin, end, info.CRC)


def _unpacked(path: Path) -> str:
    """Return what is damaged in a compressed file, which `torch.save` does not write."""
    with zipfile.ZipFile(path) as opened:
        name = opened.testzip()
    return f"{name} is not as it was written (its check sum differs)" if name else ""
