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
import sys
import zipfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import yaml

MOST_IMAGE_BYTES = 200 * 2**20
"""Maximum bytes of an image file: 50 million uncompressed pixels in three colours have 150 million bytes."""

MOST_TABLE_BYTES = 64 * 2**20
"""Maximum bytes of a table or an annotation file."""

MOST_YAML_BYTES, MOST_DEPTH = 2**18, 50
"""Maximum bytes of a YAML text, and of lists and mappings within each other.

A command reads a config several times, and deep brackets take a second for 100 kB; endless ones crash PyYAML.
"""

MOST_LINE = 2**25
"""Maximum bytes of a line of a JSON-lines file; twice the longest reply of a server that is read."""

MOST_LISTED_BYTES = 2**20
"""Maximum bytes of a zip archive's directory, with about 70 bytes per member."""

MOST_CONTAINERS, MOST_COMMAS = 1_000_000, 6_000_000
"""Maximum lists and objects, and commas, in a JSON file, as each takes many times its size in memory."""

MOST_DIGITS = 300
"""Maximum digits of an integer in JSON or YAML; longer ones of JSON are infinity, which later checks refuse."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
    return parse_json(decoded(read_bytes(path, MOST_TABLE_BYTES)))


def parse_json(text: str, **options: Any) -> Any:
    """Return the content of a JSON text, as `read_json` does.

    Args:
        text: The text.
        **options: Those of `json.loads`.

    Raises:
        ValueError: It is not JSON, nested too deeply, or has too many lists and objects.
    """
    if text.count("[") + text.count("{") > MOST_CONTAINERS or text.count(",") > MOST_COMMAS:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects or {MOST_COMMAS:,} commas")
    try:
        return json.loads(text, parse_int=whole_number, **options)
    except RecursionError as error:
        raise ValueError("lists and objects nested too deeply") from error


def lines_of(path: Path, most: int = sys.maxsize) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end; of one over `MOST_LINE` bytes only the start, one byte more.

    Raises:
        OSError: See `read_bytes`.
        ValueError: The file has more than `most` bytes.
    """
    with open_file(path, most) as file:
        while line := file.readline(MOST_LINE + 1):
            rest = line
            while len(rest) > MOST_LINE and not rest.endswith(b"\n"):
                rest = file.readline(MOST_LINE + 1)
            yield line if line is rest or not rest.endswith(b"\n") else line + b"\n"


def last_line(path: Path) -> tuple[int, bytes]:
    """Return where the last line begins, and its bytes as in `lines_of`; none where the file ends with a line's end.

    Raises:
        OSError: See `read_bytes`.
    """
    with open_file(path, sys.maxsize) as file:
        start, at = file.seek(0, os.SEEK_END), 0
        while start and not at:
            before = max(0, start - 2**20)
            file.seek(before)
            at = file.read(start - before).rfind(b"\n") + 1
            start = before + at
        file.seek(start)
        return start, file.read(MOST_LINE + 1)


def json_of_line(line: bytes) -> Any:
    """Return the content of a line of JSON that `lines_of` yielded.

    Raises:
        ValueError: It is too long, not UTF-8, or see `parse_json`.
    """
    if len(line.removesuffix(b"\n")) > MOST_LINE:
        raise ValueError(f"more than {MOST_LINE:,} bytes")
    return parse_json(line.decode("utf-8", "surrogatepass"))


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file as `parse_yaml` does, in the encodings of `read_json`.

    Raises:
        OSError: See `read_bytes`.
        ValueError: See `parse_yaml`, or it is not text.
    """
    return parse_yaml(decoded(read_bytes(path, MOST_YAML_BYTES)))


def parse_yaml(text: str) -> Any:
    """Return the content of a YAML text of plain values, see `LimitedLoader`.

    Raises:
        ValueError: It is not YAML, or one that `LimitedLoader` refuses.

    Example:
        >>> parse_yaml("{lr: 1e-3, read: 2026-01-31, most: 00:12:00, by: [a, 0x1F, ~]}")
        {'lr': 0.001, 'read': '2026-01-31', 'most': '00:12:00', 'by': ['a', 31, None]}
    """
    try:
        return yaml.load(text, LimitedLoader)  # noqa: S506 - it constructs plain values alone
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from error


class LimitedLoader(_Loader):  # type: ignore[misc] # in C, or in Python without libyaml
    """Loader of YAML that refuses what costs more than its size, before any value is made.

    These are more than `MOST_YAML_BYTES`, lists and mappings within each other beyond `MOST_DEPTH`, aliases and merge
    keys, of which ten lines can expand to a billion values, and tags. A key that stands twice is refused, too. Numbers
    are those of PyYAML, and ``1e-3`` is one; dates, times (``1:30``), ``010`` and numbers of over `MOST_DIGITS` are
    text.

    Raises:
        yaml.YAMLError: It contains one of them.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, known) for tag, known in kinds if tag.endswith((":bool", ":null"))]
        for first, kinds in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        if len(text) > MOST_YAML_BYTES or "\n%TAG" in f"\n{text}":  # of which thousands take a time that is quadratic
            raise yaml.YAMLError(f"{len(text):,} characters, expected at most {MOST_YAML_BYTES:,} and no %TAG")
        depth = 0
        for event in yaml.parse(text, _Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_DEPTH:
                raise yaml.YAMLError(f"more than {MOST_DEPTH} lists and mappings within each other")
            merges = getattr(event, "value", "") == "<<" and not getattr(event, "style", None)
            if merges or isinstance(event, yaml.AliasEvent):
                found = "an alias (*name) or merge key (<<), expected the values themselves"
            elif tag := getattr(event, "tag", None):
                found = f"a tag ({tag[:80]}), expected a value without one; quote a text that begins with !"
            else:
                continue
            raise yaml.YAMLError(f"it contains {found}, in line {event.start_mark.line + 1}")  # type: ignore[union-attr]
        super().__init__(text)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping whose keys differ."""
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            last = {self.construct_object(key): key for key, _ in node.value}  # by value, as 1 and 1.0 are one key
            key = next(key for key, _ in node.value if last[self.construct_object(key)] is not key)
            raise yaml.YAMLError(f"the key {key.value!r} in line {key.start_mark.line + 1} stands there twice")
        return found


for _kind, _numbers in (
    ("int", "[-+]?(0|[1-9][0-9_]*|0b_*[01][01_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)"),
    ("float", r"[-+]?[0-9][0-9_]*(\.[0-9_]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)|\.[0-9][0-9_]*([eE][-+][0-9]+)?"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
):
    _known = re.compile(f"(?=.{{1,{MOST_DIGITS}}}$)({_numbers})$")
    LimitedLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _known, list("-+0123456789."))


def dump_yaml(content: Any, **layout: Any) -> str:
    r"""Return content of plain values as YAML that `parse_yaml` and `yaml.safe_load` read back equal, without aliases.

    Args:
        content: Mappings, lists, texts, numbers.
        **layout: Options of `yaml.dump`; default: one line a value, in the given order.

    Example:
        >>> dump_yaml({"b": "1e-3", "a": 0.001})
        "b: '1e-3'\na: 0.001\n"
    """
    return str(yaml.dump(content, Dumper=_Dumper, **{"sort_keys": False, "allow_unicode": True, **layout}))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # which quotes `1e-3` as text
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [*yaml.SafeDumper.yaml_implicit_resolvers.get(first, ()), *kinds]
        for first, kinds in LimitedLoader.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:
        return True


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
