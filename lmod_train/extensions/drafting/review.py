"""Review of a sample of drafts, which drafts it releases, their lists, and the source of the released ones.

A reviewer answers each sampled question without seeing the letter that the model calls right. Two agreements decide
about a stage: that of the reviewers with each other, and that of each reviewer with the draft. Both must reach the
least kappa; else reviewers who agree that the drafts are wrong would release them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from lmod_train.core.csv_files import write_csv
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import (
    Answer,
    Dropped,
    Need,
    Prediction,
    Question,
    Record,
    Reply,
    Sample,
    SampleStream,
    Score,
    Unparsed,
)
from lmod_train.data.sources.base import Source
from lmod_train.extensions.drafting.checks import NAMES, Fault, faults_of, grade
from lmod_train.extensions.drafting.drafts import (
    CHAIN,
    OPTIONS,
    STAGES,
    Draft,
    Drafted,
    Facts,
    known_of,
    read_draft,
    words_for,
)
from lmod_train.extensions.drafting.judgement import Request, incomplete
from lmod_train.scoring.agreement import fleiss_scores, pair_scores
from lmod_train.scoring.items import group_of
from lmod_train.tasks.prompt import prompt
from lmod_train.tasks.single_choice import reply_for, single_choice

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
        >>> from lmod_train.extensions.drafting.drafts import drafted
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


# The task by which a model drafts questions: one record for each stage of an image that has a truth.
Size = tuple[int, int]


class Drafting(Request):
    """Draft of a single-choice question with a long answer, by a listing of X-PCR and the facts of an image.

    Its records are made from the records of a curated folder (`records`), not from samples. A reply is *answered* if a
    draft can be read in it; `lmod_train.extensions.drafting.checks` checks it, and people review it.

    Args:
        seed: Seed of the letter of each right option, and of the choice among several structures.

    Example:
        >>> Drafting().parse(Reply("a", "Which eye?")).reason
        'no_match'
    """

    name = "draft"
    version = 1
    choices = ()

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def records(self, records: Iterable[Record], size_of: Callable[[Record], Size]) -> list[Record]:
        """Return one record for each stage of each sample that has a truth, in id order.

        Args:
            records: Records of a curated folder.
            size_of: Returns width and height of a record's original image in pixels.
        """
        ordered = sorted(records, key=_place)
        known = [one for _, several in groupby(ordered, key=_place) for one in known_of([*several], size_of, self.seed)]
        return sorted((self._record(record, facts) for record, facts in known), key=lambda r: r.id)

    def _record(self, of: Record, facts: Facts) -> Record:
        return self.request(
            of,
            id="/".join([self.name, quote(of.source, safe=""), quote(of.key), facts.stage]),
            image=of.image_plain,
            image_plain=of.image_plain,
            image_sha256=of.image_sha256,
            messages=prompt(words_for(facts, self._letter(of, facts))),
            answer=facts.truth,
            scale=of.scale,
            chain=of.chain or f"{quote(of.source, safe='')}/{quote(of.key, safe='')}",
            chain_step=facts.stage,
            tags={name: of.tags[name] for name in ("level", "impact") if name in of.tags} | {"stage": facts.stage},
        )

    def _letter(self, of: Record, facts: Facts) -> str:
        number = int(shuffle_key(self.seed, "letter", of.source, of.key, facts.stage)[:8], 16)
        return ascii_uppercase[number % OPTIONS]

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the draft in the requested form, or why there is none in the reply.

        ``failed``, ``refused`` and ``truncated`` as in other tasks (a draft that is cut off is not used); otherwise
        that of `read_draft`.
        """
        if ended := incomplete(reply):
            return ended
        draft = read_draft(reply.reply)
        return draft if isinstance(draft, Unparsed) else draft.text


def _place(record: Record) -> tuple[str, str]:
    return record.source, record.key


# Released drafts as a source of the one curation: the images of the folder they were drafted from, with questions.


