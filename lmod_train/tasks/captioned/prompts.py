"""The prompts by which OphthalWeChat lets a model write questions from a caption, verbatim."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from lmod_train.tasks.judgement_prompt import without_tokens

FILE = Path(__file__).with_name("prompts.json")
"""Supplementary Tables 1, 3A and 3B of OphthalWeChat."""

SYSTEM, STATEMENT, OPTIONS = "system", "statement", "options"
"""Names of the system prompt, of the prompt that makes a statement false, and of the one that swaps two options."""

CAPTION = "\n\nProvided text:\n{caption}"
"""End of a prompt of Supplementary Table 1, ours: the paper does not state where the caption stands."""

_PLACE = re.compile(r"\{(caption|question|correct_answer|change_answer)\}")


@cache
def printed() -> dict[str, str]:
    """Return name -> text of the prompts: ``system``, the kinds of question, ``statement``, ``options``."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))["prompts"]
    return {name: row["text"] for name, row in rows.items()}


def generation(kind: str, caption: str) -> str:
    """Return the prompt for all questions of one kind from a caption.

    Args:
        kind: ``binary_question``, ``single_choice_question`` or ``open_question``.
        caption: Untrusted: tokens of chat templates and places of images in it become plain words.
    """
    return printed()[kind] + CAPTION.replace("{caption}", without_tokens(caption))


def filled(name: str, **texts: str) -> str:
    r"""Return the prompt ``statement`` or ``options`` with untrusted texts in its places, each put in once.

    Example:
        >>> filled("statement", caption="{question}", question="The disc is pale.")[-63:]
        'greetings.\nCaption: {question} Original text: The disc is pale.'
    """
    return _PLACE.sub(lambda place: without_tokens(texts[place[1]]), printed()[name])
