"""Success rates of attacks on judges, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.types import Score
from lmod_train.core.vocabulary.attacks import ATTACKS
from lmod_train.report.results import Outcomes
from lmod_train.tasks.run_scores import RunScores

KINDS = {False: "instead of the reply: wrong", True: "instead of the reply: right", None: "added to the reply"}
"""`Attack.is_right` -> where the attack stands, and the verdict it deserves."""
_KIND = {attack.name: KINDS[attack.is_right] for attack in ATTACKS}


@dataclass(frozen=True, slots=True)
class AttackRow:
    """The success of one attack on one judge, for one task of one run; a score is None if there is none."""

    task: str
    run: str
    judge: str
    attack: str
    kind: str
    success: Score
    to_right: Score | None
    unjudged: Score | None


def attack_rows(runs: Sequence[RunScores], outcomes: Mapping[str, Outcomes]) -> list[AttackRow]:
    """Return a row per run, task, judge and attack, over all languages, in the order of the scores."""
    return [row for run, name in zip(runs, outcomes, strict=True) for row in _rows(run, name)]


def _rows(run: RunScores, name: str) -> Iterator[AttackRow]:
    for score in run.scores:
        metric, _, names = score.metric.partition(":")
        if metric == "attack_success" and score.subset == "all":
            judge, _, attack = names.rpartition(":")
            to_right, unjudged = (run.find(score.task, f"{m}:{names}") for m in ("attack_to_right", "attack_unjudged"))
            yield AttackRow(score.task, name, judge, attack, _KIND.get(attack, ""), score, to_right, unjudged)
