"""Reading of untrusted files within limits, so that none can fill the memory or block: no devices, no pipes.

Used for raw datasets and files of other tools. Every problem of a file is an `OSError` or a `ValueError`, whose message
names what was found, but not the path.
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
"""Maximum bytes of an image file: 50 million uncompressed pixels in three colours have 150 million bytes."""

MOST_TABLE_BYTES = 64 * 2**20
"""Maximum bytes of a table or an annotation file."""

MOST_YAML_BYTES = 100_000
"""Maximum bytes of a YAML file, which is parsed at about 100 kB/s; class names of a dataset take a few hundred."""

MOST_BRACKETS = 500
"""Maximum opening brackets in a YAML file, as PyYAML takes quadratic time for nested ones."""

MOST_LISTED_BYTES = 2**20
"""Maximum bytes of a zip archive's directory, with about 70 bytes per member."""

MOST_CONTAINERS, MOST_COMMAS = 1_000_000, 6_000_000
"""Maximum lists and objects, and commas, in a JSON file, as each takes many times its size in memory."""

MOST_DIGITS = 300
"""Maximum digits of an integer in JSON; longer ones are read as infinity, which later checks refuse."""


def read_bytes(path: Path, most: int = MOST_IMAGE_BYTES) -> bytes:
    """Return the bytes of a regular file; links are followed.

    Args:
        path: The file.
        most: Maximum size in bytes.

    Raises:
        OSError: The file is missing, cannot be read, or is a folder, pipe, socket or device.
        ValueError: The file is larger than `most`, or than its stated size (as files in ``/proc``).
    """
    with open_file(path, most) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1)
    if len(data) > size:
        raise ValueError(f"more bytes than its stated size of {size:,}")
    return data


def open_file(path: Path, most: int = MOST_IMAGE_BYTES) -> BufferedReader:
    """Open a regular file for reading; arguments and errors are those of `read_bytes`."""
    _check(path.stat().st_mode)  # before opening, as opening a device can have effects
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        facts = os.fstat(file.fileno())
        _check(facts.st_mode)
        if facts.st_size > most:
            raise ValueError(f"{facts.st_size:,} bytes, expected at most {most:,}")
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
    """Return the content of a JSON file in UTF-8 (with or without byte-order mark) or cp1252.

    Integers of more than `MOST_DIGITS` digits are infinite, like ``1e999``.

    Raises:
        OSError: See `read_bytes`.
        ValueError: The file is too large, not text, not JSON, nested too deeply, or has too many lists and objects.
    """
    data = read_bytes(path, MOST_TABLE_BYTES)
    if data.count(b"[") + data.count(b"{") > MOST_CONTAINERS or data.count(b",") > MOST_COMMAS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects or {MOST_COMMAS:,} commas")
    try:
        return json.loads(decoded(data), parse_int=whole_number)
    except RecursionError as error:
        raise ValueError("lists and objects nested too deeply") from error


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file of plain values, in the encodings of `read_json`.

    Raises:
        OSError: See `read_bytes`.
        ValueError: The file has more than `MOST_YAML_BYTES`, is not text or not YAML, is nested too deeply, or contains
            aliases, of which ten lines can expand to a billion values.
    """
    text = decoded(read_bytes(path, MOST_YAML_BYTES))
    if text.count("[") + text.count("{") > MOST_BRACKETS:
        raise ValueError(f"more than {MOST_BRACKETS} lists and objects in brackets")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("it contains an alias (*name), which is not supported")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    except (RecursionError, LookupError, AttributeError, TypeError) as error:  # of PyYAML for invalid tags and keys
        raise ValueError(f"not readable ({type(error).__name__})") from error


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip archive (npz, xlsx), unless its directory is too long.

    Raises:
        ValueError: The directory is longer than `MOST_LISTED_BYTES`, or in the format for archives over 4 GB.
        zipfile.BadZipFile: The file is not a zip archive.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2**16 - 42))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if listed > MOST_LISTED_BYTES or tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise ValueError("a zip archive with too many members")
    file.seek(0)
    return zipfile.ZipFile(file)


def whole_number(text: str) -> int | float:
    """Return an integer of JSON, infinite with more than `MOST_DIGITS` digits.

    Example:
        >>> whole_number("12"), whole_number("-" + 400 * "9")
        (12, -inf)
    """
    if len(text) <= MOST_DIGITS:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


def decoded(data: bytes) -> str:
    """Return the text of a file: UTF-8 with or without byte-order mark, otherwise cp1252.

    Raises:
        UnicodeDecodeError: It is neither, as some bytes are undefined in cp1252.

    Example:
        >>> [decoded("João".encode(encoding)) for encoding in ("utf-8", "utf-8-sig", "cp1252")]
        ['João', 'João', 'João']
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")
