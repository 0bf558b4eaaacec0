"""Log-likelihoods of the choices, from the log-probabilities that a server returns.

A server is not trusted: log-probabilities of an unexpected structure, or not of every choice, give no likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from lmod_train.core.types import Likelihoods
from lmod_train.models.backends.endpoint.outcome import reasoning_of, text_of, without_thinking

LOWEST = -1e6
"""Lowest log-probability of a token; vLLM returns -9999 for minus infinity."""


@dataclass(frozen=True, slots=True)
class Method:
    """How likelihoods are obtained from a server.

    Attributes:
        kind: Sum or mean over the tokens of a reply and its end token; ``none`` for no likelihoods.
        by: ``prompt_logprobs``: one request per choice, with the choice as the assistant's turn (exact).
            ``logprobs``: the top log-probabilities of the generated reply, at the first token in which the choices
            differ. ``none`` if the server returns neither.
        closing: Number of tokens that the chat template writes after a reply; the first is the end token.
        last: Id of the last token of a generation prompt; it is another one in a conversation where it merges with the
            reply (": " and "GLAUCOMA" may become ":" and " GLAUCOMA").
        top: Number of top log-probabilities to request.
        missing: Reason why there are none; empty if there are.
    """

    kind: Likelihoods = "none"
    by: Literal["prompt_logprobs", "logprobs", "none"] = "none"
    closing: int = 1
    last: str = ""
    top: int = 0
    missing: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the fields of the request that generates a reply."""
        return {"logprobs": True, "top_logprobs": self.top} if self.by == "logprobs" else {}

    def summary(self) -> str:
        """Return a description for the line on the server; empty if no likelihoods are requested."""
        if self.kind == "none":
            return ""
        return {
            "prompt_logprobs": f"likelihoods: {self.kind} of prompt_logprobs, a request per choice",
            "logprobs": f"likelihoods: by the top {self.top} logprobs of the first token in which the choices differ, "
            "for records with all choices among them",
            "none": f"likelihoods: none ({self.missing})",
        }[self.by]


NO_LIKELIHOODS = Method()
"""The method of a run without likelihoods."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a prompt: its id, log-probability (0 for the first, which has none), and text."""

    id: str
    logprob: float
    text: str


def prompt_tokens(body: Any) -> list[Token]:
    """Return the tokens of a prompt with vLLM's ``prompt_logprobs``; [] if they are absent or malformed.

    Each entry maps token ids to log-probabilities: of the prompt's token, and with ``prompt_logprobs: 1`` also of the
    likeliest one, which has the lowest rank.

    Example:
        >>> entry = {"7": {"logprob": -2.5, "rank": 9, "decoded_token": "a"}, "3": {"logprob": -0.1, "rank": 1}}
        >>> prompt_tokens({"prompt_logprobs": [None, entry]})[1]
        Token(id='7', logprob=-2.5, text='a')
    """
    try:
        listed = body.get("prompt_logprobs") or body["choices"][0].get("prompt_logprobs") or []
        return [Token("", 0.0, "") if i == 0 else _token(entry) for i, entry in enumerate(listed)]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return []


def _token(entry: Mapping[str, Mapping[str, Any]]) -> Token:
    id, found = max(entry.items(), key=lambda item: item[1].get("rank") or 0)
    return Token(id, _number(found["logprob"]), str(found.get("decoded_token") or ""))


def _number(value: Any) -> float:
    if not (isinstance(value, int | float) and LOWEST <= value <= 1e-3):
        raise ValueError(f"{value!r} is not a log-probability")
    return float(value)


def turn(
    fields: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], text: str, begun: bool = False
) -> dict[str, Any]:
    """Return the request for the log-probabilities of a conversation with `text` as the assistant's turn.

    Args:
        fields: Fields of the requests of the run.
        messages: The question.
        text: The reply.
        begun: Whether the turn is left open, without its end token.
    """
    length = next(name for name in ("max_completion_tokens", "max_tokens") if name in fields)
    whole = {"add_generation_prompt": False, "continue_final_message": begun, "prompt_logprobs": 1}
    replied = [*messages, {"role": "assistant", "content": text}]
    return {**fields, length: 1, **whole, "messages": replied}


def closing_tokens(prompt: Sequence[Token], begun: Sequence[Token], closed: Sequence[Token]) -> int:
    """Return the number of tokens that a chat template writes after a reply, from three renderings of one question.

    Args:
        prompt: Tokens of the generation prompt.
        begun: Tokens of the conversation up to the last word of a reply.
        closed: Tokens of the conversation with the complete reply.

    Returns:
        The number; 0 if the reply has no end token, or if tokens of the prompt change when a reply follows, as their
        log-probability is then not that of a reply to the prompt.
    """
    ids = [[token.id for token in tokens] for tokens in (prompt, begun, closed)]
    grows = len(ids[0]) < len(ids[1]) < len(ids[2])
    if not grows or ids[1][: len(ids[0])] != ids[0] or ids[2][: len(ids[1])] != ids[1]:
        return 0
    return len(closed) - len(begun) if closed[len(begun)].text.strip() else 0


