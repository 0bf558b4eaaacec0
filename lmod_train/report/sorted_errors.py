"""The failures of the replies of runs, sorted into the papers' failure modes and error types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.types import Prediction
from lmod_train.core.vocabulary.error_types import ERROR_LABELS
from lmod_train.report.results import Outcomes
from lmod_train.scoring.items import Item, is_wrong, wrong_ids
from lmod_train.tasks.failures.rules import Failure, failures_of
from lmod_train.tasks.failures.sorting import modes_of, type_of

PROBES = "_probe"
"""End of the name of a task that asks without the image (`lmod_train.tasks.probe`)."""
GROUNDING = "_grounding"
"""End of the name of a task that asks about changed images."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """One reply with what is wrong with it.

    Attributes:
        prediction: Record, reply and answer.
        item: The item that it is scored as.
        failures: What the rules found.
        verdict: Error type by a judge or a person; empty without one.
    """

    prediction: Prediction
    item: Item
    failures: tuple[Failure, ...]
    verdict: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that fired."""
        return tuple(failure.rule for failure in self.failures)

    @property
    def probe(self) -> bool:
        """Whether the question was asked without its image, with another one, a changed one or none of an eye."""
        return self.prediction.record.task.endswith((PROBES, GROUNDING))

    @property
    def wrong(self) -> bool:
        """Whether the reply has no answer or a wrong one; a probe has no right answer, and a failed call no reply."""
        return not self.probe and is_wrong(self.item)

    @property
    def modes(self) -> tuple[str, ...]:
        """Failure modes of LMOD."""
        answered = self.item.status == "answered"
        nothing = self.probe and self.item.variant.rpartition("-")[2] in ("none", "foreign")
        return modes_of(self.rules, answered and self.wrong, answered and nothing)

    @property
    def kind(self) -> str | None:
        """Error type of LMOD+ of a wrong reply; None for others, and where neither rules nor a judge decide."""
        return type_of(self.rules, self.verdict) if self.wrong else None

    @property
    def decided(self) -> bool:
        """Whether a rule or a judge has looked at a wrong reply, also one in which a judge finds no error."""
        return self.kind is not None or bool(self.verdict)

    @property
    def by_judge(self) -> bool:
        """Whether a judge and no rule decided the error type."""
        return self.kind is not None and type_of(self.rules) is None


def sort_errors(outcomes: Outcomes, most: int) -> dict[str, list[Sorted]]:
    """Return task -> replies with their failures, in the order of the record ids.

    Args:
        outcomes: The outcomes of one run.
        most: Number of replies that are read; of more, those whose record ids have the smallest SHA-256, the same in
            every run.
    """
    items = {item.id: item for of_task in outcomes.items.values() for item in of_task}
    verdicts = _verdicts(outcomes)
    found: dict[str, list[Sorted]] = {}
    for prediction in sampled([p for p in outcomes.predictions if p.record.id in items], most):
        id = prediction.record.id
        row = Sorted(prediction, items[id], tuple(failures_of(prediction)), verdicts.get(id, ""))
        found.setdefault(prediction.record.task, []).append(row)
    return {task: found[task] for task in sorted(found)}


def sample_of_errors(outcomes: Outcomes, task: str, count: int) -> list[Sorted]:
    """Return `count` wrong replies to a task with their failures: those that `judge --wrong` sends to a judge."""
    items = {item.id: item for item in outcomes.items.get(task, ())}
    known, verdicts = {p.record.id: p for p in outcomes.predictions}, _verdicts(outcomes)
    ids = wrong_ids(items.values(), count)
    return [Sorted(known[id], items[id], tuple(failures_of(known[id])), verdicts.get(id, "")) for id in ids]


def sampled(predictions: Sequence[Prediction], most: int) -> list[Prediction]:
    """Return at most `most` predictions, chosen by a hash of their record ids, in the order of the ids."""
    chosen = sorted(predictions, key=lambda p: hashlib.sha256(p.record.id.encode()).digest())[:most]
    return sorted(chosen, key=lambda p: p.record.id)


def _verdicts(outcomes: Outcomes) -> Mapping[str, str]:
    """Return record id -> error type by a judge of errors; people go before models."""
    found: dict[str, str] = {}
    for judge in sorted(outcomes.judged, key=lambda judge: judge.people):
        if judge.labels == ERROR_LABELS:
            found |= {id: label for id, label in judge.verdicts.items() if isinstance(label, str)}
    return found


def compared(rows: Sequence[Sorted]) -> Iterator[tuple[str, str, str]]:
    """Yield group, type by rules and type by the judge of each wrong reply that both have sorted."""
    for row in rows:
        by_rules = type_of(row.rules)
        if row.wrong and by_rules is not None and row.verdict:
            yield row.item.group, by_rules, row.verdict
