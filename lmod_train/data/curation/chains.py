"""Chains of questions: the earlier questions that one needs are there, and a chain is in one split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from lmod_train.core.artifacts.records import chain_id
from lmod_train.core.errors import LmodError
from lmod_train.core.types import Dropped, Split
from lmod_train.data.curation.records import PlacedQuestion
from lmod_train.tasks.filled import placeholders

Asked = Mapping[str, Sequence[PlacedQuestion]]


def with_needs(asked: Asked) -> tuple[dict[str, list[PlacedQuestion]], list[Dropped]]:
    """Return the questions all of whose needs are asked, by task, and the line for each that is left out.

    A question is left out where no question of its sample has the step, task and variant that it needs, where that one
    is left out itself (by the balance, for one), and where questions need each other in a circle.

    Raises:
        LmodError: Words hold a placeholder of a need that the question does not have.
    """
    everything = [one for questions in asked.values() for one in questions]
    for one in everything:
        _check_placeholders(one)
    kept = {one.id for one in everything if not one.needs}
    waiting = [one for one in everything if one.needs]
    while ready := [one for one in waiting if kept.issuperset(one.needs)]:
        kept.update(one.id for one in ready)
        waiting = [one for one in waiting if one.id not in kept]
    left = {task: [one for one in questions if one.id in kept] for task, questions in asked.items()}
    return left, [_left_out(one, kept) for one in waiting]


def _left_out(one: PlacedQuestion, kept: set[str]) -> Dropped:
    lacking = ", ".join(need for need in one.needs if need not in kept)
    return Dropped.of(one.sample, "needs", "needed_question_missing", f"{one.id} needs {lacking}", "part")


def _check_placeholders(one: PlacedQuestion) -> None:
    beyond = sorted(n for n in placeholders(one.question.messages) if one.needs and not 1 <= n <= len(one.needs))
    if beyond:
        raise LmodError(
            f"question {one.id!r}: placeholder {{answer {beyond[0]}}}, but it needs {len(one.needs)} answers.\n"
            f"Next: number the placeholders from 1 in the order of the question's `needs`"
        )


def check_chains(asked: Iterable[PlacedQuestion]) -> None:
    """Check that all questions of a chain are in one split.

    Raises:
        LmodError: A chain is in two; its questions are of different samples that the split did not know to belong
            together.
    """
    splits: defaultdict[str, set[Split]] = defaultdict(set)
    for one in asked:
        chain = chain_id(one.sample.source, one.question.chain)
        if chain:
            splits[chain].add(one.split)
            if len(splits[chain]) > 1:
                raise LmodError(
                    f"chain {chain!r} of task {one.question.task!r} is in the splits {sorted(splits[chain])}.\n"
                    f"Next: name each chain uniquely within its source, e.g. by the sample's key, or give its samples "
                    f"one `group`"
                )
