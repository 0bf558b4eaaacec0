"""Scores of questions in two languages: the six subsets of OphthalWeChat, by language, and overall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, Table, score_cells, table
from lmod_train.core.types import Score
from lmod_train.report.contents import heads
from lmod_train.scoring.items import Item
from lmod_train.scoring.language_pairs import LANGUAGES, overall_scores
from lmod_train.tasks.failures.rules import finds
from lmod_train.tasks.run_scores import RunScores, read_run_scores
from lmod_train.tasks.verdicts import Judge

COLUMNS, RULES = (heads(__file__)[name] for name in ("columns", "rules"))
"""Columns of the tables; those of `ENCODED` stand only where they have a value."""

_WORDS = package_data(__file__, "words.yaml")["results"]


if TYPE_CHECKING:
    from lmod_train.report.results import Outcomes

KINDS: Mapping[str, str] = _WORDS["kinds"]
"""Task -> its name in the paper."""

OPEN = "open_question"

SHORT: Mapping[str, str] = {"zh": "CN", "en": "EN"}
"""Language -> its name in the paper."""


ENCODED = ("BERTScore", "rescaled", "BERTScore by")
"""Columns that only a run with an encoder has."""


_BESIDE = ("accuracy_answered", "accuracy_chance_filled", "chance", "majority")

_SHARES = ("share_unparsed", "share_refused", "share_truncated", "share_other_language")

_WORDS = ("containment", "token_f1", "bleu1_corpus", "bleu1_sentence_mean", "bertscore_f1", "bertscore_f1_rescaled")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Items of all kinds of question with whether each is right.

    Attributes:
        judge: Name of the judge of the open answers; empty for closed questions alone.
        items: One per record id.
        right: Record id -> whether the reply is right.
        subset: Record id -> subset, as in the paper.
    """

    judge: str
    items: list[Item]
    right: Mapping[str, bool]
    subset: Mapping[str, str]

    def scores(self, language: str | None = None) -> list[Score]:
        """Return the accuracy over all items and the mean of the subsets, of one language or both."""
        own = [item for item in self.items if language in (None, item.language)]
        return overall_scores("all", own, [self.right[i.id] for i in own], [self.subset[i.id] for i in own])


def kinds_of(items: Mapping[str, Sequence[Item]]) -> list[str]:
    """Return the tasks of `KINDS` that have items, in its order."""
    return [task for task in KINDS if items.get(task)]


def subset_name(task: str, language: str) -> str:
    """Return the name of a subset in the paper.

    Example:
        >>> subset_name("single_choice_question", "zh")
        'Single-choice_CN'
    """
    return f"{KINDS[task]}_{SHORT.get(language, language)}"


SUBSETS = tuple(subset_name(task, language) for task in KINDS for language in LANGUAGES)
"""The six subsets in the order of the paper."""


def judges_of(outcomes: Outcomes) -> list[Judge]:
    """Return the judges of open answers that have no judgement pending."""
    return [judge for judge in outcomes.judged if OPEN in judge.tasks and not judge.pending]


def verdicts(outcomes: Outcomes) -> Iterator[Verdicts]:
    """Yield closed questions alone, if there are any, then all kinds together for each judge of the open answers.

    A closed question is right if its answer is the truth, an open one if the judge says so; what is unjudged or was not
    sent to the judge is wrong. Without closed questions the judges' are those of open answers alone.
    """
    closed = [item for task in kinds_of(outcomes.items) if task != OPEN for item in outcomes.items[task]]
    right = {item.id: item.answer == item.truth for item in closed}
    subset = {i.id: subset_name(task, i.language) for task in KINDS for i in outcomes.items.get(task, ())}
    if closed:
        yield Verdicts("", closed, right, subset)
    answers = outcomes.items.get(OPEN, [])
    for judge in judges_of(outcomes):
        of_judge = judge.right()
        judged = {item.id: of_judge.get(item.id, False) for item in answers}
        yield Verdicts(judge.judge, [*closed, *answers], right | judged, subset)


def rows(run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]) -> Iterator[Table]:
    """Yield the tables of a run of such questions (`lmod_train.core.extension.Extension`)."""
    (scores,) = read_run_scores([run])
    if KINDS.keys() & set(scores.tasks()):
        from lmod_train.report.results import read_outcomes  # it reads the whole run

        yield from language_tables(scores, read_outcomes(run, trusted))


