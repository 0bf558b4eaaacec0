"""The command `answers`: a person answers the records of a curated folder, as a model does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.core.artifacts.run import Run
    from lmod_train.extensions.readers.answers import Answers


def answers(
    sheet: Path | None = None,
    *,
    curated: Path,
    run: Path | None = None,
    reader: str = "",
    blank: Path | None = None,
    tasks: str = "",
    split: Literal["train", "val", "test", "all"] = "test",
    subset: Path | None = None,
    limit: NonNegativeInt = 0,
    seed: NonNegativeInt = 0,
    trust: list[str] | None = None,
) -> None:
    """Turn the answers of a person into a run, or write a blank sheet for people to fill in.

    `answers --blank SHEET.csv --curated CURATED` writes a table with a row per question (per region of questions about
    regions), and a folder SHEET with the images and a page to read them on. Neither contains the true answers, raw
    names or record ids, and the order is shuffled.

    `answers SHEET.csv --curated CURATED --run RUN` writes a run folder as `validate` does: each answer is parsed and
    scored as the reply of a model is. Empty cells are records without a reply, which no score contains. A later sheet
    of the same person adds answers to the run, and replaces those that differ.

    Args:
        sheet: Filled-in sheet: CSV in UTF-8 or UTF-16, or xlsx, with the columns id and answer, and region for
            questions about regions. An id is that of a blank sheet, or a record id.
        curated: Curated folder of the records.
        run: Folder of the run to write; new, or of an earlier sheet of the same person.
        reader: Name of the person in the scores; default: the name of the sheet. Use a pseudonym where data protection
            requires it.
        blank: CSV file to write, with an empty column answer.
        tasks: With `--blank`: names of tasks to ask, separated by commas; default: all.
        split: With `--blank`: split to ask.
        subset: With `--blank`: file of record ids to ask, as written by `subset`.
        limit: With `--blank`: maximum number of questions of each task, the first in id order, as `--data.limit`; 0 for
            all.
        seed: With `--blank`: seed of the order of the images.
        trust: Module outside this package with task classes that records name, which may be imported; can be repeated.
    """
    if (sheet is None) == (blank is None):
        expected = "one of SHEET (a filled-in sheet) and `--blank SHEET.csv` (a sheet to write)"
        typed = "both" if sheet else "none"
        raise BadArgument("SHEET, --blank", typed, expected, "see `python -m lmod_train answers --help`")
    if blank is not None:
        chosen = {"split": split, "subset": subset, "limit": limit, "seed": seed}
        _write_blank(blank, curated, [name.strip() for name in tasks.split(",") if name.strip()], chosen)
    elif run is None or sheet is None:
        raise BadArgument("--run", None, "a folder to write the run to", f"e.g. `--run runs/{reader or 'reader_1'}`")
    else:
        _read(sheet, curated, run, reader or sheet.stem, trust or ())


def _write_blank(path: Path, curated: Path, tasks: Sequence[str], chosen: dict[str, Any]) -> None:
    from lmod_train.data.formats.reading_sheet import sheet_of, write_blank

    sheet = sheet_of(curated, tasks=tasks, **chosen)
    folder = write_blank(sheet, path)
    for reason, n in sheet.left_out.items():
        print(f"left out: {n} {reason}")
    if shared := sheet.several_tasks():
        hint = "one question may give away the answer to another; `--tasks NAME` writes a sheet of one task"
        print(f"{shared} images have questions of several tasks: {hint}")
    if sheet.stays:
        print(f"do not redistribute these images: see {folder / 'NOTICE'}")
    images = f"{len(sheet.names())} images and the page {folder / 'index.html'}"
    print(f"wrote {path}: {len(sheet.records)} questions in an order of seed {chosen['seed']}; {images}")


def _read(sheet: Path, curated: Path, folder: Path, reader: str, trust: Sequence[str]) -> None:
    from lmod_train.cli.names import check_run
    from lmod_train.cli.run_provenance import write_provenance
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.artifacts.pseudonyms import known_key
    from lmod_train.core.artifacts.records import record_of, rows_of
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.lock import locked
    from lmod_train.core.tables import markdown
    from lmod_train.extensions.readers.answers import read_answers, write_run
    from lmod_train.tasks.building import all_rebuilt
    from lmod_train.tasks.headline import headline, headline_table
    from lmod_train.tasks.rescore import rescore
    from lmod_train.tasks.trust import Trust

    check_run(folder)
    settings = read_manifest(curated).get("settings") or {}
    found = read_answers(sheet, map(record_of, rows_of(curated / "records")), known_key(curated))
    tasks, others = all_rebuilt(_stated(settings, found), Trust(tuple(trust), curated))
    for path in others:
        print(f"{path}: scored with its default settings, as those of the curated folder are not its arguments")
    run = Run(folder)
    with locked(folder, "--run"):
        new, stay = write_run(run, found, reader, curated, tasks)
        write_provenance(folder, [])
        scored = rescore(folder, tuple(trust))
    print(f"{reader}: {len(found.replies())} answers read, {new} of them new or changed")
    print("\n".join([*_remarks(found, stay), *scored, *_unread(run, found)]))
    print(markdown(headline_table(headline([folder]))))


def _stated(settings: dict[str, Any], found: Answers) -> list[dict[str, Any]]:
    """Return what the manifest states of the tasks that the answers are to."""
    classes = {r.task_class for r in found.records}
    return [one for one in (settings.get("tasks") or {}).values() if one.get("class") in classes]


def _remarks(found: Answers, stay: int) -> list[str]:
    from lmod_train.data.formats.spreadsheet import lines_of

    left = {
        "rows without an answer, which no score contains": found.blank(),
        "rows of regions without a name, which count as not found": found.blank(begun=True),
    }
    lines = [f"{len(rows)} {what}: {lines_of(rows)}" for what, rows in left.items() if rows]
    return [
        *lines,
        *([f"{stay} answers of an earlier sheet are kept, which this one does not contain"] if stay else []),
    ]


def _unread(run: Run, found: Answers) -> list[str]:
    """Return a line for each answer of the sheet that its task cannot read, which counts as a model's does."""
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.types import Unparsed
    from lmod_train.data.formats.spreadsheet import lines_of

    replies = found.replies()
    failed = [(p, p.answer) for p in read_predictions(run.predictions) if isinstance(p.answer, Unparsed)]
    lines = [
        f"  {lines_of(found.lines(p.record.id))}: {p.reply.reply!r} ({answer.reason}), expected "
        f"{', '.join(p.record.choices) or 'text'}"
        for p, answer in failed
        if p.record.id in replies
    ]
    if not lines:
        return []
    counted = f"not understood: {len(lines)} answers count as wrong, as those of models do; correct typing errors:"
    more = [f"  and {len(lines) - 20} more"] if len(lines) > 20 else []
    return [counted, *lines[:20], *more]
