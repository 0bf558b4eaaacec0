"""The type of each numbered box (LMOD and LMOD+, anatomical recognition)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.scoring.items import items_of
from lmod_train.scoring.region_scores import region_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.forms import mention_of, plain, term_of
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.regions import parse_regions
from lmod_train.tasks.prompt import PRINTED, Wording, known_wording, prompt

PROMPTS: dict[str, str] = PRINTED["anatomy"]
"""LMOD+, Anatomical Structure Recognition, with what it prints for surgical scenes made placeholders; LMOD v1, section
3.1.2, and NAACL, appendix A.1, with their placeholders in our brackets."""

PARAPHRASES: dict[str, tuple[str, ...]] = entry("paraphrases.anatomy")
"""Ours."""

IMAGE_TYPES: dict[str, str] = PRINTED["anatomy_image_types"]

OPTIONS: dict[str, list[str]] = PRINTED["anatomy_options"]
"""The surgical options and LMOD's four of OCT are printed; the others are ours: the structures of the source."""

LESIONS = ["microaneurysms", "haemorrhages", "hard exudates", "soft exudates"]
"""Added to the options of a sample that has a box of any of them, all four, so that none is given away."""


class Anatomy(Task):
    """Region id -> structure: one question a sample that has numbered regions.

    Args:
        options: The words to choose from, by source name or by modality; the source's go first. None takes `OPTIONS`.
        image_types: The phrase after "of type", by modality. None takes `IMAGE_TYPES`.
        wording: ``lmod_plus`` or ``lmod_v1``. Version 1's image description is what the source states of the exposure,
            in sentences such as its figure 4 shows, in brackets (ours); nothing where nothing is known, and no sentence
            that names an option or, where the eyes are options, the side.
        lesions: Words added to the options of a sample that has a box of any of them. None takes `LESIONS`, or none of
            them where `options` are given.
        sources: Names of the sources to ask about; None asks about every sample with numbered regions.
    """

    name = "anatomy"
    version = 7
    wordings = tuple((PROMPTS[name], *PARAPHRASES[name]) for name in PROMPTS)

    def __init__(
        self,
        options: dict[str, list[str]] | None = None,
        image_types: dict[str, str] | None = None,
        wording: Wording = "lmod_plus",
        lesions: list[str] | None = None,
        sources: list[str] | None = None,
    ) -> None:
        self.options = OPTIONS if options is None else options
        self.image_types = IMAGE_TYPES if image_types is None else image_types
        self.wording = known_wording(wording)
        self.lesions = (LESIONS if options is None else []) if lesions is None else lesions
        self.sources = sources
        words = [word for words in (*self.options.values(), self.lesions) for word in words]
        self.choices = tuple(dict.fromkeys(words))

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions that come with a sample, else one where it has regions with ids.

        Raises:
            BadArgument: Only some regions have an id, two share one, or `options` or `image_types` lack what the
                sample needs.
        """
        yield from self.ready_questions(sample)
        regions = tuple(sorted((r for r in sample.regions if r.id >= 1), key=lambda r: r.id))
        if not regions or not self.asks_of(sample):
            return
        ids = [r.id for r in sample.regions]
        if len(set(ids)) != len(ids) or min(ids) < 1:
            cure = "number them all"
            raise BadArgument(f"region ids of {sample.source}/{sample.key}", ids, "one id per region, from 1", cure)
        choices = self._choices_for(sample)
        answer = "\n".join(f"Region ID: {r.id}; Type: {self._option(r.structure, choices, sample)}" for r in regions)
        described = description(sample, choices)
        text = PROMPTS[self.wording].replace("<IMAGE DESCRIPTION>", described).replace("image  of", "image of")
        text = text.replace("<IMAGE TYPE>", self._image_type(sample)).replace("<OPTIONS>", ", ".join(choices))
        yield Question(self.name, prompt(text), choices, answer, marked=True, regions=regions)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return region id -> structure, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_regions, record.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return precision, recall, both F1, HR, the account and the baselines, each with n and interval."""
        items = items_of(predictions, self.truth)
        return region_scores(self.name, items)

    def example(self) -> Record:
        """Return a record with one region."""
        return replace(super().example(), answer=f"Region ID: 1; Type: {self.choices[0]}")

    def _choices_for(self, sample: Sample) -> tuple[str, ...]:
        words = self.options.get(sample.source) or self.options.get(sample.modality)
        if not words:
            expected = f"an entry for source {sample.source!r} or modality {sample.modality!r}"
            cure = f"add `options: {{{sample.modality}: [...]}}` to the task's configuration"
            raise BadArgument("options", sorted(self.options), expected, cure)
        has_lesions = any(term_name(word) == r.structure for word in self.lesions for r in sample.regions)
        return tuple(dict.fromkeys([*words, *(self.lesions if has_lesions else [])]))

    def _image_type(self, sample: Sample) -> str:
        if sample.modality not in self.image_types:
            expected = f"an entry for modality {sample.modality!r}"
            cure = f"add `image_types: {{{sample.modality}: ...}}` to the task's configuration"
            raise BadArgument("image_types", sorted(self.image_types), expected, cure)
        return self.image_types[sample.modality]

    def _option(self, structure: str, choices: Sequence[str], sample: Sample) -> str:
        """Return the prompt's word for a structure of the vocabulary."""
        for word in choices:
            if plain(word) == plain(structure) or term_name(word) == structure:
                return word
        expected = f"a word for {structure!r}, which {sample.source}/{sample.key} has"
        cure = f"add it under {sample.source!r} or {sample.modality!r}, or leave such boxes out in curation"
        raise BadArgument("options", list(choices), expected, cure)


def term_name(word: str) -> str:
    """Return the vocabulary's name of a word, the word itself where it has none.

    Example:
        >>> term_name("MH"), term_name("elbow")
        ('macular hole', 'elbow')
    """
    term = term_of(word)
    return word if term is None else term.name


def description(sample: Sample, options: Sequence[str] = ()) -> str:
    """Return what fills [IMAGE DESCRIPTION]: laterality and quality in brackets, empty where neither is known.

    Args:
        sample: Tells laterality and quality, where its source does.
        options: The words to choose from. A sentence that names one of them, in any form, is left out, and the side
            where a left or a right eye is among them: an answer must not stand in the question.

    Example:
        >>> from pathlib import Path
        >>> from lmod_train.core.types import Patient
        >>> eye = Sample("oimhs", "1/0", "OCT", Path(), "1", "", patient=Patient(laterality="left"))
        >>> description(eye), description(eye, ["iris", "right eye"])
        ('(This is a left eye.)', '')
    """
    patient = sample.patient
    sided = any(term_name(option) in ("left eye", "right eye") for option in options)
    sentences = [f"This is a {patient.laterality} eye."] if patient.laterality and not sided else []
    sentences += [f"Image quality: {patient.quality.rstrip('.')}."] if patient.quality else []
    named = list(map(mention_of, options))
    sentences = [sentence for sentence in sentences if not any(option.search(sentence) for option in named)]
    return f"({' '.join(sentences)})" if sentences else ""
