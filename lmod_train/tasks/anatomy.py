"""The type of each numbered box (LMOD and LMOD+, anatomical recognition)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmod_train.errors import BadArgument
from lmod_train.parsing.forms import plain, term_of
from lmod_train.parsing.reading import read
from lmod_train.parsing.regions import parse_regions
from lmod_train.scoring.items import items_of
from lmod_train.scoring.regions import region_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.prompt import prompt
from lmod_train.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed

PROMPT = (
    "This is an ophthalmology image of type <IMAGE TYPE>. Please identify and describe the type of each labeled "
    "bounding box in this image. Options can be <OPTIONS>. Please just follow the format: Region ID: xxx; Type: xxx."
)
"""LMOD+, Anatomical Structure Recognition, with what it prints for surgical scenes made placeholders."""

IMAGE_TYPES = {
    "SS": "Cataract surgery RGB images",  # the one phrase that LMOD+ prints; the others are ours, in its manner
    "OCT": "Optical coherence tomography images",
    "SLO": "Scanning laser ophthalmoscopy images",
    "LP": "Lens photographs",
    "CFP": "Color fundus photographs",
}

OPTIONS: dict[str, list[str]] = {
    "SS": [  # printed by LMOD+
        *("Capsulorhexis Cystotome", "Capsulorhexis Forceps", "Cornea", "Gauge", "Incision Knife"),
        *("Irrigation-Aspiration", "Katena Forceps", "Lens", "Lens Injector", "Phacoemulsification Tip"),
        *("Pupil", "Slit Knife", "Spatula", "cornea1"),
    ],
    "OCT": ["Choroid", "IRC", "MH", "Retina"],  # words of LMOD's figure 4
    "SLO": ["optic disc", "optic cup"],
    "LP": ["iris", "pupil", "right eye", "left eye"],  # CAU001's classes in English
    "CFP": ["optic disc", "optic cup"],
    "idrid": ["optic disc", "optic cup", "fovea"],  # a source may have options of its own
}


class Anatomy(Task):
    """Region id -> structure: one question a sample that has numbered regions.

    Args:
        options: The words to choose from, by source name or by modality; the source's go first. None takes `OPTIONS`.
        image_types: The phrase after "of type", by modality. None takes `IMAGE_TYPES`.
    """

    name = "anatomy"
    version = 1

    def __init__(self, options: dict[str, list[str]] | None = None, image_types: dict[str, str] | None = None) -> None:
        self.options = OPTIONS if options is None else options
        self.image_types = IMAGE_TYPES if image_types is None else image_types
        self.choices = tuple(dict.fromkeys(word for words in self.options.values() for word in words))

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample has regions with ids, none otherwise.

        Raises:
            BadArgument: Only some regions have an id, two share one, or `options` or `image_types` lack what the
                sample needs.
        """
        regions = tuple(sorted((r for r in sample.regions if r.id >= 1), key=lambda r: r.id))
        if not regions:
            return
        ids = [r.id for r in sample.regions]
        if len(set(ids)) != len(ids) or min(ids) < 1:
            raise BadArgument(
                f"region ids of {sample.source}/{sample.key}", ids, "one id per region, from 1", "number them all"
            )
        choices = self._choices_for(sample)
        answer = "\n".join(f"Region ID: {r.id}; Type: {self._option(r.structure, choices, sample)}" for r in regions)
        text = PROMPT.replace("<IMAGE TYPE>", self._image_type(sample)).replace("<OPTIONS>", ", ".join(choices))
        yield Question(self.name, prompt(text), choices, answer, marked=True, regions=regions)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return region id -> structure, or why there is none (see `lmod_train.parsing`)."""
        return read(reply, parse_regions, record.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return precision, recall, both F1, HR, the account and the baselines, each with n and interval."""
        items = items_of(predictions, lambda p: parse_regions(p.record.answer, p.record.choices))
        return region_scores(self.name, items)

    def _choices_for(self, sample: Sample) -> tuple[str, ...]:
        words = self.options.get(sample.source) or self.options.get(sample.modality)
        if not words:
            raise BadArgument(
                "options",
                sorted(self.options),
                f"an entry for source {sample.source!r} or modality {sample.modality!r}",
                f"add `options: {{{sample.modality}: [...]}}` to the task's configuration",
            )
        return tuple(words)

    def _image_type(self, sample: Sample) -> str:
        if sample.modality not in self.image_types:
            raise BadArgument(
                "image_types",
                sorted(self.image_types),
                f"an entry for modality {sample.modality!r}",
                f"add `image_types: {{{sample.modality}: ...}}` to the task's configuration",
            )
        return self.image_types[sample.modality]

    def _option(self, structure: str, choices: Sequence[str], sample: Sample) -> str:
        """Return the prompt's word for a structure of the vocabulary."""
        for word in choices:
            term = term_of(word)
            if plain(word) == plain(structure) or (term is not None and term.name == structure):
                return word
        raise BadArgument(
            "options",
            list(choices),
            f"a word for {structure!r}, which {sample.source}/{sample.key} has",
            f"add it under {sample.source!r} or {sample.modality!r}, or leave such boxes out in curation",
        )
