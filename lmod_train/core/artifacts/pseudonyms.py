"""Names of records for what is passed on: those of sources that must stay on this machine become pseudonyms.

Keys of records are names of files, which may name a patient. A pseudonym is a keyed hash (HMAC-SHA-256, RFC 2104), as
a hash without a key is found by hashing every record number. The key is random, lies in the curated folder beside the
list of names, and is not passed on.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from lmod_train.core.artifacts.leaving import open_sources, source_of, sources_touched
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.csv_files import read_rows, write_csv
from lmod_train.core.errors import ArtifactError, CuratedDamaged
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link
from lmod_train.core.lock import locked
from lmod_train.core.raw import read_bytes
from lmod_train.core.types import Prediction, Record, Unparsed

FOLDER, KEY, NAMES = "private", "pseudonyms.key", "pseudonyms.csv"
"""Folder within a curated folder; in it the key of the hashes, and the list of pseudonyms and names."""
BYTES = 32
"""Length of the key."""
_ENDING = re.compile(r"\.(?:jpg|png)")
_LETTER = re.compile(r"\w")
_WORD = re.compile(r"[^\s'\"]*")


class Pseudonyms:
    """Names of records, chains and images, by which nobody without the curated folder finds the files.

    Attributes:
        folder: Where the key and the list of names lie; None if nothing has a pseudonym, or no folder takes the key.
        names: Name of each record, chain and image that has a pseudonym -> the pseudonym.
    """

    def __init__(self, shown: Iterable[tuple[Path | None, Iterable[Record]]], named: Iterable[str] = ()) -> None:
        """Find what needs a pseudonym.

        Args:
            shown: Curated folders, each with the records of it that are shown. Its manifest states which sources may be
                redistributed; without one, none may.
            named: Sources that keep their names nevertheless, as those of a public dataset may.

        Raises:
            LeavesFolder: The key is a link that leads out of its folder.
            CuratedDamaged: The file of the key is not one.
        """
        kept, closed, folders = frozenset(named), dict[str, Record](), dict[Path, None]()
        for folder, records in shown:
            may_leave = kept | _open_in(folder)
            own = {r.id: r for r in records if sources_touched(r) - may_leave}
            closed |= own
            folders |= {folder: None} if own and folder else {}
        self._key, self.folder = key_in(list(folders)) if closed else (b"", None)
        self._records = {id: self._shown(record) for id, record in closed.items()}
        self.names: Mapping[str, str] = self._named(closed)
        self._lengths = sorted({len(name) for name in self.names}, reverse=True)
        self._tails = dict(chain.from_iterable(map(_tails, self.names.items())))
        self._tail_lengths = sorted({len(tail) for tail in self._tails}, reverse=True)
        sources = {source for r in closed.values() for source in (*sources_touched(r), quote(r.source, safe=""))}
        begin = "|".join(re.escape(source) for source in sorted(sources, key=len, reverse=True))
        self._begin = re.compile(rf"(?:[\w%.~-]{{1,99}}/)?(?:{begin})/") if sources else None

    def record(self, record: Record) -> Record:
        """Return a record with the id, key and chain that are shown; its paths are those of the files."""
        shown = self._records.get(record.id)
        return replace(record, id=shown.id, key=shown.key, chain=shown.chain) if shown else record

    def prediction(self, prediction: Prediction) -> Prediction:
        """Return a prediction as it is shown: its record, and what was sent and what failed, with these names."""
        if not self.names:
            return prediction
        reply = prediction.reply
        sent = replace(reply, rendered=self.text(reply.rendered), error=self.text(reply.error))
        answer = prediction.answer
        if isinstance(answer, Unparsed):
            answer = replace(answer, detail=self.text(answer.detail))
        return replace(prediction, record=self.record(prediction.record), reply=sent, answer=answer)

    def text(self, text: str) -> str:
        """Return a text in which records, chains and images have the names that are shown."""
        pieces, at = list[str](), 0
        while self._begin and (begin := self._begin.search(text, at)):
            start = begin.start()
            known = (text[start : start + n] for n in self._lengths)
            name = next((own for own in known if own in self.names), None)
            end = start + len(name) if name else max(begin.end(), _WORD.match(text, start).end())  # type: ignore[union-attr]
            pieces += [text[at:start], self.names[name] if name else begin[0] + self._code(text[start:end])]
            at = end
        return self._without_files("".join((*pieces, text[at:])))

    def _without_files(self, text: str) -> str:
        """Return a text without names of image files, of which folders above may have been taken away."""
        for ending in reversed([found.end() for found in _ENDING.finditer(text)] if self._tails else []):
            begins = (max(0, ending - n) for n in self._tail_lengths)
            whole = (text[at:ending] for at in begins if not (at and _LETTER.match(text, at - 1)))
            if tail := next((own for own in whole if own in self._tails), ""):
                text = text[: ending - len(tail)] + self._tails[tail] + text[ending:]
        return text

    def keep(self) -> None:
        """Add pseudonyms and names to the list beside the key, for the owner of the data."""
        if self.folder is None:
            return
        with locked(self.folder, "curated"):
            file = self.folder / NAMES
            before = dict(row for row in read_rows(file)[1:] if len(row) == 2) if file.is_file() else {}
            now = before | {shown: name for name, shown in self.names.items()}
            if now != before:
                write_csv(file, ("pseudonym", "name"), sorted(now.items()))

    def _shown(self, record: Record) -> Record:
        source, own = quote(record.source, safe=""), self._code(f"{record.source}/{record.key}")
        head, found, rest = record.id.partition(f"/{source}/{quote(record.key)}")
        id = f"{head}/{source}/{own}{rest}" if found else f"{record.task}/{source}/{self._code(record.id)}"
        together = f"{source}/{self._code(record.chain)}" if record.chain else ""
        return replace(record, id=id, key=own, chain=together)

    def _named(self, closed: Mapping[str, Record]) -> dict[str, str]:
        names = dict[str, str]()
        for id, record in closed.items():
            shown = self._records[id]
            names |= {id: shown.id} | ({record.chain: shown.chain} if record.chain else {})
            for image in filter(None, (*record.image, *record.image_plain)):
                place = f"images/{source_of(image, record.source)}/{self._code(image)}"
                names[image] = place + PurePosixPath(image).suffix
        return names

    def _code(self, name: str) -> str:
        return keyed_hash(self._key, name)


def keyed_hash(key: bytes, name: str) -> str:
    """Return 16 hexadecimal digits of the HMAC-SHA-256 of a name."""
    return hmac.new(key, name.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:16]


def _tails(names: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the ends of the path of an image, each with the name of the file that is shown."""
    image, shown = names
    if _ENDING.search(image, len(image) - 4):
        parts = image.split("/")
        yield from (("/".join(parts[place:]), shown.rpartition("/")[2]) for place in range(1, len(parts)))


