"""The commands `draft review` and `draft review-captions`, and the sheets that reviewers fill in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import write_csv
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.links import check_link
from lmod_train.core.lock import locked
from lmod_train.core.raw import read_json, read_yaml
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record, Score
from lmod_train.data.formats.chosen_records import Licence, select
from lmod_train.data.formats.reading_sheet import OPTION, ReadingSheet, code_of, write_blank
from lmod_train.data.formats.spreadsheet import Table, cell
from lmod_train.extensions.drafting.checks import Fault, faults_of
from lmod_train.extensions.drafting.drafts import Drafted, drafted_of
from lmod_train.extensions.drafting.review import (
    OTHERS,
    DraftedQuestions,
    Plan,
    Reading,
    Review,
    Stage,
    planned,
    reviewed,
    without_faults,
)
from lmod_train.tasks.prompt import prompt

if TYPE_CHECKING:
    from lmod_train.tasks.base import Task

    Check = Callable[[Sequence[Drafted]], Sequence[Fault]]

ACCOUNT, ROWS = "review.csv", "reviewed.csv"
"""Tables in the folder of the drafts: agreements of each stage, and what became of each reviewed draft."""


def review(
    draft: Path,
    *,
    curated: Path,
    blank: Path | None = None,
    sheets: list[Path] | None = None,
    share: float = 0.1,
    seed: NonNegativeInt = 0,
    kappa: float = 0.85,
    out: Path | None = None,
    confidence: bool = True,
) -> None:
    """Let people review a sample of drafts; curate the questions of stages that pass.

    `draft review DRAFT --curated CURATED --blank SHEET.csv` draws a share of the drafts of each stage, of those in
    which no check found a fault, and writes a table to fill in and a folder with images and a page. It does not contain
    the letters that the model calls right. Copy the table for each reviewer.

    `draft review DRAFT --curated CURATED --sheets ADA.csv BEN.csv --out CHAINS` reads two or more filled-in tables. A
    reviewer writes the letter of the right option in the column answer, or none, several or wrong, and may correct
    question and choices. A stage passes if Cohen's kappa of two reviewers (Fleiss' of more), and Cohen's kappa of each
    reviewer with the drafts, are at least --kappa. Questions of stages that pass become records of the task chain in
    CHAINS, each with the tag review: reviewed or sampled. Drafts that have changed since the sheet was written are not
    released. DRAFT/review.csv and DRAFT/reviewed.csv list agreements and reviewed rows.

    Args:
        draft: Folder written by `draft ask`.
        curated: Curated folder that the drafts are about.
        blank: CSV file to write.
        sheets: Filled-in tables, one for each reviewer, who is named after the file: CSV in UTF-8 or UTF-16, or xlsx.
        share: With `--blank`: share of the drafts of each stage in the sample, above 0, up to 1.
        seed: Seed of the sample and of the order of its images, and of the splits of CHAINS.
        kappa: Least kappa of a stage that is released.
        out: Folder to curate the released questions into; without it, the review is only reported.
        confidence: Whether the released questions ask for a confidence.
    """
    check_arguments("draft review", blank, sheets, share, kappa)
    drafts = _drafts(draft)
    if blank is not None:
        write_sheet(draft, curated, select(curated, for_own_use=True).licences, drafts, blank, share, seed)
        return
    found = read_sheets(draft, drafts, sheets or (), kappa)
    print("\n".join(lines(found, kappa)))
    if out is not None:
        _curate(found, curated, out, seed, confidence)


def check_arguments(
    command: str, blank: Path | None, sheets: Sequence[Path] | None, share: float, kappa: float
) -> None:
    """Refuse arguments of a review that do not fit together or are out of range.

    Raises:
        BadArgument: Neither or both of `blank` and `sheets` are given, or share or kappa is not above 0, up to 1.
    """
    if bool(sheets) == (blank is not None):
        expected = "one of `--blank SHEET.csv` (a sheet to write) and `--sheets A.csv B.csv` (filled-in sheets)"
        typed = "both" if sheets else "none"
        raise BadArgument("--blank, --sheets", typed, expected, f"see `python -m lmod_train {command} --help`")
    if not 0 < kappa <= 1:
        raise BadArgument("--kappa", kappa, "a kappa above 0, up to 1", "e.g. `--kappa 0.85`")
    if not 0 < share <= 1:
        raise BadArgument("--share", share, "a share above 0, up to 1", "e.g. `--share 0.1`")


def _drafts(folder: Path) -> list[Drafted]:
    """Return the drafts of a folder in which no check finds a fault, from its replies."""
    from lmod_train.core.artifacts.predictions import read_predictions

    try:
        drafts = without_faults(drafted_of(read_predictions(Run(folder).predictions)))
    except ValueError as error:
        cure = "write drafts: `python -m lmod_train draft ask CURATED --model MODEL --out DRAFT`"
        raise BadArgument("draft", str(folder), f"a folder of drafts ({error})", cure) from error
    if not drafts:
        expected = "a draft without faults"
        raise BadArgument("draft", str(folder), expected, f"see {folder / 'faults.csv'} for the reasons")
    return drafts


def write_sheet(
    folder: Path,
    images: Path,
    licences: Sequence[Licence],
    drafts: Sequence[Drafted],
    blank: Path,
    share: float,
    seed: int,
    first: Collection[str] = (),
) -> None:
    """Write the sheet of a sample of drafts, with its page and images, and print where.

    Args:
        folder: Folder of the drafts.
        images: Folder that the paths of their images are relative to.
        licences: Licences of their sources.
        drafts: Those without faults.
        blank: CSV file to write.
        share: Share of the drafts of each stage in the sample.
        seed: Seed of the sample.
        first: Ids of drafts that are reviewed besides the sample, at the top of the sheet.
    """
    plan = planned(drafts, codes_of(drafts), share, seed, first)
    with locked(folder, "draft"):
        page = write_review(folder, images, licences, drafts, plan, blank)
    count = f"{len(plan.rows)} of {len(drafts)} drafts to review"
    count += f", {len(plan.first)} of them because a judge calls their languages different" if plan.first else ""
    print(f"wrote {blank}: {count}; images and the page {page / 'index.html'}")


def read_sheets(
    folder: Path, drafts: Sequence[Drafted], sheets: Sequence[Path], least: float, check: Check | None = None
) -> Review:
    """Return the review by filled-in sheets, and write its tables.

    Args:
        folder: Folder of the drafts.
        drafts: Those without faults.
        sheets: Filled-in tables, one for each reviewer.
        least: Least kappa of a stage that is released.
        check: Function that returns the faults of corrected drafts; None for the checks of drafts of chains.
    """
    names = [sheet.stem for sheet in sheets]
    if len(set(names)) < len(names):
        expected = "files of different names, as each names its reviewer"
        raise BadArgument("--sheets", ", ".join(map(str, sheets)), expected, "rename one of them")
    plan = read_plan(folder)
    readings = {}
    for name, sheet in zip(names, sheets, strict=True):
        readings[name], stale = read_review(sheet, plan, drafts)
        changed = f"; {stale} rows are of drafts that have changed since" if stale else ""
        print(f"{name}: {len(readings[name])} of {len(plan.rows)} rows read{changed}")
    print("".join(_copies(sheets)), end="")
    found = reviewed(plan, drafts, codes_of(drafts), readings, least, check or faults_of)
    with locked(folder, "draft"):
        write_account(folder / ACCOUNT, folder / ROWS, found, plan)
    return found


def _copies(sheets: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each two sheets with the same bytes: a copy agrees with itself."""
    for one, other in combinations(sheets, 2):
        if one.read_bytes() == other.read_bytes():
            yield f"warning: {one} and {other} have the same content; make sure that two people have filled them in\n"


