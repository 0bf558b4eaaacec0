"""How one attempt ends: a completion that counts as a reply, or a trouble and what to do about it.

A server is a stranger: nothing of what it sends is taken to be of the expected shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lmod_train.types import Ending

_ENDINGS: dict[str, Ending] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    "content_filter": "content_filter",
    "refusal": "refusal",
}
"""How servers name the end of a reply -> how it ended; other reasons (tool calls, errors) are no reply."""

_LATER = {408, 409, 425, 429}
_SLOWER = {429, 503, 529}
_NEVER_ANY = {401, 402}
LONGEST = 300
"""Characters of a server's message that an error quotes."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a server replied.

    Attributes:
        text: Of the reply; hidden thinking that the server shows stands before it in ``<think>`` tags.
        ending: ``stop``, ``length`` (cut off), ``content_filter`` (withheld or cut off by the service), ``refusal``
            (declined; `text` is the refusal).
        model: As the server names it.
        fingerprint: ``system_fingerprint``; empty where the server sends none.
        tokens_in: Of the prompt.
        tokens_out: Generated, hidden thinking included.
    """

    text: str
    ending: Ending
    model: str = ""
    fingerprint: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an attempt brought no reply.

    Attributes:
        text: In one line.
        again: Whether the same request may succeed later.
        slower: Whether fewer requests at once are asked for (429, 503, a time-out).
        wait: Seconds that the server asks to wait.
        hopeless: Whether every other request will fail in the same way: a wrong key, an empty account.
        unreachable: Whether there was no connection to the server.
    """

    text: str
    again: bool = False
    slower: bool = False
    wait: float = 0.0
    hopeless: bool = False
    unreachable: bool = False


def completion_of(body: Any, stated: bool = True) -> Completion | Trouble:
    """Return what a body with status 200 says.

    A reply whose ending is not stated is a half one, as of a stream that broke off; an empty list of choices and an
    error in place of a reply occur with status 200 too. They are asked again.

    Args:
        body: Parsed JSON, of any shape.
        stated: Whether the server states how a reply ended; of one that never does, a reply without it is whole.

    Example:
        >>> completion_of({"choices": [{"message": {"content": "YES"}, "finish_reason": "stop"}]}).text
        'YES'
        >>> completion_of({"choices": [{"message": {"content": "YE"}, "finish_reason": None}]}).text
        'half a reply: the server did not state how it ended'
    """
    if not isinstance(body, Mapping):
        return Trouble(f"not a completion: {_quoted(body)}", again=True)
    if body.get("error"):
        return Trouble(f"an error in place of a reply: {message_of(body)}", again=True)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return Trouble("no choices in the reply", again=True)
    return _of_choice(choices[0], body, stated)


def _of_choice(choice: Mapping[str, Any], body: Mapping[str, Any], stated: bool) -> Completion | Trouble:
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return Trouble("a choice without a message", again=True)
    reason = choice.get("finish_reason") or ("" if stated else "stop")
    if not isinstance(reason, str) or not reason:
        return Trouble("half a reply: the server did not state how it ended", again=True)
    ending = _ENDINGS.get(reason.lower())
    if ending is None:
        return Trouble(f"a reply that ended with {_quoted(reason)}, which is no end of a text", again=True)
    text = f"{_thinking(message)}{_text(message.get('content'))}"
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        text, ending = _word(message["refusal"]), "refusal"
    used = body.get("usage")
    usage: Mapping[str, Any] = used if isinstance(used, Mapping) else {}
    return Completion(
        text,
        ending,
        _word(body.get("model")),
        _word(body.get("system_fingerprint")),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def _text(content: object) -> str:
    """Return the text of a message, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(_word(part.get("text")) for part in content if isinstance(part, Mapping))
    return _word(content)


def _thinking(message: Mapping[str, Any]) -> str:
    """Return thinking that the server sends apart, in the tags that parsers take off; empty for none."""
    thought = _word(message.get("reasoning_content") or message.get("reasoning"))
    return f"<think>{thought}</think>" if thought.strip() else ""


def _word(value: object) -> str:
    """Return a text that a file can hold: halves of surrogate pairs, which JSON can carry, become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def refused_status(status: int, headers: Mapping[str, str], body: str) -> Completion | Trouble:
    """Return what a status of 400 or more means.

    A prompt that the service's filter withheld is a refusal, not a failure (Azure: 400 with code ``content_filter``).

    Args:
        status: Of HTTP.
        headers: Of the response, names in small letters.
        body: Its text, the key removed.

    Example:
        >>> refused_status(429, {"retry-after": "3"}, "").wait
        3.0
        >>> refused_status(400, {}, '{"error": {"code": "content_filter", "message": "no"}}').ending
        'content_filter'
    """
    parsed = _json(body)
    code = _code(parsed)
    if status == 400 and code in ("content_filter", "content_policy_violation"):
        return Completion("", "content_filter")
    text = f"HTTP {status}: {message_of(parsed) if parsed is not None else _quoted(body)}"
    if code in ("insufficient_quota", "billing_hard_limit_reached"):
        return Trouble(text, hopeless=True)
    again = status in _LATER or status >= 500
    wait = wait_of(headers) if again else 0.0
    return Trouble(text, again, status in _SLOWER, wait, hopeless=status in _NEVER_ANY)


def wait_of(headers: Mapping[str, str]) -> float:
    """Return the seconds that ``retry-after-ms`` or ``Retry-After`` (seconds or a date) ask for; 0 for none."""
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


def _positive(seconds: float) -> float:
    return seconds if 0 < seconds < float("inf") else 0.0


def message_of(body: Any) -> str:
    """Return the message of an error's body in one line, in whatever shape it came."""
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
