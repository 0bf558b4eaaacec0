"""Results of single requests: a completion, or a failure with the way to handle it.

Servers are not trusted: nothing they send is assumed to have the expected structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Ending

_ENDINGS: dict[str, Ending] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    "content_filter": "content_filter",
    "refusal": "refusal",
}
"""Finish reason of a server -> ending; with other reasons (tool calls, errors) there is no reply."""

_WITHHELD = {"content_filter", "content_policy_violation", "invalid_prompt", "image_content_policy_violation"}
"""Codes of a prompt that a service's filter refuses: Azure, OpenAI, OpenAI's reasoning models, images."""

_LATER = {408, 409, 425, 429}
_SLOWER = {429, 503, 529}
_NEVER_ANY = {401, 402}
_OWN = {400, 413, 422}
LONGEST = 300
"""Maximum characters of a server's message in an error."""

MOST_TOKENS = 10**9
"""Number of tokens of a request above which what a server states is not believed."""

NO_CONTENT: str = package_data(__file__, "texts.yaml")["no_content"]
REASONING_ONLY: str = package_data(__file__, "texts.yaml")["reasoning_only"]
"""Errors of a complete reply without a text: the server has lost it, or took all of it for reasoning."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Number of prompt tokens, and of generated tokens, including hidden reasoning."""

    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a server.

    Attributes:
        text: Text of the reply, after the model's reasoning in ``<think>`` tags if the server returns it.
        ending: ``stop``, ``length`` (cut off), ``content_filter`` (withheld or cut off by the service), ``refusal``
            (declined; `text` is the refusal).
        model: Name of the model, as returned by the server.
        fingerprint: ``system_fingerprint``; empty if the server returns none.
        usage: Tokens of the request; None if the server does not state them.
    """

    text: str
    ending: Ending
    model: str = ""
    fingerprint: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """The failure of a request.

    Attributes:
        text: Description on one line.
        again: Whether the same request may succeed later.
        slower: Whether to send fewer concurrent requests (429, 503, a time-out).
        wait: Seconds to wait, as requested by the server.
        hopeless: Whether all other requests will fail too, e.g. because of a wrong key or an empty account.
        unreachable: Whether there was no connection to the server.
        own: Whether the request itself was refused (400, 413, 422), which others need not be.
        sent: Whether the request was sent at all; not after the command has stopped asking.
        usage: Tokens that the server states although it returned no reply.
        unread: Whether the server replied, and may charge for it, but the reply cannot be read.
    """

    text: str
    again: bool = False
    slower: bool = False
    wait: float = 0.0
    hopeless: bool = False
    unreachable: bool = False
    own: bool = False
    sent: bool = True
    usage: Usage | None = None
    unread: bool = False


def completion_of(body: Any, stated: bool = True) -> Completion | Trouble:
    """Return the result of a response with status 200.

    A reply without a finish reason is incomplete, e.g. as the stream broke off. An empty list of choices and an error
    instead of a reply also occur with status 200. In these cases the request is repeated; after two replies that cannot
    be read not in the same command, as both may have been paid for.

    A reply of no text (``""``) is one: the model said nothing. Where there is no text at all (``null``, or only
    reasoning) although the reply is said to be complete, the server has lost it, and the request has failed.

    Args:
        body: Parsed JSON of any structure.
        stated: Whether the server returns finish reasons; if not, a reply without one is complete.

    Example:
        >>> completion_of({"choices": [{"message": {"content": "YES"}, "finish_reason": "stop"}]}).text
        'YES'
        >>> completion_of({"choices": [{"message": {"content": "YE"}, "finish_reason": None}]}).text
        'incomplete reply: the server returned no finish reason'
    """
    if not isinstance(body, Mapping):
        return Trouble(f"not a completion: {_quoted(body)}", again=True, unread=True)
    if body.get("error"):
        return Trouble(f"an error instead of a reply: {message_of(body)}", again=True)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return Trouble("no choices in the reply", again=True, unread=True)
    return _of_choice(choices[0], body, stated)


def _of_choice(choice: Mapping[str, Any], body: Mapping[str, Any], stated: bool) -> Completion | Trouble:
    message = choice.get("message")
    reason = choice.get("finish_reason") or ("" if stated else "stop")
    if not isinstance(reason, str) or not reason:
        return Trouble("incomplete reply: the server returned no finish reason", again=True, unread=True)
    ending = _ENDINGS.get(reason.lower())
    if ending is None:
        return Trouble(f"unexpected finish reason {_quoted(reason)}", again=True, unread=True)
    if not isinstance(message, Mapping):
        if ending != "content_filter":
            return Trouble("a choice without a message", again=True, unread=True)
        message = {}  # Gemini: a reply that is withheld has none
    reasoning, content, usage = reasoning_of(message), message.get("content"), usage_of(body)
    text = f"<think>{reasoning}</think>{text_of(content)}" if reasoning else text_of(content)  # parsers remove the tags
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        text, ending = _word(message["refusal"]), "refusal"
    elif ending == "stop" and not text_of(content).strip() and (reasoning or not _has_text(content)):
        return Trouble(REASONING_ONLY if reasoning else NO_CONTENT, usage=usage)
    return Completion(text, ending, _word(body.get("model")), _word(body.get("system_fingerprint")), usage)


def usage_of(body: Any) -> Usage | None:
    """Return the tokens that a response states; None if they are missing or no counts.

    Whole numbers may be written as a float or a text, as some servers do.

    Example:
        >>> usage_of({"usage": {"prompt_tokens": "100", "completion_tokens": 2.0}})
        Usage(tokens_in=100, tokens_out=2)
        >>> usage_of({"usage": {"prompt_tokens": 100}}) is None
        True
    """
    stated = body.get("usage") if isinstance(body, Mapping) else None
    if not isinstance(stated, Mapping):
        return None
    prompt, reply = _count(stated.get("prompt_tokens")), _count(stated.get("completion_tokens"))
    return None if prompt is None or reply is None else Usage(prompt, reply)


def _has_text(content: object) -> bool:
    """Return whether a message has a text, which may be empty; ``null`` and a list of no text part are none."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return any(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in parts)