def lines(found: Review, least: float) -> list[str]:
    """Return what a terminal shows of a review: stages, releases, and rows that are left out."""
    counted = {stage.name: [r for r in found.released if r.drafted.stage == stage.name] for stage in found.stages}
    shown = [line for stage in found.stages for line in _stage_lines(stage, least)]
    for name, released in counted.items():
        if released:
            read = sum(r.how == "reviewed" for r in released)
            corrected = sum(r.corrected for r in released)
            shown.append(
                f"{name}: released {len(released)}: {read} reviewed ({corrected} corrected), the others sampled"
            )
    return [*shown, *(f"left out: {id}: {why}" for id, why in sorted(found.left_out.items()))]


def _stage_lines(stage: Stage, least: float) -> list[str]:
    figures = [
        f"{s.metric} {s.value:.2f}"
        + (f" [{s.low:.2f}, {s.high:.2f}]" if s.low is not None and s.high is not None else "")
        for s in stage.scores
        if s.metric.startswith("kappa") and s.value is not None
    ]
    verdict = f"refused: {stage.why}" if stage.why else f"passes (least kappa {least:g})"
    changed = f"; {stage.changed} changed since the sheet was written" if stage.changed else ""
    about = f"{stage.sampled} of {stage.drafts} drafts sampled{changed}"
    return [f"{stage.name}: {verdict}; {about}" + (f"; {', '.join(figures)}" if figures else "")]


