"""The section of a report on explanations: what they claim, and whether it is true of the eye that is shown."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Cell, Estimate, Table, table
from lmod_train.core.types import Prediction, Score
from lmod_train.extensions.reason.claims import BOUNDS, TOLERANCE, VERSION, Claim, Facts, facts_by_name, number, word
from lmod_train.extensions.reason.reading import claims_in, distinct_claims
from lmod_train.extensions.reason.scores import (
    FEWEST,
    MARGIN,
    OF_THIS_EYE,
    UNSPECIFIC,
    Explained,
    Explanations,
    HeldReply,
    explanations,
    held_against_facts,
)
from lmod_train.report.contents import Figure, Part, Remark, Text, heads, texts
from lmod_train.report.figures.qualitative import COLUMNS, draw_qualitative
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.report.thumbnails import licences
from lmod_train.report.viewer.outcome_text import outcome_of
from lmod_train.scoring.items import Item, group_of
from lmod_train.tasks.base import Task

_TEXTS, _HEADS = texts(__file__), heads(__file__)

EYES = 6
"""Eyes of a strip."""

Runs = Mapping[tuple[str, str], tuple[Sequence[Prediction], Sequence[Explained], Sequence[HeldReply]]]
"""Task and model -> replies about images with facts, and their claims held against these."""


class Reasons(Section):
    """Shares, verdicts and a strip of eyes for each task and model whose records hold facts.

    Args:
        tolerance: How far a stated cup-to-disc ratio may be from the measured one.
    """

    title: ClassVar[str] = "Is the explanation true?"
    name: ClassVar[str] = "reasons"

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        if not 0 < tolerance < 1:
            raise BadArgument("tolerance", tolerance, "a ratio above 0 and below 1", f"the default is {TOLERANCE}")
        self.tolerance = tolerance

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield verdicts, tables, a strip a task, and the bounds; a remark where claims have no facts."""
        runs = _runs_of(results, self.tolerance)
        if not runs:
            yield from _without_facts(results)
            return
        yield Text(_TEXTS["note"].format(FEWEST, UNSPECIFIC, OF_THIS_EYE, MARGIN))
        yield from _tables(_found(runs))
        yield _kinds(runs)
        yield from _strips(results, runs)
        rows: list[list[Cell]] = [list(row) for row in BOUNDS]
        rows[0][1] = f"within {self.tolerance:g} of the measured one"
        yield table("reason_bounds", _HEADS["bounds"], rows, f"When a claim is true, version {VERSION}")


@lru_cache(maxsize=2)  # the section and the first screen
def _runs_of(results: Results, tolerance: float) -> Runs:
    return {
        (task, name): of_task
        for name, outcomes in results.outcomes.items()
        for task in outcomes.items
        if (of_task := _held(outcomes, task, tolerance))
    }


def _found(runs: Runs) -> dict[tuple[str, str], list[Explanations]]:
    return {place: list(explanations(own, held, place[0])) for place, (_, own, held) in runs.items()}


def findings(results: Results) -> dict[str, str]:
    """Return task -> the verdicts on its explanations in a sentence, for the first screen; none without claims."""
    told: dict[str, list[str]] = {}
    for (task, name), several in _found(_runs_of(results, TOLERANCE)).items():
        own = [
            f"{one.truth}: {one.verdict} ({one.matched:.2f} of {one.claims} claims true, "
            f"{one.exchanged.value:.2f} of other eyes with this answer)"
            for one in several
            if one.matched is not None and one.exchanged.value is not None
        ]
        told.setdefault(task, []).extend([f"{name}, {', '.join(own)}"] if own else [])
    return {task: f"Is the explanation true? {'; '.join(own)}." for task, own in told.items() if own}


def _held(
    outcomes: Outcomes, task: str, tolerance: float
) -> tuple[list[Prediction], list[Explained], list[HeldReply]] | None:
    """Return the replies to a task about images with facts, with their claims; None without any."""
    asked = outcomes.tasks[task]
    own = [p for p in outcomes.predictions if p.record.task == task and p.record.facts and p.status != "failed"]
    own = [p for p in own if asked.is_scored(p.record)]
    if not own:
        return None
    replies = [explained(p, asked) for p in own]
    return own, replies, held_against_facts(replies, tolerance)


def explained(prediction: Prediction, task: Task) -> Explained:
    """Return a reply with its claims, each content once, and the facts of its image."""
    record = prediction.record
    truth, given = task.truth(record), prediction.answer
    return Explained(
        record.id,
        record.source,
        truth if isinstance(truth, str) else "",
        given if isinstance(given, str) else "",
        group_of(record),
        facts_by_name(record),
        distinct_claims(prediction.reply),
    )


def _without_facts(results: Results) -> Iterator[Part]:
    """Yield how facts are added, if a reply makes a claim that they would decide."""
    several = [p for own in results.outcomes.values() for p in own.predictions if not p.record.facts][:_TRIED]
    if any(claims_in(p.reply) for p in several):
        yield Remark(_TEXTS["without_facts"])


_TRIED = 200


