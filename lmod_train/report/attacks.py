"""Attacks on the judges of a run: what each judge replied to them, and how often they succeed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmod_train.core.artifacts.records import read_run_column, read_run_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.types import Answer, Prediction, Score, Unparsed
from lmod_train.core.vocabulary.attacks import ATTACKS
from lmod_train.report.judgements import Judged, judge_lines, judgement_of, read_judged, scores_of_judges, verdicts_on
from lmod_train.scoring.attacks import attack_scores
from lmod_train.scoring.items import item_of
from lmod_train.scoring.status import is_pending
from lmod_train.tasks.attack import ATTACK, AttackedJudgement, attacked_id
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.current import current
from lmod_train.tasks.judgement import Judgement


@dataclass(frozen=True, slots=True)
class Attacked:
    """What one judge replied to attacks.

    Attributes:
        judge: Name of the judge.
        task: The task that asked it.
        verdicts: Name of each attack -> id of the record in the place of whose reply it stands -> label, why it is
            unjudged, or `PENDING`.
        stale: Number of the judge's replies to attacks of an earlier text, which do not count.
    """

    judge: str
    task: Judgement
    verdicts: Mapping[str, Mapping[str, Answer | Unparsed]]
    stale: int


def read_attacks(run: Run, predictions: Sequence[Prediction]) -> list[Attacked]:
    """Return the attacks on every judge of a run, in the order of the judges' names; none without attacks.

    Args:
        run: The run.
        predictions: Its predictions as they are now.

    Raises:
        ArtifactError: A file of the attacks is damaged.
        BadArgument: A folder was not written by `judge`.
    """
    folders = sorted(run.judgements.iterdir()) if run.judgements.is_dir() else []
    begun = [Run(folder) for folder in folders if Run(folder).attacks.records.exists()]
    return [_attacked(judge, predictions) for judge in begun]


def _attacked(judge: Run, predictions: Sequence[Prediction]) -> Attacked:
    at = judge.attacks
    stored = read_run_records(at.records)
    task = judgement_of(tasks_asked(stored, task_arguments(at.read_config())), at.folder, AttackedJudgement)
    places = {record.id: (record.tags[ATTACK], attacked_id(record)) for record in stored}
    judged = {id for _, id in places.values()}
    due = [r for r in task.records([p for p in predictions if p.record.id in judged]) if r.id in places]
    kept = current(read_run_column(at.records, "asked"), read_replies(at.replies).values()).replies
    found, stale = verdicts_on(task, due, stored, kept)
    verdicts: dict[str, dict[str, Answer | Unparsed]] = {attack.name: {} for attack in ATTACKS}
    for record in due:
        verdicts[places[record.id][0]][places[record.id][1]] = found[record.id]
    return Attacked(judge.folder.name, task, verdicts, stale)


def scores_of_attacks(
    attacks: Sequence[Attacked], judges: Sequence[Judged], predictions: Sequence[Prediction]
) -> list[Score]:
    """Return the success rates of the attacks on each judge, for each judged task.

    Args:
        attacks: Attacks on the judges of a run.
        judges: The judges, whose verdicts on the replies themselves additions are compared with.
        predictions: Predictions of the run.
    """
    plain = {judge.judge: judge.right() for judge in judges}
    scores: list[Score] = []
    for task in dict.fromkeys(p.record.task for p in predictions) if attacks else ():
        asked = {p.record.id: p for p in predictions if p.record.task == task}  # an attack needs no reply of the model
        items = [item_of(asked[id], asked[id].record.answer) for id in sorted(asked)]
        for one in attacks:
            for attack in ATTACKS:
                found = _right(one, one.verdicts[attack.name])
                known = plain.get(one.judge, {}) if attack.is_right is None else dict.fromkeys(found, attack.is_right)
                names, is_change = (one.judge, attack.name), attack.is_right is None
                scores += attack_scores(task, names, items, found, known, is_change)
    return scores


def _right(attacked: Attacked, verdicts: Mapping[str, Answer | Unparsed]) -> dict[str, bool | None]:
    """Return record id -> whether the attack was judged right, None if it is unjudged; pending ones are left out."""
    return {
        id: None if isinstance(verdict, Unparsed) else verdict in attacked.task.right
        for id, verdict in verdicts.items()
        if not is_pending(verdict)
    }


def attack_lines(attacks: Sequence[Attacked]) -> Iterator[str]:
    """Yield a line per judge: number of attacks with a verdict, unjudged, pending and stale ones."""
    for one in attacks:
        every = [verdict for verdicts in one.verdicts.values() for verdict in verdicts.values()]
        pending = sum(map(is_pending, every))
        unread = sum(isinstance(v, Unparsed) for v in every) - pending
        counted = {"unjudged": unread, "pending": pending, "stale": one.stale}
        left = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        verdicts = len(every) - pending - unread
        yield f"attacks on {one.judge}: {verdicts} of {len(every)} judged{f' ({left})' if left else ''}"


class Judgements:
    """What judges found about the replies of a run and about attacks (`lmod_train.tasks.verdicts.OtherReplies`)."""

    def __init__(self, run: Run, predictions: Sequence[Prediction]) -> None:
        self._run, self._predictions = run, predictions
        self.judges = read_judged(run, predictions)

    @cached_property
    def attacks(self) -> list[Attacked]:
        """Attacks on the judges."""
        return read_attacks(self._run, self._predictions)

    def scores(self, tasks: Sequence[Task]) -> list[Score]:
        """Return the metrics of the judges, and the success rates of attacks on them."""
        judged = scores_of_judges(self.judges, self._predictions, tasks)
        return [*judged, *scores_of_attacks(self.attacks, self.judges, self._predictions)]

    def lines(self) -> Iterator[str]:
        """Yield a line per judge, and one per judge that was attacked."""
        yield from judge_lines(self.judges)
        yield from attack_lines(self.attacks)