def text_of(content: object) -> str:
    """Return the text of a message, which some servers return as a list of parts."""
    if isinstance(content, list):
        return "".join(_word(part.get("text")) for part in content if isinstance(part, Mapping))
    return _word(content)


def reasoning_of(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server returns beside the content; empty if there is none."""
    thought = _word(message.get("reasoning_content") or message.get("reasoning"))
    return thought if thought.strip() else ""


def without_thinking(text: str) -> str:
    """Return a reply without separately returned reasoning.

    Example:
        >>> without_thinking("<think>It may be</think> YES")
        'YES'
    """
    return text.rpartition("</think>")[2].strip()


def _word(value: object) -> str:
    """Return a text that can be written as UTF-8, with lone surrogates replaced by question marks."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    """Return a number of tokens; None if it is none, or one that no model has."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def refused_status(status: int, headers: Mapping[str, str], body: str) -> Completion | Trouble:
    """Return the result of a response with status 400 or higher.

    A prompt blocked by the service's content filter is a completion, not a failure (400 with code ``content_filter`` of
    Azure, ``invalid_prompt`` of OpenAI's reasoning models).

    Args:
        status: HTTP status.
        headers: Headers of the response, names in lower case.
        body: Text of the response, with the key removed.

    Example:
        >>> refused_status(429, {"retry-after": "3"}, "").wait
        3.0
        >>> refused_status(400, {}, '{"error": {"code": "content_filter", "message": "no"}}').ending
        'content_filter'
    """
    parsed = _unlisted(_json(body))
    code = _code(parsed)
    if status == 400 and code in _WITHHELD:
        return Completion("", "content_filter")
    text = f"HTTP {status}: {message_of(parsed) if parsed is not None else _quoted(body)}"
    if code in ("insufficient_quota", "billing_hard_limit_reached"):
        return Trouble(text, hopeless=True)
    again = status in _LATER or status >= 500
    wait = (wait_of(headers) or _stated_wait(parsed)) if again else 0.0
    return Trouble(text, again, status in _SLOWER, wait, hopeless=status in _NEVER_ANY, own=status in _OWN)


def wait_of(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or a date); 0 if absent."""
    try:
        if "retry-after-ms" in headers:
            return _positive(float(headers["retry-after-ms"]) / 1000)
        return _positive(float(headers.get("retry-after", "0")))
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(headers["retry-after"])
        return _positive((then - datetime.now(UTC)).total_seconds())
    except (KeyError, ValueError, TypeError):
        return 0.0


def _unlisted(body: Any) -> Any:
    """Return the only entry of a list, as which Gemini returns an error; anything else as it is."""
    return body[0] if isinstance(body, list) and len(body) == 1 else body


def _stated_wait(body: Any) -> float:
    """Return the seconds to wait by Google's ``RetryInfo`` in the body of an error; 0 if absent."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        stated = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(stated, str) and re.fullmatch(r"\d{1,6}(\.\d{1,9})?s", stated):
            return _positive(float(stated[:-1]))
    return 0.0


def _positive(seconds: float) -> float:
    return seconds if 0 < seconds < float("inf") else 0.0


def message_of(body: Any) -> str:
    """Return the error message in a response of any structure, on one line."""
    error = body.get("error", body.get("detail", body)) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        error = error.get("message") or error
    return _quoted(error)


def _code(body: Any) -> str:
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error.get("code") or "") if isinstance(error, Mapping) else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _quoted(value: object) -> str:
    text = _word(" ".join((value if isinstance(value, str) else json.dumps(value, default=str)).split()))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
