"""Review of a sample of the drafts of each stage: what is sampled, how reviewers agree, and which drafts are released.

A reviewer answers each sampled question without seeing the letter that the model calls right. Two agreements decide
about a stage: that of the reviewers with each other, and that of each reviewer with the draft. Both must reach the
least kappa; else reviewers who agree that the drafts are wrong would release them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Score
from lmod_train.scoring.agreement import fleiss_scores, pair_scores
from lmod_train.scoring.items import group_of
from lmod_train.tasks.drafting.checks import Fault, faults_of
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafts.draft import Draft

NONE, SEVERAL, WRONG = "none", "several", "wrong"
OTHERS = (NONE, SEVERAL, WRONG)
"""Answers besides a letter: no option is right, more than one is, the question does not fit the image."""

LEAST = 0.85
"""Kappa from which a stage is released (X-PCR, supplement, section 3.2)."""
SHARE = 0.1
"""Share of the drafts of each stage that are reviewed (same place)."""
REVIEWED, SAMPLED = "reviewed", "sampled"
"""Whether people have read a record, or a sample of its stage."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a review is of, as it was when the sheet was written.

    Attributes:
        share: Share of the drafts of each stage in the sample.
        seed: Seed of the sample.
        drafts: Id of each draft without faults -> code of its content.
        sample: Ids of the sampled ones.
        first: Ids of those that are reviewed however the sample is drawn. They do not count in the agreements, as they
            are no random sample of their stage.
    """

    share: float
    seed: int
    drafts: Mapping[str, str]
    sample: tuple[str, ...]
    first: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Ids of all drafts on the sheet."""
        return tuple(sorted({*self.sample, *self.first}))


