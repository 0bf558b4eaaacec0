"""The clinical chain of X-PCR: image quality, place, lesion, diagnosis, severity and decision of one image."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Answer, Need, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.core.vocabulary.management import DRAFT
from lmod_train.scoring.chain import chain_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.chain.stages.cd import impact_of
from lmod_train.tasks.chain.stages.implied import implied_options
from lmod_train.tasks.chain.stages.iqa import perturbation_of
from lmod_train.tasks.chain.stages.posed import Missing, Posed, drawn
from lmod_train.tasks.chain.stages.poses import poses
from lmod_train.tasks.chain.stages.stage import STAGE_NAMES, STAGES, stage_named
from lmod_train.tasks.parsing.confidence import read_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.single_choice import Stated, checked, reply_for, single_choice, with_truth_at, worded


class Chain(Task):
    """Six single-choice questions about one image, each of a stage that has a truth (X-PCR, supplement, section 3.1).

    The truth of a stage is from the sample's own labels, masks, grades and flags; the decision is that of the
    management table, a draft. A stage without truth is not asked. The questions of a sample are one chain; those that
    come with it (`Sample.asked`) are asked instead of our own.

    Args:
        confidence: Whether each question asks for a confidence in the sentence of the paper.
        perturbed: Share of the samples without quality flags whose image is shown with an added defect in all stages,
            0 to 1; with 0 these samples have no question for the image quality.
        sources: Names of the sources to ask about; None asks about all.
        stated: What the reply states: the ``letter`` of an option, as in the paper; or its ``text``, for models that
            are too small to look a letter up in the prompt. Replies are read in either way.

    Raises:
        BadArgument: `perturbed` is not within 0 to 1, or `stated` is neither of the two.

    References:
        X-PCR, CVPR 2026, arXiv 2604.20350, with its supplement. Questions, options and levels are ours.
    """

    name = "chain"
    version = 2
    choices = ()
    steps = STAGE_NAMES
    joins_parts = True

    def __init__(
        self,
        confidence: bool = True,
        perturbed: float = 0.5,
        sources: list[str] | None = None,
        stated: Stated = "letter",
    ) -> None:
        if not 0 <= perturbed <= 1:
            raise BadArgument("perturbed", perturbed, "a share from 0 to 1", "leave it out for 0.5")
        self.asks_confidence, self.stated = confidence, checked(stated)
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
        for stage, posed in poses(sample, self.perturbed).items():
            if isinstance(posed, Posed):
                options = drawn(posed.options, sample, stage, "letters")
                tags = {"stage": stage, "level": posed.level} | ({"impact": str(impact)} if impact else {})
                yield Question(
                    self.name,
                    single_choice(posed.question, options, confidence=self.asks_confidence, stated=self.stated),
                    tuple(options),
                    reply_for(options, posed.truth, self.stated),
                    chain=sample.key,
                    chain_step=stage,
                    needs=tuple(Need(step) for step in earlier),
                    tags=tags,
                    perturbation=perturbation,
                )
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

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing`)."""
        listed = tuple(options_in(record.messages).values())
        return read(reply, parse_option, listed or record.choices)

    def confidence(self, reply: Reply, record: Record) -> float | None:
        """Return the confidence that the reply states, 0 to 1; None if it states none that can be read."""
        return read_confidence(reply, question_text(record.messages))

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the scores of stages, levels and whole chains (see `lmod_train.scoring.chain`)."""
        return chain_scores(self.name, items_of(predictions, self.truth))


def _of_stage(asked: Sequence[Posed | Missing]) -> dict[str, Any]:
    """Return how many truths a stage has, by origin, and how many are missing, by reason."""
    origins = Counter(one.origin for one in asked if isinstance(one, Posed))
    reasons = Counter(one.reason for one in asked if isinstance(one, Missing))
    return {"truths": origins.total(), "from": dict(sorted(origins.items())), "missing": dict(sorted(reasons.items()))}
