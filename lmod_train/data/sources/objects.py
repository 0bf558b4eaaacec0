"""Objects of a file of another tool (JSON, JSON lines, Parquet, a folder of `datasets`), and the images inside them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core.batches import batches
from lmod_train.core.files import sha256_of, write_beside
from lmod_train.core.raw import MOST_IMAGE_BYTES, decoded, open_file, parse_json, read_bytes, whole_number
from lmod_train.core.types import Cut, ImageFile

MOST_BYTES = 1_200_000_000
"""Maximum bytes of a JSON file; the largest of LLaVA has 1.03 GB."""

MOST_IN_PARTS = 2**40
"""Maximum bytes of a Parquet file in memory, which is read a few rows at a time."""

HELD = "table_images.parquet"
"""File of the images that another file holds, until they are curated: they have all their metadata."""


def objects_in(path: Path) -> Iterator[Any]:
    """Yield what a file holds, in its order: objects, and a text for a line that is none.

    Args:
        path: A JSON list of objects, or an object of objects; JSON lines; Parquet; or a folder that
            `datasets.save_to_disk` wrote, of which objects of several splits have the key ``split``.

    Raises:
        OSError: See `lmod_train.core.raw.read_bytes`.
        ValueError: The file is none of these.
    """
    if path.is_dir():
        yield from _saved(path)
    elif is_parquet(path):
        with pq.ParquetFile(path) as file:
            for part in batches(file, MOST_IN_PARTS):
                yield from _rows(part)
    else:
        text = decoded(read_bytes(path, MOST_BYTES))
        yield from (value for _, value in objects_of(text))


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does.

    Raises:
        OSError: See `lmod_train.core.raw.read_bytes`.
    """
    with open_file(path, MOST_IN_PARTS) as file:
        return file.read(4) == b"PAR1"


def objects_of(text: str) -> Iterator[tuple[int, Any]]:
    """Yield number and value of the objects of a text in JSON, or of its lines.

    An object of objects has their names as ``id``; of one with a single list of several, its members are the objects.

    Raises:
        ValueError: The text is a list or object that cannot be read, or its lines are no JSON.

    Example:
        >>> list(objects_of('{"a": {"x": 1}}')), list(objects_of('{"data": [{"x": 1}, {"x": 2}]}'))
        ([(1, {'id': 'a', 'x': 1})], [(1, {'x': 1}), (2, {'x': 2})])
    """
    try:
        value = json.loads(text, parse_int=whole_number)
    except (ValueError, RecursionError) as error:
        if not text.lstrip().startswith("{") or not any(isinstance(one, dict) for _, one in islice(_lines(text), 20)):
            raise ValueError(f"neither JSON nor JSON lines ({error})") from error
        yield from _lines(text)
        return
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list) and one and isinstance(one[0], dict)]
        if value and all(isinstance(one, dict) for one in value.values()):
            value = [{"id": name, **one} for name, one in value.items()]
        elif len(lists) == 1 and len(lists[0]) > 1 and not is_conversation(value):
            value = lists[0]
        else:
            value = [value]
    if not isinstance(value, list):
        raise ValueError(f"found {type(value).__name__}")
    yield from enumerate(value, 1)


KEYS = ("conversations", "conversatons", "messages")
"""Keys of the turns of a conversation; the second as LLaVA-Med's instruction files spell it."""


def is_conversation(value: Any) -> bool:
    """Return whether an object is a conversation: it has a list of turns.

    Example:
        >>> is_conversation({"messages": [{"role": "user", "content": "Which?"}]}), is_conversation({"question": ""})
        (True, False)
    """
    return isinstance(value, Mapping) and any(isinstance(value.get(key), list) for key in KEYS)


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    """Yield number and value of the lines that are not blank; one that is no JSON is left out as a text, alone."""
    begin = number = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        line, begin, number = text[begin:end].removesuffix("\n"), end, number + 1
        if line.strip():
            try:
                yield number, parse_json(line)
            except ValueError:
                yield number, line


def _saved(folder: Path) -> Iterator[Any]:
    """Yield the rows of a folder that `datasets` wrote, a few at a time."""
    for split, file in _parts(folder):
        with pa.memory_map(str(file)) as source:
            for part in pa.ipc.open_stream(source):
                for row in _rows(part):
                    yield row if not split or "split" in row else {**row, "split": split}


def schema_of(folder: Path) -> pa.Schema | None:
    """Return the schema of a folder that `datasets` wrote; None without a part.

    Raises:
        OSError: A file of it is missing.
        ValueError: See `objects_in`.
    """
    for _, file in _parts(folder):
        with pa.memory_map(str(file)) as source:
            return pa.ipc.open_stream(source).schema
    return None


def images_in(path: Path) -> Iterator[bytes]:
    """Yield the images that the objects of a file hold as bytes, each a value or one of a list of them."""
    for value in objects_in(path):
        for one in value.values() if isinstance(value, dict) else ():
            images = (image_in(part) for part in (one if isinstance(one, list) else [one]) if not isinstance(part, str))
            yield from (image for image in images if isinstance(image, bytes))


