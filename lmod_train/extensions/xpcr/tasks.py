"""The tasks of X-PCR: the clinical chain, questions about several images of one eye, and the level of a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import options_in
from lmod_train.core.package_data import package_data
from lmod_train.core.perturbations import perturbation_name
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import (
    Answer,
    Message,
    Need,
    Part,
    Prediction,
    Question,
    Record,
    Reply,
    Sample,
    Score,
    Unparsed,
)
from lmod_train.extensions.xpcr.scores import chain_scores
from lmod_train.extensions.xpcr.stages import (
    DRAFT,
    STAGE_NAMES,
    STAGES,
    Missing,
    Posed,
    drawn,
    impact_of,
    implied_cd,
    implied_sg,
    pair,
    pose_al,
    pose_cd,
    pose_dd,
    pose_families,
    pose_lc,
    pose_sg,
    stage_named,
    tags_of_case,
)
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.closed import answer_scores
from lmod_train.scoring.confidence import confidence_scores
from lmod_train.scoring.expertise import ENDING
from lmod_train.scoring.items import items_of
from lmod_train.scoring.modality import WITHOUT, mcs_scores, without_variant
from lmod_train.scoring.subset_names import subsets_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.confidence import read_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.own_choice import parse_own
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.single_choice import (
    Stated,
    checked,
    reply_for,
    single_choice,
    with_truth_at,
    without_form,
    worded,
)


class _Chosen(Task):
    """Questions whose options are in their words, with a confidence where the words ask for it."""

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing`)."""
        listed = tuple(options_in(record.messages).values())
        return read(reply, parse_option, listed or record.choices)

    def confidence(self, reply: Reply, record: Record) -> float | None:
        """Return the confidence that the reply states, 0 to 1; None if it states none that can be read."""
        return read_confidence(reply, question_text(record.messages))


