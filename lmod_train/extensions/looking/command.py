"""The command `blind`, and the options ``curate --sheet`` and ``phantom --counterfactuals``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse.typing import NonNegativeInt, PositiveInt

from lmod_train.cli.curation import curate
from lmod_train.cli.phantoms import phantom
from lmod_train.core.errors import BadArgument
from lmod_train.core.lock import locked

if TYPE_CHECKING:
    from lmod_train.extensions.looking.blind import Blind

PAIRED = "refuge"
"""Drawn folder whose eyes can be drawn again with another truth."""


def blind(curated: Path) -> None:
    """Measure how well every task can be answered without the medical content of its images.

    Fits simple classifiers on the training split and evaluates them on val and test, one per shortcut: the words of the
    question (prompt, choices and region ids), the source, the mask of the black border, the most similar thumbnail of
    24 x 24 pixels, a random forest on thumbnails, and the raw file's type and size. A model's score only counts above
    these. If the words alone reach more than the share of the most frequent answer, they leak the answer; with too few
    records to detect a difference of 20 percentage points, that is printed instead. Record keys and image paths, which
    no model sees, are reported separately. Prints the accuracies with 95 % intervals and writes them to
    CURATED/audit.csv.

    Args:
        curated: Folder written by `curate`.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.shortcuts import FILE, write_shortcuts
    from lmod_train.data.audit.shortcut_classifiers import shortcuts
    from lmod_train.extensions.looking.blind import blind as answer
    from lmod_train.extensions.looking.blind import rows_of, write_filled_crops

    read_manifest(curated)
    records = read_records(curated / "records")
    found = answer(records)
    if not found:
        raise BadArgument("curated", str(curated), "records", "curate with more samples or tasks")
    shortcut_rows = shortcuts(curated, records)
    with locked(curated, "curated"):
        write_shortcuts(curated / FILE, [*(row for one in found for row in rows_of(one)), *shortcut_rows])
        write_filled_crops(curated, records)
    for one in found:
        print(f"{one.task}: {_summary(one)}")
        for row in shortcut_rows:
            if row.task == one.task and row.split == "val+test" and row.value is not None:
                print(f"  {row.shortcut} alone {row.value:.3f} [{row.low:.3f}, {row.high:.3f}], n {row.n}")
    print(f"wrote {curated / FILE}")


def _summary(one: Blind) -> str:
    if one.accuracy is None or one.low is None or one.high is None or one.prior is None or one.names is None:
        return "not measured (no records in train, or none in val and test)"
    verdict = "no leak found" if one.can_tell else "too few records to detect a leak"
    if one.leaks:
        verdict = "the words leak the answer"
    return (
        f"words alone {one.accuracy:.3f} [{one.low:.3f}, {one.high:.3f}], most frequent answer {one.prior:.3f}, "
        f"n {one.n}: {verdict}; keys and paths alone {one.names:.3f} (not shown to models)"
    )


def rows(run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]) -> Iterator[str]:
    """Yield the verdicts on a run of the audit, a line for each true answer (`lmod_train.core.extension.Extension`)."""
    from lmod_train.extensions.looking.task import Grounding
    from lmod_train.tasks.run_scores import read_run_scores

    if any(name.endswith(f"_{Grounding.name}") for name in read_run_scores([run])[0].tasks()):
        from lmod_train.extensions.looking.sections import verdict_lines  # the report: not for other runs

        yield verdict_lines(run, trusted)


def curate_with_sheet(*, out: Path, sheet: Path, **settings: Any) -> None:
    """Turn raw datasets into records, and draw contact sheets of the images in their variants, and with their facts.

    Args:
        out: Curated folder to write images, records and manifest to; new, empty, or from the same command.
        sheet: Folder for a contact sheet a task of images in their variants, e.g. with the evidence removed, and one a
            source of images with the facts measured in them.
        **settings: Options of `curate`.
    """
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.extensions.looking.results import contact_sheets, draw_strip, fact_sheets
    from lmod_train.report.figures.qualitative import draw_qualitative

    curate(out=out, **settings)
    records = read_records(out / "records")
    for draw, tables in ((draw_strip, contact_sheets(records)), (draw_qualitative, fact_sheets(records))):
        for table in tables:
            draw(table, sheet, out)
            print(f"wrote {sheet / table.name}.png: {table.title}")


def phantom_with_counterfactuals(
    *,
    out: Path,
    n: PositiveInt = 64,
    seed: NonNegativeInt = 0,
    sources: str = "eye_diseases,refuge",
    counterfactuals: bool = True,
    **settings: Any,
) -> None:
    """Draw phantoms, those of refuge also with only glaucoma or not changed, for the grounding audit.

    Args:
        out: Folder to write to; each source gets its own folder in it.
        n: Number of eyes per source.
        seed: Random seed; the same seed draws the same eyes.
        sources: Names of the sources to imitate, separated by commas, refuge among them; `all` for every source.
        counterfactuals: Also draw each eye of refuge with only glaucoma or not changed.
        **settings: Options of `phantom`.
    """
    from lmod_train.phantom.folders.refuge import write_counterfactuals

    if counterfactuals and sources != "all" and PAIRED not in sources.split(","):
        cure = f"add it: `--sources {sources},{PAIRED}`"
        raise BadArgument("--counterfactuals", "true", f"{PAIRED} among the sources", cure)
    phantom(out=out, n=n, seed=seed, sources=sources, **settings)
    if counterfactuals:
        with locked(out, "--out"):
            write_counterfactuals(out, n, seed)
        print(f"{PAIRED}: drew each again with only the asked fact changed")
