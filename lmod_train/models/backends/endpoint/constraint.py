"""Requests whose reply must be one of the choices, in the forms that servers know."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmod_train.models.backends.endpoint.outcome import without_thinking

KEY = "answer"
"""The only key of a reply in JSON."""


def _choice(replies: Sequence[str]) -> dict[str, Any]:
    return {"structured_outputs": {"choice": list(replies)}}


def _schema(replies: Sequence[str]) -> dict[str, Any]:
    answer = {"type": "string", "enum": list(replies)}
    schema = {"type": "object", "properties": {KEY: answer}, "required": [KEY], "additionalProperties": False}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": KEY, "strict": True, "schema": schema}}}


FORMS: Mapping[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "structured_outputs": _choice,
    "response_format": _schema,
}
"""Field of a request -> function of the allowed replies that returns it. vLLM's is answered by one of them, that of
OpenAI and most servers by JSON. The first that a server obeys is used."""


def obeys(text: str, replies: Sequence[str], form: str) -> bool:
    """Return whether a reply is one of those that were allowed, in one of the `FORMS`.

    Example:
        >>> obeys("Stage: 2", ["Stage: 1", "Stage: 2"], "structured_outputs")
        True
        >>> [obeys(text, ["YES", "NO"], "response_format") for text in ('{"answer": "NO"}', "NO", '{"answer": "OK"}')]
        [True, False, False]
    """
    reply = without_thinking(text)
    if form != "response_format":
        return reply in replies
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() == {KEY} and found[KEY] in replies


def disobeyed(replies: Sequence[str], came: Mapping[str, str]) -> str:
    """Return the error of a server whose replies are none of those that were allowed.

    Args:
        replies: The allowed ones.
        came: Form in which it was asked -> its reply.
    """
    wanted, each = ", ".join(map(repr, replies)), "; ".join(f"{form}: {text[:200]!r}" for form, text in came.items())
    return (
        f"`--model.constrain choices` asked the server for one of {wanted}, and it replied, by field of the request, "
        f"{each}.\nNext: start a server that supports such a field (vLLM, SGLang, LMDeploy do), or ask freely in a new "
        "run with `--model.constrain null`"
    )