class Chain(_Chosen):
    """Six single-choice questions about one image, each of a stage that has a truth (X-PCR, supplement, section 3.1).

    The truth of a stage is from the sample's own labels, masks, grades and flags; the decision is that of the
    management table, a draft. A stage without truth is not asked. The questions of a sample are one chain; those that
    come with it (`Sample.asked`) are asked instead of our own.

    Args:
        asks_confidence: Whether each question asks for a confidence in the sentence of the paper.
        perturbed: Share of the samples without quality flags whose image is shown with an added defect in all stages,
            0 to 1; with 0 these samples have no question for the image quality.
        sources: Names of the sources to ask about; None asks about all.
        stated: What the reply states: the ``letter`` of an option, as in the paper; or its ``text``, for models that
            are too small to look a letter up in the prompt. Replies are read in either way.
        families: Whether the question families of `pose_families` are asked too, as variants of their stage: normal or
            abnormal, differential, ranking, co-occurrence, risk.

    Raises:
        BadArgument: `perturbed` is not within 0 to 1, or `stated` is neither of the two.

    References:
        X-PCR, CVPR 2026, arXiv 2604.20350, with its supplement. Questions, options and levels are ours.
    """

    name = "chain"
    version = 3
    choices = ()
    steps = STAGE_NAMES
    joins_parts = True

    def __init__(
        self,
        asks_confidence: bool = True,
        perturbed: float = 0.5,
        sources: list[str] | None = None,
        stated: Stated = "letter",
        families: bool = False,
    ) -> None:
        if not 0 <= perturbed <= 1:
            raise BadArgument("perturbed", perturbed, "a share from 0 to 1", "leave it out for 0.5")
        self.families = families
        self.asks_confidence, self.stated = asks_confidence, checked(stated)
        self.perturbed = perturbed
        self.sources = sources

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions that come with a sample; without any, one for each stage that has a truth."""
        if not self.asks_of(sample):
            return
        ready = [
            worded(question, confidence=self.asks_confidence, stated=self.stated)
            for question in self.ready_questions(sample)
        ]
        yield from ready or self._own(sample)

    def _own(self, sample: Sample) -> Iterator[Question]:
        """Yield a question for each stage with a truth, in order; it needs all earlier ones."""
        earlier: list[str] = []
        impact, perturbation = impact_of(sample), perturbation_of(sample, self.perturbed)
        of_case = tags_of_case(sample) | ({"impact": str(impact)} if impact else {})
        further = pose_families(sample) if self.families else {}
        for stage, first in poses(sample, self.perturbed).items():
            of_stage = {"": first} | {family: posed for (step, family), posed in further.items() if step == stage}
            for family, posed in of_stage.items():
                if isinstance(posed, Missing):
                    continue
                options = drawn(posed.options, sample, stage, family or "letters")
                tags = {"stage": stage, "level": posed.level, **({"family": family} if family else {}), **of_case}
                yield Question(
                    self.name,
                    single_choice(posed.question, options, confidence=self.asks_confidence, stated=self.stated),
                    tuple(options),
                    reply_for(options, posed.truth, self.stated),
                    variant=family,
                    chain=sample.key,
                    chain_step=stage,
                    needs=tuple(Need(step) for step in earlier),
                    tags=tags,
                    perturbation=perturbation,
                )
            if isinstance(first, Posed):
                earlier.append(stage)

    @staticmethod
    def states(earlier: Record, answer: str, before: Record | None = None) -> str:
        """Return the sentence of the stage, or the one that leads to the next stage (`Stage.asks_last`)."""
        stage = stage_named(earlier.chain_step)
        if stage is None:
            return Task.states(earlier, answer)
        leads = before is not None and (earlier.chain_step, before.chain_step) in pairwise(STAGE_NAMES)
        return (stage.asks_last if leads else stage.fact).format(answer)

    def implied(self, record: Record, stated: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options that agree with the answers to earlier stages."""
        return implied_options(record.chain_step, stated, record.choices)

    def is_about_quality(self, question: Question | Record) -> bool:
        """Return whether it is of the stage IQA, by its step or its tag ``stage``, also under an alias."""
        stage = stage_named(question.chain_step) or stage_named(question.tags.get("stage", ""))
        return stage is STAGES[0]

    def placed(self, sample: Sample, question: Question, place: int) -> Question:
        """Return one of its own questions with the right option at a place; a ready question stays as it is."""
        ready = {(q.task, q.chain_step, q.variant) for q in sample.asked}
        own = (question.task, question.chain_step, question.variant) not in ready
        return with_truth_at(question, place) if own else question

    def account(self, samples: Iterable[Sample]) -> dict[str, Any]:
        """Return for each source which stages have a truth and from where, why others have none, and full chains.

        Samples that come with questions of other tasks only are left out.
        """
        by_source: defaultdict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            of_others = sample.asked and not any(q.task == self.name for q in sample.asked)
            if self.asks_of(sample) and not of_others:
                by_source[sample.source].append(sample)
        sources = {source: self._of_source(by_source[source]) for source in sorted(by_source)}
        return {"management_table": DRAFT, "sources": sources} if sources else {}

    def _of_source(self, samples: Sequence[Sample]) -> dict[str, Any]:
        ready = [list(self.ready_questions(sample)) for sample in samples]
        own = [poses(sample, self.perturbed) for sample, questions in zip(samples, ready, strict=True) if not questions]
        steps = [{q.chain_step for q in questions} for questions in ready if questions]
        steps += [{stage for stage, posed in asked.items() if isinstance(posed, Posed)} for asked in own]
        return {
            "samples": len(samples),
            "ready": len(samples) - len(own),
            "chains": sum(map(bool, steps)),
            "complete": sum(set(STAGE_NAMES) <= asked for asked in steps),
            "stages": {stage: _of_stage([asked[stage] for asked in own]) for stage in STAGE_NAMES},
        }

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the scores of stages, levels and whole chains (see `lmod_train.extensions.xpcr.scores`)."""
        return chain_scores(self.name, items_of(predictions, self.truth))


def _of_stage(asked: Sequence[Posed | Missing]) -> dict[str, Any]:
    """Return how many truths a stage has, by origin, and how many are missing, by reason."""
    origins = Counter(one.origin for one in asked if isinstance(one, Posed))
    reasons = Counter(one.reason for one in asked if isinstance(one, Missing))
    return {"truths": origins.total(), "from": dict(sorted(origins.items())), "missing": dict(sorted(reasons.items()))}


# Questions about several images of one eye: correspondence, integration and selection of modalities (X-PCR).


class CrossModality(_Chosen):
    """Single-choice questions about several images of one eye, each image named in the words ("Image 1: CFP").

    It asks the ready questions that come with a case (X-PCR, supplement, section 6.2): correspondence identification,
    diagnostic integration, modality selection. Each question is a record of its own, so that the words of one are not
    seen with another.

    Args:
        asks_confidence: Whether each question asks for a confidence in the sentence of the paper.
        without: Whether each question is also asked without the images of each modality in turn, for the contribution
            of the modality (`mcs`). Names and numbers of the images stay.
        sources: Names of the sources to ask about; None asks about all.

    References:
        X-PCR, CVPR 2026, arXiv 2604.20350, with its supplement. How images are named is ours.
    """

    name = "cross_modality"
    version = 3
    choices = ()

    def __init__(self, asks_confidence: bool = True, without: bool = False, sources: list[str] | None = None) -> None:
        self.asks_confidence, self.without, self.sources = asks_confidence, without, sources

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the ready questions of a case with at least two images; none of other samples."""
        modalities = [image.modality or sample.modality for image in sample.shared_images]
        if len(modalities) < 2 or sample.image is not None:
            return
        left_out = sorted(set(modalities)) if self.without and len(set(modalities)) > 1 else []
        for question in self.ready_questions(sample):
            for modality in ("", *left_out):
                yield worded(_shown(question, modalities, modality), confidence=self.asks_confidence)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, the account, the baselines and what confidence says, by kind and number of modalities.

        ``mcs`` is the contribution of each modality, if questions are asked without it.

        Questions asked without a modality count in the subsets ``without=...`` only.
        """
        items = items_of(predictions, self.truth)
        whole = [item for item in items if not item.tags.get(WITHOUT)]
        subsets = subsets_of(whole)
        subsets |= {name: some for name, some in subsets_of(items).items() if name.startswith(f"{WITHOUT}=")}
        scores: list[Score] = []
        for subset, some in subsets.items():
            scores += answer_scores(self.name, subset, some) + confidence_scores(self.name, subset, some)
        return scores + mcs_scores(self.name, items)


def _shown(question: Question, modalities: Sequence[str], without: str) -> Question:
    """Return a question with its images before and their names in its words.

    Args:
        question: Its last message has the question's words.
        modalities: Modality of each image of the sample.
        without: Modality whose images are not shown; empty for none.
    """
    kept = [n for n, modality in enumerate(modalities) if modality != without]
    names = [f"Image {n + 1}: {name}{' (not shown)' if n not in kept else ''}" for n, name in enumerate(modalities)]
    words = "\n".join(part.text for part in question.messages[-1].parts if part.type == "text")
    parts = (*(Part("image") for _ in kept), Part("text", "\n".join([*names, words])))
    shown = replace(question, messages=(Message("user", parts),), images=tuple(kept))
    if not without:
        return shown
    return replace(shown, variant=without_variant(question.variant, without), tags={**question.tags, WITHOUT: without})


# The level of expertise of a question, as people label it on a gold set (X-PCR, supplement, section 4.1).
NAMES: Mapping[str, str] = {"R": "resident", "A": "attending", "S": "specialist"}
"""Level of expertise -> the word by which it is labelled."""

RULE: Mapping[str, str] = {"IQA": "R", "AL": "R", "LC": "A", "DD": "A", "SG": "S", "CD": "S"}
"""Stage of a chain -> level of its questions where none is stated; ours. Other questions are attendings'."""

