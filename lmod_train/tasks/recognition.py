"""What kind of image it is, asked without a word about eyes (LMOD, figure 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmod_train.core.types import Answer, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.core.vocabulary.modalities import KIND_SEEN, SEEN
from lmod_train.tasks.closed import Closed
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.prompt import prompt

PROMPT = "What is this image?"
"""LMOD, caption of figure 6: verbatim."""

PARAPHRASES: tuple[str, ...] = entry("paraphrases.recognition")
"""Ours."""


class Recognition(Closed):
    """The kind of image, in free words: one question a sample of one of the modalities of `KIND_SEEN`.

    LMOD shows two replies to a fundus photograph, one that names it and one that sees "a close-up view of a human eye",
    and calls both recognised. Here the first is right and the second a wrong answer: the share of replies that name any
    image of an eye is that of the answered ones.

    Args:
        sources: Names of the sources to ask about; None asks about every sample.

    Example:
        >>> Recognition().parse(Reply("a", "The image is a close-up view of a human eye."), record=None)
        'photograph of an eye'
    """

    name = "recognition"
    version = 2
    choices = tuple(SEEN)
    wordings = ((PROMPT, *PARAPHRASES),)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample is of a modality of `KIND_SEEN`, none otherwise."""
        kind = KIND_SEEN.get(sample.modality)
        if kind and self.asks_of(sample):
            answer = f"This is {'an' if kind[0] in 'aeiou' else 'a'} {kind}."
            yield Question(self.name, prompt(PROMPT), self.choices, answer, stratum=kind)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the kind of image, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_modality, self.choices)


def parse_modality(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the kind of image that the text states, as `parse_choice` reads the other names of its choices.

    Args:
        text: A reply without thinking (see `lmod_train.tasks.parsing.reading.read`).
        choices: Keys of `SEEN`.

    Returns:
        The kind; or `Unparsed`, as `parse_choice`, e.g. for an image of the retina of which no kind is named.

    Example:
        >>> kinds = tuple(SEEN)
        >>> parse_modality("A retinal fundus photo, used to examine the interior of the eye.", kinds)
        'colour fundus photograph'
        >>> parse_modality("It shows an OCT scan, not a fundus image.", kinds)
        'optical coherence tomography'
        >>> parse_modality("A picture of a cat.", kinds).reason
        'no_match'
    """
    return parse_choice(_NAMED.sub(_kind_of, normalise(text)), choices)


def _kind_of(found: re.Match[str]) -> str:
    """Return the name of the kind that was found; a text that names none, as it is."""
    place = next((int(name[1:]) for name, text in found.groupdict().items() if text), None)
    return found[0] if place is None else list(SEEN)[place]


_NAMED = re.compile(
    "(?<![a-z])(?:"
    + "|".join(f"(?P<k{place}>{'|'.join(names)})" for place, names in enumerate(SEEN.values()))
    + r"|retinal (?:image|scan)s?(?: of [a-z ]{0,20}\beyes?)?)(?![a-z])",
    re.IGNORECASE,
)
