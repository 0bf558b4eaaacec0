"""Questions in two languages without their image: what the words alone give away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.languages import KINDS, OPEN, subset_name
from lmod_train.report.probes import items_in, own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.items import Item
from lmod_train.scoring.languages import LANGUAGES
from lmod_train.scoring.share import share_score
from lmod_train.tasks.verdicts import Judge

NOTE = """The same questions with their image and without it, subset by subset; every reply counts, one without an
answer as wrong. Without the image, an accuracy above chance is what the words of a question give away, and a difference
of about 0 means that the model has not been shown to use the image. Open answers are right by a judge that has judged
both."""
_COLUMNS: Heads = [
    "run", "subset", "judged by", N, Column("with image", "number"), Column("without", "number"), INTERVAL,
    Column("difference", "signed"), Column("95 % interval of the difference", "signed_interval"),
    Column("chance", "number"),
]  # fmt: skip
WITHOUT = "none"
"""Kind of the probes that ask a question without its image (`lmod_train.tasks.probe`)."""


class LanguagePrior(Section):
    """Accuracy of each subset with and without the image, if the questions were asked without it too."""

    title: ClassVar[str] = "Questions in two languages, without the image"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing without such questions."""
        rows = [row for name, outcomes in results.outcomes.items() for row in _rows(name, outcomes)]
        if rows:
            yield Text(NOTE)
            yield table("language_prior", _COLUMNS, rows)


def _rows(name: str, outcomes: Outcomes) -> Iterator[list[Cell]]:
    for task in KINDS:
        pairs = list(_pairs(outcomes, task))
        for language in LANGUAGES:
            own = [pair for pair in pairs if pair[0].language == language]
            for judge, right in _rights(task, own, outcomes.judged) if own else ():
                yield [name, subset_name(task, language), judge, *_cells(own, right)]


def _pairs(outcomes: Outcomes, task: str) -> Iterator[tuple[Item, Item]]:
    """Yield each question with its image and without, asked in the same way."""
    seen = {item.id: item for item in outcomes.items.get(task, ())}
    ids = own_ids(outcomes, task, WITHOUT, outcomes)
    for blind in items_in(outcomes, task, WITHOUT):
        if ids.get(blind.id) in seen:
            yield seen[ids[blind.id]], blind


def _rights(
    task: str, pairs: Sequence[tuple[Item, Item]], judged: Sequence[Judge]
) -> Iterator[tuple[str, Mapping[str, bool]]]:
    """Yield name and verdicts: the answers' own for closed questions, and those of each judge of both for open ones."""
    if task != OPEN:
        yield "", {item.id: item.answer == item.truth for pair in pairs for item in pair}
        return
    for judge in judged:
        if {OPEN, f"{OPEN}_probe"} <= set(judge.tasks) and not judge.pending:
            verdicts = judge.right()
            yield judge.judge, {item.id: verdicts.get(item.id, False) for pair in pairs for item in pair}


def _cells(pairs: Sequence[tuple[Item, Item]], right: Mapping[str, bool]) -> list[Cell]:
    own, without = ([right[pair[k].id] for pair in pairs] for k in (0, 1))
    groups = [seen.group for seen, _ in pairs]
    blind, gap = share_score("without", without, groups), paired_difference("", own, without, groups)
    chances = [1 / len(seen.choices) for seen, _ in pairs if seen.choices]
    chance = sum(chances) / len(chances) if chances else None
    return [len(pairs), sum(own) / len(own), *score_cells(blind)[1:], gap.value, (gap.low, gap.high), chance]