PROMPT: str = package_data(__file__, "words.yaml")["tasks"]["prompt"]
"""The levels and what to consider as in X-PCR's supplement, section 4.1, shortened; the form is ours."""


class Level(Task):
    """A task's own questions, of which a level of expertise is asked instead of the answer.

    Readers label a gold set with it: `answers --blank SHEET.csv --tasks chain_level`. The reference answer is the level
    of the question where it has one (tag ``level``), otherwise that of `RULE`; the tag ``provisional`` names which.
    Scores thus say how far a reader agrees with provisional labels.

    Args:
        of: The task whose questions are labelled.

    Example:
        >>> from lmod_train.extensions.xpcr.tasks import Chain
        >>> task = Level(Chain())
        >>> task.name, task.parse(Reply("a", "S")), task.parse(Reply("a", "Level: attending"))
        ('chain_level', 'specialist', 'attending')
    """

    name = "level"
    version = 2
    choices = tuple(NAMES.values())

    def __init__(self, of: Task) -> None:
        self.of = of
        self.name = of.name + ENDING
        self.language = of.language

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield a question for each question of the task, with its images."""
        for question in self.of.ask(sample):
            stated = question.tags.get("level", "")
            level = stated or RULE.get(question.tags.get("stage", ""), "A")
            tags = {key: value for key, value in question.tags.items() if key == "stage"}
            yield replace(
                question,
                task=self.name,
                messages=_worded(question.messages),
                choices=self.choices,
                answer=f"Level: {NAMES[level]}",
                stratum="",
                chain="",
                needs=(),
                tags=tags | {"provisional": "stated" if stated else "rule"},
            )

    @property
    def joins_parts(self) -> bool:  # type: ignore[override]  # that of the task, not of the class
        """Whether the task asks samples of one photograph as one."""
        return self.of.joins_parts

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the level in words; a single letter R, A or S is one."""
        letter = reply.reply.strip(" .\n").upper()
        return (
            NAMES[letter]
            if letter in NAMES
            else read(reply, lambda text, _: parse_own(text, self.choices), self.choices)
        )

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies against the provisional labels, F1, the account and the baselines."""
        return classification_scores(self.name, items_of(predictions, self.truth), self.choices)


def _worded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the turn that asks for the level of a question: its images, then its words without the form of a reply."""
    images = tuple(part for message in messages for part in message.parts if part.type == "image")
    words = PROMPT.replace("{question}", without_form(question_text(messages)))
    return (Message("user", (*images, Part("text", words))),)


