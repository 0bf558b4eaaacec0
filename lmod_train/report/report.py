"""Writes the report of one or more runs to a folder.

Only files that a report has listed as its own are removed, so that nothing else in the folder is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lmod_train.core.artifacts.pseudonyms import FOLDER, NAMES, Pseudonyms
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import SCORE_COLUMNS
from lmod_train.core.artifacts.series import runs_of
from lmod_train.core.csv_files import read_rows
from lmod_train.core.csv_files import write_csv as write_rows
from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import without_folders
from lmod_train.core.files import make_folder, remove, write_durably
from lmod_train.core.lock import is_empty, locked
from lmod_train.core.tables import markdown
from lmod_train.core.types import Prediction
from lmod_train.core.vocabulary.error_types import TITLES
from lmod_train.report.contents import Contents
from lmod_train.report.passed_on import pseudonyms_of, shown_contents, shown_screen
from lmod_train.report.results import Outcomes, Results, read_results
from lmod_train.report.section import Section, completed, contents, shipped_sections
from lmod_train.report.viewer.first_screen import FirstScreen, first_screen
from lmod_train.report.viewer.outcome_text import outcome_of
from lmod_train.report.viewer.viewer import in_order
from lmod_train.report.warned import warned
from lmod_train.report.writers.csv import write_csv
from lmod_train.report.writers.html import write_html
from lmod_train.report.writers.latex import write_latex
from lmod_train.report.writers.markdown import write_markdown
from lmod_train.report.writers.naming import file_name
from lmod_train.report.writers.picture_files import write_picture
from lmod_train.tasks.failures.rules import Failure, failures_of
from lmod_train.tasks.headline import headline_rows, headline_table
from lmod_train.tasks.run_scores import RunScores

LIST = "files.txt"
"""The list: one path a line, relative to the folder."""
WRITTEN = ("scores.csv", "tables.md", "index.html", LIST)
"""Files by which the folder of an earlier report is recognised, even of an incomplete one."""


def write_report(
    runs: Sequence[Path],
    out: Path,
    curated: Path | None = None,
    one_file: bool = False,
    trust: Sequence[str] = (),
    sections: Sequence[Section] | None = None,
    log: Callable[[str], object] = str,
    keep_names: Sequence[str] = (),
    compare: Sequence[str] = (),
) -> Path:
    """Write ``scores.csv``, ``tables.md``, ``tables/``, ``figures/`` and ``index.html``; return the path of the latter.

    Scores are read from ``scores.csv`` of each run; only comparisons of several runs are computed here. The same runs
    give identical files.

    Args:
        runs: Run folders, each containing ``predictions.parquet`` and ``scores.csv``, and folders of series of them
            (`lmod_train.core.artifacts.series`); none shows only what `sections`
            show without a run.
        out: Folder to write to; files of an earlier report are replaced.
        curated: Curated folder with the images; None uses the one in each run's ``config.yaml``. Missing images are
            noted next to each prediction.
        one_file: Write the page as one file with small images, not as a folder with data and images beside it.
        trust: Modules outside this package with task classes that a run names, which may be imported.
        sections: What the report shows, in this order; None: the sections of ``configs/report/default.yaml``.
        keep_names: Sources that must not be redistributed and whose records keep their names, as those of a public
            dataset may; those of others become pseudonyms (`lmod_train.core.artifacts.pseudonyms`).
        compare: What the runs may be asked differently, as it is what is compared
            (`lmod_train.report.asked_alike.KINDS`).
        log: Called with the headline table, and each remark that readers of the scores must know.

    Raises:
        Untrusted: A run names a task class outside this package and `trust`.
        BadArgument: No run was given, or one twice; a task of a run is not installed; `out` contains other files.
        ArtifactError: A file of a run is missing.
        FolderBusy: Another process is writing to `out`.
    """
    runs, unscored = runs_of(map(Path, runs))
    other = out.is_dir() and not any((out / name).exists() for name in WRITTEN) and not is_empty(out)
    for wrong, expected in (
        (Run(out).has_begun(), "a folder that is not a run, whose scores would be overwritten"),
        ((out / "manifest.json").exists(), "a folder that is not a curated folder"),
        (other, "a new or empty folder, or one of an earlier report"),
    ):
        if wrong:
            raise BadArgument("--out", str(out), expected, "name another folder, e.g. `--out REPORT`")
    results = Results((), {}, {}) if sections and not runs else read_results(runs, curated, trust)
    results = replace(
        results,
        left_out=(*results.left_out, *(f"{Run(run).name} has no scores yet" for run in unscored)),
        compare=tuple(compare),
    )
    found = contents(shipped_sections() if sections is None else completed(sections), results)
    names = pseudonyms_of(results, keep_names)
    found = shown_contents(found, names)
    screen = shown_screen(first_screen(results, names.names), names) if results.runs else None
    with locked(out, "--out"):
        _write(found, results, screen, out, one_file, names)
    names.keep()
    if screen:
        log("\n".join(finding.text for finding in screen.findings))
        log(markdown(headline_table(headline_rows(results.runs, warned(results)))))
    for line in (*found.remarks, *_overwritten(found)):
        log(line)
    if names.names:
        kept = f"{names.folder.parent.name}/{FOLDER}/{NAMES} leads back" if names.folder else "no list was kept"
        log(f"names of private records are pseudonyms: {kept}")
    return out / "index.html"


def _write(
    found: Contents, results: Results, screen: FirstScreen | None, out: Path, one_file: bool, names: Pseudonyms
) -> None:
    replace_files(out, _files(found))
    for folder in ("tables", "figures"):
        make_folder(out / folder)
    _join_scores(results.runs, out / "scores.csv")
    write_markdown(found, out / "tables.md")
    for table in found.tables():
        write_csv(table, out / "tables")
        write_latex(table, out / "tables")
    for figure in found.figures():
        write_picture(figure, out / "figures")
    errors = {label: error_types(_not_right(outcomes)) for label, outcomes in results.outcomes.items()}
    write_html(found, results, out, one_file, errors, screen, names)


def _overwritten(found: Contents) -> Iterator[str]:
    """Yield a line for each name that two tables or two figures of a report have; an extension may choose any name."""
    for kind, parts in (("table", found.tables()), ("figure", found.figures())):
        for name, n in Counter(file_name(part.name) for part in parts).items():
            if n > 1:
                yield f"{n} {kind}s have the name {name}: {kind}s/{name}.csv holds the last of them"


def _not_right(outcomes: Outcomes) -> Iterator[Prediction]:
    """Yield the predictions whose errors are sorted: reading right replies too would take most of a report's time."""
    for prediction, item in in_order(outcomes):
        if outcome_of(item) != "right":
            yield prediction


