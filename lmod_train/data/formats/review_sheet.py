"""The sheet of a review of drafts: a table and a page as for readers, and the rows that reviewers have filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record, Score
from lmod_train.data.formats.reading_sheet import OPTION, ReadingSheet, code_of, write_blank
from lmod_train.data.formats.selection import Licence
from lmod_train.data.formats.spreadsheet import Table, cell, table_bytes
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.review import OTHERS, Plan, Reading, Review
from lmod_train.tasks.prompt import prompt

FILE = "review.json"
"""In the folder of the drafts: what the sheet was written of."""

TABLE = Table(
    "--sheets", "a CSV file with the columns id and answer, and optionally question and choices", ("id", "answer"),
    ("question", "choices"),
)  # fmt: skip
SEPARATOR = " | "


def as_read(one: Drafted) -> Record:
    """Return a draft as a reviewer sees it: question and lettered options, without the right letter and long answer.

    Its id contains a hash of the whole draft, so that the code of a changed draft is another one.
    """
    lettered = tuple(f"{letter}. {text}" for letter, text in zip(ascii_uppercase, one.draft.options, strict=False))
    content = shuffle_key(one.draft.text, one.facts.text)[:16]
    return replace(
        one.record, id=f"{one.id}/{content}", messages=prompt(one.draft.question), choices=lettered, regions=()
    )


def codes_of(drafts: Sequence[Drafted]) -> dict[str, str]:
    """Return id -> code of a draft's content."""
    return {one.id: code_of(as_read(one)) for one in drafts}


def write_review(
    folder: Path, images: Path, licences: Sequence[Licence], drafts: Sequence[Drafted], plan: Plan, path: Path
) -> Path:
    """Write the sheet of a sample with a page and images, and the plan; return the folder of the page.

    Args:
        folder: Folder of the drafts.
        images: Folder that the paths of their images are relative to.
        licences: Licences of their sources.
        drafts: Those without faults.
        plan: With the sample.
        path: CSV file to write.

    Raises:
        BadArgument: A review with another sample has begun, or the file exists with other content.
    """
    before = folder / FILE
    if before.exists() and read_plan(folder) != plan:
        expected = "the drafts, share, seed and judgements of the review that has begun"
        cure = f"use these, or begin anew: move {before} and its sheets away"
        raise BadArgument(OPTION, str(path), expected, cure)
    chosen = {*plan.rows}
    top = {*plan.first}
    first = {as_read(one).id for one in drafts if one.id in top}
    sample = sorted(
        (as_read(one) for one in drafts if one.id in chosen),
        key=lambda r: (r.id not in first, shuffle_key(plan.seed, "sheet", *r.image), r.chain_step),
    )
    sources = {record.source for record in sample}
    of_sample = tuple(one for one in licences if one.source in sources)
    page = write_blank(ReadingSheet(images, tuple(sample), of_sample, {}), path)
    write_json(before, asdict(plan))
    return page