def labelled(id: str) -> str:
    """Return the id of the record whose level a record asks for.

    Example:
        >>> labelled("chain_level/oimhs/12/DD")
        'chain/oimhs/12/DD'
    """
    task, _, rest = id.partition("/")
    return f"{task.removesuffix(ENDING)}/{rest}"


# The table of the stages: who finds the truth of which, from a sample's own annotations.
POSES: Mapping[str, Callable[[Sample], Posed | Missing]] = {
    "AL": pose_al,
    "LC": pose_lc,
    "DD": pose_dd,
    "SG": pose_sg,
    "CD": pose_cd,
}
"""Stage after IQA -> function from a sample to the question with options and truth, or the reason why there is none.

Question, options (the distractor rule), level, name, aliases and context of each stage are stated in
`lmod_train.extensions.xpcr.stages`.
"""


def poses(sample: Sample, perturbed: float = 0.0) -> dict[str, Posed | Missing]:
    """Return what each stage asks of a sample, in the order of the stages.

    Args:
        sample: With regions and size.
        perturbed: Share of the samples without quality flags that are shown with an added defect, 0 to 1.
    """
    return {"IQA": pose_iqa(sample, perturbed)} | {stage: pose(sample) for stage, pose in POSES.items()}


# What earlier answers of a chain imply for a later question: the options that agree with them.
IMPLIED: Mapping[str, Callable[[Mapping[str, str]], frozenset[str]]] = {"SG": implied_sg, "CD": implied_cd}
"""Stage -> function from earlier answers (stage -> text of the option) to the options that agree with them.

The other stages are not implied by the one before. What an answer implies is stated beside each stage."""


