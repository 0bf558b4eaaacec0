"""Read files from strangers within limits: no device, no pipe, nothing that fills the memory or never ends.

Level 0: sources read tables and annotations with it, curation reads pixels, formats read other tools' files. Everything
that is wrong with a file is an `OSError` or a `ValueError`, whose message names what was found, never where it lay.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import yaml

MOST_IMAGE_BYTES = 200 * 2**20
"""Of a file that holds pixels: 50 million of them uncompressed in three colours are 150 million bytes."""

MOST_TABLE_BYTES = 64 * 2**20
"""Of a table or an annotation file."""

MOST_YAML_BYTES = 100_000
"""Of a YAML file, which is read at some 100 kB a second; the class names of a dataset take a few hundred."""

MOST_BRACKETS = 500
"""Of a YAML file: where they are nested, PyYAML's time grows with the square of their number."""

MOST_LISTED_BYTES = 2**20
"""Of a zip archive's list of members, about 70 bytes each."""

MOST_CONTAINERS, MOST_COMMAS = 1_000_000, 6_000_000
"""Of a JSON file: lists and objects, and what stands between values; each costs many times its bytes in memory."""

MOST_DIGITS = 300
"""Of a whole number in JSON; a longer one is read as infinity, which no check of a measure lets pass."""


def read_bytes(path: Path, most: int = MOST_IMAGE_BYTES) -> bytes:
    """Return the bytes of a regular file; a link is followed to one.

    Args:
        path: The file.
        most: Bytes at most.

    Raises:
        OSError: It is missing, may not be read, or is a folder, a pipe, a socket or a device (which may never end).
        ValueError: It is larger than `most`, or than it says (as files below ``/proc`` are).
    """
    with open_file(path, most) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1)
    if len(data) > size:
        raise ValueError(f"more bytes than the {size:,} that its size tells")
    return data


def open_file(path: Path, most: int = MOST_IMAGE_BYTES) -> BufferedReader:
    """Open a regular file for reading; arguments and errors are those of `read_bytes`."""
    _check(path.stat().st_mode)  # before opening: to open a device can already do something
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        facts = os.fstat(file.fileno())
        _check(facts.st_mode)
        if facts.st_size > most:
            raise ValueError(f"{facts.st_size:,} bytes, and at most {most:,} are read")
    except BaseException:
        file.close()
        raise
    return file


def _check(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError("a folder, expected a file")
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))
        kind = next((name for test, name in kinds if test(mode)), "special file")
        raise OSError(f"a {kind}, expected a file")


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, written in UTF-8 (with a mark or without) or cp1252.

    Whole numbers of more than `MOST_DIGITS` digits are infinite, as ``1e999`` is.

    Raises:
        OSError: As for `read_bytes`.
        ValueError: It is too large, no text or no JSON, nested too deeply, or has too many lists and objects.
    """
    data = read_bytes(path, MOST_TABLE_BYTES)
    if data.count(b"[") + data.count(b"{") > MOST_CONTAINERS or data.count(b",") > MOST_COMMAS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects or {MOST_COMMAS:,} commas")
    try:
        return json.loads(decoded(data), parse_int=_whole_number)
    except RecursionError as error:
        raise ValueError("lists and objects nested too deeply") from error


def read_yaml(path: Path) -> Any:
    """Return what a YAML file of plain values holds, in the encodings of `read_json`.

    Raises:
        OSError: As for `read_bytes`.
        ValueError: It has more than `MOST_YAML_BYTES`, is no text or no YAML, is nested too deeply, or has an alias:
            ten lines of them can stand for a billion values.
    """
    text = decoded(read_bytes(path, MOST_YAML_BYTES))
    if text.count("[") + text.count("{") > MOST_BRACKETS:
        raise ValueError(f"more than {MOST_BRACKETS} lists and objects in brackets")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("an alias (*name) in it, which is not read")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    except (RecursionError, LookupError, AttributeError, TypeError) as error:  # as PyYAML does on odd tags and keys
        raise ValueError(f"not readable ({type(error).__name__})") from error


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip archive (npz, xlsx) whose list of members is read only if it is of a sensible length.

    Raises:
        ValueError: The list is longer than `MOST_LISTED_BYTES`, or in the form for archives beyond 4 GB.
        zipfile.BadZipFile: It is no zip archive.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2**16 - 42))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if listed > MOST_LISTED_BYTES or tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise ValueError("a zip archive of too many members")
    file.seek(0)
    return zipfile.ZipFile(file)


def _whole_number(text: str) -> int | float:
    if len(text) <= MOST_DIGITS:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


def decoded(data: bytes) -> str:
    """Return the text of a file: UTF-8 with or without byte-order mark, else Windows' western code page.

    Raises:
        UnicodeDecodeError: It is neither, by what cp1252 says: a few bytes are no letters there.

    Example:
        >>> [decoded("João".encode(encoding)) for encoding in ("utf-8", "utf-8-sig", "cp1252")]
        ['João', 'João', 'João']
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")
