"""The page of a report: scores, tables and figures, and every prediction with its images.

The page is a folder (``index.html`` with ``data``, ``images`` and ``pages`` beside it) that opens without a server, or
one file. All texts of runs are escaped in the page, and are inserted as text by its script.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from lmod_train.core.artifacts.pseudonyms import Pseudonyms
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_durably
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import RIGHT, Table, cell_text
from lmod_train.report.contents import Contents, Figure, Remark
from lmod_train.report.results import Results
from lmod_train.report.thumbnails import Licence, licences
from lmod_train.report.viewer.first_screen import FirstScreen, dot
from lmod_train.report.viewer.record_details import part_text
from lmod_train.report.viewer.static_pages import LONGEST, PagesBeside, PagesInside, StaticPages, page_name
from lmod_train.report.viewer.store import Beside, Inside, Store, clear
from lmod_train.report.viewer.viewer import Errors, write_viewer
from lmod_train.report.writers.naming import file_name
from lmod_train.report.writers.template import fill, policy
from lmod_train.tasks.display_names import task_name

MOST_ROWS = 40
"""Rows of a table that stand in the page at first; the others are shown on request."""
MOST_INSIDE = 2_000
"""Predictions that a page in one file may show; browsers are slow with more."""


def write_html(
    contents: Contents,
    results: Results,
    out: Path,
    one_file: bool = False,
    errors: Errors | None = None,
    screen: FirstScreen | None = None,
    pseudonyms: Pseudonyms | None = None,
) -> None:
    """Write ``index.html`` to a folder that has the figures, with ``data``, ``images`` and ``pages`` beside it.

    Args:
        contents: What the report shows.
        results: The runs with their predictions.
        out: Folder of the report.
        one_file: Write only ``index.html``, with all data and small images in it.
        errors: Types of errors, from an analysis of errors; None for none.
        screen: What stands above the chapters; None for a report without runs.
        pseudonyms: Names of the records that are shown; None shows their own.

    Raises:
        BadArgument: One file is asked for, and there are too many predictions.
    """
    total = sum(len(found.predictions) for found in results.outcomes.values())
    if one_file and total > MOST_INSIDE:
        expected = f"at most {MOST_INSIDE:,} predictions for a page in one file, not {total:,}"
        raise BadArgument("--one_file", True, expected, "leave it out: the page becomes a folder")
    notes = _licences(results)
    clear(out)
    store: Store = Inside() if one_file else Beside(out)
    pages: StaticPages = PagesInside() if one_file else PagesBeside(out, total, notes)
    names = [{"model": run.called, "run": run.run} for run in results.runs]
    if results.runs:
        write_viewer(results.outcomes, results.images, store, pages, errors, names, pseudonyms)
    html = fill(
        "index.html",
        contents=contents,
        screen=screen,
        opening=opening(contents),
        drawn=drawn(contents),
        signs=SIGNS,
        dot_of=dot,
        most=MOST_ROWS,
        tasks=results.tasks,
        questions=results.questions,
        notes=notes,
        policy=policy(beside=not one_file),
        kind=lambda part: type(part).__name__,
        figure_task=lambda figure: figure_task(figure, results.tasks),
        right=RIGHT,
        picture=_picture(out, one_file),
        cards_show_images=False,
        beside=not one_file,
        longest=LONGEST,
        blocks=store.blocks if isinstance(store, Inside) else [],
        cards=pages.cards if isinstance(pages, PagesInside) else None,
        starts=pages.starts,
        total=total,
        **{used.__name__: used for used in (cell_text, file_name, page_name, part_text, task_column, task_name)},
    )
    with write_durably(out / "index.html") as part:
        part.write_text(html, encoding="utf-8", errors="backslashreplace")


def opening(contents: Contents) -> list[str]:
    """Return the remarks that the first chapter begins with: the page opens with them, before the scores."""
    parts = contents.chapters[0].parts if contents.chapters else ()
    return [part.text for part in takewhile(lambda part: isinstance(part, Remark), parts) if isinstance(part, Remark)]


def drawn(contents: Contents) -> Figure | None:
    """Return the figure that follows these remarks, which the page shows below them; None without one."""
    parts = contents.chapters[0].parts if contents.chapters else ()
    behind = parts[len(opening(contents)) :][:1] if opening(contents) else ()
    return next((part for part in behind if isinstance(part, Figure)), None)


SIGNS: Mapping[str, str] = package_data(__file__, "words.yaml")["html"]["signs"]
"""Signs beside the outcomes of examples, as in the list of predictions."""


def _licences(results: Results) -> list[Licence]:
    """Return the licence of the images of each source, in the order of their names."""
    found = {
        note.source: note
        for label, outcomes in results.outcomes.items()
        for note in licences(results.images[label], (p.record for p in outcomes.predictions))
    }
    return [found[source] for source in sorted(found)]


def _picture(out: Path, one_file: bool) -> Callable[[Figure], str]:
    """Return a function that returns the address of a figure: its file, or its bytes."""

    def address(figure: Figure) -> str:
        file = f"figures/{file_name(figure.name)}.png"
        if not one_file:
            return file.replace("%", "%25")  # a name with a percent sign in an address
        return "data:image/png;base64," + base64.b64encode((out / file).read_bytes()).decode("ascii")

    return address


def task_column(table: Table) -> int | None:
    """Return the number of the column that names the task of each row, None without one."""
    heads = [column.head for column in table.columns]
    return heads.index("task") if "task" in heads else None


def figure_task(figure: Figure, tasks: Sequence[str]) -> str:
    """Return the task that a figure is of, by its name or its only task; empty if it is of several."""
    named = [task for task in tasks if figure.name.endswith(f"-{task}")]
    if named:
        return max(named, key=len)
    column = task_column(figure.table)
    found = {str(row[column]) for row in figure.table.rows} if column is not None else set()
    return found.pop() if len(found) == 1 else ""