def language_tables(run: RunScores, outcomes: Outcomes) -> Iterator[Table]:
    """Yield the table of the subsets, by language and overall, and that of open answers by rules; none for other tasks.

    Args:
        run: Scores of a run.
        outcomes: Its outcomes.
    """
    if not kinds_of(outcomes.items):
        return
    yield table("languages", COLUMNS, list(language_rows(run, outcomes)), "Questions in two languages")
    if outcomes.items.get(OPEN):
        rows = list(rule_rows(run, outcomes))
        yield _without_empty(table("open_answers", RULES, rows, "Open answers by rules"))


def _without_empty(of_rules: Table) -> Table:
    """Return the table without the columns of `ENCODED` that have no value."""
    held = [any(row[k] is not None for row in of_rules.rows) for k in range(len(of_rules.columns))]
    kept = [k for k, column in enumerate(of_rules.columns) if column.head not in ENCODED or held[k]]
    rows = tuple(tuple(row[k] for k in kept) for row in of_rules.rows)
    return replace(of_rules, columns=tuple(of_rules.columns[k] for k in kept), rows=rows)


def language_rows(run: RunScores, outcomes: Outcomes) -> Iterator[list[Cell]]:
    """Yield a row per subset, then per language and overall, with the columns of `COLUMNS`.

    The accuracy of open answers is that of a judge; without one, open and overall have none.
    """
    for task in kinds_of(outcomes.items):
        for language in _languages(outcomes.items[task]):
            yield from _subset(run, outcomes, task, language)
    found = list(verdicts(outcomes))
    for own in found:
        yield from _overall(own, outcomes)
    if outcomes.items.get(OPEN) and not any(own.judge for own in found):
        yield ["Overall", "not judged", *score_cells(None), *[None] * (len(COLUMNS) - 5)]


def _languages(items: Sequence[Item]) -> list[str]:
    return [language for language in LANGUAGES if any(item.language == language for item in items)]


def _subset(run: RunScores, outcomes: Outcomes, task: str, language: str) -> Iterator[list[Cell]]:
    def value(metric: str) -> float | None:
        found = find_in(run, outcomes, task, metric, language)
        return found.value if found else None

    judges = [judge.judge for judge in judges_of(outcomes)] or ["not judged"]
    shares = [value(metric) for metric in _SHARES]
    for judge in judges if task == OPEN else [""]:
        metric = f"accuracy_judged:{judge}" if judge else "accuracy_strict"
        beside = [value(f"accuracy_judged_answered:{judge}"), None, None, None] if judge else [*map(value, _BESIDE)]
        score = find_in(run, outcomes, task, metric, language)
        n = sum(item.language == language for item in outcomes.items[task])
        accuracy = score_cells(score)[1:]
        yield [subset_name(task, language), judge, n, *accuracy, *beside, *shares]


def find_in(run: RunScores, outcomes: Outcomes, task: str, metric: str, language: str) -> Score | None:
    """Return a score of the questions of a task in one language; ``all`` if the task has questions in it alone."""
    score = run.find(task, metric, f"language={language}")
    alone = {item.language for item in outcomes.items[task]} == {language}
    return run.find(task, metric) if score is None and alone else score


def _overall(own: Verdicts, outcomes: Outcomes) -> Iterator[list[Cell]]:
    """Yield the accuracy by language and overall, weighted by items and as the mean of the subsets."""
    kind = "Overall" if own.judge else "Close-ended"
    languages = _languages(own.items)
    for language in [*(languages if len(languages) > 1 else []), None]:
        name = f"{kind} {SHORT[language]}" if language else kind
        for score, suffix in zip(own.scores(language), ("", ", mean of subsets"), strict=True):
            cells: list[Cell] = [name + suffix, own.judge, *score_cells(score)]
            yield [*cells, *[None] * (len(COLUMNS) - len(cells))]


def rule_rows(run: RunScores, outcomes: Outcomes) -> Iterator[list[Cell]]:
    """Yield a row per language of open answers by rules, with the columns of `RULES`."""
    answers = [p for p in outcomes.predictions if p.record.task == OPEN]
    flipped = Counter(p.record.language for p in answers if finds("negation_flip", p))
    for language in _languages(outcomes.items[OPEN]):
        found = {metric: find_in(run, outcomes, OPEN, metric, language) for metric in ("exact_match", *_WORDS)}
        first, values = score_cells(found["exact_match"]), [s.value if (s := found[m]) else None for m in _WORDS]
        bleu, encoder = (s.settings if (s := found[m]) else None for m in ("bleu1_corpus", "bertscore_f1"))
        shared, alike = [*values[:2], flipped[language], *values[2:4]], values[4:]
        yield [subset_name(OPEN, language), *first, *shared, bleu, *alike, encoder]
