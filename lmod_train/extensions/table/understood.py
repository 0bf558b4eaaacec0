"""What was understood of a table: on the screen, and as a page on which a person sees it in a minute."""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmod_train.core.files import write_durably
from lmod_train.core.package_data import package_data
from lmod_train.core.pixels import UNREADABLE, jpeg_bytes, open_picture, upright
from lmod_train.core.raw import dump_yaml
from lmod_train.core.types import Dropped, Patient, Sample
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import kind_named, only_denies
from lmod_train.data.cells.image_names import paged
from lmod_train.data.cells.values import listed, shown, values_of
from lmod_train.data.curation.guard import guarded
from lmod_train.data.curation.image_files import open_image, to_rgb
from lmod_train.data.curation.prepare import image_path
from lmod_train.data.sources.grid import Grid
from lmod_train.extensions.table.law import LISTING, Share
from lmod_train.extensions.table.meanings import MEANINGS, Column, Entry, option_of, typed, value_of
from lmod_train.extensions.table.plan import FILE, Plan, curating_by, identifier

if TYPE_CHECKING:
    from lmod_train.extensions.table.source import OwnTable

PAGE = "understood.html"
"""Name of the page in a curated folder."""

SIDE = 96
"""Longest side of a thumbnail in pixels."""

MOST_VALUES, MOST_LINES, MOST_IMAGES = 30, 20, 150
"""Values of a column, lines of the table for a reason, and thumbnails that the page shows."""

_WORDS: Mapping[str, Any] = package_data(__file__, "words.yaml")["understood"]

_PERSONAL = frozenset({"name", "birth", "patient", "image", "id", "index", "date", "notes", "ignore"})
"""Meanings of columns whose cells may name a person; the page shows none of them, nor cells that all differ."""


def write_page(
    out: Path,
    grid: Grid,
    columns: Sequence[Column],
    plan: Plan,
    source: OwnTable | None = None,
    shares: Sequence[Share] = (),
    dropped: Sequence[Dropped] = (),
    stops: bool = False,
) -> None:
    """Write the page into a curated folder; it needs no other file and no network.

    Args:
        out: The folder.
        grid: The table.
        columns: What its columns mean.
        plan: How the table is read.
        source: The table as samples; None if something is in doubt.
        shares: What became of each value.
        dropped: What was left out.
        stops: Whether that is too much, so that nothing is curated.
    """
    from lmod_train.report.writers.template import fill, static_policy

    page = fill(
        Path(__file__).with_name(PAGE),
        policy=static_policy("data:"),
        table=grid.path.name,
        verdict=_verdict(columns, source, shares, dropped, stops),
        facts=f"{len(grid.rows)} rows, {len(grid.header)} columns ({grid.kind}); licence: {plan.licence}",
        command=curating_by(out / FILE, plan, Path("NEW")),
        notes=grid.notes,
        columns=[_column(grid, column) for column in columns],
        questions=plan.questions,
        values=list(_values(columns, source, shares, out, plan)) if source else [],
        losses=list(_losses(source, dropped)) if source else [],
        listing="dropped.csv" if (out / "dropped.csv").exists() else LISTING,
    )
    with write_durably(out / PAGE) as part:
        part.write_text(page, encoding="utf-8", errors="backslashreplace")


def _verdict(
    columns: Sequence[Column], source: OwnTable | None, shares: Sequence[Share], dropped: Sequence[Dropped], stops: bool
) -> str:
    """Return the first line of the page: what is to be said or lost, else how many images are asked about."""
    if doubted := [column.name for column in columns if column.doubt]:
        return str(_WORDS["doubt"]).format(n=len(doubted), columns=listed(doubted))
    broken = sum(share.is_broken for share in shares)
    if stops or broken:
        return str(_WORDS["broken" if broken else "stops"]).format(n=broken)
    images = set(source.shown) - {one.key for one in dropped if one.extent == "gone"} if source else set()
    return str(_WORDS["fine"]).format(n=len(images), lost=sum(one.extent == "gone" for one in dropped))


def _column(grid: Grid, column: Column) -> dict[str, str]:
    cells = grid.column(column.name)
    hidden = column.meaning in _PERSONAL or (column.meaning == "own" and 2 * len(set(cells)) > len(cells))
    examples = "" if hidden or column.doubt else cells_of(grid, column)
    return {
        "name": column.name,
        "meaning": meaning_of(column),
        "doubt": column.doubt,
        "examples": examples,
        "why": column.why,
        "edit": _yaml({column.name: {"means": "?" if column.doubt else column.meaning}}),
    }


