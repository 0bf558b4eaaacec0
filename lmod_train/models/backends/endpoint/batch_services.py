"""Batch interfaces of services: requests are left there, and answered within a day at half price.

Two are known: that of OpenAI (a file of requests, ``/batches``), which other servers and vendors have too, and that of
Anthropic (``/messages/batches``), with messages in its own form. What a service sends is not trusted: ids are checked
before they become a part of a path, and no address that it names is followed.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, completion_of, message_of, refused_status

SHARE_PAID = 0.5
"""Share of the price of a single request that both services take for one in a batch."""

MOST_RESULTS = 2**30
"""Maximum bytes of the results of a batch."""

PACE = 1e5
"""Slowest bytes a second of a file that is sent or read, before it is given up."""

PAGES = 50
"""Maximum pages of a list of batches."""

_ID = re.compile(r"[A-Za-z0-9][\w-]{0,127}")

CLOCKS = 600.0
"""Seconds by which the clocks of this machine and of a service may differ."""


@dataclass(frozen=True)
class Batches:
    """Whether requests are left at a service as batches; may change when a run is continued.

    Attributes:
        interface: ``openai`` (``/files`` and ``/batches``), ``anthropic`` (``/messages/batches``), or ``none`` for
            single requests.
        wait: Minutes to wait for the replies before the command leaves; the same command collects them later.
        requests: Maximum number of requests in a batch (OpenAI: 50,000, Anthropic: 100,000).
        megabytes: Maximum size of a batch (OpenAI: 200, Anthropic: 256).
    """

    interface: Literal["none", "openai", "anthropic"] = "none"
    wait: float = 0.0
    requests: int = 10_000
    megabytes: float = 100.0

    def __post_init__(self) -> None:
        for name, least in (("wait", 0.0), ("requests", 1), ("megabytes", 0.001)):
            if not getattr(self, name) >= least:
                cure = f"remove batches.{name} to use its default"
                raise BadArgument(f"batches.{name}", getattr(self, name), f"a number from {least:g}", cure)


class Refused(Exception):
    """A service did not do what it was asked.

    Attributes:
        trouble: Why.
    """

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.text)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class State:
    """Whether a batch has ended, how in the words of the service, and how many of its requests are done."""

    ended: bool
    text: str
    done: int = 0


class Service(ABC):
    """A batch interface of one server.

    Args:
        client: Client that sends the requests.
        key: API key, which is read when it is sent.
    """

    def __init__(self, client: Client, key: Key) -> None:
        self._client, self._key = client, key

    def _headers(self) -> Mapping[str, str]:
        """Return the headers besides those of every request, or empty in place of them."""
        return {}

    @abstractmethod
    def line(self, id: str, body: Mapping[str, Any]) -> bytes:
        """Return one request of a batch.

        Args:
            id: Its id, of at most 64 letters, digits and dashes.
            body: Fields of a chat-completions request.
        """

    @abstractmethod
    async def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """Create a batch of requests, and return its id.

        Args:
            lines: The requests.
            mark: Text by which the batch can be found again, if the service stores one.

        Raises:
            Refused: It was not created, or it is not known whether it was (`Trouble.again`).
        """

    @abstractmethod
    async def find(self, mark: str, since: float, requests: int) -> list[str]:
        """Return the ids of batches that may be the one that was to be created, if it was.

        Args:
            mark: Its mark.
            since: Time from which it was created, seconds since 1970.
            requests: Number of its requests.
        """

    @abstractmethod
    async def state(self, batch: str) -> State:
        """Return the state of a batch."""

    @abstractmethod
    async def results(self, batch: str) -> list[Mapping[str, Any]]:
        """Return the results of a batch that has ended, the key removed."""

    @abstractmethod
    def outcome(self, line: Mapping[str, Any]) -> tuple[str, Completion | Trouble]:
        """Return the id of a request, and its outcome."""

    async def _json(self, method: str, path: str, content: bytes = b"", more: Mapping[str, str] | None = None) -> Any:
        timeout = len(content) / PACE if len(content) > 60 * PACE else 0.0
        text = await self._client.exchange(method, path, content, {**self._headers(), **(more or {})}, timeout=timeout)
        if not isinstance(text, str):
            raise Refused(text if isinstance(text, Trouble) else Trouble("refused by a content filter"))
        try:
            body = self._client.read(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise Refused(Trouble(f"{path}: not a JSON object", again=True))
        return body

    async def _lines(self, path: str) -> list[Mapping[str, Any]]:
        """Return the lines of a file, of which those that are no JSON objects are left out: their requests fail."""
        text = await self._client.exchange(
            "GET", path, more=self._headers(), most=MOST_RESULTS, timeout=MOST_RESULTS / PACE
        )
        if not isinstance(text, str):
            raise Refused(text if isinstance(text, Trouble) else Trouble("refused by a content filter"))
        found = []
        for line in filter(str.strip, text.split("\n")):
            with suppress(ValueError, RecursionError):
                found.append(self._client.read(line))
        return [line for line in found if isinstance(line, Mapping)]

    async def _pages(self, path: str, after: str) -> list[Mapping[str, Any]]:
        """Return the entries of a list of batches, the latest first."""
        found: list[Mapping[str, Any]] = []
        last = ""
        for _ in range(PAGES):
            page = await self._json("GET", f"{path}?limit=100" + (f"&{after}={last}" if last else ""))
            found += [one for one in page.get("data") or () if isinstance(one, Mapping) and _ID.fullmatch(_id(one))]
            if not page.get("has_more") or not found or _id(found[-1]) == last:
                break
            last = _id(found[-1])
        return found


def _id(entry: Mapping[str, Any]) -> str:
    return str(entry.get("id") or "")


def checked_id(entry: Mapping[str, Any], name: str = "id") -> str:
    """Return an id that a service states.

    Raises:
        Refused: It is none, and may not be a part of a path.
    """
    found = entry.get(name)
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise Refused(Trouble(f"the service states no {name}", again=True))
    return found


class OpenAIBatches(Service):
    """OpenAI's interface, of which the files, ``/batches`` and the limits are those of its reference of 2026."""

    _ENDED: ClassVar = ("completed", "failed", "expired", "cancelled")

    def line(self, id: str, body: Mapping[str, Any]) -> bytes:
        """Return a line of the file of requests."""
        request = {"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(request).encode()

    async def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """Send the file, and create its batch."""
        edge = f"lmod-{mark}"
        parts = [
            f"--{edge}",
            'Content-Disposition: form-data; name="purpose"',
            "",
            "batch",
            f"--{edge}",
            f'Content-Disposition: form-data; name="file"; filename="{mark}.jsonl"',
            "Content-Type: application/jsonl",
            "",
            "",
        ]
        head = "\r\n".join(parts)
        content = head.encode() + b"\n".join(lines) + f"\r\n--{edge}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        try:
            file = checked_id(await self._json("POST", "/files", content, kind))
        except Refused as refused:  # a file alone costs nothing
            raise Refused(Trouble(f"the file of requests was not taken: {refused}")) from refused
        wanted = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        body = json.dumps({**wanted, "metadata": {"lmod_train": mark}}).encode()
        return checked_id(await self._json("POST", "/batches", body))

    async def find(self, mark: str, since: float, requests: int) -> list[str]:
        """Return the batch with the mark among its metadata."""
        every = await self._pages("/batches", "after")
        return [_id(one) for one in every if _part(one, "metadata").get("lmod_train") == mark]

    async def state(self, batch: str) -> State:
        """Return the state of a batch."""
        body = await self._json("GET", f"/batches/{batch}")
        text, errors = str(body.get("status")), _part(body, "errors").get("data")
        if text == "failed" and isinstance(errors, list) and errors:
            return State(True, f"failed: {message_of(errors[0])}")
        return State(text in self._ENDED, text, _counted(body, "completed", "failed"))

    async def results(self, batch: str) -> list[Mapping[str, Any]]:
        """Return the lines of the files of replies and of errors."""
        body = await self._json("GET", f"/batches/{batch}")
        names = [name for name in ("output_file_id", "error_file_id") if body.get(name)]
        files = [await self._lines(f"/files/{checked_id(body, name)}/content") for name in names]
        return [line for lines in files for line in lines]

    def outcome(self, line: Mapping[str, Any]) -> tuple[str, Completion | Trouble]:
        """Return the outcome of a line: a response with its status, or an error."""
        id, response = str(line.get("custom_id")), line.get("response")
        if not isinstance(response, Mapping):
            return id, Trouble(f"in a batch: {message_of(line)}", again=True)
        status, body = response.get("status_code"), response.get("body")
        if status != 200:
            return id, refused_status(status if isinstance(status, int) else 500, {}, json.dumps(body))
        return id, completion_of(body)


class AnthropicBatches(Service):
    """Anthropic's interface, of which paths, states and limits are those of its reference of 2026."""

    def _headers(self) -> Mapping[str, str]:
        return {"x-api-key": self._key.value(), "anthropic-version": "2023-06-01", "Authorization": ""}

    def line(self, id: str, body: Mapping[str, Any]) -> bytes:
        """Return an entry of the list of requests, with the messages in Anthropic's form."""
        return json.dumps({"custom_id": id, "params": as_messages(body)}).encode()

    async def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """Create a batch; it stores no mark."""
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        return checked_id(await self._json("POST", "/messages/batches", content))

    async def find(self, mark: str, since: float, requests: int) -> list[str]:
        """Return the batches of as many requests since then; whose they are is known by the ids in their results."""
        every = await self._pages("/messages/batches", "after_id")
        return [_id(one) for one in every if _created(one) >= since - CLOCKS and _counted(one) == requests]

    async def state(self, batch: str) -> State:
        """Return the state of a batch."""
        body = await self._json("GET", f"/messages/batches/{batch}")
        text = str(body.get("processing_status"))
        return State(text == "ended", text, _counted(body) - _counted(body, "processing"))

    async def results(self, batch: str) -> list[Mapping[str, Any]]:
        """Return the lines of results."""
        return await self._lines(f"/messages/batches/{batch}/results")

    def outcome(self, line: Mapping[str, Any]) -> tuple[str, Completion | Trouble]:
        """Return the outcome of a line: a message, or that its request was errored, canceled or expired."""
        id, result = str(line.get("custom_id")), line.get("result")
        if not isinstance(result, Mapping):
            return id, Trouble("in a batch: no result", again=True)
        message = result.get("message")
        if result.get("type") == "succeeded" and isinstance(message, Mapping):
            return id, completion_of(as_completion(message))
        error = result.get("error")
        said = message_of(error.get("error", error)) if isinstance(error, Mapping) else ""
        return id, Trouble(f"in a batch: {result.get('type')}{f': {said}' if said else ''}", again=True)


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = body.get(name)
    return part if isinstance(part, Mapping) else {}


def _counted(batch: Mapping[str, Any], *states: str) -> int:
    """Return the number of a batch's requests in some states, in all without any."""
    counts = _part(batch, "request_counts")
    return sum(n for name, n in counts.items() if isinstance(n, int) and (name in states or not states))


def _created(batch: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(batch.get("created_at"))).timestamp()
    except ValueError:
        return float("inf")  # not known: it may be the one


def as_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a chat-completions request as those of Anthropic's messages.

    Example:
        >>> as_messages({"model": "m", "max_completion_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]})
        {'model': 'm', 'max_tokens': 5, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    fields = {k: v for k, v in body.items() if k not in ("messages", "max_completion_tokens", "max_tokens", "model")}
    length = body.get("max_tokens") or body.get("max_completion_tokens")
    system = [_text(m["content"]) for m in body["messages"] if m["role"] == "system"]
    turns = [{**m, "content": _content(m["content"])} for m in body["messages"] if m["role"] != "system"]
    own = {"system": "\n\n".join(system)} if system else {}
    return {"model": body["model"], "max_tokens": length, **fields, **own, "messages": turns}


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _content(content: str | Sequence[Mapping[str, Any]]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else list(_parts(content))


def _parts(content: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in content:
        if "image_url" not in part:
            yield dict(part)
            continue
        kind, _, data = str(part["image_url"]["url"]).removeprefix("data:").partition(";base64,")
        yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def as_completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of Anthropic's messages as the body of a chat completion.

    Example:
        >>> found = as_completion({"content": [{"type": "text", "text": "YES"}], "stop_reason": "end_turn"})
        >>> found["choices"][0]
        {'message': {'content': 'YES', 'reasoning': ''}, 'finish_reason': 'end_turn'}
    """
    listed = message.get("content")
    parts = [part for part in listed if isinstance(part, Mapping)] if isinstance(listed, list) else []
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    thought = "".join(str(part.get("thinking") or "") for part in parts if part.get("type") == "thinking")
    told = {"content": "".join(texts) if texts else None, "reasoning": thought}
    usage = message.get("usage")
    read = usage if isinstance(usage, Mapping) else {}
    cached = [read.get(name) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    prompt = read.get("input_tokens")
    paid = prompt + sum(cached) if isinstance(prompt, int) and all(isinstance(n, int) for n in cached) else prompt
    return {
        "choices": [{"message": told, "finish_reason": message.get("stop_reason")}],
        "usage": {"prompt_tokens": paid, "completion_tokens": read.get("output_tokens")},
        "model": message.get("model"),
    }


SERVICES: Mapping[str, type[Service]] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}
"""Name of an interface -> its class."""
