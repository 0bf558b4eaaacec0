"""Parse the sex of a patient."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled
from lmod_train.tasks.parsing.choice import choice_in_prose, read_slot
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.reading import Claim, answer_in

_FIELD = compiled("sex.field")
_AGAIN = re.compile(r"(?:\s?(?:or|and|,))?\s?(?:sex|gender|性别)\s?[:=]\s?", re.IGNORECASE)
_NAME = compiled("sex.name", 0)
_LETTER = compiled("sex.letter")
_OPEN = re.compile("男性?(?:还是|或者?)女性?|女性?(?:还是|或者?)男性?")  # a question, no statement


def parse_sex(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the sex that the text states, in the prompt's spelling.

    Behind the labels "Sex:", "Gender:", "Sex/Age group:" and 性别 a letter is enough ("Sex: F"). Elsewhere a sentence
    about the patient is needed: "male and female eyes look alike" states none.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The prompt's two choices, e.g. ``("MALE", "FEMALE")``.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` or ``ambiguous`` (both are stated).

    Example:
        >>> parse_sex("Sex: F; Explanations: ...", ("MALE", "FEMALE")), parse_sex("性别:男", ("MALE", "FEMALE"))
        ('FEMALE', 'MALE')
        >>> parse_sex("Sex: MALE/FEMALE", ("MALE", "FEMALE")).reason
        'ambiguous'
    """
    return answer_in(text, lambda slot: _read_slot(slot, choices), lambda prose: _in_prose(prose, choices))


def _read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the sex that a slot states; None for a slot about something else."""
    if letter := re.fullmatch(r"\s?(?:(m)|f)\s?", slot.name, re.IGNORECASE):
        slot = replace(slot, name="male" if letter[1] else "female")
    named = _NAME.fullmatch(plain(slot.name)) is not None
    if slot.role and isinstance(stated := _in_prose(clean(slot.value), choices), str):
        return stated
    if not named and not (slot.role and re.fullmatch(r"\W{0,3}[MFmf]\W{0,3}", slot.value)):
        return read_slot(slot, choices)
    value = _LETTER.sub(
        _spelled, _FIELD.sub(_labelled, _OPEN.sub(" ", _AGAIN.sub(" / ", own_part_of_two(clean(slot.value)))))
    )
    return read_slot(replace(slot, name="answer", role="answer", value=value), choices)


def _in_prose(text: str, choices: Sequence[str]) -> str | Unparsed:
    labelled = _FIELD.sub(_labelled, _OPEN.sub(" ", text))
    return choice_in_prose(_LETTER.sub(_spelled, labelled), choices)


def own_part_of_two(value: str) -> str:
    """Return the part in front of a slash with an age behind it, as one template of LMOD v1 asks for both."""
    return re.sub(r"\s?/\s?(?=[^/]{0,12}[0-9]).*", "", value)


def _labelled(field: re.Match[str]) -> str:
    """Return "answer: " for any label; a line break stays, as it separates two answers."""
    broken = "\n" in field[0] and "\n" not in field["lead"]
    return field["lead"] + "\n" * broken + "answer: "


def _spelled(found: re.Match[str]) -> str:
    """Return M and F as words; two letters as two words."""
    words = "male" if found["male"] else "female"
    if found["other"]:
        words += " / male" if found["other_male"] else " / female"
    return found["label"] + words
