"""What a table loses on its way to records, by value; a class that is lost stops curation.

For every column that is used and each of its values, the rows of the table are the rows with a record and the listed
losses, before questions are balanced and splits are drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

from lmod_train.core.errors import LmodError, without_option
from lmod_train.core.types import Dropped, Patient, Sample
from lmod_train.data.cells.diagnoses import condition_of, kind_named
from lmod_train.data.cells.values import is_error, is_missing
from lmod_train.data.curation.accepted import Named, Refusal, named, refused
from lmod_train.data.curation.manifest_files import write_dropped
from lmod_train.extensions.table.meanings import AS_YOU_SAY, FACTS, SCALE_NAMES, Column, Entry

if TYPE_CHECKING:
    from lmod_train.extensions.table.source import OwnTable

LISTING = "losses.csv"
"""File of a curated folder with what made a curation stop; a later one does not change it."""

FEW = 10
"""Rows of a value from which on the share of them that is lost counts."""

TENTH = 0.1
"""Share of rows above which a loss stops curation."""

_OF_FILES = ("no image", "unreadable row")
_TWICE, _APART, NOT_ASKED, UNKNOWN = "same image twice", "contradictory rows", "value not asked", "a missing word"


@dataclass(frozen=True)
class Share:
    """What became of the rows of one value.

    Attributes:
        column: Name of the column.
        cell: The value as the table has it; empty for all values of a column of numbers or of free text together.
        word: What it stands for.
        before: Rows of the table with it that name an image.
        after: Those of them from which a record is asked about it.
        lost: Reason -> rows.
        lines: Reason -> lines of the table.
        new: Rows whose loss was not accepted.
        images: Keys of images with it, the first ones.
    """

    column: str
    cell: str
    word: str
    before: int = 0
    after: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    new: int = 0
    images: Sequence[str] = ()

    @property
    def is_missing(self) -> bool:
        """Whether the value is a word such as ``unknown``, or one that the user said to state nothing."""
        return UNKNOWN in self.lost and not self.new

    @property
    def is_broken(self) -> bool:
        """Whether a loss that nobody accepted takes the value, or more than a tenth of its rows, out of the records."""
        return self.new > 0 and (self.after == 0 or (self.before >= FEW and self.new > TENTH * self.before))


class Loss(LmodError):
    """A table loses values, or a file of conversations items, that it should not lose."""

    def __init__(self, lines: Sequence[str], listing: Path, of: str = "values of the table") -> None:
        self._listing, self._of = listing, of
        told = "\n".join(f"  {line}" for line in lines)
        super().__init__(f"{of} would be lost, so nothing was curated:\n{told}")

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that accepts the losses."""
        words = [*without_option([w for w in arguments if w != "--plan"], "--accept"), "--accept", str(self._listing)]
        again = join(["python", "-m", "lmod_train", *words])
        listed, mended = f"{self._listing} lists each", "mend the file"
        if "table" in self._of:
            listed += f" with its line, {self._listing.with_name('understood.html')} shows them"
            mended = "mend the table, or say what a column means (`--column MEANING=NAME`)"
        return f"{self}\n{listed}: {mended}.\nNext: run `{again}` to go on without them"