def _rows(part: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = part.to_pylist()
    except (OverflowError, pa.ArrowException) as error:  # e.g. a time beyond the years of Python
        raise ValueError(f"its rows cannot be read ({error})") from error
    return rows


def _parts(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield split, empty without several, and Arrow file of each part of a data set, as its own JSON files name them.

    Raises:
        ValueError: A file is named that lies elsewhere, or the JSON files have another form.
    """
    several = folder / "dataset_dict.json"
    try:
        splits = json.loads(decoded(read_bytes(several)))["splits"] if several.is_file() else [""]
        for split in splits:
            state = json.loads(decoded(read_bytes(folder / split / "state.json")))
            for named in state["_data_files"]:
                file = folder / split / named["filename"]
                if file.resolve().parent != (folder / split).resolve() or not file.resolve().is_relative_to(
                    folder.resolve()
                ):
                    raise ValueError(f"{named['filename']!r} leads out of the folder")
                yield split, file
    except (KeyError, TypeError) as error:
        raise ValueError(f"no folder of `datasets.save_to_disk` ({type(error).__name__}: {error})") from error


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of those of the parts of a folder that `datasets` wrote."""
    if not path.is_dir():
        return sha256_of(path)
    return sha256("\n".join(f"{split} {sha256_of(file)}" for split, file in _parts(path)).encode()).hexdigest()


# Images inside objects: structs of bytes as `datasets` writes them, and texts in base64.
_SHORT = 64
"""Characters up to which a text is the name of an image, or the number of another row, and not an image."""

_BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF", b"\0\0\0\x0cjP", b"P5", b"P6")
"""Of JPEG, PNG, GIF, BMP, TIFF, WebP, JPEG 2000 and PPM."""


def begins_as_image(text: str) -> bool:
    """Return whether a text is an image in base64 by its beginning; a long path can be base64 too."""
    begin = from_base64((text[: 2 * _SHORT].partition("base64,")[2] or text)[:_SHORT]) if len(text) > _SHORT else ""
    return isinstance(begin, bytes) and begin.startswith(_BEGINNINGS)


def from_base64(text: str) -> bytes | str:
    """Return the bytes of a text in base64, or why it is none."""
    try:
        return base64.b64decode(text.partition("base64,")[2] or text, altchars=None, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"not base64 ({error})"


def image_in(value: Any) -> bytes | str | None:
    """Return the image that a value holds, as bytes or as the name of a file; None for another value.

    Args:
        value: A name, base64 with or without ``data:``, bytes, or an object with ``bytes``, ``path`` or ``url``.

    Example:
        >>> image_in("eye.jpg"), image_in({"bytes": b"...", "path": "eye.jpg"}), image_in({"path": "eye.jpg"})
        ('eye.jpg', b'...', 'eye.jpg')
    """
    if isinstance(value, Mapping):
        held = value.get("bytes") or value.get("path") or value.get("url")
        return None if isinstance(held, Mapping) else image_in(held)
    if isinstance(value, bytes):
        return value or None
    if not isinstance(value, str) or not value:
        return None
    if value.startswith("data:") or begins_as_image(value):
        found = from_base64(value)
        return found if isinstance(found, bytes) else value
    return value.removeprefix("file://")


def name_of(image: bytes | str) -> str:
    """Return the name of an image: that of its file, or of one inside a file its hash."""
    return image if isinstance(image, str) else f"{HASHED}{sha256(image).hexdigest()}"


HASHED = "sha256:"
"""Beginning of the name of an image inside a file."""


def unpack(file: Path, images: Iterable[bytes]) -> dict[str, ImageFile]:
    """Write images that another file holds to a Parquet file of their own, each once; nothing where there are none.

    Args:
        file: The Parquet file.
        images: As they come.

    Returns:
        Name by `name_of` -> where the image is, keyed by its row.
    """
    images, places = iter(images), dict[str, ImageFile]()
    first = next(images, None)
    if first is None:
        return places
    options: Any = {"use_dictionary": False, "write_statistics": False}  # of which each copies an image again
    with write_beside(file) as part, pq.ParquetWriter(part, _IMAGE, **options) as writer:
        for group in _groups(chain([first], images)):
            new = {known: data for data in group if (known := name_of(data)) not in places}
            for known in new:
                row = len(places)
                places[known] = ImageFile(file, f"image-{row:06d}", cut=Cut(column="image", row=row))
            writer.write_table(pa.table({"image": pa.array(list(new.values()), pa.binary())}), row_group_size=_AT_ONCE)
    return places


def _groups(images: Iterator[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    for image in images:
        group.append(image)
        if len(group) == _AT_ONCE or sum(map(len, group)) > MOST_IMAGE_BYTES // _AT_ONCE:
            yield group
            group = []
    yield group


_AT_ONCE = 16
"""Images of a row group at most, which is kept in memory when one of them is read."""

_IMAGE = pa.schema([("image", pa.binary())])