def read_plan(folder: Path) -> Plan:
    """Read what the sheet of a folder was written of.

    Raises:
        ArtifactError: No sheet was written, or the file is damaged.
    """
    path = folder / FILE
    cure = f"write a sheet: `python -m lmod_train draft review {folder} --curated CURATED --blank SHEET.csv`"
    check_link(folder, path)
    if not path.exists():
        raise ArtifactError(path, "missing: no sheet of these drafts was written", cure)
    try:
        return _plan(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(
            path, f"cannot be read ({type(error).__name__}: {error})", f"move it away and {cure}"
        ) from error


def _plan(row: Mapping[str, Any]) -> Plan:
    drafts = {str(id): str(code) for id, code in row["drafts"].items()}
    sample, first = (tuple(map(str, ids)) for ids in (row["sample"], row.get("first", ())))
    return Plan(float(row["share"]), int(row["seed"]), drafts, sample, first)


def read_review(path: Path, plan: Plan, drafts: Sequence[Drafted]) -> tuple[dict[str, Reading], int]:
    """Return id -> what a reviewer wrote, of the drafts that have not changed; and how many rows are of changed ones.

    Rows without an answer are left out. Cells of ``question`` and ``choices`` that differ are corrections.

    Args:
        path: The filled-in sheet, see `Table.read`.
        plan: What it was written of.
        drafts: Those without faults today.

    Raises:
        BadArgument: The file cannot be read, an id is not of this review, an answer is none, a draft is answered twice
            and differently, or corrected options are not one text a letter. The message gives the line.
    """
    today = {code: one for one in drafts for code in [code_of(as_read(one))]}
    sampled = {plan.drafts[id] for id in plan.rows if id in plan.drafts}
    found: dict[str, Reading] = {}
    stale = 0
    for line, row in TABLE.read(path):
        code, answer = cell(row, "id").strip("'\" ").lower(), from_csv(cell(row, "answer")).strip()
        if code not in sampled:
            cure = "use the sheet that was written of these drafts"
            raise BadArgument("--sheets", cell(row, "id"), f"an id of the sheet of this review ({path}:{line})", cure)
        if code not in today:
            stale += 1
        elif answer:
            one = today[code]
            reading = Reading(_answer(answer, one, path, line), *_words(row, one, path, line))
            if found.setdefault(one.id, reading) != reading:
                expected = f"one answer to a question ({path}:{line})"
                raise BadArgument("--sheets", answer, expected, "delete one of its lines")
    return found, stale


def _answer(text: str, one: Drafted, path: Path, line: int) -> str:
    plain = text.strip(" .()").casefold()
    letters = ascii_uppercase[: len(one.draft.options)]
    if plain in OTHERS:
        return plain
    if len(plain) == 1 and plain.upper() in letters:
        return plain.upper()
    expected = f"one of {', '.join(letters)}, {', '.join(OTHERS)} ({path}:{line})"
    raise BadArgument("answer", text, expected, "correct that line")


def _words(row: Mapping[str, str], one: Drafted, path: Path, line: int) -> tuple[str, tuple[str, ...]]:
    """Return question and options of a row; those of the draft where the cells are missing or empty."""
    question = " ".join(from_csv(cell(row, "question")).split()) or one.draft.question
    written = " ".join(from_csv(cell(row, "choices")).split())
    if not written or written == " ".join(SEPARATOR.join(as_read(one).choices).split()):
        return question if question != " ".join(one.draft.question.split()) else one.draft.question, one.draft.options
    texts = [text.strip() for text in written.split(SEPARATOR.strip())]
    begin = [f"{letter}. " for letter in ascii_uppercase[: len(one.draft.options)]]
    if len(texts) != len(begin) or not all(t.startswith(b) for t, b in zip(texts, begin, strict=True)):
        expected = f"options `{begin[0]}... | {begin[1]}...`, as many as before ({path}:{line})"
        raise BadArgument("choices", written, expected, "correct that line")
    return question, tuple(text[3:].strip() for text in texts)


def write_account(account: Path, rows: Path, found: Review, plan: Plan) -> None:
    """Write the agreements of each stage, and what became of each draft on the sheet, as tables.

    Args:
        account: ``stage, drafts, changed, sampled, metric, n, value, low, high, refused``.
        rows: ``id, released, corrected, reason``.
        found: The review.
        plan: What its sheet was written of.
    """
    table = [
        (s.name, s.drafts, s.changed, s.sampled, score.metric, score.n, score.value, score.low, score.high, s.why)
        for s in found.stages
        for score in s.scores or (Score(s.name, "all", "", 0, None),)
    ]
    columns = ("stage", "drafts", "changed", "sampled", "metric", "n", "value", "low", "high", "refused")
    released = {r.drafted.id: r for r in found.released}
    each = [
        (id, id in released, id in released and released[id].corrected, found.left_out.get(id, "")) for id in plan.rows
    ]
    for path, heads, cells in ((account, columns, table), (rows, ("id", "released", "corrected", "reason"), each)):
        with write_durably(path) as beside:
            beside.write_bytes(table_bytes(heads, cells))