def _curate(found: Review, curated: Path, out: Path, seed: int, confidence: bool) -> None:
    from lmod_train.data.curation.pipeline import curate

    sources = {r.drafted.record.source for r in found.released}
    licences = [one for one in select(curated, for_own_use=True).licences if one.source in sources]
    may_pass_on = bool(licences) and all(one.redistributable for one in licences)
    source = DraftedQuestions(curated, found.released, may_pass_on, confidence)
    source.verify()
    with locked(out, "--out"):
        manifest = curate(
            [source], [_chain(confidence)], out, protocol="drafts", seed=seed, longest_side=None, progress=False
        )
    count = sum(split["records"] for split in manifest["counts"].get("chain", {}).values())
    print(f"wrote {out}: {count} records of the task chain")


def _chain(confidence: bool) -> Task:
    """Return the task of chains, whose questions the drafts are, by the name of its config.

    Raises:
        BadArgument: The extension with the task is not there.
    """
    from lmod_train.core.shipped import config_files
    from lmod_train.tasks.building import build

    file = config_files("task").get("chain")
    if file is None:
        cure = "install the package with its extension xpcr, then type this command again"
        raise BadArgument("draft review", "chain", "the task of chains among the shipped tasks", cure)
    return build(read_yaml(file)["class_path"], {"asks_confidence": confidence})


# The command `draft review-captions`: people review questions from captions, and those that pass are released.


def review_captions(
    draft: Path,
    *,
    blank: Path | None = None,
    sheets: list[Path] | None = None,
    share: float = 0.1,
    seed: NonNegativeInt = 0,
    kappa: float = 0.85,
) -> None:
    """Let people review a sample of questions from captions; release those that pass.

    `draft review-captions DRAFT --blank SHEET.csv` draws a share of the questions of each kind and language, and writes
    a table to fill in and a folder with images and a page. Questions whose languages a judge calls different
    (`draft judge`) come first, besides the sample. It shows neither captions nor which option the model calls
    right. Copy the table for each reviewer.

    `draft review-captions DRAFT --sheets ADA.csv BEN.csv` reads two or more filled-in tables, as `draft review` does. A
    kind in one language passes if Cohen's kappa of two reviewers (Fleiss' of more), and that of each reviewer with the
    questions, are at least --kappa. Questions that are released in both languages are written to DRAFT/released.jsonl;
    `curate --config configs/curate/captions.yaml --roots.captions DRAFT` makes records of them.

    Args:
        draft: Folder written by `draft captions`.
        blank: CSV file to write.
        sheets: Filled-in tables, one for each reviewer, who is named after the file: CSV in UTF-8 or UTF-16, or xlsx.
        share: With `--blank`: share of the questions of each kind and language in the sample, above 0, up to 1.
        seed: Seed of the sample and of the order of its images.
        kappa: Least kappa of a kind and language that is released.
    """
    from lmod_train.extensions.drafting.caption_files import (
        RELEASED,
        accepted,
        faults_of_drafts,
        halves_of,
        read_folder,
        to_review,
        write_released,
    )
    from lmod_train.extensions.drafting.caption_steps import differing

    check_arguments("draft review-captions", blank, sheets, share, kappa)
    folder = read_folder(draft)
    items = folder.balanced().items
    drafts = to_review(items, folder.captions, folder.settings.seed)
    if not drafts:
        cure = f"see {draft / 'left_out.csv'} for the reasons"
        raise BadArgument("draft", str(draft), "a folder with a question that was kept", cure)
    differ = differing(folder.compared(items))
    if blank is not None:
        stated = "; ".join(sorted({one.licence for one in folder.captions.values()}))
        licence = Licence("captions", stated, False, "", any(one.phantom for one in folder.captions.values()))
        write_sheet(draft, draft, [licence], drafts, blank, share, seed, halves_of(items, differ))
        return
    if not (draft / FILE).exists():
        cure = f"write a sheet: `python -m lmod_train draft review-captions {draft} --blank SHEET.csv`"
        raise BadArgument("draft", str(draft), "a folder of which a sheet was written", cure)
    found = read_sheets(draft, drafts, sheets or (), kappa, faults_of_drafts)
    print("\n".join(lines(found, kappa)))
    released, left = accepted(items, found, differ)
    with locked(draft, "draft"):
        write_released(draft / RELEASED, released, folder.captions)
    print("\n".join(f"left out: {id}: {why}" for id, why in sorted(left.items())[:20]))
    more = f" (20 of {len(left)} shown)" if len(left) > 20 else ""
    print(f"released {len(released)} of {len(items)} questions in both languages{more}")
    if released:
        cure = (
            f"python -m lmod_train curate --config configs/curate/captions.yaml --roots.captions {draft} --out CURATED"
        )
        print(f"next: `{cure}`")


# The sheet of a review of drafts: a table and a page as for readers, and the rows that reviewers have filled in.
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
        return _plan(read_json(path))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
        raise ArtifactError(path, problem, f"move it away and {cure}") from error


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
        write_csv(path, heads, cells, end="\r\n")
