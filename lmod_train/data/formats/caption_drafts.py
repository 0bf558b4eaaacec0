"""The folder of questions that a model wrote from captions: captions, settings, runs, and tables of what was kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link
from lmod_train.core.types import Prediction
from lmod_train.data.formats.spreadsheet import table_bytes
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import KINDS, SINGLE_CHOICE, worded
from lmod_train.tasks.captioning import DIFFERS
from lmod_train.tasks.drafting.captions.compared import UNPARSED, Comparison, compared_by, counts, summary
from lmod_train.tasks.drafting.captions.item import Item, Left
from lmod_train.tasks.drafting.captions.positions import letters
from lmod_train.tasks.drafting.captions.statements import share_true
from lmod_train.tasks.drafting.captions.steps import Drafts, Settings, balanced, counts_of, prepared, written

FILE = "captions.json"
"""Captions and settings, in the folder of the drafts."""
GENERATION, REWRITING = "generation", "rewriting"
"""Runs in that folder: questions from captions, and what is altered for balance; each with a file of its requests."""
PARITY = "parity"
"""Run in that folder whose records are the questions whose languages a judge has compared."""
QUESTIONS, LEFT, KEYWORDS, COUNTS = "questions.csv", "left_out.csv", "keywords.csv", "counts.csv"
COMPARED = "parity.csv"
"""Tables in that folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of drafts.

    Attributes:
        path: Where it is.
        captions: Key -> caption.
        settings: What is done with the questions.
        left: What of the table of captions was left out.
    """

    path: Path
    captions: Mapping[str, Caption]
    settings: Settings
    left: tuple[Left, ...] = ()

    def write(self) -> None:
        """Write captions and settings."""
        rows: dict[str, Any] = {
            "captions": [asdict(one) for one in self.captions.values()],
            "settings": asdict(self.settings),
            "left": [asdict(one) for one in self.left],
        }
        write_json(self.path / FILE, rows)

    def requests(self, name: str) -> Path:
        """Return the file of the requests of a run."""
        return self.path / f"{name}.parquet"

    def _predictions(self, name: str) -> list[Prediction]:
        check_link(self.path, self.path / name)
        path = Run(self.path / name).predictions
        return list(read_predictions(path)) if path.exists() else []

    def prepared(self) -> Drafts:
        """Return the questions that pass checks and filter, before they are balanced."""
        return prepared(written(self._predictions(GENERATION), self.captions), self.settings)

    def balanced(self) -> Drafts:
        """Return the questions that people review, from the replies."""
        return balanced(self.prepared(), self.settings, self._predictions(REWRITING))

    def compared(self, items: Sequence[Item]) -> dict[str, Comparison]:
        """Return id -> whether both languages say the same, of the questions that a judge has compared."""
        return compared_by(items, self._predictions(PARITY))


def read_folder(path: Path) -> Folder:
    """Read captions and settings of a folder of drafts.

    Raises:
        ArtifactError: It is none, or damaged.
    """
    cure = "write drafts: `python -m lmod_train draft captions CAPTIONS.csv --model MODEL --out DRAFT`"
    file = path / FILE
    check_link(path, file)
    if not file.is_file():
        raise ArtifactError(file, "missing: not a folder written by `draft captions`", cure)
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        captions = [Caption(**row) for row in rows["captions"]]
        settings = Settings(**rows["settings"] | {"keywords": tuple(rows["settings"]["keywords"])})
        left = tuple(Left(**row) for row in rows["left"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(file, f"cannot be read ({type(error).__name__}: {error})", cure) from error
    return Folder(path, {one.key: one for one in captions}, settings, left)


def write_lists(folder: Folder, drafts: Drafts) -> None:
    """Write the questions, what was left out, keywords and counts as tables; all are derived from the replies."""
    compared = folder.compared(drafts.items)
    questions = [
        (item.id, item.image, item.kind, item.altered, _text(item, "en"), item.pair.en.answer,
         _text(item, "zh"), item.pair.zh.answer, compared[item.id].outcome if item.id in compared else "")
        for item in drafts.items
    ]  # fmt: skip
    outcomes = [("parity", outcome, n) for outcome, n in counts(compared).items() if n]
    left = [(one.id, one.step, one.reason, one.detail) for one in (*folder.left, *drafts.left)]
    tables: tuple[tuple[str, Sequence[str], Sequence[Sequence[object]]], ...] = (
        (QUESTIONS, ("id", "image", "kind", "altered", "en", "answer_en", "zh", "answer_zh", "parity"), questions),
        (LEFT, ("id", "step", "reason", "detail"), left),
        (KEYWORDS, ("keyword", "questions"), list(drafts.keywords.items())),
        (COUNTS, ("step", "reason", "count"), [*counts_of(Drafts((), (*folder.left, *drafts.left), {})), *outcomes]),
        (COMPARED, ("id", "outcome", "reason", "reply", "en", "zh"), _compared_rows(drafts.items, compared)),
    )
    for name, columns, rows in tables:
        with write_durably(folder.path / name) as beside:
            beside.write_bytes(table_bytes(columns, rows))


def _compared_rows(items: Sequence[Item], compared: Mapping[str, Comparison]) -> list[tuple[str, ...]]:
    """Return a row for each question that was compared: those that differ first, then those without a verdict."""
    order = {DIFFERS: 0, UNPARSED: 1}
    found = sorted((item for item in items if item.id in compared), key=lambda i: order.get(compared[i.id].outcome, 2))
    return [
        (item.id, one.outcome, one.reason, one.prediction.reply.reply[:200], _text(item, "en"), _text(item, "zh"))
        for item in found
        for one in [compared[item.id]]
    ]


def _text(item: Item, language: str) -> str:
    """Return a question in one language, with its options if it is a single-choice question."""
    half = item.pair.halves[language]
    return worded(half, language) if item.kind == SINGLE_CHOICE else half.question


def lines(folder: Folder, drafts: Drafts) -> list[str]:
    """Return what a terminal shows of a folder: questions by kind, balance, and what was left out."""
    kinds = {kind: sum(item.kind == kind for item in drafts.items) for kind in KINDS}
    found = [f"{sum(kinds.values())} questions in both languages: " + ", ".join(f"{k} {n}" for k, n in kinds.items())]
    if (share := share_true(drafts.items)) is not None:
        altered = sum(item.altered for item in drafts.items)
        found.append(f"  True {100 * share:.1f} %, {altered} statements altered to be False")
    if kinds["single_choice_question"]:
        found.append("  letters " + ", ".join(f"{letter} {n}" for letter, n in letters(drafts.items).items()))
    counted = counts_of(Drafts((), (*folder.left, *drafts.left), {}))
    found += [f"  {line}" for line in summary(folder.compared(drafts.items), len(drafts.items))]
    found += [f"  left out: {step}: {reason} {n}" for step, reason, n in counted]
    if drafts.keywords:
        most = list(drafts.keywords.items())[:10]
        found.append("  keywords: " + ", ".join(f"{word} {n}" for word, n in most))
    tables = (QUESTIONS, LEFT, KEYWORDS, COUNTS, COMPARED)
    return [*found, f"wrote {', '.join(str(folder.path / name) for name in tables)}"]