def _yaml(content: Mapping[str, Any]) -> str:
    """Return what stands in a plan, in one line."""
    text = dump_yaml(dict(content), default_flow_style=True, width=10_000)
    return text.strip().removeprefix("{").removesuffix("}")


def _values(
    columns: Sequence[Column], source: OwnTable, shares: Sequence[Share], out: Path, plan: Plan
) -> Iterator[dict[str, Any]]:
    """Yield the values of each column, those that lose rows first."""
    by_column: defaultdict[str, list[Share]] = defaultdict(list)
    for share in shares:
        by_column[share.column].append(share)
    entries = {entry.place.key: entry for entry in source.entries.values()}
    left = MOST_IMAGES
    for column in columns:
        own = sorted(by_column[column.name], key=lambda s: (not s.is_broken, not s.lost, -s.before))
        rows = []
        for share in own[:MOST_VALUES]:
            images = [_thumbnail(source.shown[key], out, plan.page) for key in share.images if key in source.shown]
            images = [image for image in images[:left] if image]
            left -= len(images)
            first = entries.get(share.images[0]) if share.images else None
            word = share.word if share.after or share.cell not in column.bad else column.bad[share.cell]
            word = "no value" if share.is_missing and share.cell not in column.bad else word
            rows.append({
                "cell": share.cell, "word": word, "before": share.before, "after": share.after,
                "broken": share.is_broken, "images": images,
                "lost": [(reason, n, _lines(share.lines[reason])) for reason, n in share.lost.items()],
                "asked": _asking(source, column, first) if first else [],
                "edit": _yaml({column.name: {"words": {share.cell: "WORD" if share.is_missing else share.word}}})
                if share.cell else "",
            })  # fmt: skip
        if rows:
            yield {"name": column.name, "rows": rows, "more": len(own) - len(rows)}


def _asking(source: OwnTable, column: Column, entry: Entry) -> list[str]:
    """Return the names of the tasks that ask about what a column states of an image."""
    sample, given = source.shown.get(entry.place.key), entry.given.get(column.name, {})
    if sample is None:
        return []
    known: dict[str, Any] = {name: word for name, word in given.items() if name in _OF_PATIENT}
    known |= {"age": float(known["age"])} if "age" in known else {}
    bare = replace(sample, labels={n: w for n, w in given.items() if n in sample.labels}, patient=Patient(**known))
    return [task.name for task in source.tasks if next(task.ask(bare), None) is not None]


_OF_PATIENT = ("age", "sex", "laterality", "camera", "quality")


def _thumbnail(sample: Sample, out: Path, page: str) -> dict[str, Any] | None:
    """Return a small image as a ``data:`` address, of the curated file where there is one; None if it is unreadable."""
    sample = next(one for one in paged(sample, page, {}) if isinstance(one, Sample))
    curated = out / image_path(sample.source, sample.key, marked=False)

    def read() -> Any:
        if curated.is_file():
            return open_picture(curated, coarse=2 * SIDE)
        if sample.own_image.suffix.casefold() in (".jpg", ".jpeg") and not sample.cut.column:
            return to_rgb(upright(open_picture(sample.own_image, coarse=2 * SIDE)))
        return open_image(sample)

    try:
        found = guarded(sample, read)
    except UNREADABLE:
        return None
    image = getattr(found, "image", found)
    if isinstance(image, Dropped):
        return None
    image = image.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    address = "data:image/jpeg;base64," + base64.b64encode(jpeg_bytes(image, 80, 2)).decode("ascii")
    return {"address": address, "width": image.width, "height": image.height}


def _losses(source: OwnTable, dropped: Sequence[Dropped]) -> Iterator[dict[str, Any]]:
    """Yield each reason with its lines of the table; files and images that no row names are counted."""
    lines = {entry.place.key: entry.row.line for entry in source.entries.values()}
    found: defaultdict[tuple[str, str], list[int | None]] = defaultdict(list)
    for one in dropped:
        row = re.match(r"line (\d+)", one.key)
        found[one.reason, one.extent].append(int(row[1]) if row else lines.get(re.sub(r"#p\d+$", "", one.key)))
    for (reason, extent), at in sorted(found.items(), key=lambda item: (item[0][1] != "gone", -len(item[1]))):
        named = sorted({line for line in at if line is not None})
        cures: Mapping[str, str] = _WORDS["cures"]
        what = _WORDS["extents"]["file" if not named else extent]
        where, n = (_lines(named), len(named)) if named else ("", len(at))
        yield {"reason": reason, "n": n, "extent": what, "where": where, "cure": cures.get(reason, "")}


