"""Checksums of zip files written by `torch.save`, which PyTorch does not verify."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

AT_ONCE = 1 << 22
"""Bytes per read."""
HEADER = struct.Struct("<4s22xHH")
"""Local header of an entry: signature, and lengths of name and extra field, followed by the entry's bytes."""


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


class _Nothing:
    def update(self, data: Any, /) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    begin: int
    end: int
    crc: int


def sha256_and_damage(path: Path) -> tuple[str, str]:
    """Return a file's SHA-256 and, for a zip file, a description of its damage; the file is read once.

    Args:
        path: Any file; one that is not a zip file has no checksums, and its damage is empty.
    """
    digest = hashlib.sha256()
    found = _read(path, digest)
    return digest.hexdigest(), found


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
    return _check(stream, _Nothing())


def frame(stream: IO[bytes]) -> bytes:
    """Return all bytes of a zip file but the contents of its entries: its directory, which holds their checksums.

    Of a file without checksums, or a damaged or another one, these are all bytes.
    """
    parts, at = [], 0
    for entry in _entries(stream)[0]:
        stream.seek(at)
        parts.append(stream.read(entry.begin - at))
        at = entry.end
    stream.seek(at)
    return b"".join([*parts, stream.read()])


def _read(path: Path, digest: _Hash) -> str:
    with path.open("rb") as stream:
        return _check(stream, digest)


def _check(stream: IO[bytes], digest: _Hash) -> str:
    """Hash a whole file, and return the first damage found."""
    entries, found = _entries(stream)
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    for entry in entries:
        _feed(stream, entry.begin - stream.tell(), digest)
        if _feed(stream, entry.end - entry.begin, digest) != entry.crc:
            found = found or f"{entry.name} has a wrong checksum"
    _feed(stream, size - stream.tell(), digest)
    return found


def _feed(stream: IO[bytes], length: int, digest: _Hash) -> int:
    """Hash the next `length` bytes, and return their CRC-32."""
    crc = 0
    while length > 0 and (piece := stream.read(min(length, AT_ONCE))):
        digest.update(piece)
        crc = zlib.crc32(piece, crc)
        length -= len(piece)
    return crc


def _entries(stream: IO[bytes]) -> tuple[list[_Entry], str]:
    """Return the entries in the order of the file, and a description of a damaged structure."""
    if not zipfile.is_zipfile(stream):
        return [], ""
    try:
        with zipfile.ZipFile(stream) as opened:
            listed = sorted(opened.infolist(), key=lambda i: i.header_offset)
            if any(i.compress_type != zipfile.ZIP_STORED for i in listed):  # `torch.save` does not compress
                name = opened.testzip()
                return [], f"{name} has a wrong checksum" if name else ""
        if not any(i.CRC for i in listed):  # written with torch.serialization.set_crc32_options(False)
            return [], ""
        return list(_placed(listed, stream)), ""
    except Exception as error:  # damaged bytes can make the reader raise anything
        return [], f"not a complete zip file ({error})"


def _placed(listed: list[zipfile.ZipInfo], stream: IO[bytes]) -> Iterator[_Entry]:
    end = 0
    for info in listed:
        stream.seek(info.header_offset)
        mark, name, extra = HEADER.unpack(stream.read(HEADER.size))
        begin = info.header_offset + HEADER.size + name + extra
        code = "utf-8" if info.flag_bits & 0x800 else "cp437"
        same = stream.read(name) == info.orig_filename.encode(code) and info.compress_size == info.file_size
        if mark != b"PK\x03\x04" or begin < end or not same:
            raise zipfile.BadZipFile(f"no entry {info.filename} at its stated position")
        end = begin + info.file_size
        yield _Entry(info.filename, begin, end, info.CRC)