class DraftedQuestions(Source):
    """Released drafts; keys are ``source/key`` of the images in the curated folder.

    The drafts of an image are ready questions of the task ``chain``, one a stage, each of which needs the earlier ones.
    Tags state the stage, the level, how it was reviewed (``review``) and the split of its image in the folder it was
    drafted from (``drafted_split``). Patients stay groups.

    Args:
        curated: Curated folder with the images.
        released: Drafts that a review has released.
        redistributable: Whether all images may be passed on.
        confidence: Whether the questions ask for a confidence, as in the task ``chain``.
    """

    name = "drafts"
    modality = ""
    licence = "that of the images"
    redistributable = False
    reference = "questions drafted by a model and reviewed by people"

    def __init__(
        self, curated: Path, released: Sequence[Released], redistributable: bool = False, confidence: bool = True
    ) -> None:
        super().__init__(curated)
        self.redistributable, self._confidence = redistributable, confidence
        self._released = sorted(
            released, key=lambda r: (_place_drafted_questions(r.drafted.record), STAGES.index(r.drafted.stage))
        )
        places = [_place_drafted_questions(r.drafted.record) for r in reversed(self._released)]
        self._first = {(source, key): image for source, key, image in places}
        self.licence = "; ".join(sorted({r.drafted.record.licence for r in released})) or self.licence

    @property
    def is_phantom(self) -> bool:
        """Whether all images are phantoms."""
        return bool(self._released) and all(r.drafted.record.phantom for r in self._released)

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return False: drafts are named by the user."""
        return False

    def verify(self) -> None:
        """Check that there is a released draft.

        Raises:
            BadArgument: There is none.
        """
        if not self._released:
            raise BadArgument("--out", None, "at least one released draft", "see DRAFT/review.csv for the reasons")

    def inputs(self) -> Mapping[str, Any]:
        """Return the SHA-256 of all released drafts, and how many were reviewed, for the manifest."""
        texts = "\n".join(f"{r.drafted.id} {r.how} {r.drafted.draft.text}" for r in self._released)
        how = {word: sum(r.how == word for r in self._released) for word in sorted({r.how for r in self._released})}
        return {"sha256": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest(), "review": how}

    def samples(self) -> SampleStream:
        """Yield a sample an image with its questions; an image that has changed since is left out and listed."""
        images = Curated(self.root)
        for (source, key, image), several in groupby(
            self._released, key=lambda r: _place_drafted_questions(r.drafted.record)
        ):
            record, path = (own := list(several))[0].drafted.record, images.file(image)
            name = f"{source}/{key}" if self._first[source, key] == image else f"{source}/{key}/{Path(image).stem}"
            if not path.is_file() or (sha256_of(path),) != record.image_sha256:
                yield Dropped(self.name, name, image, "read", "image_changed", "not the image that was drafted about")
                continue
            yield Sample(
                source=self.name,
                key=name,
                modality=record.modality,
                image=path,
                group=f"{source}/{record.group or key}",
                licence=record.licence,
                patient=record.patient,
                phantom=record.phantom,
                asked=tuple(self._questions(name, own)),
            )

    def _questions(self, name: str, released: Sequence[Released]) -> Iterator[Question]:
        for place, one in enumerate(released):
            record, draft = one.drafted.record, one.drafted.draft
            tags = {**record.tags, "review": one.how, "drafted_split": record.split}
            yield Question(
                CHAIN,
                single_choice(draft.question, draft.options, confidence=self._confidence),
                draft.options,
                reply_for(draft.options, draft.right),
                chain=name,
                chain_step=one.drafted.stage,
                needs=tuple(Need(earlier.drafted.stage) for earlier in released[:place]),
                tags=tags,
            )


def _place_drafted_questions(record: Record) -> tuple[str, str, str]:
    return record.source, record.key, record.image[0]


# Tables of a set of drafts: every draft, every fault, and the counts of each check; for spreadsheets.
DRAFTS, FAULTS, CHECKS = "drafts.csv", "faults.csv", "checks.csv"
"""Names of the tables in the folder of the drafts."""

UNREAD = "no_draft"
"""In the place of a check: replies in which there is no draft; their reason is the detail."""


def write_lists(
    folder: Path, drafts: Sequence[Drafted], faults: Sequence[Fault], predictions: Sequence[Prediction]
) -> None:
    """Write ``drafts.csv``, ``faults.csv`` and ``checks.csv``, each whole; all are derived from the replies.

    Args:
        folder: Folder of the drafts.
        drafts: Those that could be read.
        faults: What the checks found in them.
        predictions: Of all replies.
    """
    columns = ("id", "stage", "truth", "question", "options", "letter", "answer", "grade", "faults")
    write_csv(folder / DRAFTS, columns, _rows(drafts, faults), end="\r\n")
    unread = [(p.record.id, p.record.chain_step, UNREAD, f"{p.answer.reason}: {p.answer.detail}")
              for p in predictions if isinstance(p.answer, Unparsed)]  # fmt: skip
    listed = [*unread, *((f.id, f.stage, f.check, f.detail) for f in faults)]
    write_csv(folder / FAULTS, ("id", "stage", "check", "detail"), listed, end="\r\n")
    write_csv(folder / CHECKS, ("check", "stage", "replies", "with_fault"), counts(faults, predictions), end="\r\n")


def _rows(drafts: Sequence[Drafted], faults: Sequence[Fault]) -> list[tuple[object, ...]]:
    found: dict[str, list[str]] = {}
    for fault in faults:
        found.setdefault(fault.id, []).append(fault.check)
    return [
        (
            one.id,
            one.stage,
            one.facts.truth,
            one.draft.question,
            " | ".join(one.draft.options),
            one.draft.letter,
            one.draft.answer,
            None if (level := grade(one.draft.question)) is None else round(level, 1),
            ", ".join(dict.fromkeys(found.get(one.id, []))),
        )
        for one in drafts
    ]


def counts(faults: Sequence[Fault], predictions: Sequence[Prediction]) -> list[tuple[str, str, int, int]]:
    """Return check, stage, number of replies of the stage, and number of drafts in which the check found something.

    Example:
        >>> counts([], [])
        []
    """
    replies = Counter(p.record.chain_step for p in predictions)
    found = Counter((check, stage) for check, stage, _ in {(f.check, f.stage, f.id) for f in faults})
    found.update((UNREAD, p.record.chain_step) for p in predictions if isinstance(p.answer, Unparsed))
    return [
        (check, stage, n, found[check, stage]) for check in (UNREAD, *NAMES) for stage, n in sorted(replies.items())
    ]


def lines(faults: Sequence[Fault], predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield a line for the set, and one for each check that found something, for a terminal."""
    bad = {f.id for f in faults} | {p.record.id for p in predictions if isinstance(p.answer, Unparsed)}
    yield f"{len(predictions) - len(bad)} of {len(predictions)} drafts pass all checks"
    rows = counts(faults, predictions)
    for check in (UNREAD, *NAMES):
        stages = [f"{stage} {n}" for name, stage, _, n in rows if name == check and n]
        if stages:
            yield f"  {check:<21}{sum(n for name, _, _, n in rows if name == check):5}  ({', '.join(stages)})"
