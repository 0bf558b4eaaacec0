"""Test of a server's features with a few requests before the first record."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Likelihoods
from lmod_train.models.backends.endpoint.address import START_IT, Route
from lmod_train.models.backends.endpoint.budget import BY_REQUESTS, UNMETERED
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.constraint import FORMS, disobeyed, obeys
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.likelihood import (
    NO_LIKELIHOODS,
    Method,
    Token,
    closing_tokens,
    prompt_tokens,
    top_tokens,
    turn,
)
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble
from lmod_train.models.backends.endpoint.request import Decoding
from lmod_train.models.backends.endpoint.retries import Asking

QUESTION = "Reply with the one word OK."

OTHERS = ("YES", "NO")
"""The only replies to the question that a constrained request allows."""

NO_PROMPTS = "the server returns no prompt_logprobs"


def _of_reply(body: Any) -> bool:
    return bool(((body["choices"][0].get("logprobs") or {}).get("content")) or ())


def _of_prompt(body: Any) -> bool:
    return bool(body.get("prompt_logprobs") or body["choices"][0].get("prompt_logprobs"))


FEATURES: Mapping[str, tuple[Sequence[Mapping[str, Any]], Callable[[Any], bool]]] = {
    "logprobs": ([{"logprobs": True, "top_logprobs": top} for top in (20, 5)], _of_reply),
    "prompt_logprobs": ([{"prompt_logprobs": 1}], _of_prompt),
}
"""Feature -> request fields, of which the first accepted are used, and test whether the reply contains it, as some
servers ignore unknown fields."""


@dataclass(frozen=True, slots=True)
class Support:
    """Model and features of a server.

    Attributes:
        model: Name of the model, as returned by the server.
        fingerprint: ``system_fingerprint`` of the server; empty if it returns none.
        features: Names of the `FEATURES` it supports.
        method: How likelihoods of the choices are obtained.
        form: Field by which requests are constrained to the choices; empty for free replies.
    """

    model: str
    fingerprint: str
    features: frozenset[str]
    method: Method = NO_LIKELIHOODS
    form: str = ""

    def summary(self, url: str) -> str:
        """Return a summary on one line."""
        known = [f"{name}: {'yes' if name in self.features else 'no'}" for name in FEATURES]
        version = f" ({self.fingerprint})" if self.fingerprint else ""
        details = ", ".join(known) + (f"; {self.method.summary()}" if self.method.summary() else "")
        details += f"; replies constrained to the choices by {self.form}" if self.form else ""
        return f"{url} serves {self.model}{version}; {details}"


async def probe(
    asking: Asking,
    client: Client,
    decoding: Decoding,
    key: Key,
    likelihoods: Likelihoods = "none",
    constrained: bool = False,
) -> Support:
    """Send a test question with the settings of the run, one for each feature, and two for likelihoods by prompts.

    Raises:
        LmodError: The server cannot be reached, refuses every request, or does not constrain replies though it should.
            No record was sent.
    """
    body = {**decoding.fields(), "messages": [{"role": "user", "content": QUESTION}]}
    ended, _, _ = await asking.completed(body)
    if isinstance(ended, Trouble):
        raise LmodError(
            f"base_url={str(client.route)!r}, model={decoding.model!r}: the test question failed: "
            f"{ended.text}. No record was sent.\nNext: {await _cure(ended, client, decoding, key)}"
        )
    if asking.stopped == UNMETERED:
        raise LmodError(f"base_url={str(client.route)!r}: {UNMETERED}. No record was sent.\nNext: {BY_REQUESTS}")
    found = {name: received for name in FEATURES if (received := await _supported(asking, body, name)) is not None}
    method = NO_LIKELIHOODS if likelihoods == "none" else await _method(asking, body, likelihoods, found)
    form = await _form(asking, client, body) if constrained else ""
    return Support(ended.model or decoding.model, ended.fingerprint, frozenset(found), method, form)


async def _form(asking: Asking, client: Client, body: Mapping[str, Any]) -> str:
    """Return the first of the `FORMS` that the server obeys.

    Raises:
        LmodError: It obeys none.
    """
    came: dict[str, str] = {}
    for form, limited in FORMS.items():
        ended, _, _ = await asking.completed({**body, **limited(OTHERS)}, attempts=2)
        if isinstance(ended, Completion) and obeys(ended.text, OTHERS, form):
            return form
        came[form] = ended.text
    raise LmodError(f"base_url={str(client.route)!r}, model={body['model']!r}: {disobeyed(OTHERS, came)}")


async def _supported(asking: Asking, body: Mapping[str, Any], feature: str) -> Any:
    """Return the response that contains a feature; None without one."""
    accepted, holds = FEATURES[feature]
    for fields in accepted:
        ended, _, received = await asking.completed({**body, **fields}, attempts=1)
        if isinstance(ended, Completion):
            return received if isinstance(received, Mapping) and holds(received) else None
    return None


async def _method(asking: Asking, body: Mapping[str, Any], kind: Likelihoods, found: Mapping[str, Any]) -> Method:
    """Return how likelihoods are obtained, with what these responses to the test question contain."""
    prompt = prompt_tokens(found.get("prompt_logprobs"))
    if prompt and (closing := await _closing(asking, body, prompt)):
        return Method(kind, "prompt_logprobs", closing, prompt[-1].id)
    why = (
        "tokens of prompt and reply merge in its chat template, or replies have no end token" if prompt else NO_PROMPTS
    )
    top = top_tokens(found.get("logprobs"))
    if top < 2:
        return Method(kind, missing=f"{why}; the server returns no top logprobs")
    if kind == "mean":
        return Method(kind, missing=f"{why}; by top logprobs there is only the sum")
    return Method(kind, "logprobs", top=top)


async def _closing(asking: Asking, body: Mapping[str, Any], prompt: Sequence[Token]) -> int:
    """Return the number of tokens after a reply, see `closing_tokens`."""
    read = []
    for begun in (True, False):
        ended, _, received = await asking.completed(turn(body, body["messages"], "OK", begun), attempts=1)
        read.append(prompt_tokens(received) if isinstance(ended, Completion) else [])
    return closing_tokens(prompt, *read)


async def _cure(trouble: Trouble, client: Client, decoding: Decoding, key: Key) -> str:
    if trouble.unreachable:
        return f"{START_IT}{_unused_proxy(client.route)}"
    if trouble.text.startswith(("HTTP 401", "HTTP 403")):
        return f"set a valid key in the environment: `export {key.variable or 'OPENAI_API_KEY'}=...`"
    if "too large" in trouble.text or "context length" in trouble.text:
        return (
            f"add `--model.backend.max_new_tokens {max(1, decoding.max_new_tokens // 2)}` or less, or start the server "
            "with a longer context (vLLM: `--max-model-len`)"
        )
    if "no finish reason" in trouble.text:
        return "if the server never states one, add `--model.backend.ending_stated false`"
    if trouble.text.startswith("HTTP 3"):
        return "name the address that it redirects to as `--model.backend.base_url`"
    unknown = [name for name in decoding.extra if name in trouble.text]
    if unknown:
        return f"remove {', '.join(unknown)} from `--model.backend.extra`"
    if "max_completion_tokens" in trouble.text or "max_tokens" in trouble.text:
        return f"add `--model.backend.rules {'classic' if decoding.reasoning else 'reasoning'}`"
    if "temperature" in trouble.text:
        return "add `--model.backend.rules no_temperature`"
    listed = await client.models()
    known = f" (the server lists: {', '.join(listed[:8])})" if listed else ""
    return f"correct `--model.backend.base_url` or `--model.backend.model`{known}"


def _unused_proxy(route: Route) -> str:
    """Return how a proxy that the environment names is used, as only one that is typed is; empty if there is none."""
    names = [
        name for scheme in (route.url.split(":")[0], "all") for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper())
    ]
    given = [name for name in names if os.environ.get(name)]
    if route.proxy or not given:
        return ""
    return f'; or, as {given[0]} of the environment is not used, add `--model.backend.proxy "${given[0]}"`'
