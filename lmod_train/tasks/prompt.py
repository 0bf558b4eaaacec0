"""How every task of one image and one text puts its question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Message, Part, Sample
from lmod_train.core.vocabulary.modalities import words_of

Wording = Literal["lmod_plus", "lmod_v1"]
"""Whose words: LMOD+, or the first LMOD paper. Where LMOD's second version differs, a task has ``lmod_naacl`` too."""

PRINTED: dict[str, Any] = package_data(__file__, "prompts.yaml")
"""Words of the prompts of all tasks."""

IMAGE_WORDS: dict[str, str] = PRINTED["image_words"]
"""Modality -> the word between "an ophthalmology" and "image"."""


def prompt(text: str, images: int = 1) -> tuple[Message, ...]:
    """Return the user's turn: the image, or several, then the text, word for word.

    Example:
        >>> [(m.role, [(p.type, p.text) for p in m.parts]) for m in prompt("What is this image?")]
        [('user', [('image', ''), ('text', 'What is this image?')])]
    """
    return (Message("user", (*[Part("image")] * images, Part("text", text))),)


def image_type(sample: Sample) -> str:
    """Return the words for ``<IMAGE TYPE>`` in a prompt, e.g. "an ophthalmology OCT image"; a combination names each.

    Raises:
        BadArgument: The sample is of a modality that has no word here.
    """
    words = words_of(sample.modality)
    if not words or not set(words) <= set(IMAGE_WORDS):
        expected = f"made of {', '.join(IMAGE_WORDS)}"
        cure = "correct the source, or limit the task to other `sources`"
        raise BadArgument(f"modality of {sample.source}/{sample.key}", sample.modality, expected, cure)
    return " and ".join(f"an ophthalmology {IMAGE_WORDS[word]} image" for word in words)


def check_yes_no(sample: Sample, label: str) -> None:
    """Check a label that a task asks about.

    Raises:
        BadArgument: It is neither ``yes`` nor ``no``.
    """
    if sample.labels[label] not in ("yes", "no"):
        where, cure = f"of {sample.source}/{sample.key}", "correct the source, which must translate its own codes"
        raise BadArgument(f"labels[{label!r}] {where}", sample.labels[label], "'yes' or 'no'", cure)


def known_wording(wording: str, known: tuple[str, ...] = ("lmod_plus", "lmod_v1")) -> str:
    """Return `wording`.

    Raises:
        BadArgument: It is not among the known.
    """
    if wording not in known:
        raise BadArgument("wording", wording, f"one of {', '.join(known)}", f"set `wording: {known[0]}`")
    return wording


def question_text(messages: Sequence[Message]) -> str:
    """Return the words of a question; of a conversation all turns, each with its role.

    System messages and places of images are left out.

    Example:
        >>> question_text(prompt("Which eye?"))
        'Which eye?'
    """
    turns = [(m.role, "\n".join(p.text for p in m.parts if p.type == "text").strip()) for m in messages]
    turns = [turn for turn in turns if turn[0] != "system"]
    return turns[0][1] if len(turns) == 1 else "\n".join(f"{role}: {text}" for role, text in turns)