def _lines(lines: Sequence[int]) -> str:
    """Return numbers of lines of the table, and how many more there are."""
    lines = sorted(set(lines))
    more = f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:MOST_LINES]))}{more}"


# On the screen.


def print_understood(grid: Grid, columns: Sequence[Column], plan: Plan) -> None:
    """Print the table as it was read, and a line for every column: what it means, and examples of its cells."""
    where = f"; header in line {grid.header_line}" if grid.header_line else ""
    print(f"{grid.path}: {grid.kind}; {len(grid.rows)} rows, {len(grid.header)} columns{where}")
    for note in grid.notes:
        print(f"  {note}")
    meanings = [meaning_of(column) for column in columns]
    named, meant = min(28, max(len(c.name) for c in columns)), max(map(len, meanings))
    for column, meaning in zip(columns, meanings, strict=True):
        print(f"  {shown(column.name, named):<{named}}  {meaning:<{meant}}  {cells_of(grid, column)}".rstrip())
    for told in (line for column in columns if column.meaning == "diagnosis" for line in _merged(column)):
        print(f"  {told}")
    for question in plan.questions:
        print(f"  asks {question['name']}: {_kind(question)}: {question['words']}")
        if told := _beside_others(question, columns):
            print(f"    {told}")
    if plan.visits:
        print("  asks how grades have changed since the visit before, by patient, eye and date")
    passed_on = "may be passed on" if plan.redistributable else "nothing of it leaves this machine"
    print(f"licence: {plan.licence}; {passed_on}")
    if plan.name == identifier(plan.table.stem):
        print(f"name: {plan.name}, of the file; it stands in reports and exports: `--name WORD` for another")


def _merged(column: Column) -> Iterator[str]:
    """Yield a line for each disease of which a column of diagnoses states several degrees or kinds, as one answer."""
    for word in dict.fromkeys(column.words.values()):
        cells = [cell for cell, one in column.words.items() if one == word and kind_named(cell)]
        if len({kind_named(cell) for cell in cells}) > 1:
            kept = typed(option_of("own", column.name))
            yield f"{listed(cells)} are one answer, {word}; `{kept}` with `--ask` keeps them apart"


def _beside_others(question: Mapping[str, Any], columns: Sequence[Column]) -> str:
    """Return a line about choices that deny a disease, and so may be true beside another one; empty without any."""
    denied = [choice for choice in question.get("choices") or () if only_denies(choice)]
    if not denied or question["kind"] != "choice" or len(question["choices"]) < 3:
        return ""
    words = next((c.words for c in columns if c.name == question["column"]), {})
    cell = next((cell for cell, word in words.items() if word == denied[0]), denied[0])
    option = typed(value_of(question["column"], cell, "unknown"))
    return f"{listed(denied)} may be true beside another choice; `{option}` leaves a cell out"


def _kind(question: Mapping[str, Any]) -> str:
    """Return the kind of a question in words, with its first choices."""
    kinds = {"choice": "one of", "grade": "a grade, in order", "several": "several of", "yes_no": "yes or no"}
    kind = kinds.get(question["kind"], {"open": "free text", "number": "a number"}.get(question["kind"], ""))
    choices = f" {listed(question['choices'])}" if question.get("choices") else ""
    return f"{question['kind']}, {kind}{choices}"


def meaning_of(column: Column) -> str:
    """Return what a column means, in words; a question mark if the user must say."""
    if column.doubt:
        return "?"
    is_scale = any(column.meaning == scale.name for scale in SCALES)
    text = MEANINGS.get(column.meaning, f"scale {column.meaning}" if is_scale else f"{column.meaning}: yes or no")
    return f"{text}, {column.eye} eye" if column.eye else text


def cells_of(grid: Grid, column: Column) -> str:
    """Return the first cells of a column with the words they stand for; none of what names a person."""
    if column.doubt:
        return column.doubt
    if column.meaning in ("name", "birth"):
        return ""
    values = values_of(grid.column(column.name))
    examples = [
        f"{shown(cell)} -> {shown(word)}" if (word := column.words.get(cell, cell)) != cell else shown(cell)
        for cell in list(values.count)[: 4 if column.words else 2]
    ]
    more = ", ..." if len(values.count) > len(examples) else ""
    bad = list(column.bad)
    lost = f"; without a value: {', '.join(shown(cell, 16) for cell in bad[:3])}" if bad else ""
    why = f" ({column.why})" if column.meaning == "image" or column.differs else ""
    return f"{', '.join(examples)}{more}{why}{lost}"
