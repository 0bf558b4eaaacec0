"""Whether explanations are true of the eye that is shown, and of it more than of other eyes with the same answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.extensions.reason.claims import TOLERANCE, Claim, Facts, is_true, number
from lmod_train.scoring.intervals import Measure, compute_scores, ratio, share_measure

Floats = NDArray[np.float64]

FEWEST = 5
"""Patients of a cell (same source, true answer and given answer) from which claims are exchanged within it."""

UNSPECIFIC = 0.05
"""Specific share of truthful claims below which a kind of claim is as true of any such eye."""

OF_THIS_EYE, MARGIN = 0.2, 0.05
"""Share of what could be specific, from which a model explains this eye; largest specific share that counts as none."""

Verdict = Literal["of this eye", "of any such eye", "cannot be told"]


@dataclass(frozen=True, slots=True)
class Explained:
    """A reply with its claims and the facts of its image.

    Attributes:
        id: Record id.
        source: Source of the image.
        truth: True answer.
        given: Answer of the reply; empty if it was not read.
        patient: Patient, by which intervals are clustered.
        facts: Facts of the image.
        claims: What the explanation claims, each content once.
    """

    id: str
    source: str
    truth: str
    given: str
    patient: str
    facts: Facts
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """A claim held against the facts of its image and of others.

    Attributes:
        claim: The claim.
        true: Whether it is true of this eye; None if the facts do not decide it.
        exchanged: Share of the other patients' eyes of the same source, true and given answer of which it is true; None
            if there are too few.
        most: Specific share of truthful claims of this kind in these eyes; None as `exchanged`.
    """

    claim: Claim
    true: bool | None
    exchanged: float | None = None
    most: float | None = None

    @property
    def is_specific(self) -> bool:
        """Whether it counts for the specific share: it is decided, exchanged, and not true of any such eye."""
        return self.true is not None and self.exchanged is not None and (self.most or 0.0) >= UNSPECIFIC


@dataclass(frozen=True, slots=True)
class HeldReply:
    """The claims of a reply, held against facts.

    Attributes:
        claims: Each claim.
        received: By how much the exchanged claims of other patients are truer of this eye than of the others, in sum
            over these claims, each by the number of eyes that it was exchanged with. The sum over all eyes is 0; by
            patient it is how much a score depends on who the others are.
    """

    claims: tuple[Held, ...]
    received: float = 0.0

    @property
    def specific(self) -> list[Held]:
        """The claims that count for the specific share."""
        return [one for one in self.claims if one.is_specific]


def held_against_facts(replies: Sequence[Explained], tolerance: float = TOLERANCE) -> list[HeldReply]:
    """Return the claims of each reply, held against the facts of its image and those of other patients.

    Args:
        replies: Of one model to one task, one a record.
        tolerance: How far a stated ratio may be from the measured one.
    """
    cells: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, one in enumerate(replies):
        cells[one.source, one.truth, one.given].append(i)
    found = [HeldReply(())] * len(replies)
    for places in cells.values():
        own = [replies[i] for i in places]
        cell = Cell([(one.patient, one.facts) for one in own], tolerance)
        held = [tuple(cell.held(claim, one.patient, one.facts) for claim in one.claims) for one in own]
        for i, claims, received in zip(places, held, cell.received(held), strict=True):
            found[i] = HeldReply(claims, received)
    return found


class Cell:
    """Eyes of one source and answer, among which claims are exchanged, and what claims of each kind are true of.

    Args:
        eyes: Patient and facts of each.
        tolerance: How far a stated ratio may be from the measured one.
    """

    def __init__(self, eyes: Sequence[tuple[str, Facts]], tolerance: float = TOLERANCE) -> None:
        self._facts, self._tolerance = [facts for _, facts in eyes], tolerance
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in eyes))}
        self._patients = np.array([self._numbers[name] for name, _ in eyes], dtype=np.intp)
        self._true: dict[tuple[object, ...], Floats] = {}
        self._shares: dict[tuple[object, ...], Floats] = {}
        self._most: dict[tuple[object, ...], float | None] = {}

    def held(self, claim: Claim, patient: str, facts: Facts) -> Held:
        """Return a claim about an eye, held against its facts and those of the other patients of the cell.

        Args:
            claim: The claim.
            patient: Patient of the eye, in the cell or not.
            facts: Facts of the eye.
        """
        true = is_true(claim, facts, self._tolerance)
        if true is None or len(self._numbers.keys() | {patient}) < FEWEST:
            return Held(claim, true)
        if claim.content not in self._shares:
            self._shares[claim.content] = self._of_others(self._of_all(claim))
        share = float(self._shares[claim.content][self._numbers.get(patient, -1)])
        return Held(claim, true) if np.isnan(share) else Held(claim, true, share, self._most_of(claim))

    def received(self, held: Sequence[Sequence[Held]]) -> list[float]:
        """Return `HeldReply.received` of each eye of the cell, whose claims are given in its order."""
        sums = np.zeros(len(self._facts))
        exchanged = [(one, at) for at, own in enumerate(held) for one in own if one.is_specific]
        for one, at in exchanged:
            true = self._of_all(one.claim)
            others = ~np.isnan(true) & (self._patients != self._patients[at])
            sums[others] += (true[others] - (one.exchanged or 0.0)) / others.sum()
        return sums.tolist()

    def _of_all(self, claim: Claim) -> Floats:
        """Return whether a claim is true of each eye: 1, 0, or NaN where it is not decided."""
        if claim.content not in self._true:
            truths = (is_true(claim, facts, self._tolerance) for facts in self._facts)
            self._true[claim.content] = np.array([np.nan if true is None else float(true) for true in truths])
        return self._true[claim.content]

    def _of_others(self, values: Floats) -> Floats:
        """Return for each patient the mean of the defined values of other patients' eyes, and last that of all.

        NaN without any.
        """
        kept = ~np.isnan(values)
        sums, counts = (
            np.append(np.bincount(self._patients, weights, len(self._numbers)), 0)
            for weights in (np.where(kept, values, 0), kept * 1.0)
        )
        return ratio(sums.sum() - sums, counts.sum() - counts)

    def _most_of(self, claim: Claim) -> float | None:
        """Return the specific share that truthful claims of a kind would have."""
        plain = replace(claim, denied=False, start=0, end=0)
        is_number = claim.relation == "="
        kind = (claim.subject, "=") if is_number else plain.content
        if kind not in self._most:
            away = self._numbers_apart(claim.subject) if is_number else self._words_apart(self._of_all(plain))
            self._most[kind] = None if np.isnan(away).all() else float(np.nanmean(away))
        return self._most[kind]

    def _words_apart(self, true: Floats) -> Floats:
        """Return for each decided eye the share of other patients' eyes of which its truthful claim is false."""
        others = self._of_others(true)[self._patients]
        return np.where(true == 1, 1 - others, np.where(true == 0, others, np.nan))

    def _numbers_apart(self, subject: str) -> Floats:
        """Return for each measured eye the share of other patients' eyes whose number is not the same."""
        numbers = [number(facts, subject) for facts in self._facts]
        values = np.array([np.nan if value is None else value for value in numbers])
        kept = np.flatnonzero(~np.isnan(values))
        near, count = _near(values[kept], values[kept], self._tolerance), np.full(len(kept), len(kept))
        for patient in np.unique(self._patients[kept]):
            own = self._patients[kept] == patient
            near[own] -= _near(values[kept][own], values[kept][own], self._tolerance)
            count[own] -= own.sum()
        away = np.full(len(values), np.nan)
        away[kept] = ratio((count - near).astype(np.float64), count.astype(np.float64))
        return away


