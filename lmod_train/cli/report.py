"""The commands `report` and `rescore`: what saved predictions and replies say, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.report.section import Section

NO_RUNS: list[Path] = []


def report(
    runs: list[Path] = NO_RUNS,
    *,
    sections: list[Section],
    out: Path | None = None,
    curated: Path | None = None,
    against: str = "",
    one_file: bool = False,
    trust: list[str] | None = None,
    keep_names: list[str] | None = None,
    compare: str = "",
) -> None:
    """Write tables, figures and a web page of predictions from one or more runs.

    Prints the headline table, a row per task and model: number of records, score, 95 % interval, score of chance and
    of the majority class, share of unparsed replies, and warnings where a score would mislead. What is missing from a
    run, and what is shown without it, is stated below.

    Args:
        runs: Folders of runs, each containing predictions.parquet and scores.csv, or of several seeds of a run.
        out: Folder to write the report to.
        sections: What the report shows, in this order: class paths with their options, usually of a config such as
            `--config lmod_plus`.
        curated: Curated folder with the images; default: the one in each run's config.yaml.
        against: Run with which the others are compared: its label in the tables or the name of its folder, `best` for
            the best one of each task, or `all` for all pairs; default: all pairs of up to 6 runs, `best` for more.
        one_file: Write the page as one file with small images, for a few predictions, and not as a folder.
        trust: Module outside this package with task classes that a run names, which may be imported; can be repeated.
        compare: What the runs were asked differently, separated by commas, if that is what they are compared for:
            wording, images, choices, shots, system, or settings of one model. Other questions that were asked
            otherwise are not compared.
        keep_names: Source whose licence does not permit redistribution, such as a public dataset, and whose records
            keep the names of their files in the report; those of other such sources become pseudonyms; can be repeated.
    """
    if not runs:
        cure = "name them: `python -m lmod_train report RUN --out REPORT`"
        raise BadArgument("runs", [], "one or more run folders", cure)
    draw(runs, sections, out, curated, against, one_file, trust or (), keep_names or (), _kinds(compare))


def draw(
    runs: Sequence[Path],
    sections: Sequence[Section],
    out: Path | None,
    curated: Path | None,
    against: str,
    one_file: bool,
    trust: Sequence[str],
    keep_names: Sequence[str] = (),
    compare: Sequence[str] = (),
) -> None:
    """Write a report of runs, or of none, and print its lines; the arguments are those of `report`.

    Raises:
        BadArgument: No folder to write to is named.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.report.report import write_report as write
    from lmod_train.report.sections.comparisons import compare_against

    if curated is not None:
        read_manifest(curated)
    if out is None:
        raise BadArgument("--out", None, "a folder to write the report to", "add `--out REPORT`")
    lines: list[str] = []
    shown = compare_against(list(sections), against) if against else sections
    page = write(runs, out, curated, one_file, trust, shown, lines.append, keep_names, compare)
    print("\n".join([*lines, f"wrote {page}"]))


def _kinds(compare: str) -> list[str]:
    """Return what is compared, as it is typed."""
    from lmod_train.report.asked_alike import KINDS

    kinds = [kind.strip() for kind in compare.split(",") if kind.strip()]
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        cure = "e.g. `python -m lmod_train report RUN OTHER --out REPORT --compare wording`"
        raise BadArgument("--compare", wrong[0], f"some of {', '.join(KINDS)}, separated by commas", cure)
    return kinds


def rescore(run: Path, *, facts: Path | None = None, trust: list[str] | None = None) -> None:
    """Parse and score the saved replies of a run again, in seconds and without a model.

    Rewrites predictions.parquet and scores.csv, e.g. after a parser was improved, with the verdicts of judges (`judge`)
    on these replies. Records without a reply are left out and counted. If replies of several checkpoint steps were
    saved, the latest reply of each record counts.

    Args:
        run: Folder of a run, containing records.parquet and replies/, or of several seeds of a run.
        facts: Curated folder whose facts replace those of the run, of the same questions about the same images.
        trust: Module outside this package with task classes that the run names, which may be imported; can be repeated.
    """
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.series import members
    from lmod_train.tasks.rescore import replace_facts
    from lmod_train.tasks.rescore import rescore as again

    several = [] if Run(run).has_begun() else [own for own in members(run) if Run(own).replies.is_dir()]
    for one in several or [run]:
        if facts is not None:
            print(replace_facts(one, facts))
        for line in again(one, tuple(trust or ())):
            print(line)
