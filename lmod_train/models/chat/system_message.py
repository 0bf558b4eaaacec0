"""Check that a chat template renders a system message as such; some drop it or render it as another role's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

from lmod_train.core.errors import BadArgument

Turns = Sequence[Mapping[str, Any]]
Template = Callable[..., str]
"""Function that renders turns as text; takes `add_generation_prompt`."""


def check_system_message(template: Template, turns: Turns, place: str) -> None:
    """Refuse turns with a system message that the template does not render as such.

    A template may write the system message at the start of the user's turn, as Gemma's does, and may trim white space
    at its ends. Turns without a system message are not checked.

    Args:
        template: Function that renders turns as text.
        turns: Messages of one record, each with `role` and `content`, a list of parts.
        place: Folder of the checkpoint, for the error message.

    Raises:
        BadArgument: The template drops part of the system message, renders it after the user's words or as an
            assistant's turn, or raises on it.
    """
    if all(turn["role"] != "system" for turn in turns):
        return
    problem = _problem(template, turns)
    if problem:
        raise BadArgument(
            f"chat_template of {place}",
            problem,
            "a template that renders a system message before the user's words and not as an assistant's turn",
            "give its chat_template.jinja a branch for message['role'] == 'system' (that of the small base has one), "
            "or leave the tasks with system messages out of data.tasks, or write these words into the user's messages "
            "and curate again",
        )


def _problem(template: Template, turns: Turns) -> str:
    """Return what is wrong with the rendered system message; empty if it is correct."""
    try:
        prompt = template(turns, add_generation_prompt=True)
    except TemplateError as error:
        return f"it raises {error}"
    place = 0
    for role, words in _texts(turns):
        found = prompt.find(words, place)
        if found < 0 and role == "system":
            return f"it does not write {words[:60]!r} of the system message"
        if found < 0:
            return "it does not write the system message before the user's words"
        place = found + len(words)
    return "it writes the system message as an assistant's turn" if _as_assistant(template) else ""


def _texts(turns: Turns) -> list[tuple[str, str]]:
    """Return role and text of each text part of system messages and of all turns up to the first user message."""
    first = next((i for i, turn in enumerate(turns) if turn["role"] == "user"), len(turns) - 1)
    read = [turn for i, turn in enumerate(turns) if i <= first or turn["role"] == "system"]
    return [(t["role"], part["text"].strip()) for t in read for part in t["content"] if part["type"] == "text"]


def _as_assistant(template: Template) -> bool:
    """Return whether the template renders a system message as an assistant's turn."""
    system, user = _turn("system", "SYSTEM-WORDS"), _turn("user", "USER-WORDS")
    asked, prompt = (template([user], add_generation_prompt=prompted) for prompted in (False, True))
    if prompt == "USER-WORDS":  # no role is written at all
        return False
    opening = prompt[len(asked) :].strip() if prompt.startswith(asked) else ""
    written = template([system, user])
    if opening:
        return written.partition("SYSTEM-WORDS")[0].rstrip().endswith(opening)
    try:  # a template that only ends the user's turn, as Mistral's
        return written == template([_turn("assistant", "SYSTEM-WORDS"), user])
    except TemplateError:
        return False


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}