def _near(values: Floats, others: Floats, tolerance: float) -> NDArray[np.int64]:
    """Return the number of other values that are the same within the tolerance."""
    ordered, reach = np.sort(others), tolerance + 1e-9
    return np.searchsorted(ordered, values + reach, "right") - np.searchsorted(ordered, values - reach, "left")


@dataclass(frozen=True, slots=True)
class Explanations:
    """What the explanations of one true answer show.

    Attributes:
        truth: The true answer.
        replies: Number of replies about images with facts.
        patients: Number of patients with a claim that counts for `specific`.
        claims: Number of these claims.
        unspecific: Number of claims that are as true of any such eye, which stand apart.
        alone: Number of decided claims in cells of too few patients, which are not exchanged.
        undecided: Number of claims that the facts do not decide.
        unseen: Number of claims of what no image of this kind shows.
        checkable: Share of the replies with a claim that is decided.
        true: Share of the decided claims that are true.
        exchanged: Share of the other eyes of which the specific claims are true, the mean.
        specific: Share of these claims that are true of this eye, minus `exchanged`.
        most: What truthful claims of the same kinds would reach, the mean.
        all_true: Of the right answers, share with decided claims that are all true.
        one_false: Of the right answers, share with a false claim.
        none: Of the right answers, share without a decided claim.
    """

    truth: str
    replies: int
    patients: int
    claims: int
    unspecific: int
    alone: int
    undecided: int
    unseen: int
    checkable: Score
    true: Score
    exchanged: Score
    specific: Score
    most: Score
    all_true: Score
    one_false: Score
    none: Score

    @property
    def matched(self) -> float | None:
        """Share of the exchanged claims that are true of this eye; `exchanged` and `specific` are of the same ones."""
        if self.specific.value is None or self.exchanged.value is None:
            return None
        return self.exchanged.value + self.specific.value

    @property
    def of_possible(self) -> float | None:
        """Specific share by what the exchanged claims leave to be specific; None without claims."""
        if self.specific.value is None or self.exchanged.value is None or self.exchanged.value >= 1:
            return None
        return self.specific.value / (1 - self.exchanged.value)

    @property
    def verdict(self) -> Verdict:
        """Whether the claims are of this eye, of any with this answer, or too few to tell."""
        low, high = self.specific.low, self.specific.high
        if low is not None and low > 0 and (self.of_possible or 0.0) >= OF_THIS_EYE:
            return "of this eye"
        return "of any such eye" if high is not None and high < MARGIN else "cannot be told"

    @property
    def needed(self) -> int | None:
        """Number of patients whose interval would tell, if the share stays; None where no number would."""
        value, low, high = self.specific.value, self.specific.low, self.specific.high
        if value is None or low is None or high is None or self.verdict != "cannot be told":
            return None
        is_enough = (self.of_possible or 0.0) >= OF_THIS_EYE
        apart, width = (value, value - low) if is_enough else (MARGIN - value, high - value)
        return None if apart <= 0 else max(self.patients + 1, int(np.ceil(1.1 * self.patients * (width / apart) ** 2)))


