"""The score of a reply as a number, for other trainers: a right answer, and claims that are true of this eye.

A claim is worth what it says of this eye: 0.5 times the share of other eyes with the same truth of which it is false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmod_train.core.types import Record, Reply
from lmod_train.extensions.reason.claims import TOLERANCE, Facts, facts_by_name
from lmod_train.extensions.reason.reading import distinct_claims
from lmod_train.extensions.reason.scores import Cell, Held
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
        eyes: defaultdict[tuple[str, object], dict[object, tuple[str, Facts]]] = defaultdict(dict)
        for record in records:
            if record.facts:  # an eye counts once, however many questions there are about it
                eye = record.image_sha256 or record.id
                eyes[record.source, task.truth(record)][eye] = group_of(record), facts_by_name(record)
        self._cells = {place: Cell(list(own.values()), tolerance) for place, own in eyes.items()}

    def __call__(self, reply: str, record: Record) -> Reward:
        """Return the reward of a reply.

        A wrong or unread answer is worth 0 whatever follows it. Unspecific, undecided and repeated claims add nothing.

        Args:
            reply: Text of the model.
            record: The question, with the facts of its image.
        """
        held = self.held(Reply(record.id, reply), record)
        if held is None:
            return Reward(0.0)
        decided = [one for one in held if one.true is not None][:MOST]
        worth = (_worth(one) for one in decided if one.is_specific or not one.true)
        return Reward(1.0, tuple(worth))

    def held(self, reply: Reply, record: Record) -> list[Held] | None:
        """Return the claims of a reply, each content once, held against the facts; None if its answer is not right.

        Args:
            reply: The reply.
            record: The question, with the facts of its image.
        """
        truth = self._task.truth(record)
        if self._task.prediction(record, reply).answer != truth:
            return None
        cell = self._cells.get((record.source, truth)) or Cell([], self._tolerance)
        facts, patient = facts_by_name(record), group_of(record)
        return [cell.held(claim, patient, facts) for claim in distinct_claims(reply)]


def _worth(one: Held) -> float:
    return CLAIM * (1 - (one.exchanged or 0.0)) if one.true else -CLAIM
