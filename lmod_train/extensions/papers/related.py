"""What the papers print of other benchmarks and of the settings of their models, with rows for one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.artifacts.model_facts import PAPERS
from lmod_train.core.artifacts.records import rows_of
from lmod_train.core.errors import ArtifactError
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, table
from lmod_train.core.vocabulary.modalities import combined, words_of
from lmod_train.extensions.papers.printed import models_of_run, read_table
from lmod_train.report.contents import Part, Text, heads, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.settings import HEADS as SETTINGS
from lmod_train.report.sections.settings import setting_rows

_TEXTS, _HEADS = texts(__file__), heads(__file__)

ANATOMY, NEITHER = {"anatomy"}, {"recognition", "sex", "age_group"}
DIAGNOSIS = {"glaucoma", "four_way", "conditions", "macular_hole_stage", "icdr", "sdrg", "chain"}
"""Tasks of structures, of neither, and of diagnoses and stages; what other tasks ask of is not known."""


@dataclass(slots=True)
class Held:
    """What the records of a curated folder hold.

    Attributes:
        folder: Name of the folder.
        questions: Number of records.
        phantom: Whether an image is a phantom.
        sets: Column of the records, or ``closed`` -> its different values.
    """

    folder: str
    questions: int = 0
    phantom: bool = False
    sets: dict[str, set[Any]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a record."""
        self.questions, self.phantom = self.questions + 1, self.phantom or row["phantom"]
        values: dict[str, Iterable[Any]] = {name: [row[name]] for name in ("task", "language", "source")}
        values |= {"image": row["image_plain"], "modality": words_of(row["modality"])}
        values["closed"] = [bool(row["choices"] or row["regions"])]
        for name, some in values.items():
            self.sets.setdefault(name, set()).update(some)

    def as_lmod(self) -> list[Cell]:
        """Return the row of LMOD's and LMOD+'s Table 1."""
        tasks, kinds = self.sets["task"], self.sets["modality"]
        known = not tasks - ANATOMY - NEITHER - DIAGNOSIS
        asked = [_said(bool(tasks & some), known) for some in (ANATOMY, DIAGNOSIS)]
        shown = [_said(kind in kinds) for kind in ("SS", "OCT", "SLO", "LP", "CFP")]
        return ["here", self.folder, _said(bool(self.sets["image"])), "yes", *shown, *asked]

    def as_ophthalwechat(self) -> list[Cell]:
        """Return the row of OphthalWeChat's Supplementary Table 7."""
        kinds, closed = self.sets["modality"], self.sets["closed"]
        counts: list[Cell] = [len(kinds), combined(kinds).replace("+", ", "), len(self.sets["image"]), self.questions]
        kinds_of = [_said(True in closed), _said(False in closed), _said(len(self.sets["language"]) > 1)]
        return [f"{self.folder} (here)", *counts, *kinds_of, ", ".join(sorted(self.sets["source"]))]


def _said(held: bool, known: bool = True) -> Cell:
    return "yes" if held else "no" if known else None


def held_by(folders: Iterable[Path]) -> Iterator[Held]:
    """Yield what the records of each curated folder hold; folders without readable records are left out."""
    columns = ("task", "language", "source", "image_plain", "modality", "choices", "regions", "phantom")
    for folder in folders:
        found = Held(folder.name)
        try:
            for row in rows_of(folder / "records", columns):
                found.add(row)
        except ArtifactError:
            continue
        if found.questions:
            yield found


class RelatedBenchmarks(Section):
    """Table 1 of LMOD and LMOD+ and Supplementary Table 7 of OphthalWeChat, with a row for each curated folder."""

    title: ClassVar[str] = "Related benchmarks"
    name: ClassVar[str] = "related_benchmarks"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the three tables; of curated folders with phantoms their own rows alone."""
        own = list(held_by(folder for folder in dict.fromkeys(results.images.values()) if folder))
        drawn = any(one.phantom for one in own)
        yield Text(_TEXTS["drawn" if drawn else "related"])
        rows = [one.as_lmod() for one in own]
        for paper in ("lmod_naacl", "lmod_plus"):
            read = () if drawn else read_table("related_benchmarks")
            printed = [list[Cell](list(row.values())[2:]) for row in read if row["paper"] == paper]
            title = f"{PAPERS[paper]}, Table 1"
            yield table(f"related_{paper}", _HEADS["lmod"], [*printed, *rows], title)
        theirs = [] if drawn else [_wechat(row) for row in read_table("ophthalwechat_related")]
        shown = [*theirs, *(one.as_ophthalwechat() for one in own)]
        yield table("related_ophthalwechat", _HEADS["ophthalwechat"], shown, "OphthalWeChat, Supplementary Table 7")


def _wechat(row: Mapping[str, str]) -> list[Cell]:
    name = f"{row['dataset']}*" if "asterisk" in row["note"] else row["dataset"]
    return [name, *(int(cell) if cell.isdigit() else cell or None for cell in list(row.values())[2:-1])]


# LMOD's Table 6 beside the settings of the runs.
PRINTED: Mapping[str, str] = package_data(__file__, "words.yaml")["related"]["printed"]
"""Column of the settings -> column of ``hyperparameters.csv``."""


class Hyperparameters(Section):
    """LMOD's Table 6: of runs their settings with the printed ones of the same model; without runs all printed ones."""

    title: ClassVar[str] = "Hyperparameters"
    name: ClassVar[str] = "hyperparameters"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; of runs whose models are not in it, nothing."""
        every = read_table("hyperparameters")
        rows = list[list[Cell]]()
        columns = [column if isinstance(column, str) else column.head for column in SETTINGS["settings"]]
        for run, own in zip(results.runs, setting_rows(results), strict=True):
            same = [row for row in every if models_of_run(row["model"]) & models_of_run(run.model)]
            for row in same:
                rows += [[*own, _different(dict(zip(columns, own, strict=True)), row)], _printed(row, columns)]
        rows = rows or ([] if results.runs else [_printed(row, columns) for row in every])
        if rows:
            yield Text(_TEXTS["hyperparameters"])
            yield table("hyperparameters", [*SETTINGS["settings"], "differs from the paper in"], rows, "LMOD, Table 6")


def _printed(row: Mapping[str, str], columns: Sequence[str]) -> list[Cell]:
    cells: dict[str, Cell] = {column: row[name] or None for column, name in PRINTED.items()}
    size = row[PRINTED["parameters in billions"]]
    cells |= {"model": f"{row['model']} (printed)", "parameters in billions": float(size) if size else None}
    return [*(cells.get(column, "" if column == "why empty" else None) for column in columns), ""]


def _different(own: Mapping[str, Cell], row: Mapping[str, str]) -> str:
    """Return the settings of a run that are others than the printed ones, where both are known; and its tiles."""
    both = [(column, own[column], row[name]) for column, name in PRINTED.items() if own[column] and row[name]]
    found = [f"{column} ({mine}; printed {theirs})" for column, mine, theirs in both if not _equal(mine, theirs)]
    tiles = own["tiles"] not in (None, "1") and [f"tiles ({own['tiles']}; none printed)"]
    return "; ".join([*found, *(tiles or [])])


def _equal(mine: Cell, theirs: str) -> bool:
    try:
        return abs(float(str(mine)) - float(theirs)) < 0.06  # 7.566 and 7.56: parameters are cut off
    except ValueError:
        return str(mine) == theirs