@dataclass(frozen=True, slots=True)
class Reading:
    """One row of a reviewer.

    Attributes:
        answer: Letter of the option that the reviewer calls right, or one of `OTHERS`.
        question: The question as the reviewer left it.
        options: The options as the reviewer left them.
    """

    answer: str
    question: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The review of one stage.

    Attributes:
        name: Name of the stage.
        drafts: Number of drafts without faults, unchanged since the sheet was written.
        changed: Number of drafts that have changed or come since, which are not released.
        sampled: Number of sampled ones.
        scores: Agreement and kappa of the reviewers, and of each with the draft (``kappa_draft:NAME``).
        why: Why nothing of it is released; empty if it passes.
    """

    name: str
    drafts: int
    changed: int
    sampled: int
    scores: tuple[Score, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """A draft that may become a record.

    Attributes:
        drafted: The draft, as corrected.
        how: `REVIEWED` or `SAMPLED`.
        corrected: Whether reviewers have changed its words.
    """

    drafted: Drafted
    how: str
    corrected: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """What a review releases.

    Attributes:
        stages: Stages that have drafts, in the order of their names.
        released: Drafts of the stages that pass, in id order.
        left_out: Id of a reviewed draft of such a stage -> why it is not released.
    """

    stages: tuple[Stage, ...]
    released: tuple[Released, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def without_faults(drafts: Sequence[Drafted]) -> list[Drafted]:
    """Return the drafts in which no check finds anything."""
    bad = {fault.id for fault in faults_of(drafts)}
    return [one for one in drafts if one.id not in bad]


def planned(
    drafts: Sequence[Drafted],
    codes: Mapping[str, str],
    share: float = SHARE,
    seed: int = 0,
    first: Collection[str] = (),
) -> Plan:
    """Draw the sample of each stage: its share, rounded up, by a seeded shuffle.

    Args:
        drafts: Those without faults.
        codes: Id -> code of the draft's content.
        share: Above 0, up to 1.
        seed: Seed of the shuffle.
        first: Ids of drafts that are reviewed besides the sample.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> drafts = [drafted(key=str(n)) for n in range(11)]
        >>> len(planned(drafts, {d.id: "c" for d in drafts}).sample)
        2
    """
    sample: list[str] = []
    for _, members in by_stage(drafts):
        ordered = sorted(members, key=lambda d: shuffle_key(seed, "review", d.id))
        sample += [one.id for one in ordered[: needed(share, len(members))]]
    return Plan(share, seed, {one.id: codes[one.id] for one in drafts}, tuple(sorted(sample)), tuple(sorted(first)))


def needed(share: float, count: int) -> int:
    """Return how many of a number of drafts are reviewed: at least one of any.

    Example:
        >>> needed(0.1, 20), needed(0.1, 21), needed(1e-12, 20), needed(0.1, 0)
        (2, 3, 1, 0)
    """
    return max(math.ceil(share * count - 1e-9), min(1, count))


def by_stage(drafts: Sequence[Drafted]) -> Iterator[tuple[str, list[Drafted]]]:
    """Yield each stage with its drafts, by name."""
    for stage in sorted({one.stage for one in drafts}):
        yield stage, [one for one in drafts if one.stage == stage]


def reviewed(
    plan: Plan,
    drafts: Sequence[Drafted],
    codes: Mapping[str, str],
    readings: Mapping[str, Mapping[str, Reading]],
    least: float = LEAST,
    check: Callable[[Sequence[Drafted]], Sequence[Fault]] = faults_of,
) -> Review:
    """Return which stages pass, and the drafts that are released.

    A draft that has changed since the sheet was written is never released, nor any draft of a stage of whose sample one
    has changed or is gone: otherwise a draft that reviewers found wrong could be removed from its sample. Of a stage
    that passes, a draft on the sheet is released if every reviewer has chosen its right option, in the words of the
    reviewers if they have corrected it in one way and the checks find nothing in these; the drafts that are not
    on it are released as they are.

    Args:
        plan: What the sheet was written of.
        drafts: Those without faults today.
        codes: Id -> code of the content today.
        readings: Reviewer -> id of a sampled draft -> what the reviewer wrote.
        least: Least kappa.
        check: Function that returns the faults of corrected drafts.
    """
    stages: list[Stage] = []
    released: list[Released] = []
    left_out: dict[str, str] = {}
    for name, members in by_stage(drafts):
        kept = [one for one in members if plan.drafts.get(one.id) == codes[one.id]]
        stage, rows = _stage(name, len(members), kept, plan, readings, least)
        stages.append(stage)
        if stage.why:
            continue
        for one in rows:
            found = _of_row(one, [own[one.id] for own in readings.values()], check)
            if isinstance(found, str):
                left_out[one.id] = found
            else:
                released.append(found)
        chosen = {one.id for one in rows}
        released += [Released(one, SAMPLED) for one in kept if one.id not in chosen]
    return Review(tuple(stages), tuple(sorted(released, key=lambda r: r.drafted.id)), left_out)


def _stage(
    name: str,
    total: int,
    kept: Sequence[Drafted],
    plan: Plan,
    readings: Mapping[str, Mapping[str, Reading]],
    least: float,
) -> tuple[Stage, list[Drafted]]:
    """Return the review of a stage, and its drafts on the sheet that have not changed."""
    drawn, chosen = {*plan.sample}, {*plan.rows}
    rows = [one for one in kept if one.id in chosen]
    sample = [one for one in rows if one.id in drawn]
    stage = Stage(name, len(kept), total - len(kept), len(sample))
    lacking = {who: n for who, own in readings.items() if (n := sum(one.id not in own for one in rows))}
    if not kept:
        return replace(stage, why="every draft has changed since the sheet was written: write a new sheet"), rows
    if len(readings) < 2:
        return replace(stage, why=f"{len(readings)} reviewers, two at least"), rows
    if len(sample) < max(needed(plan.share, len(kept)), sum(stage_in(id) == name for id in plan.sample)):
        return replace(stage, why="sampled drafts have changed since: write a new sheet"), rows
    if lacking:
        missing = ", ".join(f"{who} {n}" for who, n in sorted(lacking.items()))
        return replace(stage, why=f"rows without an answer, of {len(rows)}: {missing}"), rows
    scores = tuple(_scores(name, sample, readings))
    return replace(stage, scores=scores, why=_below(scores, least, plan.share)), rows


def stage_in(id: str) -> str:
    """Return the stage in the id of a draft, which may be gone.

    Example:
        >>> stage_in("draft/idrid/train/IDRiD_01/DD")
        'DD'
    """
    return id.rpartition("/")[2]


def _scores(name: str, sample: Sequence[Drafted], readings: Mapping[str, Mapping[str, Reading]]) -> list[Score]:
    """Return Cohen's kappa of two reviewers or Fleiss' of more, and Cohen's of each with the letters of the drafts."""
    groups = [group_of(one.record) for one in sample]
    answers = {who: [own[one.id].answer for one in sample] for who, own in sorted(readings.items())}
    drafts = [one.draft.letter for one in sample]
    among = [*answers.values()]
    if len(among) == 2:
        scores = pair_scores(name, among[0], among[1], groups)
    else:
        scores = fleiss_scores(name, [[*row] for row in zip(*among, strict=True)], groups)
    for who, given in answers.items():
        own = pair_scores(name, given, drafts, groups)
        scores += [replace(score, metric=f"{score.metric}_draft:{who}") for score in own]
    return scores


def _below(scores: Sequence[Score], least: float, share: float) -> str:
    """Return which kappa is below the least one or has no value; empty if none."""
    kappas = [score for score in scores if score.metric.startswith("kappa")]
    for score in kappas:
        if score.value is None:
            cure = "draft more images" if share == 1 else "write a larger sheet with `--share`"
            return f"{score.metric} has no value, as all answers are the same: {cure}"
        if not score.value >= least - 1e-9:
            return f"{score.metric} {score.value:.2f} is below {least:g}"
    return "" if kappas else "no draft was sampled: write a new sheet"


def _of_row(
    one: Drafted, readings: Sequence[Reading], check: Callable[[Sequence[Drafted]], Sequence[Fault]]
) -> Released | str:
    """Return the reviewed draft as it is released, or why it is not."""
    given = Counter(reading.answer for reading in readings)
    if set(given) != {one.draft.letter}:
        return f"reviewers chose {', '.join(sorted(given))} instead of {one.draft.letter}"
    original = one.draft.question, one.draft.options
    versions = {(r.question, r.options) for r in readings} - {original}
    if not versions:
        return Released(one, REVIEWED)
    if len(versions) > 1:
        return "corrected in different ways"
    ((question, options),) = versions
    corrected = replace(one, draft=Draft(question, options, one.draft.letter, one.draft.answer))
    faults = check([corrected])
    if faults:
        return f"the correction has a fault: {faults[0].check}: {faults[0].detail}"
    return Released(corrected, REVIEWED, corrected=True)