def explanations(replies: Sequence[Explained], held: Sequence[HeldReply], task: str = "") -> Iterator[Explanations]:
    """Yield what the explanations of each true answer show, in alphabetical order.

    Args:
        replies: Of one model to one task.
        held: Claims of each, of `held_against_facts`.
        task: Name of the task, for the scores.
    """
    for truth in sorted({one.truth for one in replies}):
        places = [i for i, one in enumerate(replies) if one.truth == truth]
        yield _explained([replies[i] for i in places], [held[i] for i in places], task, truth)


def _explained(replies: Sequence[Explained], held: Sequence[HeldReply], task: str, truth: str) -> Explanations:
    decided = [[one for one in own.claims if one.true is not None] for own in held]
    specific = [own.specific for own in held]
    right = [one.given == one.truth for one in replies]
    false = [any(not one.true for one in own) for own in decided]
    sums: dict[str, Sequence[float]] = {
        "replies": [1] * len(replies),
        "checkable": [bool(own) for own in decided],
        "decided": [len(own) for own in decided],
        "true": [sum(bool(one.true) for one in own) for own in decided],
        "claims": [len(own) for own in specific],
        "exchanged": [sum(one.exchanged or 0.0 for one in own.specific) + own.received for own in held],
        "specific": [sum(bool(o.true) - (o.exchanged or 0.0) for o in own.specific) - own.received for own in held],
        "most": [sum(one.most or 0.0 for one in own) for own in specific],
        "right": right,
        "all_true": [r and bool(own) and not f for r, own, f in zip(right, decided, false, strict=True)],
        "one_false": [r and f for r, f in zip(right, false, strict=True)],
        "none": [r and not own for r, own in zip(right, decided, strict=True)],
    }
    columns = {name: np.array(values, dtype=np.float64) for name, values in sums.items()}
    scores = compute_scores(task, f"truth={truth}", columns, [one.patient for one in replies], _MEASURES)
    by_name = {score.metric: score for score in scores}
    several = [one for own in held for one in own.claims]
    return Explanations(
        truth,
        len(replies),
        len({one.patient for one, own in zip(replies, specific, strict=True) if own}),
        sum(map(len, specific)),
        sum(one.exchanged is not None and not one.is_specific for one in several),
        sum(one.true is not None and one.exchanged is None for one in several),
        sum(one.true is None and one.claim.relation != "unseen" for one in several),
        sum(one.claim.relation == "unseen" for one in several),
        **by_name,
    )


def _difference(sums: Mapping[str, Floats]) -> Floats:
    return ratio(sums["specific"], sums["claims"])


_MEASURES = (
    share_measure("checkable", "checkable", "replies"),
    share_measure("true", "true", "decided"),
    share_measure("exchanged", "exchanged", "claims"),
    Measure("specific", _difference, lambda columns: columns["claims"], bounds=lambda _: (-1.0, 1.0)),
    share_measure("most", "most", "claims"),
    *(share_measure(name, name, "right") for name in ("all_true", "one_false", "none")),
)
