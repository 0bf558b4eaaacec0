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
    pack: Path | None = None,
    verify: list[Path] | None = None,
    curated: Path | None = None,
    against: str = "",
    one_file: bool = False,
    trust: list[str] | None = None,
    published: bool = False,
) -> None:
    """Write tables, figures and a web page of predictions from one or more runs.

    Prints the headline table, a row per task and model: number of records, score, 95 % interval, score of chance and
    of the majority class, share of unparsed replies, and warnings where a score would mislead. What is missing from a
    run, and what is shown without it, is stated below.

    Args:
        runs: Folders of runs, each containing predictions.parquet and scores.csv, or of several seeds of a run. Not
            needed with `--published`.
        out: Folder to write the report to; with `--pack` the file, by default RUN.lmodpack in the working folder.
        pack: Folder of a run to write as one file for publication instead of a report, without images and truths.
        verify: Packs whose scores are computed again from their replies and `--curated`; writes their leaderboard.
        sections: What the report shows, in this order: class paths with their options, usually of a config such as
            `--config lmod_plus`.
        curated: Curated folder with the images; default: the one in each run's config.yaml.
        against: Run with which the others are compared: its label in the tables or the name of its folder, `best` for
            the best one of each task, or `all` for all pairs; default: all pairs of up to 6 runs, `best` for more.
        one_file: Write the page as one file with small images, for a few predictions, and not as a folder.
        trust: Module outside this package with task classes that a run names, which may be imported; can be repeated.
        published: Show the tables of the papers, with rows for the runs if any are named, instead of `sections`.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.report.report import report as draw
    from lmod_train.report.section import shipped_sections
    from lmod_train.report.sections.comparisons import compare_against

    if curated is not None:
        read_manifest(curated)
    if pack is not None or verify:
        return _pack_or_verify(runs, pack, verify or [], out, curated, trust or ())
    if not runs and not published:
        raise BadArgument(
            "runs",
            [],
            "one or more run folders",
            "name them: `python -m lmod_train report RUN --out REPORT`, or the papers' tables: "
            "`python -m lmod_train report --published --out REPORT`",
        )
    if out is None:
        raise BadArgument("--out", None, "a folder to write the report to", "add `--out REPORT`")
    lines: list[str] = []
    shown = shipped_sections("published") if published else sections
    if against:
        shown = compare_against(shown, against)
    page = draw(runs, out, curated, one_file, trust or (), shown, lines.append)
    print("\n".join([*lines, f"wrote {page}"]))


def rescore(run: Path, *, trust: list[str] | None = None) -> None:
    """Parse and score the saved replies of a run again, in seconds and without a model.

    Rewrites predictions.parquet and scores.csv, e.g. after a parser was improved, with the verdicts of judges (`judge`)
    on these replies. Records without a reply are left out and counted. If replies of several checkpoint steps were
    saved, the latest reply of each record counts.

    Args:
        run: Folder of a run, containing records.parquet and replies/, or of several seeds of a run.
        trust: Module outside this package with task classes that the run names, which may be imported; can be repeated.
    """
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.series import members
    from lmod_train.tasks.rescore import rescore as again

    several = [] if Run(run).has_begun() else [own for own in members(run) if Run(own).replies.is_dir()]
    for one in several or [run]:
        for line in again(one, tuple(trust or ())):
            print(line)


def _pack_or_verify(
    runs: Sequence[Path],
    pack: Path | None,
    packs: Sequence[Path],
    out: Path | None,
    curated: Path | None,
    trust: Sequence[str],
) -> None:
    """Write a pack, or verify packs, instead of a report.

    Raises:
        BadArgument: Runs, a run to pack and packs to verify are named together.
    """
    if runs or (pack is not None and packs):
        given = [f"runs {', '.join(map(str, runs))}"] if runs else []
        given += ["--pack"] if pack is not None else []
        given += ["--verify"] if packs else []
        expected = "either runs to report on, or one run to pack, or packs to verify"
        raise BadArgument("report", " and ".join(given), expected, "see `python -m lmod_train report --help`")
    if pack is not None:
        _write_pack(pack, out, curated, trust)
    else:
        _verify(packs, out, curated, trust)


def _write_pack(run: Path, out: Path | None, curated: Path | None, trust: Sequence[str]) -> None:
    """Write the pack of a run; by default to the working folder, named after the run.

    Raises:
        BadArgument: The file exists and is not a pack.
    """
    from lmod_train.core.artifacts.pack import ENDING
    from lmod_train.report.pack import pack

    file = out or Path(f"{run.resolve().name}{ENDING}")
    if file.is_dir() or (file.exists() and file.suffix != ENDING):
        expected = f"a new file, or one that ends with {ENDING}, which is replaced"
        raise BadArgument("--out", str(file), expected, f"e.g. `--out RUN{ENDING}`")
    print("\n".join(pack(run, file, curated, trust)))


def _verify(packs: Sequence[Path], out: Path | None, curated: Path | None, trust: Sequence[str]) -> None:
    """Verify packs and write their leaderboard.

    Raises:
        BadArgument: A folder is not named, or no pack holds.
    """
    from lmod_train.report.leaderboard import leaderboard

    whole = "`python -m lmod_train report --verify PACK --curated CURATED --out OUT`"
    if curated is None:
        raise BadArgument("--curated", None, "the curated folder whose records the packs answer", whole)
    if out is None:
        raise BadArgument("--out", None, "a folder for the leaderboard", whole)
    print("\n".join(leaderboard(packs, curated, out, trust)))