@dataclass(frozen=True)
class Law(Refusal):
    """Refuses to curate a table of which values get lost, before its images are read and after.

    Attributes:
        source: The table.
        show: Shows the account of values, the losses, and whether they stop; before a stop, and once images were read.
    """

    show: Callable[[Sequence[Share], Sequence[Dropped], bool], None] = lambda shares, dropped, stops: None
    source: OwnTable = None  # type: ignore[assignment]  # the fields of the base have defaults

    def raise_before(self, dropped: Sequence[Dropped], out: Path) -> None:
        """Check what the table loses by itself.

        Raises:
            Loss: It loses too much; ``losses.csv`` in `out` lists what.
        """
        self.raise_for(dropped, out / LISTING)

    def raise_for(self, dropped: Sequence[Dropped], listing: Path) -> None:
        """Check what is lost, with the images that could not be read.

        Raises:
            Loss: Too much is.
        """
        shares = account(self.source, dropped, self.accepted)
        lines = [*self._rows_lost(dropped), *_shares_lost(shares)]
        if lines and any(one.reason == "several_pictures" for one in dropped):
            lines.append("`--page middle`, `--page all` or `--page 1` says which picture of a file of several is read")
        if lines or listing.name != LISTING:
            self.show(shares, dropped, bool(lines))
        if lines:
            file = listing.with_name(LISTING)
            write_dropped(file, dropped, {self.source.name: self.source.root})
            raise Loss(lines, file)

    def _rows_lost(self, dropped: Sequence[Dropped]) -> Iterator[str]:
        """Yield a line for each kind of loss that takes more than a tenth of all rows."""
        new = [one for one in refused(dropped, self.accepted) if one.extent == "gone" or one.reason == _APART]
        rows = len(self.source.grid.rows) + len(self.source.grid.lost)
        keys = {entry.place.key for entry in self.source.entries.values()} | set(self.source.shown)
        unread = [one for one in new if one.reason in _OF_FILES or one.key in keys]
        if self.source.is_asking:
            unread += [one for one in new if one.reason == "no question"]
        if len(unread) > TENTH * rows:
            reasons = Counter(f"{one.reason}: {one.detail}" if rows <= 1 else one.reason for one in unread)
            told = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(4))
            yield f"{len(unread)} of {rows} rows have no {'question' if self.source.is_asking else 'image'} ({told})"
            yield f"  the first: {unread[0].key}: {unread[0].detail}"
        apart = {one.key for one in new if one.reason == _APART}
        shared = (
            []
            if self.source.is_asking
            else [e for e in self.source.entries.values() if line_key(*self.source.first_of(e)) in apart]
        )
        if len(shared) > TENTH * rows:
            yield f"{len(shared)} of {rows} rows share an image with a row that states another value of the same column"


def _shares_lost(shares: Sequence[Share]) -> list[str]:
    """Return a table of the columns that lose a value: rows and records, and their shares of the column."""
    broken = {share.column for share in shares if share.is_broken}
    order = sorted(shares, key=lambda s: (not s.is_broken, s.column, -s.before))
    return _table([share for share in order if share.column in broken], shares, _MOST)


def told(shares: Sequence[Share]) -> list[str]:
    """Return a table of the values that lose most of their rows, for the screen; empty if none loses any."""
    order = sorted(shares, key=lambda s: (s.after / max(s.before, 1), -s.before))
    return _table([share for share in order if share.lost], shares, _FIRST)


_MOST, _FIRST = 40, 8
"""Lines of a table on the screen: of one that stops curation, and of one that does not."""