def _tables(found: Mapping[tuple[str, str], Sequence[Explanations]]) -> Iterator[Part]:
    rows: list[list[Cell]] = []
    right: list[list[Cell]] = []
    for (task, name), several in found.items():
        for one in several:
            shares = [_estimate(score) for score in (one.checkable, one.true, one.exchanged, one.specific, one.most)]
            counts: list[Cell] = [one.claims, one.patients]
            rows.append([task, one.truth, name, one.replies, *shares, *counts, one.verdict, _next(one)])
            kinds = [_estimate(score) for score in (one.all_true, one.one_false, one.none)]
            apart: list[Cell] = [one.unspecific, one.alone, one.undecided, one.unseen]
            right.append([task, one.truth, name, one.none.n, *kinds, *apart])
    yield table(
        "reason", _HEADS["reason"], rows, "Claims held against the eye, and against others with the same answer"
    )
    yield table("reason_right", _HEADS["right"], right, "Right answers by their reasons")
    bare = [
        f"{name} ({sum(one.replies for one in several)} replies to {task})"
        for (task, name), several in found.items()
        if not any(one.true.n for one in several)
    ]
    if bare:
        yield Remark(_TEXTS["bare"].format(", ".join(bare)))


def _kinds(runs: Runs) -> Table:
    """Return how many claims of each kind are made, and how many of those that the facts decide are true."""
    rows: list[list[Cell]] = []
    for (task, name), (_, _, held) in runs.items():
        kinds: defaultdict[str, list[bool | None]] = defaultdict(list)
        for one in (one for own in held for one in own.claims):
            kinds[one.claim.subject].append(one.true)
        for kind, several in sorted(kinds.items()):
            rows.append([task, name, kind, len(several), len(several) - several.count(None), several.count(True)])
    return table("reason_kinds", _HEADS["kinds"], rows, "Claims by what they are about")


def _next(one: Explanations) -> str:
    """Return what would tell more; empty where a verdict is given."""
    if one.verdict != "cannot be told":
        return ""
    if not one.claims:
        return "no claim was made that could be exchanged"
    return f"about {one.needed:,} patients with such claims would tell" if one.needed else "more patients may not tell"


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, score.low, score.high, score.n)


def _strips(results: Results, runs: Runs) -> Iterator[Part]:
    """Yield a figure a task and model: six eyes with the claims marked in the reply, and what was measured."""
    for (task, name), (predictions, _, held) in runs.items():
        shown = [(p, own) for p, own in zip(predictions, held, strict=True) if own.claims and p.record.image_plain]
        if not shown:
            continue
        # as many with a false claim as without: the first of each by a hash
        shown.sort(key=lambda pair: hashlib.sha256(pair[0].record.id.encode()).hexdigest())
        wrong = [pair for pair in shown if any(one.true is False for one in pair[1].claims)]
        others = [pair for pair in shown if pair not in wrong]
        half = max(EYES // 2, EYES - len(others))
        chosen = [*wrong[:half], *others[: EYES - len(wrong[:half])]]
        items = {item.id: item for item in results.outcomes[name].items[task]}
        rows = [_row(name, items[p.record.id], p, own) for p, own in chosen]
        curated = results.images.get(name)
        stay = [
            f"{own.source} ({own.licence})" for own in licences(curated, [p.record for p, _ in chosen]) if own.stays
        ]
        note = f"; must stay on this machine: {', '.join(stay)}" if stay else ""
        yield Figure(
            f"reason-{task}-{name}",
            f"{task}, {name}: claims and measures of {len(rows)} eyes, {min(len(wrong), half)} with a false claim",
            _TEXTS["alt"].format(task, name),
            table(f"reason-{task}-{name}", COLUMNS, rows, f"{task}, {name}{note}"),
            partial(draw_qualitative, curated=curated),
            photographs=True,
        )


def _row(name: str, item: Item, prediction: Prediction, held: HeldReply) -> list[Cell]:
    record = prediction.record
    facts = facts_by_name(record)
    subjects = [name for one in held.claims for name in _measured_by(one.claim) if name in facts]
    measured = ", ".join(dict.fromkeys(f"{name} {_value(facts, name)}" for name in subjects))
    truth = f"{record.answer}; measured: {measured or 'nothing that is claimed'}"
    said = marked(prediction.reply.reply, held)
    return [record.task, record.id, record.image_plain[0], "[]", truth, name, outcome_of(item), said]


def _measured_by(claim: Claim) -> tuple[str, ...]:
    """Return the names of the facts that a claim is held against."""
    if claim.subject == "cup":
        return ("vcdr", "cup.large")
    if claim.subject == "rim":
        return (f"rim.{claim.place}", "rim.thinnest") if claim.place else ("rim.inferior", "rim.superior")
    return (claim.subject, f"{claim.subject}.fovea") if claim.relation == "near" else (claim.subject,)


def _value(facts: Facts, name: str) -> str:
    value = number(facts, name)
    return word(facts, name) if value is None else f"{value:.3f}"


MARKS = {True: "✓", False: "✗", None: "?"}
"""Of a claim that is true, false, or not decided."""


def marked(reply: str, held: HeldReply) -> str:
    """Return a reply with a mark behind each claim, and brackets around it.

    Example:
        >>> from lmod_train.extensions.reason.scores import Held
        >>> claim = Claim("vcdr", "=", 0.8, 0.8, start=0, end=10)
        >>> marked("CDR of 0.8.", HeldReply((Held(claim, False),)))
        '[CDR of 0.8]✗.'
    """
    for one in sorted(held.claims, key=lambda one: -one.claim.start):
        claim = one.claim
        said = f"[{reply[claim.start : claim.end]}]{MARKS[one.true]}"
        reply = f"{reply[: claim.start]}{said}{reply[claim.end :]}"
    return reply
