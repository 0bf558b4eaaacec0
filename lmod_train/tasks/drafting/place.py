"""Check that the places in a draft are those of the boxes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.meaning import PLACES, places_in, terms_in

_RELATIVE = re.compile(
    r"\b(?:"
    + "|".join(PLACES.values())
    + r")\s(?:of|to|from|than)\s(?!(?:the|this)\s(?:image|photograph|scan|picture|fundus))",
    re.IGNORECASE,
)
"""Directions seen from something else than the image, which boxes alone do not state."""
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n+")


def implausible_places(one: Drafted) -> list[str]:
    """Return the sentences of right option and long answer that name a direction in which no box of theirs lies.

    A sentence is compared with the boxes of the structures that it names; with those of the structure asked about if it
    names none. Nothing is compared where the image has no boxes. Nasal and temporal count only if the eye is known.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> boxes = {"optic disc": "1 box; upper right of the image; 9 % of the width, 9 % of the height"}
        >>> answer = "PRESENT. The optic disc is in the lower right of the image."
        >>> implausible_places(drafted("AL", boxes=boxes, structure="optic disc", answer=answer))
        ['lower: The optic disc is in the lower right of the image.']
    """
    right = one.draft.right
    return [found for sentence in (right, *_SENTENCE.split(one.draft.answer)) for found in _of(sentence, one)]


def _of(sentence: str, one: Drafted) -> list[str]:
    eye = one.facts.eye
    named = places_in(_RELATIVE.sub(" ", sentence), eye) - ({"nasal", "temporal"} if not eye else set())
    known = _known(sentence, one.facts.boxes, one.facts.structure)
    if not named or not known:
        return []
    places = places_in(" ".join(known), eye)
    return [f"{place}: {sentence.strip()[:120]}" for place in sorted(named - places)]


def _known(sentence: str, boxes: Mapping[str, str], structure: str) -> list[str]:
    about = [boxes[name] for name in sorted(terms_in(sentence)) if name in boxes]
    return about or ([boxes[structure]] if structure in boxes else [])
