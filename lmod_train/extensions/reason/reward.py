"""The score of a reply as a number, for other trainers: a right answer, and claims that are true of this eye.

A claim is worth what it says of this eye: 0.5 times the share of other eyes with the same truth of which it is false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmod_train.core.types import Record, Reply
from lmod_train.extensions.reason.claims import TOLERANCE, Claim, Facts, is_true
from lmod_train.extensions.reason.reading import distinct_claims
from lmod_train.extensions.reason.scores import FEWEST, UNSPECIFIC
from lmod_train.scoring.items import group_of
from lmod_train.tasks.base import Task

CLAIM, MOST = 0.5, 3
"""Worth of a claim, and number of claims that count; further ones add nothing."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The parts of a reward.

    Attributes:
        right: 1 for the right answer, else 0.
        claims: Worth of each claim that counts: 0.5 times true minus exchanged, or -0.5 if it is false.
    """

    right: float
    claims: tuple[float, ...] = ()

    @property
    def total(self) -> float:
        """The sum of the parts, from -0.5 to 2.5."""
        return self.right + sum(self.claims)


class Rewards:
    """Scores replies to a task by its own parser and the facts of training records.

    Args:
        task: The task.
        records: Training records with facts, of which claims are exchanged.
        tolerance: How far a stated ratio may be from the measured one.

    Example:
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> task = Glaucoma()
        >>> Rewards(task, [])("NON-GLAUCOMA", task.example()).total
        0.0
    """

    def __init__(self, task: Task, records: Sequence[Record], tolerance: float = TOLERANCE) -> None:
        self._task, self._tolerance = task, tolerance
        self._others: defaultdict[tuple[str, object], list[tuple[str, Facts]]] = defaultdict(list)
        for record in records:
            if record.facts:
                place = record.source, self._task.truth(record)
                self._others[place].append((group_of(record), {fact.name: fact for fact in record.facts}))

    def __call__(self, reply: str, record: Record) -> Reward:
        """Return the reward of a reply.

        A wrong or unread answer is worth 0 whatever follows it. Unspecific, undecided and repeated claims add nothing.

        Args:
            reply: Text of the model.
            record: The question, with the facts of its image.
        """
        truth = self._task.truth(record)
        if self._task.prediction(record, Reply(record.id, reply)).answer != truth:
            return Reward(0.0)
        facts = {fact.name: fact for fact in record.facts}
        several = distinct_claims(Reply(record.id, reply))
        decided = [c for c in several if is_true(c, facts, self._tolerance) is not None]
        worth = (self._worth(claim, facts, record, truth) for claim in decided[:MOST])
        return Reward(1.0, tuple(one for one in worth if one is not None))

    def _worth(self, claim: Claim, facts: Facts, record: Record, truth: object) -> float | None:
        """Return the worth of a claim; None if it is true of any such eye, or of too few to know."""
        if not is_true(claim, facts, self._tolerance):
            return -CLAIM
        own = group_of(record)
        others = [(who, known) for who, known in self._others[record.source, truth] if who != own]
        held = [true for _, known in others if (true := is_true(claim, known, self._tolerance)) is not None]
        if len({who for who, _ in others}) < FEWEST or not held:
            return None
        specific = 1 - sum(held) / len(held)
        return CLAIM * specific if specific >= UNSPECIFIC else None
