"""Questions about several images of one eye: correspondence, integration and selection of modalities (X-PCR)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Answer, Message, Part, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.closed import answer_scores
from lmod_train.scoring.confidence import confidence_scores
from lmod_train.scoring.items import items_of
from lmod_train.scoring.modality import WITHOUT, mcs_scores, without_variant
from lmod_train.scoring.subsets import subsets_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.confidence import read_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.single_choice import worded


class CrossModality(Task):
    """Single-choice questions about several images of one eye, each image named in the words ("Image 1: CFP").

    It asks the ready questions that come with a case (X-PCR, supplement, section 6.2): correspondence identification,
    diagnostic integration, modality selection. Each question is a record of its own, so that the words of one are not
    seen with another.

    Args:
        confidence: Whether each question asks for a confidence in the sentence of the paper.
        without: Whether each question is also asked without the images of each modality in turn, for the contribution
            of the modality (`mcs`). Names and numbers of the images stay.
        sources: Names of the sources to ask about; None asks about all.

    References:
        X-PCR, CVPR 2026, arXiv 2604.20350, with its supplement. How images are named is ours.
    """

    name = "cross_modality"
    version = 2
    choices = ()

    def __init__(self, confidence: bool = True, without: bool = False, sources: list[str] | None = None) -> None:
        self.asks_confidence, self.without, self.sources = confidence, without, sources

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the ready questions of a case with at least two images; none of other samples."""
        modalities = [image.modality or sample.modality for image in sample.shared_images]
        if len(modalities) < 2 or sample.image is not None:
            return
        left_out = sorted(set(modalities)) if self.without and len(set(modalities)) > 1 else []
        for question in self.ready_questions(sample):
            for modality in ("", *left_out):
                yield worded(_shown(question, modalities, modality), confidence=self.asks_confidence)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing`)."""
        listed = tuple(options_in(record.messages).values())
        return read(reply, parse_option, listed or record.choices)

    def confidence(self, reply: Reply, record: Record) -> float | None:
        """Return the confidence that the reply states, 0 to 1; None if it states none that can be read."""
        return read_confidence(reply, question_text(record.messages))

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
