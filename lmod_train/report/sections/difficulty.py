"""Levels of expertise against the answers of people: whether each group answers a level as X-PCR expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmod_train.core.artifacts.run import READER
from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Part, Text, table
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.expertise import ENVELOPES, in_envelope, level_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score

GROUPS = tuple(dict.fromkeys(group for group, _ in ENVELOPES))
NOTE = f"""Questions with a level of expertise (R, A, S) that people answered. The group of a reader is the beginning of
the name: {", ".join(GROUPS)}, e.g. `answers SHEET.csv --curated CURATED --run RUN --reader resident_1`. Expected is
what X-PCR expects of the group at the level; it leaves out questions that are not answered so. Answers of several
readers to a question count one by one, and intervals are over patients."""
OUTSIDE = """Share of the readers of each group who answer the question correctly, where it is outside the expected
one. With few readers a share says little: X-PCR had 25 residents, 18 attendings and 12 fellows."""

_GROUPS: Heads = ["group", "level", Column("readers", "count"), N, Column("accuracy", "percent"), INTERVAL, "expected",
                  "as expected"]  # fmt: skip
_QUESTIONS: Heads = ["question", "level", "group", Column("answers", "count"), Column("right", "percent"), "expected"]


@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers of a group at a level: one item per reader and question."""

    group: str
    level: str
    readers: int
    items: Sequence[Item]

    @property
    def expected(self) -> tuple[float, float]:
        return ENVELOPES[self.group, self.level]

    def by_question(self) -> dict[str, list[bool]]:
        found: dict[str, list[bool]] = {}
        for item in self.items:
            found.setdefault(item.id, []).append(item.answer == item.truth)
        return found


class Difficulty(Section):
    """Accuracy of residents, attendings and fellows by level, beside what X-PCR expects, and the questions outside."""

    title: ClassVar[str] = "Levels against readers"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of groups and that of questions outside; nothing without such readers and levels."""
        found = list(_answers(results))
        if not found:
            return
        yield Text(NOTE)
        yield table("difficulty", _GROUPS, list(map(_group_row, found)))
        rows = [row for answers in found for row in _outside(answers)]
        asked = {item.id for answers in found for item in answers.items}
        yield Text(f"{len({row[0] for row in rows})} of {len(asked)} questions are outside.")
        if rows:
            yield table("difficulty_outside", _QUESTIONS, rows, "Questions outside", OUTSIDE)


def _answers(results: Results) -> Iterator[_Answers]:
    """Yield the answers of each group at each level of which something is expected."""
    for group, level in ENVELOPES:
        people = [
            [item for items in outcomes.items.values() for item in items if level_of(item) == level]
            for outcomes in results.outcomes.values()
            if str(outcomes.config.get(READER) or "").casefold().startswith(group)
        ]
        own = [items for items in people if items]
        if own:
            yield _Answers(group, level, len(own), [item for items in own for item in items])


def _group_row(answers: _Answers) -> list[Cell]:
    right = [item.answer == item.truth for item in answers.items]
    score = share_score("accuracy", right, [item.group for item in answers.items])
    assert score.value is not None  # there are items
    inside = "yes" if in_envelope(score.value, *answers.expected) else "no"
    numbers: list[Cell] = [answers.readers, score.n, score.value, (score.low, score.high)]
    return [answers.group, answers.level, *numbers, _text(*answers.expected), inside]


def _outside(answers: _Answers) -> Iterator[list[Cell]]:
    for question, right in answers.by_question().items():
        share = sum(right) / len(right)
        if not in_envelope(share, *answers.expected):
            yield [question, answers.level, answers.group, len(right), share, _text(*answers.expected)]


def _text(least: float, largest: float) -> str:
    """Return an envelope in words.

    Example:
        >>> _text(0.7, 1.0), _text(0.4, 0.6), _text(0.0, 0.4)
        ('above 70 %', '40 to 60 %', 'below 40 %')
    """
    if largest == 1:
        return f"above {least:.0%}".replace("%", " %")
    return f"below {largest:.0%}".replace("%", " %") if least == 0 else f"{100 * least:.0f} to {100 * largest:.0f} %"
