"""Parse what kind of image of an eye a reply says it sees."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary.modalities import SEEN
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.normalise import normalise


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