def implied_options(step: str, stated: Mapping[str, str], choices: Sequence[str]) -> tuple[str, ...]:
    """Return the choices of a question that agree with earlier answers; empty if these imply none of them.

    Args:
        step: Stage of the question, by any of its names.
        stated: Stage of each earlier answer, by any of its names -> text of the option.
        choices: Texts of the question's options.

    Example:
        >>> implied_options("SG", {"DR": "full-thickness hole"}, ("Gass stage 1", "Gass stage 2"))
        ('Gass stage 2',)
        >>> implied_options("LC", {"AL": "the macular area"}, ("hemorrhage", "drusen"))
        ()
    """
    named = {stage.name: text for name, text in stated.items() if (stage := stage_named(name))}
    stage = stage_named(step)
    found = IMPLIED[stage.name](named) if stage and stage.name in IMPLIED else frozenset()
    return tuple(choice for choice in choices if choice in found)


# Image quality (IQA): the defects that the source's quality flags note, or one that curation adds to the image.
FLAGGED = "How good is this image? Which of the two defects does it have: {} or {}?"

ADDED = "How good is this image? Which defect does it have?"

DEFECTS: dict[str, Any] = package_data(__file__, "words.yaml")["tasks"]["defects"]
"""Quality without a defect, by which the set of flags is known (BRSET, OIMHS) -> defect as the source's quality notes
it -> words of the options."""

CLEAN = "no notable defects"

KINDS: dict[str, str] = package_data(__file__, "words.yaml")["tasks"]["kinds"]
"""Perturbation (`lmod_train.core.perturbations`) -> words of the options; all of one length, as `CLEAN` is."""

GRADES = (2, 3, 4)
"""Grades that are drawn: 1 is barely visible, and 5 hides what the later stages ask for."""


def pose_iqa(sample: Sample, share: float) -> Posed | Missing:
    """Return which defect an image has; level R.

    Args:
        sample: With or without quality flags.
        share: Of the samples without flags, how many are shown with a defect, 0 to 1; with 0 they are not asked.
    """
    if sample.patient.quality:
        return _flagged(sample, noted_in(sample.patient.quality))
    if not share or sample.image is None:
        return Missing("no quality flag")
    truth = KINDS[_kind(sample)] if _is_perturbed(sample, share) else CLEAN
    return Posed(ADDED, (CLEAN, *(KINDS[kind] for kind in _listed(sample))), truth, "perturbation", "R")


def perturbation_of(sample: Sample, share: float) -> str:
    """Return the defect that all questions about a sample are shown with, e.g. ``blur-3``; empty for none.

    It is drawn by the sample's key; only samples without quality flags get one.
    """
    if sample.patient.quality or sample.image is None or not _is_perturbed(sample, share):
        return ""
    return perturbation_name(_kind(sample), drawn(GRADES, sample, "IQA", "grade")[0])


def _flagged(sample: Sample, noted: set[str]) -> Posed | Missing:
    """Return which of two defects, drawn by the sample's key, the flags note."""
    known = next((defects for clean, defects in DEFECTS.items() if noted <= {clean, *defects}), None)
    if known is None:
        return Missing("quality without a named defect")
    names = drawn(tuple(known), sample, "IQA")[:2]
    words = [known[name] for name in names]
    asked = pair(FLAGGED.format(*words), [(known[name], name in noted) for name in names], "quality flags")
    return Posed(asked.question, asked.options, asked.truth, asked.origin, "R")


def noted_in(quality: str) -> set[str]:
    """Return the defects that a quality names; its own word if it names none.

    Example:
        >>> sorted(noted_in("Inadequate (focus, artifacts)")), noted_in("no defect noted")
        (['artifacts', 'focus'], {'no defect noted'})
        >>> sorted(noted_in("signal strength low; blurred"))
        ['blurred', 'signal strength low']
    """
    _, bracket, inside = quality.partition(" (")
    return set(inside.removesuffix(")").split(", ")) if bracket else set(quality.split("; "))


def _listed(sample: Sample) -> list[str]:
    """Return the three kinds that are options, whether the image has one of them or none."""
    return drawn(tuple(KINDS), sample, "IQA")[:3]


def _kind(sample: Sample) -> str:
    """Return the kind that the image has, if it has any: one of those listed."""
    return drawn(_listed(sample), sample, "IQA", "kind")[0]


def _is_perturbed(sample: Sample, share: float) -> bool:
    return int(shuffle_key("chain", sample.source, sample.key, "IQA", "defect")[:8], 16) < share * 16**8