def _table(shown: Sequence[Share], shares: Sequence[Share], most: int) -> list[str]:
    """Return the lines of a table of some of all shares."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for share in shares:
        totals[share.column][0] += share.before
        totals[share.column][1] += share.after
    rows = [("column", "value", "rows", "records", "share", "", "lost")] if shown else []
    for share in shown[:most]:
        lost = "; ".join(f"{n} {reason} ({_lines(share.lines[reason])})" for reason, n in share.lost.items())
        value = repr(share.cell[:28]) if share.cell else "(all values)"
        parts = [_percent(n, total) for n, total in zip((share.before, share.after), totals[share.column], strict=True)]
        rows.append((share.column[:28], value, str(share.before), str(share.after), parts[0], f"-> {parts[1]}", lost))
    widths = [max(len(row[n]) for row in rows) for n in range(6)] if rows else []
    lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[6]]) for row in rows]
    more = len(shown) - most
    return [*map(str.rstrip, lines), *([f"... and {more} more values that lose rows"] if more > 0 else [])]


def _percent(n: int, total: int) -> str:
    return f"{100 * n / total:.0f} %" if total else "-"


def _lines(lines: Sequence[int]) -> str:
    lines = list(dict.fromkeys(lines))
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:3]))}{', ...' if len(lines) > 3 else ''}"


class _Cell(NamedTuple):
    """A value of a row and an eye, and the entry that the row became; None if it has no image."""

    column: Column
    cell: str
    line: int
    eye: str
    entry: Entry | None


def account(source: OwnTable, dropped: Iterable[Dropped], accepted: Mapping[Named, int] | None = None) -> list[Share]:
    """Return what became of each value of the columns that are used, in the order of the columns.

    Args:
        source: The table, whose samples were read.
        dropped: What the table and curation left out.
        accepted: Losses that the user accepts.
    """
    dropped = list(dropped)
    new = Counter(map(named, refused(dropped, Counter(accepted or {}))))
    reason = _Reasons(source, dropped)
    found: dict[tuple[str, str], list[tuple[_Cell, Dropped | None]]] = {}
    kept = _kept_by(source)
    finite = {c.name: _is_finite(source, c) for c in source.columns}
    for one in _cells(source):
        lost = None if kept(one) and not reason.gone(one) else reason.of(one)
        found.setdefault((one.column.name, one.cell if finite[one.column.name] else ""), []).append((one, lost))
    return [_share(key, cells, new) for key, cells in found.items()]


def _share(key: tuple[str, str], cells: Sequence[tuple[_Cell, Dropped | None]], new: Mapping[Named, int]) -> Share:
    lines: defaultdict[str, list[int]] = defaultdict(list)
    for one, drop in cells:
        if drop is not None:
            lines[drop.reason].append(one.line)
    lost = {reason: len(at) for reason, at in lines.items()}
    unaccepted = sum(drop is not None and drop.reason != UNKNOWN and new.get(named(drop), 0) > 0 for _, drop in cells)
    first = cells[0][0]
    images = dict.fromkeys(one.entry.place.key for one, drop in cells if one.entry and drop is None)
    after = len(cells) - sum(lost.values())
    word = first.column.words.get(first.cell, first.cell) if key[1] else ""
    return Share(*key, word, len(cells), after, lost, lines, unaccepted, tuple(images)[:3])


def unlisted(source: OwnTable, dropped: Sequence[Dropped]) -> Iterator[Dropped]:
    """Yield a line for each value that no record is asked about and no line lists."""
    reason, kept = _Reasons(source, dropped), _kept_by(source)
    for one in _cells(source):
        if not kept(one) and ((found := reason.listed(one)) is None or (_is_blank(one) and found.extent == "gone")):
            yield reason.stating(one)


def _cells(source: OwnTable) -> Iterator[_Cell]:
    """Yield the values of used columns, of every row that names an image, for each of its eyes."""
    at = {name: place for place, name in enumerate(source.grid.header)}
    images = [c for c in source.columns if c.meaning == "image"]
    used = [c for c in source.columns if _is_counted(source, c)]
    for row in source.grid.rows:
        for image in images:
            if is_missing(row.cells[at[image.name]]):
                continue
            entry = source.entries.get((row.line, image.eye))
            side = image.eye or source.side(row)
            for column in used:
                cell = row.cells[at[column.name]]
                is_blank = not cell.strip() and cell not in column.words
                of_another = column.eye and side and column.eye != side
                unboxed = column.meaning == "structure" and not (entry and entry.boxed)
                if not (is_blank or of_another or unboxed):
                    yield _Cell(column, cell, row.line, image.eye, entry)
    named = {column.name: column for column in used}
    for one in source.grid.apart:
        if one.column in named:
            yield _Cell(named[one.column], one.cell, one.line, "", None)


def _is_counted(source: OwnTable, column: Column) -> bool:
    meaning = column.meaning
    known = meaning in FACTS or meaning in SCALE_NAMES or condition_of(meaning) is not None
    labels = known or meaning in ("diagnosis", "structure") or source.asked_columns.get(column.name)
    if not labels or not column.is_used or source.is_asking:
        return False
    return meaning in FACTS or len(set(column.words.values())) != 1 or bool(source.asked_columns.get(column.name))


def _is_finite(source: OwnTable, column: Column) -> bool:
    """Return whether each value of a column is a class of its own, unlike ages, numbers and free text."""
    kinds = {str(question["kind"]) for question in source.asked_columns.get(column.name, ())}
    return column.meaning not in ("age", "camera") and not kinds & {"number", "open"}


def _kept_by(source: OwnTable) -> Callable[[_Cell], bool]:
    """Return the function that tells whether a record is asked about a value, or states it of its patient."""

    @cache
    def asked(modality: str, name: str, word: str) -> bool:
        bare = replace(next(iter(source.shown.values())), modality=modality, patient=Patient(), outlines=())
        bare = replace(bare, labels={name: word})
        return any(next(task.ask(bare), None) is not None for task in source.tasks)

    def kept(one: _Cell) -> bool:
        sample = source.shown.get(one.entry.place.key) if one.entry else None
        given = one.entry.given.get(one.column.name, {}) if one.entry else {}
        if sample is None:
            return False
        is_kind = kind_named(one.column.name)  # a denied one stays beside another that is there
        return any(
            (sample.labels[name] == word or (is_kind and word == "no")) and asked(sample.modality, name, word)
            if name in sample.labels
            else _is_stated(sample, name, word)
            for name, word in given.items()
        )

    return kept


def _is_stated(sample: Sample, name: str, word: str) -> bool:
    """Return whether a sample states a fact: of its patient, its split, its modality, or a structure in a box."""
    if name == "structure":
        return any(outline.structure == word for outline in sample.outlines)
    if name == "age":
        return sample.patient.age == float(word)
    if name in ("split", "modality"):
        return name == "modality" or sample.split == word
    return name in FACTS and getattr(sample.patient, name) == word


def _is_blank(one: _Cell) -> bool:
    """Return whether a cell is a word or sign for a missing value."""
    return is_missing(one.cell) and one.cell not in one.column.words and one.cell not in one.column.bad


class _Reasons:
    """Which drop took a value away."""

    def __init__(self, source: OwnTable, dropped: Iterable[Dropped]) -> None:
        self._source = source
        self._by_key: defaultdict[str, list[Dropped]] = defaultdict(list)
        for one in dropped:
            self._by_key[one.key].append(one)

    def gone(self, one: _Cell) -> Dropped | None:
        """Return the drop of the whole row or image."""
        keys = [line_key(one.line, one.eye), *([one.entry.place.key] if one.entry else [])]
        drops = (drop for key in keys for drop in self._by_key[key])
        return next((drop for drop in drops if drop.extent == "gone" and drop.reason != _TWICE), None)

    def listed(self, one: _Cell) -> Dropped | None:
        """Return the drop that is listed of a value, its row or its image."""
        own = self._by_key[line_key(one.line, one.eye)]
        found = next((drop for drop in own if drop.detail.startswith(f"{one.column.name}: ")), None) or self.gone(one)
        if found is None and one.entry is not None:
            first = self._by_key[line_key(*self._source.first_of(one.entry))]
            found = next((drop for drop in first if drop.reason == _APART), None)
        return found

    def of(self, one: _Cell) -> Dropped:
        """Return the drop that took a value away; one of a value that is not asked about if none is listed."""
        cell, found = one.cell, self.listed(one)
        if found is not None:
            is_none = one.column.bad.get(cell) == AS_YOU_SAY or is_error(cell) or _is_blank(one)
            return replace(found, reason=UNKNOWN) if is_none else found
        return self.stating(one)

    def stating(self, one: _Cell) -> Dropped:
        """Return a line for a value that states nothing, or that no question asks about."""
        name, cell, is_unknown = one.column.name, one.cell, _is_blank(one)
        reason = UNKNOWN if is_unknown else NOT_ASKED
        detail = f"{name}: {cell[:80]!r}: " + ("it states nothing" if is_unknown else "no question asks about it")
        return Dropped(
            self._source.name, line_key(one.line, one.eye), self._source.grid.path.name, "read", reason, detail, "part"
        )


def line_key(line: int, eye: str) -> str:
    """Return the key of a row, or of one eye of it, among what is dropped."""
    return f"line {line}" + (f", {eye} eye" if eye else "")
