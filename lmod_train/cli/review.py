"""The command `draft review`: people review a sample of drafts, and those of stages that pass are curated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.data.formats.selection import Licence
    from lmod_train.tasks.base import Task
    from lmod_train.tasks.drafting.checks import Fault
    from lmod_train.tasks.drafting.drafted import Drafted
    from lmod_train.tasks.drafting.review import Review, Stage

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
    from lmod_train.data.formats.selection import select

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
    from lmod_train.core.artifacts.run import Run
    from lmod_train.tasks.drafting.drafted import drafted_of
    from lmod_train.tasks.drafting.review import without_faults

    try:
        drafts = without_faults(drafted_of(read_predictions(Run(folder).predictions)))
    except ValueError as error:
        cure = "write drafts: `python -m lmod_train draft ask CURATED --model MODEL --out DRAFT`"
        raise BadArgument("draft", str(folder), f"a folder of drafts ({error})", cure) from error
    if not drafts:
        raise BadArgument(
            "draft", str(folder), "a draft without faults", f"see {folder / 'faults.csv'} for the reasons"
        )
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
    from lmod_train.core.lock import locked
    from lmod_train.data.formats.review_sheet import codes_of, write_review
    from lmod_train.tasks.drafting.review import planned

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
    from lmod_train.core.lock import locked
    from lmod_train.data.formats.review_sheet import codes_of, read_plan, read_review, write_account
    from lmod_train.tasks.drafting.checks import faults_of
    from lmod_train.tasks.drafting.review import reviewed

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
    from lmod_train.core.lock import locked
    from lmod_train.data.curation.pipeline import curate
    from lmod_train.data.formats.drafted_questions import DraftedQuestions
    from lmod_train.data.formats.selection import select

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
    import yaml

    from lmod_train.core.shipped import config_files
    from lmod_train.tasks.building import build

    file = config_files("task").get("chain")
    if file is None:
        cure = "install the package with its extension xpcr, then type this command again"
        raise BadArgument("draft review", "chain", "the task of chains among the shipped tasks", cure)
    return build(yaml.safe_load(file.read_text(encoding="utf-8"))["class_path"], {"confidence": confidence})
