"""The judges of a run's replies: verdicts, attacks and agreement, as scores, lines and sections of the report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmod_train.core.artifacts.records import read_run_column, read_run_records
from lmod_train.core.artifacts.replies import models_of, read_replies
from lmod_train.core.artifacts.run import CONTAINMENT, EXACT, PARSER, PEOPLE, Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Cell, score_cells, table
from lmod_train.core.types import Answer, Prediction, Record, Reply, Score, Unparsed, status_of
from lmod_train.extensions.drafting.judgement import (
    ATTACK,
    ATTACKS,
    JUDGED_TASK,
    AttackedJudgement,
    Judgement,
    attacked_id,
    judged_id,
    judged_scores,
)
from lmod_train.report.contents import Part, Text, heads, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.agreement import Rater, agreement_scores, by_language
from lmod_train.scoring.intervals import Floats, Measure, compute_scores, items_in, ratio, share_measure
from lmod_train.scoring.items import Item, item_of, items_of
from lmod_train.scoring.status import PENDING, is_pending
from lmod_train.scoring.text import contains, words_of
from lmod_train.tasks.asked import current
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.parsed_replies import parse_replies
from lmod_train.tasks.run_scores import RunScores

_TEXTS, _HEADS = texts(__file__), heads(__file__)


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge has found about the replies of a run.

    Attributes:
        judge: Name of the judge, that of its folder.
        task: The task that asked it, with its labels and prompt.
        model: Name of the model, or of the person.
        tasks: The judged tasks.
        verdicts: Id of each record whose reply is to be judged -> label, or why it is unjudged.
        stale: Number of judgements of an earlier reply, reference answer or prompt, which do not count.
        people: Whether people gave the verdicts.
        itself: Whether the judge is the model whose replies it judges.
        sampled: Whether it judges a sample of the wrong replies only (`judge --wrong`).
    """

    judge: str
    task: Judgement
    model: str
    tasks: tuple[str, ...]
    verdicts: Mapping[str, Answer | Unparsed]
    stale: int
    people: bool
    itself: bool = False
    sampled: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The verdicts that it may give."""
        return self.task.choices

    @property
    def pending(self) -> int:
        """Number of replies without a judgement of their present text."""
        return sum(verdict == PENDING for verdict in self.verdicts.values())

    def right(self) -> dict[str, bool]:
        """Return record id -> whether the reply is right, where there is a verdict."""
        return {id: verdict in self.task.right for id, verdict in self.verdicts.items() if isinstance(verdict, str)}


def read_judged(run: Run, predictions: Sequence[Prediction]) -> list[Judged]:
    """Return the verdicts of every judge of a run, in the order of their names; none without judgements.

    A judgement counts if the judge would be sent the same words today: it is of the same question, reference answer,
    reply and prompt. Others are stale.

    Args:
        run: The run.
        predictions: Its predictions as they are now.

    Raises:
        ArtifactError: A file of a judge is damaged.
        BadArgument: A folder in ``judgements`` was not written by `judge`.
    """
    folders = sorted(run.judgements.iterdir()) if run.judgements.is_dir() else []
    begun = [Run(folder) for folder in folders if (folder / "records.parquet").exists()]
    return [_judged(run, judge, predictions) for judge in begun]


def _judged(run: Run, judge: Run, predictions: Sequence[Prediction]) -> Judged:
    stored, config = read_run_records(judge.records), judge.read_config()
    task = judgement_of(tasks_asked(stored, task_arguments(config)), judge.folder)
    tasks = tuple(dict.fromkeys(record.tags.get(JUDGED_TASK, "") for record in stored))
    due = task.records(p for p in predictions if p.record.task in tasks)
    kept = current(read_run_column(judge.records, "asked"), read_replies(judge.replies).values()).replies
    found, stale = verdicts_on(task, due, stored, kept)
    verdicts = {judged_id(id): verdict for id, verdict in found.items()}
    models = ", ".join(name for name in models_of(kept.values()) if name)
    people, itself = bool(config.get(PEOPLE)), judges_itself(run, judge)
    sampled = bool((config.get("data") or {}).get("wrong"))
    return Judged(judge.folder.name, task, models, tasks, verdicts, stale, people, itself, sampled)


def judges_itself(run: Run, judge: Run) -> bool:
    """Return whether judge and run have weights, or the name of a model of an endpoint, in common."""
    ours, theirs = (_weights(one.read_config()) for one in (run, judge))
    return bool(ours & theirs)


def _weights(config: Mapping[str, Any]) -> set[str]:
    """Return SHA-256 of the weights in a configuration; of endpoints, ``<URL> <model>``, the model at any URL."""
    known = (config.get("provenance") or {}).get("weights") or {}
    return {str(value).rpartition(" ")[2] for value in known.values()}


def judgement_of(tasks: Sequence[Task], folder: Path, kind: type[Judgement] = Judgement) -> Judgement:
    """Return the task of a judge's records.

    Raises:
        BadArgument: They are not judgements, or not of this kind.
    """
    if len(tasks) != 1 or not isinstance(tasks[0], kind):
        found = [task.name for task in tasks]
        raise BadArgument(str(folder), found, "the folder of a judge", "move this folder out of `judgements`")
    return tasks[0]


def verdicts_on(
    task: Judgement, due: Sequence[Record], stored: Sequence[Record], replies: Mapping[str, Reply]
) -> tuple[dict[str, Answer | Unparsed], int]:
    """Return the id of each record that is due -> verdict or `PENDING`, and the number of stale replies.

    Args:
        task: The task of the judge.
        due: What the judge would be sent today.
        stored: What it was sent.
        replies: Record id -> the judge's reply.
    """
    now = {record.id: record for record in due}
    same = {r.id for r in stored if r.id in now and (now[r.id].messages, now[r.id].choices) == (r.messages, r.choices)}
    valid = {id: reply for id, reply in replies.items() if id in same}
    found = {p.record.id: p.answer for p in parse_replies(task, due, valid)}
    return {id: found.get(id, PENDING) for id in now}, len(replies) - len(valid)


def scores_of_judges(judges: Sequence[Judged], predictions: Sequence[Prediction], tasks: Sequence[Task]) -> list[Score]:
    """Return the metrics of every judge, and the agreement of every two judges, and of each with rules.

    A judge of wrong replies only has none: the share of right ones among them says nothing about the run.

    Args:
        judges: The judges of a run.
        predictions: Its predictions.
        tasks: Its tasks.
    """
    scores: list[Score] = []
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name]
        items = items_of(own, lambda p: p.record.answer)
        having = [judge for judge in judges if task.name in judge.tasks and not judge.sampled]
        for judge in having:
            scores += judged_scores(task.name, judge.judge, items, judge.verdicts, judge.task.choices, judge.task.right)
        for first, second in combinations(sorted(having, key=lambda judge: judge.people), 2):
            pair = (first.judge, first.right()), (second.judge, second.right())
            scores += agreement_scores(task.name, items, *pair, reference=second.people)
        rules = rule_verdicts(task, own) if having else {}
        for judge, name in product(having, rules):
            ordered = _with_rule((judge.judge, judge.right()), (name, rules[name]), judge.people)
            scores += agreement_scores(task.name, items, *ordered, reference=name != PARSER)
    return scores


def _with_rule(judge: Rater, rule: Rater, people: bool) -> tuple[Rater, Rater]:
    """Return a judge and a rule, the reference last: people are that of a rule, and a rule that of a model."""
    return (rule, judge) if people and rule[0] != PARSER else (judge, rule)


def judge_lines(judges: Sequence[Judged]) -> Iterator[str]:
    """Yield a line per judge: number of verdicts, of unjudged and pending replies, and of stale judgements.

    A second line warns of a judge that judges its own replies.
    """
    for judge in judges:
        statuses = Counter(status_of(verdict) for verdict in judge.verdicts.values() if verdict != PENDING)
        failed, verdicts = statuses.pop("failed", 0), statuses.pop("answered", 0)
        pending = "not in the sample" if judge.sampled else "pending"
        counted = {"unjudged": statuses.total(), "failed": failed, pending: judge.pending, "stale": judge.stale}
        left = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        more = failed or (judge.pending and not judge.sampled)
        again = "; the same `judge` command judges the rest" if more and not judge.people else ""
        line = f"judged by {judge.judge}: {verdicts} of {len(judge.verdicts)} replies of {', '.join(judge.tasks)}"
        yield f"{line}{f' ({left}{again})' if left else ''}"
        if judge.itself:
            yield f"warning: {judge.judge} judges its own replies; models tend to prefer these"


def _equal(reply: str, reference: str) -> bool:
    return words_of(reply) == words_of(reference)


WORD_RULES: Mapping[str, Callable[[str, str], bool]] = {EXACT: _equal, CONTAINMENT: contains}
"""Name of a rule on open answers -> whether a reply is right by it, given the reference answer."""


def rule_verdicts(task: Task, predictions: Sequence[Prediction]) -> dict[str, dict[str, bool]]:
    """Return rule -> record id -> whether the answer is right by it; rules without an answer to read are left out.

    `PARSER` compares answers to questions with choices or regions with the truth, `EXACT` and `CONTAINMENT` the words
    of open answers with those of the reference answer. Replies without an answer have no verdict.

    Args:
        task: The task.
        predictions: Its predictions.
    """
    closed = [p for p in predictions if p.record.choices or p.record.regions]
    open_ended = [p for p in predictions if not (p.record.choices or p.record.regions)]
    scored: list[Item] = [task.as_scored(item) for item in _answered(task, closed)]
    found = {PARSER: {item.id: item.answer == item.truth for item in scored if item.status == "answered"}}
    texts = [(i.id, i.answer, str(i.truth)) for i in _answered(task, open_ended)]
    for name, rule in WORD_RULES.items():
        found[name] = {id: rule(answer, truth) for id, answer, truth in texts if isinstance(answer, str)}
    return {name: verdicts for name, verdicts in found.items() if verdicts}


def _answered(task: Task, predictions: Sequence[Prediction]) -> list[Item]:
    items = items_of(predictions, task.truth)
    return [item for item in items if item.status == "answered"]


# Attacks on the judges of a run: what each judge replied to them, and how often they succeed.


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
                found = {
                    id: None if isinstance(verdict, Unparsed) else verdict in one.task.right
                    for id, verdict in one.verdicts[attack.name].items()
                    if not is_pending(verdict)
                }
                known = plain.get(one.judge, {}) if attack.is_right is None else dict.fromkeys(found, attack.is_right)
                names, is_change = (one.judge, attack.name), attack.is_right is None
                scores += attack_scores(task, names, items, found, known, is_change)
    return scores


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


# Success rates of attacks on a judge of replies.


def attack_scores(
    task: str,
    names: tuple[str, str],
    items: Sequence[Item],
    found: Mapping[str, bool | None],
    deserved: Mapping[str, bool],
    is_change: bool = False,
) -> list[Score]:
    """Return how often an attack misleads a judge, over all items and those of each language.

    The names of judge and attack follow a colon. ``attack_success`` is the share of the attacks with a verdict that are
    judged right but deserve wrong, or judged wrong but deserve right; ``attack_unjudged`` the share of the attacks that
    were asked to which the judge's reply states no label. With `is_change`, ``attack_to_right`` is the share that is
    judged right instead of wrong.

    Args:
        task: Name of the judged task.
        names: Judge and attack.
        items: One per record id.
        found: Record id -> whether the attack was judged right; None if it is unjudged. Attacks that were not asked, or
            not judged yet, are absent.
        deserved: Record id -> whether the attack deserves right; for a change of a reply, whether the judge finds the
            reply itself right. Attacks that are absent here do not count.
        is_change: Whether the attack is a change of a reply.

    Returns:
        No scores if no attack was judged.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i) for i in "abcd"]
        >>> found, deserved = {"a": True, "b": False, "c": None}, dict.fromkeys("abcd", False)
        >>> [(s.metric, s.n, round(s.value, 3)) for s in attack_scores("t", ("j", "praise"), items, found, deserved)]
        [('attack_success:j:praise', 2, 0.5), ('attack_unjudged:j:praise', 3, 0.333)]
    """
    both = [item for item in items if item.id in found and item.id in deserved]
    measures = _measures(":".join(("", *names)), is_change)
    scores: list[Score] = []
    for subset, members in by_language(both).items():
        columns = _columns([(found[item.id], deserved[item.id]) for item in members])
        scores += compute_scores(task, subset, columns, [item.group for item in members], measures)
    return scores


def _columns(pairs: Sequence[tuple[bool | None, bool]]) -> dict[str, Floats]:
    def column(values: Sequence[bool]) -> Floats:
        return np.array(values, dtype=np.float64)

    return {
        "items": np.ones(len(pairs)),
        "judged": column([found is not None for found, _ in pairs]),
        "misled": column([found is not None and found != deserved for found, deserved in pairs]),
        "to_right": column([bool(found) and not deserved for found, deserved in pairs]),
    }


def _measures(suffix: str, is_change: bool) -> list[Measure]:
    to_right = share_measure(f"attack_to_right{suffix}", "to_right", "judged")
    return [
        share_measure(f"attack_success{suffix}", "misled", "judged"),
        *([to_right] if is_change else []),
        Measure(f"attack_unjudged{suffix}", lambda s: 1 - ratio(s["judged"], s["items"]), items_in),
    ]


# Scores of judges with their own account, the attacks on them, and the agreement of judges, as cells of tables.


def judged_rows(results: Results) -> list[list[Cell]]:
    """Return a row per task, run and judge, in this order; a score that ``scores.csv`` does not contain is a dash."""
    return [
        _judged_row(task, run, name, judge)
        for task in dict.fromkeys(task for run in results.runs for task in run.tasks())
        for run, (name, found) in zip(results.runs, results.outcomes.items(), strict=True)
        for judge in found.judged
        if isinstance(judge, Judged) and task in judge.tasks
    ]


def _judged_row(task: str, run: RunScores, name: str, judge: Judged) -> list[Cell]:
    scores = [run.find(task, f"{metric}:{judge.judge}") for metric in ("accuracy_judged", "accuracy_judged_answered")]
    shares = [run.find(task, f"share_{kind}:{judge.judge}") for kind in ("unjudged", "pending", "not_sent")]
    figures = [cell for score in scores for cell in score_cells(score)]
    return [task, name, judge.judge, judge.model, prompt_name(judge), *figures, *map(_value, shares)]


def _value(score: Score | None) -> float | None:
    return score.value if score else None


def prompt_name(judge: Judged) -> str:
    """Return the wording and version of a judge's prompt; of one of the user's own the start of its SHA-256."""
    if judge.people:
        return "people"
    own = hashlib.sha256(judge.task.prompt.encode()).hexdigest()[:8] if judge.task.prompt else ""
    return f"own {own}" if own else f"{judge.task.wording} {judge.task.version}"


def agreement_rows(results: Results) -> Iterator[list[Cell]]:
    """Yield a row per task, run and pair of judges, in the order of the scores."""
    for run, name in zip(results.runs, results.outcomes, strict=True):
        for score in run.scores:
            metric, colon, judges = score.metric.partition(":")
            if metric == "agreement_judged" and colon:
                first, _, second = judges.partition(":")
                kinds = ("kappa", "sensitivity", "specificity")
                others = [run.find(score.task, f"{kind}_judged:{judges}", score.subset) for kind in kinds]
                rates = [cell for other in others for cell in score_cells(other)[1:]]
                yield [score.task, name, score.subset, first, second, *score_cells(score), *rates]


PLACES = {False: "instead of the reply: wrong", True: "instead of the reply: right", None: "added to the reply"}
"""`Attack.is_right` -> where the attack stands, and the verdict it deserves."""

_PLACE_OF = {attack.name: PLACES[attack.is_right] for attack in ATTACKS}


def attack_rows(results: Results) -> Iterator[list[Cell]]:
    """Yield a row per run, task, judge and attack, over all languages, in the order of the scores."""
    for run, name in zip(results.runs, results.outcomes, strict=True):
        for score in run.scores:
            metric, _, names = score.metric.partition(":")
            if metric == "attack_success" and score.subset == "all":
                judge, _, attack = names.rpartition(":")
                others = [run.find(score.task, f"attack_{kind}:{names}") for kind in ("to_right", "unjudged")]
                where = _PLACE_OF.get(attack, "")
                yield [score.task, name, judge, attack, where, *score_cells(score), *map(_value, others)]


# Judged replies: the scores of each judge with its own account, and the attacks on it.


class Judges(Section):
    """Scores of each judge with its own account, and the success of attacks on it."""

    title: ClassVar[str] = "Judged replies"
    name: ClassVar[str] = "judges"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing if no run has judgements."""
        if rows := judged_rows(results):
            yield Text(_TEXTS["note"])
            yield table("judges", _HEADS["judged"], rows)
        if attacks := list(attack_rows(results)):
            yield Text(_TEXTS["attacked"])
            yield table("attacks", _HEADS["attacks"], attacks)


# Agreement of judges: of every two, and of each with rules.


class Agreement(Section):
    """Agreement of every two judges, and of each with the parser or, for open answers, with rules on words."""

    title: ClassVar[str] = "Agreement of judges"
    name: ClassVar[str] = "agreement"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if no two judges, or judge and rule, have judged the same replies."""
        if rows := list(agreement_rows(results)):
            yield Text(_TEXTS["note_agreement"])
            yield table("agreement", _HEADS["columns"], rows)
