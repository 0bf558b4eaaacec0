"""Levels of expertise: labels of a gold set by people, and whether groups of people answer a level as X-PCR expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmod_train.core.artifacts.run import READER
from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.agreement import fleiss_scores
from lmod_train.scoring.expertise import ENDING, ENVELOPES, LEVELS, in_envelope, level_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score
from lmod_train.scoring.steps import in_order
from lmod_train.tasks.level import NAMES, labelled

GROUPS = tuple(dict.fromkeys(group for group, _ in ENVELOPES))
NOTE = f"""Questions with a level of expertise (R, A, S) that people answered. The group of a reader is the beginning of
the name: {", ".join(GROUPS)}, e.g. `answers SHEET.csv --curated CURATED --run RUN --reader resident_1`. Expected is
what X-PCR expects of the group at the level; it leaves out questions that are not answered so. Answers of several
readers to a question count one by one, and intervals are over patients. Where two or more readers have labelled a
question (above), its level is the one that more than half of them gave."""
OUTSIDE = """Share of the readers of each group who answer the question correctly, where it is outside the expected
one. With few readers a share says little: X-PCR had 25 residents, 18 attendings and 12 fellows."""

LABELS = """Levels that readers gave to questions (task `chain_level`), over the questions that most of them labelled.
X-PCR labels again what stays below a kappa of 0.60, until 0.70: correct the cells of the sheet, and read it again.
Kappa is Fleiss' and belongs to several questions, not to one; for one question stands the share of equal pairs."""
GOLD = """Most divided first. Gold is the label of more than half of the readers. Provisional is the level of the
source, or of the rule by stage."""
BY_GOLD = "Share of right answers by the level that readers gave (ESA of X-PCR on the gold set)."

_KAPPAS: Heads = ["stage", Column("readers", "count"), N, Column("agreement", "number"), INTERVAL,
                  Column("kappa", "number"), INTERVAL, "X-PCR"]  # fmt: skip
_GOLD: Heads = ["question", "stage", *(Column(name, "count") for name in NAMES.values()),
                Column("equal pairs", "percent"), "gold", "provisional"]  # fmt: skip
_ESA: Heads = ["model", "level", N, Column("accuracy", "percent"), INTERVAL]
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


@dataclass(frozen=True, slots=True)
class _Labels:
    """Labels of one question of a gold set, one by each reader who labelled it."""

    question: str
    stage: str
    group: str
    provisional: str
    given: tuple[str, ...]

    @property
    def gold(self) -> str:
        """Level R, A or S that more than half of two or more readers gave; empty without one."""
        name, n = Counter(self.given).most_common(1)[0]
        short = {word: level for level, word in NAMES.items()}
        return short.get(name, "") if len(self.given) > 1 and 2 * n > len(self.given) else ""

    @property
    def equal_pairs(self) -> float | None:
        """Share of the pairs of readers who gave the same label; None for a single reader."""
        n = len(self.given)
        pairs = n * (n - 1)
        return sum(k * (k - 1) for k in Counter(self.given).values()) / pairs if pairs else None


class Difficulty(Section):
    """Labels of a gold set, and accuracy of residents, attendings and fellows by level beside what X-PCR expects."""

    title: ClassVar[str] = "Levels against readers"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of labels, of groups and of questions outside; nothing without such readers and levels."""
        labels = _labels(results)
        yield from _of_labels(labels, results)
        found = list(_answers(results, {one.question: one.gold for one in labels if one.gold}))
        if not found:
            return
        yield Text(NOTE)
        yield table("difficulty", _GROUPS, list(map(_group_row, found)))
        rows = [row for answers in found for row in _outside(answers)]
        asked = {item.id for answers in found for item in answers.items}
        yield Text(f"{len({row[0] for row in rows})} of {len(asked)} questions are outside.")
        if rows:
            yield table("difficulty_outside", _QUESTIONS, rows, "Questions outside", OUTSIDE)


def _is_person(outcomes: Outcomes) -> bool:
    return bool(outcomes.config.get(READER))


def _labels(results: Results) -> list[_Labels]:
    """Return the labels of every question that a person labelled; a label that cannot be read is none."""
    found: dict[str, list[Item]] = {}
    for outcomes in filter(_is_person, results.outcomes.values()):
        for item in (i for task, items in outcomes.items.items() if task.endswith(ENDING) for i in items):
            if item.status == "answered":
                found.setdefault(labelled(item.id), []).append(item)
    return [
        _Labels(
            id, some[0].tags.get("stage", ""), some[0].group, str(some[0].truth), tuple(str(i.answer) for i in some)
        )
        for id, some in found.items()
    ]


def _of_labels(labels: Sequence[_Labels], results: Results) -> Iterator[Part]:
    most = max((len(one.given) for one in labels), default=0)
    if most < 2:
        return
    yield Text(LABELS)
    whole = [one for one in labels if len(one.given) == most]
    stages = in_order(one.stage for one in whole if one.stage)
    named = {"all": whole} | {stage: [one for one in whole if one.stage == stage] for stage in stages}
    yield table("difficulty_kappa", _KAPPAS, [_kappa_row(name, most, some) for name, some in named.items()])
    divided = sorted(labels, key=lambda one: (one.equal_pairs is None, one.equal_pairs, one.question))
    yield table("difficulty_gold", _GOLD, list(map(_gold_row, divided)), "Labels of each question", GOLD)
    gold = {one.question: one.gold for one in labels if one.gold}
    if rows := [row for name, outcomes in results.outcomes.items() for row in _esa(name, outcomes, gold)]:
        yield table("difficulty_esa", _ESA, rows, "Models by gold level", BY_GOLD)


def _kappa_row(stage: str, readers: int, some: Sequence[_Labels]) -> list[Cell]:
    agreement, kappa = fleiss_scores("level", [one.given for one in some], [one.group for one in some])
    value = kappa.value
    verdict = "no kappa: one label only" if value is None else (
        "accepted (0.70)" if value >= 0.7 else "below 0.70" if value >= 0.6 else "below 0.60: label again"
    )  # fmt: skip
    return [stage, readers, *score_cells(agreement), *score_cells(kappa)[1:], verdict]


def _gold_row(one: _Labels) -> list[Cell]:
    counts: list[Cell] = [one.given.count(name) for name in NAMES.values()]
    return [one.question, one.stage, *counts, one.equal_pairs, NAMES.get(one.gold, "none"), one.provisional]


def _esa(name: str, outcomes: Outcomes, gold: Mapping[str, str]) -> Iterator[list[Cell]]:
    """Yield the accuracy of a model at each gold level."""
    items = [item for own in outcomes.items.values() for item in own if item.id in gold]
    for level in LEVELS if not _is_person(outcomes) else ():
        own = [item for item in items if gold[item.id] == level]
        if own:
            score = share_score("esa", [i.answer == i.truth for i in own], [i.group for i in own])
            yield [name, NAMES[level], score.n, score.value, (score.low, score.high)]


def _answers(results: Results, gold: Mapping[str, str]) -> Iterator[_Answers]:
    """Yield the answers of each group at each level of which something is expected.

    Args:
        results: The runs.
        gold: Question -> level by readers, which stands before that of the record.
    """
    for group, level in ENVELOPES:
        people = [
            [i for items in outcomes.items.values() for i in items if (gold.get(i.id) or level_of(i)) == level]
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