def _open_in(folder: Path | None) -> frozenset[str]:
    try:
        return open_sources(read_manifest(folder)) if folder else frozenset()
    except ArtifactError:
        return frozenset()


def known_key(curated: Path) -> bytes:
    """Return the key of a curated folder, empty if it has none yet."""
    return key_in([curated])[0] if (curated / FOLDER / KEY).is_file() else b""


def key_in(folders: Sequence[Path]) -> tuple[bytes, Path | None]:
    """Return the key of the first folder that has one or takes a new one, and its folder; else a new key."""
    files = [folder / FOLDER / KEY for folder in folders if folder.is_dir()]
    for file in sorted(files, key=lambda file: not file.is_file()):
        check_link(file.parent.parent, file)
        with suppress(OSError):  # the folder is read-only
            return _own_key(file), file.parent
    return secrets.token_bytes(BYTES), None


def _own_key(file: Path) -> bytes:
    """Return the key in a file, which is made where there is none; only this user can read it."""
    with locked(file.parent, "curated", wait=60):
        if not file.is_file():
            with write_durably(file) as part:
                os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
                part.write_bytes(secrets.token_bytes(BYTES))
        try:
            key = read_bytes(file, BYTES)
        except ValueError as error:
            raise CuratedDamaged(file, f"is not a key ({error})") from error
    if len(key) != BYTES:
        raise CuratedDamaged(file, f"has {len(key)} bytes, expected a key of {BYTES}")
    return key