def _files(found: Contents) -> Iterator[str]:
    """Yield the paths of the page, tables and figures; the files beside the page are recognised by their names."""
    yield from (name for name in WRITTEN if name != LIST)  # first: an interrupted report has no page of an earlier one
    for table in found.tables():
        yield from (f"tables/{file_name(table.name)}.{suffix}" for suffix in ("csv", "tex"))
    for figure in found.figures():
        yield from (f"figures/{file_name(figure.name)}.{suffix}" for suffix in ("png", "svg", "csv"))


def _join_scores(runs: Sequence[RunScores], out: Path) -> None:
    """Write the scores of all runs to one file, with names of runs instead of folders, and models without paths."""
    tables = [_score_rows(run) for run in runs]
    columns = max((own[0] for own in tables), key=len, default=list(SCORE_COLUMNS))
    rows = (map(without_folders, row) for _, *own in tables for row in _padded(own, len(columns)))
    write_rows(out, columns, rows, end="\r\n")


def _score_rows(run: RunScores) -> list[list[str]]:
    head, *rows = read_rows(Run(run.path).scores)
    return [head, *([run.run, *row[1:]] for row in rows)]


def _padded(rows: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    """Yield rows with empty cells for the columns that they lack."""
    yield from (row + [""] * (width - len(row)) for row in rows)


def failures_by_record(predictions: Iterable[Prediction]) -> dict[str, list[Failure]]:
    """Return record id -> the failures that rules find in its reply, also where there are none."""
    return {prediction.record.id: failures_of(prediction) for prediction in predictions}


def error_types(predictions: Iterable[Prediction]) -> Mapping[str, tuple[str, ...]]:
    """Return record id -> names of the failures that rules find in its reply; records without failure are absent.

    Example:
        >>> error_types([])
        {}
    """
    found = failures_by_record(predictions)
    return {id: tuple(TITLES[failure.rule] for failure in failures) for id, failures in found.items() if failures}


def replace_files(out: Path, files: Iterable[str]) -> None:
    """Remove the files that the last report listed, and list those of the next before any of them is written.

    Args:
        out: Folder of the report.
        files: Paths of the next report's files, relative to `out`.
    """
    for name in _listed(out):
        if (out / name).resolve().is_relative_to(out.resolve()) and (out / name).is_file():
            remove(out / name)
    with write_durably(out / LIST) as beside:
        beside.write_text("".join(f"{name}\n" for name in files), encoding="utf-8")


def _listed(out: Path) -> list[str]:
    file = out / LIST
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
