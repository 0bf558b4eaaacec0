"""The command `curate --table`: a user's own table and photographs become records, and what was understood is printed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.curation import print_written
from lmod_train.core.errors import BadArgument, LmodError

if TYPE_CHECKING:
    from lmod_train.data.table.columns import Column
    from lmod_train.data.table.grid import Grid
    from lmod_train.data.table.images import Folder
    from lmod_train.data.table.plan import Plan
    from lmod_train.data.table.source import Place

SMALL = 50
"""Patients of the test split below which folds tell more than one split."""


def is_asked(arguments: Sequence[str]) -> bool:
    """Return whether a command is `curate` of a table."""
    return arguments[0] == "curate" and any(word.partition("=")[0] == "--table" for word in arguments[1:])


def curate_table(
    *,
    table: Path,
    out: Path,
    images: Path | None = None,
    modality: str = "",
    name: str = "",
    licence: str = "",
    redistributable: bool = False,
    column: list[str] | None = None,
    value: list[str] | None = None,
    ask: list[str] | None = None,
    sheet: str = "",
    plan: bool = False,
    balance: bool = False,
    ratios: tuple[float, float, float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: NonNegativeInt = 0,
    workers: int = 2,
) -> None:
    """Turn your own table and images into records, without code.

    What every column means is printed, and written to OUT/table.yaml. Where that is in doubt nothing is curated, and
    the command is printed that answers it. Images without a stated licence never leave the machine.

    Args:
        table: CSV, TSV, XLSX, XLS, ODS, Parquet or JSONL with one row an image, or the table.yaml of an earlier command.
        out: Curated folder to write; new, empty, or from the same command.
        images: Folder of the images, at any depth; leave it out if the table holds them.
        modality: Modality of the images, an abbreviation such as CFP (fundus photograph) or OCT, or a combination.
        name: Name of the source in records; default: the name of the table.
        licence: Licence of images and labels.
        redistributable: Whether images and labels may be passed on under it.
        column: Meaning of a column, e.g. `--column patient=ID`; `--column ignore=Notes` leaves it out. Repeatable.
        value: Word that a cell stands for, e.g. `--value sex:1=male` or `--value "Diagnosis:gl=glaucoma"`. Repeatable.
        ask: Column that becomes a question, e.g. `--ask diagnosis`. Repeatable.
        sheet: Sheet of a workbook; default: the one with the most filled cells.
        plan: Only print what was understood and write OUT/table.yaml.
        balance: Ask equally many questions of each class, as the published benchmarks do; by default all are asked.
        ratios: Shares of train, val and test. A patient's images, and copies of an image, are in one split; a column of
            splits takes precedence.
        longest_side: Maximum length of the longer side of curated images in pixels; `null` keeps all sizes.
        seed: Seed of the splits.
        workers: Number of processes that read and write images.
    """
    from lmod_train.core.lock import locked
    from lmod_train.data.curation import pipeline
    from lmod_train.data.table.plan import write_plan
    from lmod_train.data.table.source import OwnTable

    with locked(out, "--out"):
        stated = _plan(table, images, modality, name, licence, redistributable, sheet)
        grid, folder, columns, whole = _understood(stated, column or (), value or (), ask or ())
        rows = _rows(grid, columns, out)
        print_understood(grid, columns, whole)
        file = write_plan(out, whole, columns)
        if doubted := [c for c in columns if c.doubt]:
            raise InDoubt(doubted, file)
        tasks = _tasks(grid, columns, whole)
        if plan:
            print(f"wrote {file}; `python -m lmod_train curate --table {file} --out {out}` curates by it")
            return
        source = OwnTable(whole, grid, columns, folder, tasks, rows)
        manifest = pipeline.curate(
            [source],
            tasks,
            out,
            protocol="table",
            seed=seed,
            ratios=ratios,
            longest_side=longest_side,
            balance=None if balance else (),
            workers=workers,
            command=shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]]),
            progress=sys.stderr.isatty(),
        )
    print_written(manifest, out)
    _print_next(manifest, out)


class InDoubt(LmodError):
    """Columns whose meaning the user must say."""

    def __init__(self, columns: Sequence[Column], plan: Path) -> None:
        options = [word for c in columns for option in c.options for word in option.split(" ", 1)]
        again = shlex.join(["python", "-m", "lmod_train", *_without_plan(sys.argv[1:]), *options])
        lines = "\n".join(f"  {c.name}: {c.doubt}" for c in columns)
        super().__init__(
            f"not understood with certainty, so nothing was curated:\n{lines}\n"
            f"Next: if this is what they mean, run `{again}`; else change it, or leave a column out with `--column "
            f"ignore=NAME`. {plan} holds what was understood and can be edited in place of options: --table {plan}"
        )


def _without_plan(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if word != "--plan"]


def _plan(
    table: Path, images: Path | None, modality: str, name: str, licence: str, redistributable: bool, sheet: str
) -> Plan:
    """Return the plan that is named in place of a table, with what options replace in it, or one for the table."""
    from lmod_train.core.vocabulary.modalities import MODALITIES, unknown_words
    from lmod_train.data.table.plan import Plan, is_plan, read_plan

    if unknown_words(modality) and modality:
        known = ", ".join(m.name for m in MODALITIES[:7])
        raise BadArgument("--modality", modality, f"an abbreviation such as {known}", "`--modality CFP` for fundus")
    if is_plan(table):
        found = read_plan(table)
        given: dict[str, Any] = {
            "images": images,
            "modality": modality,
            "name": name,
            "licence": licence,
            "sheet": sheet,
        }
        found = replace(found, **{key: value for key, value in given.items() if value})
        return replace(found, redistributable=True) if redistributable else found
    if not modality:
        expected = "the modality of the images, which is not guessed: CFP, OCT, SLO, ..."
        raise BadArgument("--modality", "", expected, "`--modality CFP` if they are colour fundus photographs")
    from lmod_train.data.table.questions import identifier

    return Plan(
        table, images, name or identifier(table.stem), modality, licence or "not stated", redistributable, sheet
    )


def _understood(
    plan: Plan, column: Sequence[str], value: Sequence[str], ask: Sequence[str]
) -> tuple[Grid, Folder, list[Column], Plan]:
    """Return the table, its images, what its columns mean, and the plan with the options and questions in it."""
    from lmod_train.core.links import check_links_below
    from lmod_train.data.sources.sheets import UnreadableSheet
    from lmod_train.data.table.columns import understand
    from lmod_train.data.table.grid import read_grid
    from lmod_train.data.table.images import Folder, folder_of
    from lmod_train.data.table.plan import with_options
    from lmod_train.data.table.questions import asked_of

    try:
        grid = read_grid(plan.table, plan.sheet)
    except UnreadableSheet as error:
        cure = "save it as xlsx, or as CSV in UTF-8"
        raise BadArgument("--table", str(plan.table), f"a table with a header ({error})", cure) from error
    if plan.images is not None and not plan.images.is_dir():
        raise BadArgument("--images", str(plan.images), "an existing folder", "name the folder of the photographs")
    if plan.images is not None:
        check_links_below(plan.images)
    folder = folder_of(plan.images) if plan.images else Folder(plan.table.parent, (), {})
    whole = with_options(plan, column, value)
    unknown = [name for name in whole.answers.columns if name not in grid.header]
    if unknown:
        raise BadArgument(
            "--column", unknown[0], f"a column of the table: {', '.join(grid.header)}", "name one of them"
        )
    columns = understand(grid, folder, whole.modality, whole.answers)
    if not any(c.meaning == "image" or c.doubt for c in columns):
        _refuse_imageless(plan, grid)
    known = {question["name"] for question in whole.questions}
    new = [q for q in asked_of(grid, columns, ask) if q["name"] not in known]
    return grid, folder, columns, replace(whole, questions=(*whole.questions, *new))


def _refuse_imageless(plan: Plan, grid: Grid) -> None:
    where = f"below {plan.images}" if plan.images else "inside the table (no `--images` was given)"
    expected = f"a column that names an image {where}; its columns are {', '.join(grid.header)}"
    raise BadArgument("--table", str(plan.table), expected, "`--column image=NAME` says which, `--images DIR` where")


def _rows(grid: Grid, columns: Sequence[Column], out: Path) -> dict[int, Place | str] | None:
    """Return where the image of each row is, if the table holds the images; base64 is decoded into a file of `out`."""
    from lmod_train.core.types import Cut
    from lmod_train.data.table.images import embedded, write_images
    from lmod_train.data.table.source import Place

    if grid.images:
        keys = [f"row-{row.line:06d}" for row in grid.rows]
        return {
            r.line: Place(grid.path, k, Cut(column=grid.images, row=r.line - 1))
            for r, k in zip(grid.rows, keys, strict=True)
        }
    for column in columns:
        index = grid.column("index") if "index" in grid.header else [str(n) for n in range(len(grid.rows))]
        held = embedded(grid.column(column.name), index) if column.meaning == "image" else None
        if held is not None:
            stored = write_images(out, held)
            return {row.line: place if isinstance(place, str) else Place(stored[0], f"image-{place:06d}", Cut(column="image", row=place))
                    for row, place in zip(grid.rows, stored[1], strict=True)}  # fmt: skip
    return None


def _tasks(grid: Grid, columns: Sequence[Column], plan: Plan) -> list[Any]:
    """Return the tasks that ask about the table.

    Raises:
        BadArgument: There is nothing to ask.
    """
    from lmod_train.data.table.questions import tasks_of

    tasks = tasks_of(columns, plan.questions, plan.modality)
    if not tasks:
        own = [c.name for c in columns if c.meaning in ("own", "diagnosis", "quality", "camera")]
        expected = "at least one question: no column has a diagnosis, grade, sex or age that the benchmark asks about"
        cure = f"`--ask {shlex.quote(own[0])}` asks about that column" if own else "add a column with a label"
        raise BadArgument("--ask", "", expected, cure)
    return tasks


def print_understood(grid: Grid, columns: Sequence[Column], plan: Plan) -> None:
    """Print the table as it was read, and a line for every column: what it means, examples, and why."""
    print(
        f"{grid.path}: {grid.kind}; {len(grid.rows)} rows, {len(grid.header)} columns, header in line {grid.header_line}"
    )
    for note in grid.notes:
        print(f"  {note}")
    width = min(24, max(len(c.name) for c in columns))
    for column in columns:
        print(f"  {_short(column.name, width):<{width}}  {_meaning(column):<44}  {_examples(grid, column)}")
    print(
        f"licence: {plan.licence}; "
        + ("may be passed on" if plan.redistributable else "nothing of it leaves this machine")
    )


def _meaning(column: Column) -> str:
    from lmod_train.data.table.columns import MEANINGS

    if column.doubt:
        return "? see below"
    text = MEANINGS.get(column.meaning, f"{column.meaning}: a label")
    return f"{text}, {column.eye} eye" if column.eye else text


def _examples(grid: Grid, column: Column) -> str:
    from lmod_train.data.table.values import values_of

    values = values_of(grid.column(column.name))
    if column.meaning in ("name", "birth"):
        return ""
    shown = []
    for cell in list(values.count)[:3]:
        word = column.words.get(cell, "")
        shown.append(f"{_short(cell, 24)} -> {word}" if word and word != cell else _short(cell, 24))
    lost = sum(values.count[cell] for cell in column.bad if cell in values.count)
    return ", ".join(shown) + (f"; {lost} without a value" if lost else "")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _print_next(manifest: dict[str, Any], out: Path) -> None:
    """Print what the test split can show, and the commands that follow."""
    from lmod_train.core.artifacts.records import read_records

    groups = {r.group: r.split for r in read_records(out / "records")}
    test = sum(split == "test" for split in groups.values())
    width = min(1.0, 2 * 1.96 * (0.25 / test) ** 0.5) if test else 1.0
    print(
        f"patients or images alone: {len(groups)}, {test} in test: a 95 % interval of an accuracy is up to {width:.2f} wide"
    )
    print(
        f"next: `python -m lmod_train validate --config zero_shot --data.curated {out} --data.split all` asks a model"
    )
    if test < SMALL:
        print(
            f"      `python -m lmod_train fit --config cnn_four_way --data.curated {out} --folds 5` trains on every part"
        )
