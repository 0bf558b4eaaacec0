"""Whether both languages of a sample of the questions say the same, as a judge has replied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Prediction, Record, Unparsed
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import KINDS
from lmod_train.tasks.captioning import AGREES, DIFFERS, CaptionParity, asked
from lmod_train.tasks.drafting.captions.item import Item
from lmod_train.tasks.drafting.review import needed

SHARE = 0.2
"""Share of the questions of each kind that a judge compares by default; ours, twice the share that people review."""
UNPARSED = "unparsed"
"""Outcome of a comparison whose reply is missing or states no verdict."""
FAILED = "failed"
"""Reason of a question whose comparison failed: it was not compared."""
METRICS = {AGREES: "share_judged_agrees", DIFFERS: "share_judged_differs", UNPARSED: "share_unjudged"}
"""Outcome -> metric of its share among the questions that were compared (`CaptionParity.score`)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a judge has replied about one question.

    Attributes:
        outcome: ``agrees``, ``differs`` or ``unparsed``.
        reason: Why there is no verdict; empty if there is one.
        prediction: The judge's reply.
    """

    outcome: str
    reason: str
    prediction: Prediction


def sampled(items: Sequence[Item], share: float = SHARE, seed: int = 0) -> list[Item]:
    """Return a share of the questions of each kind, rounded up, by a seeded shuffle.

    A larger share adds questions to those of a smaller one.

    Args:
        items: Questions.
        share: Above 0, up to 1.
        seed: Seed of the shuffle.
    """
    chosen: set[str] = set()
    for kind in KINDS:
        ordered = sorted((i.id for i in items if i.kind == kind), key=lambda id: shuffle_key(seed, "parity", id))
        chosen |= {*ordered[: needed(share, len(ordered))]}
    return [item for item in items if item.id in chosen]


def comparisons(items: Sequence[Item], captions: Mapping[str, Caption]) -> list[Record]:
    """Return what a judge is asked about questions, in id order."""
    task = CaptionParity()
    return sorted((task.of_pair(captions[i.caption], i.number, i.pair) for i in items), key=lambda r: r.id)


def compared_by(items: Sequence[Item], predictions: Sequence[Prediction]) -> dict[str, Comparison]:
    """Return id of each question that was compared -> outcome; replies about words that have changed do not count.

    Args:
        items: The questions as they are now.
        predictions: Of `CaptionParity`.
    """
    stored = {f"{p.record.key}/{p.record.chain_step}": p for p in predictions}
    known = {item.id: (item, stored[item.id]) for item in items if item.id in stored}
    return {id: _outcome(one) for id, (item, one) in known.items() if one.record.messages == asked(item.pair)}


def _outcome(one: Prediction) -> Comparison:
    if isinstance(one.answer, Unparsed):
        return Comparison(UNPARSED, one.answer.reason, one)
    return Comparison(CaptionParity.outcome(str(one.answer)), "", one)


def differing(found: Mapping[str, Comparison]) -> list[str]:
    """Return the ids of the questions whose languages differ, as the judge has it."""
    return [id for id, one in found.items() if one.outcome == DIFFERS]


def counts(found: Mapping[str, Comparison]) -> dict[str, int]:
    """Return outcome -> number of questions, of all three outcomes; a failed request is none."""
    counted = Counter(one.outcome for one in found.values() if one.reason != FAILED)
    return {outcome: counted[outcome] for outcome in METRICS}


def summary(found: Mapping[str, Comparison], total: int) -> list[str]:
    """Return lines that state how many questions were compared, and the share of each outcome with its interval.

    Args:
        found: Outcomes.
        total: Number of all questions.
    """
    replied = [one.prediction for one in found.values() if one.reason != FAILED]
    if not replied:
        return []
    every = CaptionParity().score(replied)
    scores = {score.metric: score for score in every if score.subset == "all"}
    shown = []
    for outcome, count in counts(found).items():
        score = scores[METRICS[outcome]]
        interval = "" if score.low is None or score.high is None else f" [{score.low:.3f}, {score.high:.3f}]"
        shown.append(f"{outcome} {count}" + ("" if score.value is None else f", {score.value:.3f}{interval}"))
    return [f"languages compared by a judge: {len(replied)} of {total} questions: {'; '.join(shown)}"]
