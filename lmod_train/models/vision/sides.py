"""Questions whose answer changes if the image is mirrored."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record

_SIDES = re.compile(r"\b(left|right|laterality|od|os|dexter|sinister|dextra|sinistra)\b|[左右]|侧别", re.IGNORECASE)
CURE = "set model.init_args.views: none"


def names_a_side(text: str) -> bool:
    """Return whether a text names left or right, in English, Latin or Chinese; a mirrored image would change it.

    Nasal and temporal are not sides of the image: they move with the optic disc.

    Example:
        >>> names_a_side("right eye"), names_a_side("LEFT"), names_a_side("OS"), names_a_side("左眼")
        (True, True, True, True)
        >>> names_a_side("bright spot"), names_a_side("nasal"), names_a_side("pupil")
        (False, False, False)
    """
    return _SIDES.search(text) is not None


def refuse_sided_flips(choices: Iterable[str], flip: float) -> None:
    """Raise an error if training mirrors images with this probability and a choice names a side.

    Raises:
        BadArgument: One does.
    """
    if flip and (sided := [word for word in choices if names_a_side(word)]):
        expected = f"0, as a mirrored image has another class where one names a side ({', '.join(sided)})"
        raise BadArgument("augmentation.flip", flip, expected, "set model.init_args.augmentation.flip: 0")


def refuse_sided_choices(choices: Iterable[str]) -> None:
    """Raise an error if a choice names a side.

    Raises:
        BadArgument: One does.
    """
    if sided := [word for word in choices if names_a_side(word)]:
        expected = f"none, as a mirrored image changes answers that name a side ({', '.join(sided)})"
        raise BadArgument("model.init_args.views", "flip", expected, CURE)


def refuse_sided_questions(records: Iterable[Record]) -> None:
    """Raise an error if a question or one of its choices names a side, or if it asks about regions.

    Regions are places of the image as it is: their boxes and numbers do not move with its pixels.

    Raises:
        BadArgument: One does.
    """
    for record in records:
        refuse_sided_choices(record.choices)
        asked = " ".join(part.text for message in record.messages for part in message.parts)
        if record.regions or names_a_side(asked):
            why = "asks about regions" if record.regions else "names a side in its question"
            expected = f"none, as a mirrored image may have another answer ({record.id} {why})"
            raise BadArgument("model.init_args.views", "flip", expected, CURE)
