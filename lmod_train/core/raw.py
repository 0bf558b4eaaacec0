"""Reading of untrusted files within limits, so that none can fill the memory or block: no devices, no pipes.

Used for raw datasets and files of other tools. Every problem of a file is an `OSError` or a `ValueError`, whose message
names what was found, but not the path.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
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
    """Return the content of a JSON file in an encoding of `decoded`.

    Integers of more than `MOST_DIGITS` digits are infinite, like ``1e999``.

    Raises:
        OSError: See `read_bytes`.
        ValueError: The file is too large, not text, not JSON, nested too deeply, or has too many lists and objects.
    """
    text = decoded(read_bytes(path, MOST_TABLE_BYTES))
    if text.count("[") + text.count("{") > MOST_CONTAINERS or text.count(",") > MOST_COMMAS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects or {MOST_COMMAS:,} commas")
    try:
        return json.loads(text, parse_int=whole_number)
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
    """Return the text of a file in UTF-8 or UTF-16 (with or without a mark), GB18030, Mac Roman, cp1252 or ISO 8859-15.

    Without a mark, UTF-16 is known by its zero bytes, and GB18030 by several Chinese characters in a row, as in cp1252
    most letters outside ASCII stand alone, and Mac Roman by words that make no sense in cp1252. A text that could be
    either is refused.

    Raises:
        UnicodeError: It is none of these, or it is not clear which.

    Example:
        >>> [decoded("João".encode(encoding)) for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be")]
        ['João', 'João', 'João', 'João', 'João']
        >>> decoded("1,视盘出血".encode("gb18030"))
        '1,视盘出血'
    """
    return text_of(data)[0]


def text_of(data: bytes) -> tuple[str, str]:
    """Return the text of a file as `decoded` does, and the name of its encoding."""
    wide = _wide_encoding(data)
    if wide:
        return data.decode(wide).removeprefix("\ufeff"), wide
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        encoding = _narrow_encoding(data)
        return data.decode(encoding), encoding


def _wide_encoding(data: bytes) -> str:
    """Return the encoding of a text in UTF-16; empty for another."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = data[:4096]
    upper, lower = start[::2].count(0), start[1::2].count(0)
    if max(upper, lower) * 10 < max(len(start), 30) or (upper and lower):  # ASCII in every fifth place or more
        return ""
    return "utf-16-be" if upper else "utf-16-le"


def start_of(data: bytes) -> str:
    """Return the text of the first bytes of a file, whose last character may be cut; letters outside ASCII are lost.

    Example:
        >>> start_of("image_id,age".encode("utf-16")), start_of(b"image_id,age")
        ('image_id,age', 'image_id,age')
    """
    wide = _wide_encoding(data)
    text = data[: len(data) // 2 * 2].decode(wide, "ignore") if wide else data.decode("utf-8-sig", "ignore")
    return text.removeprefix("\ufeff")


_HIGH = re.compile(rb"[\x80-\xff]+")
_UTF_8 = re.compile(rb"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+")
_CHINESE = re.compile(rb"(?:[\xa1-\xf7][\xa1-\xfe])+")
_LATIN_9 = re.compile(rb"[a-zA-Z\xc0-\xff][\xbc-\xbe]|[\xbc-\xbe][a-z\xdf-\xff]")
"""One of the letters Œ, œ and Ÿ of ISO 8859-15 within a word, where cp1252 has fractions."""

_GB_SIGNS = re.compile(rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x80-\xff]")
"""A character of GB18030 outside ASCII, or a byte that is none."""

_WORDS = re.compile(rb"[a-zA-Z\x80-\xff]+")
_CAPITAL = "[\xc0-\xd6\xd8-\xde\u0152\u0160\u0178\u017d]"
_ODD = re.compile(
    rf"(?<=[a-z\xdf-\xf6\xf8-\xff]){_CAPITAL}|(?<=[^\W\d_]){_CAPITAL}(?=[a-z])"
    r"|[\x80-\x9f\ufffd\u02c6-\u02dd\uf8ff-\ufb02]"
    r"|(?<=[^\W\d_])[^\w\s\x00-\x7f\xb7\u2019\u2013\u2014](?=[^\W\d_])"
    r"|(?<![^\W\d_])[^\w\s\x00-\x7f\xa1\xab\xb0\xbf\u2018\u2019\u201a-\u201e\u2039\u2022\u2013\u2014](?=[a-z])"
)
"""A capital after a small letter, a sign within or before a word, and what no text has, such as \u02c6 and \ufb02."""

_EITHER = re.compile(rb"[a-z][\x96\x97\x9a\x9c\x9e](?=[a-z])")
"""Two dashes, s and z with caron and the ligature oe of cp1252 within a word; all are letters of Mac Roman."""

_NAMES = re.compile(
    rb"(?<![a-zA-Z\x80-\xff])(?:[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\x81-\xfe][\x40-\x7e\x80-\xfe]){2,4}"
    rb"(?![a-zA-Z\x80-\xff])"
)
"""Two to four characters of GB18030 that stand alone."""

_QUOTES = re.compile(rb"(?<![a-z])[\x85\x91-\x94]|[\x85\x91-\x94](?![a-z])")
"""Signs of cp1252 that word processors write beside dashes."""

_ALONE = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]")
"""A frequent Chinese character; few words in cp1252 have two such letters in a row (Portuguese CORAÇÃO, OPÇÕES)."""


def _narrow_encoding(data: bytes) -> str:
    """Return GB18030, Mac Roman, cp1252 or ISO 8859-15 for a text that is not UTF-8.

    Raises:
        UnicodeError: It could be either, or it is UTF-8 with damaged characters.
    """
    runs = _HIGH.findall(data)
    if sum(_UTF_8.fullmatch(run) is not None for run in runs) * 2 > len(runs):
        raise UnicodeError("text in UTF-8 with damaged characters; save it as UTF-8 again")
    if _is_gb18030(data):
        return "gb18030"
    if found := _mac_or_windows(data):
        return found
    chinese = [run for run in runs if _CHINESE.fullmatch(run)]
    is_long = any(len(run) > 2 for run in chinese)
    alone = any(_ALONE.fullmatch(run) and run not in (b"\xc7\xc3", b"\xc7\xd5") for run in chinese)
    if len(chinese) * 2 <= len(runs) or not (is_long or alone):
        return "iso8859-15" if _LATIN_9.search(data) else "cp1252"
    raise UnicodeError("text that may be GB18030 or cp1252; save it as UTF-8")


def _is_gb18030(data: bytes) -> bool:
    """Return whether a text is one of Chinese characters, some in a row, most of them frequent ones.

    Rare ones, such as \u5f35, have other bytes, also ASCII ones; of cp1252, most pairs of bytes would be rare ones.
    """
    signs = _GB_SIGNS.findall(data)
    common = [sign for sign in signs if _CHINESE.fullmatch(sign)]
    is_long = re.search(rb"(?:[\xa1-\xf7][\xa1-\xfe]){2}", data) is not None
    return is_long and len(common) * 10 >= len(signs) * 7 and _decodes(data, "gb18030")


def _odd(words: bytes, encoding: str) -> int:
    """Return the number of characters in words that no word has there, if they are in an encoding."""
    return len(_ODD.findall(words.decode(encoding, "replace")))


def _mac_or_windows(data: bytes) -> str:
    """Return Mac Roman for a text whose words make sense in it and not in cp1252; empty for another.

    Raises:
        UnicodeError: They make sense in both, or may be Chinese names of rare characters.
    """
    words = b" ".join({word for word in _WORDS.findall(data) if not word.isascii()})
    windows, mac = _odd(words, "cp1252"), _odd(words, "mac-roman")
    if windows and _NAMES.search(data) and _decodes(data, "gb18030"):
        raise UnicodeError("text that may be GB18030, Mac Roman or cp1252; save it as UTF-8")
    if windows > 2 * mac:
        return "mac-roman"
    if not windows and not mac and _EITHER.search(words) and not _QUOTES.search(data):
        raise UnicodeError("text that may be Mac Roman or cp1252; save it as UTF-8")
    return ""


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