def of_prompts(bodies: Mapping[str, Any], prompt: int, method: Method) -> dict[str, float]:
    """Return the log-likelihood of each choice; {} unless all are known.

    Args:
        bodies: Choice -> response to the conversation with this choice as the reply.
        prompt: Number of tokens of the generation prompt.
        method: Kind, number of closing tokens, and last token of the generation prompt.
    """
    read = {choice: prompt_tokens(body) for choice, body in bodies.items()}
    replies = {c: tokens[prompt : len(tokens) - method.closing + 1] for c, tokens in read.items()}
    prompts = {tuple(token.id for token in tokens[:prompt]) for tokens in read.values()}
    if not prompt or len(prompts) != 1 or any(len(tokens) < 2 for tokens in replies.values()):
        return {}
    if {ids[-1] for ids in prompts} != {method.last}:
        return {}
    sums = {c: math.fsum(token.logprob for token in tokens) for c, tokens in replies.items()}
    return {c: round(s / (len(replies[c]) if method.kind == "mean" else 1), 6) for c, s in sums.items()}


def of_reply(body: Any, texts: Mapping[str, str]) -> dict[str, float]:
    """Return the log-likelihood of each choice up to the first token in which it differs from all others.

    Follows the tokens that spell the reply as long as it is the beginning of several choices. At each of them, every
    choice takes the longest of the top tokens that it begins with. Tokens of reasoning before the reply do not count.

    Args:
        body: Response with ``logprobs``.
        texts: Choice -> reply in the requested format.

    Returns:
        Choice -> log-likelihood; {} unless all choices are found: the reply is in another format, no tokens spell it, a
        choice is not among the top tokens, or two share a token that was not generated ("1" and "10" where digits are
        tokens).
    """
    left = {choice: text.encode() for choice, text in texts.items()}
    found: dict[str, float] = {}
    common = 0.0
    for chosen, logprob, top in _reply_tokens(body):
        if not chosen:
            continue
        taken = {c: _longest(rest, top) for c, rest in left.items()}
        shared = [c for c in left if _is_shared(c, taken, left)]
        if None in taken.values() or any(taken[c] != chosen for c in shared):
            return {}
        found |= {c: common + top[token] for c, token in taken.items() if token is not None and c not in shared}
        if not shared:
            return {choice: round(found[choice], 6) for choice in texts}
        left, common = {c: left[c][len(chosen) :] for c in shared}, common + logprob
    return {}


def _is_shared(choice: str, taken: Mapping[str, bytes | None], left: Mapping[str, bytes]) -> bool:
    """Return whether another choice takes the same token, or begins with one that does not complete this choice."""
    token, others = taken[choice], [c for c in left if c != choice]
    begun = token is not None and token != left[choice] and any(left[c].startswith(token) for c in others)
    return begun or any(taken[c] == token for c in others)


def _longest(rest: bytes, top: Mapping[bytes, float]) -> bytes | None:
    return max((token for token in top if token and rest.startswith(token)), key=len, default=None)


def _reply_tokens(body: Any) -> list[tuple[bytes, float, dict[bytes, float]]]:
    """Return the tokens that spell a reply: bytes, log-probability, and those of the top tokens.

    They are the last ones that spell the content of the message, without reasoning in tags; [] if there are none, or
    the log-probabilities are absent or malformed.
    """
    try:
        read: list[tuple[bytes, float, dict[bytes, float]]] = []
        choice = body["choices"][0]
        for entry in _spelling(choice["logprobs"]["content"], choice["message"]):
            read.append(_reply_token(entry, first=not any(chosen for chosen, _, _ in read)))
        return read
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return []


def _spelling(entries: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the entries from the first to the last token of the content; none unless they spell exactly this text.

    Where other tokens stand before them, these must be the reasoning that the server returns beside the content, or end
    with a mark such as ``</think>``: words that only the reasoning spells are not those of the content.
    """
    content = without_thinking(text_of(message.get("content"))).encode()
    ends = list(accumulate(len(_bytes(entry, first=False)) for entry in entries))
    whole = b"".join(_bytes(entry, first=False) for entry in entries)
    at = whole.rfind(content)
    begun, before = at + len(content), whole[: max(at, 0)].strip()
    ended = before.endswith((reasoning_of(message).strip().encode() or b">", b">", b"]"))
    if at < 0 or not content or (before and not ended):
        return []
    first = next(i for i, end in enumerate(ends) if end > at)
    last = next(i for i, end in enumerate(ends) if end >= begun)
    if whole[ends[first] - len(_bytes(entries[first], first=False)) : at].strip():
        return []  # the content begins within a token
    return entries[first : last + 1]


def _reply_token(entry: Mapping[str, Any], first: bool) -> tuple[bytes, float, dict[bytes, float]]:
    """Return a token; `first` if it follows nothing but white space, which is removed from its start."""
    chosen, logprob = _bytes(entry, first), _number(entry["logprob"])
    top: dict[bytes, float] = {}
    for other in entry["top_logprobs"]:
        name = _bytes(other, first)
        top[name] = max(_number(other["logprob"]), top.get(name, -math.inf))
    return chosen, logprob, {chosen: logprob} | top


def _bytes(entry: Mapping[str, Any], first: bool) -> bytes:
    given = entry.get("bytes")
    data = bytes(given) if isinstance(given, list) else str(entry["token"]).encode()
    return data.lstrip() if first else data


def top_tokens(body: Any) -> int:
    """Return the number of top log-probabilities of the first token of a reply; 0 if there are none."""
    return len(body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) if _reply_tokens(body) else 0
