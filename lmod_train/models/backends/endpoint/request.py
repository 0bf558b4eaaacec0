"""Requests for records: messages, images, and decoding settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Record
from lmod_train.models.backends.endpoint.image_urls import Detail, described

Rules = Literal["auto", "classic", "no_temperature", "reasoning"]

_REASONING = re.compile(r"(?:.*/)?(?:gpt-[5-9]|o[1-9])(?![a-z0-9])", re.IGNORECASE)
"""Names of models that refuse ``max_tokens`` and ``temperature``: GPT-5 to 9 with all their variants, and the o series.
Models of other names that do so are stated by the option ``rules``."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """Fields of every request of a run besides the messages.

    Attributes:
        model: Name of the model on the server.
        max_new_tokens: Maximum length of a reply in tokens, including hidden reasoning.
        temperature: Sampling temperature; 0 for greedy decoding, None for the server's default. Never sent to reasoning
            models.
        rules: ``classic`` sends ``max_tokens`` and the temperature, ``no_temperature`` only the former, ``reasoning``
            ``max_completion_tokens`` and no temperature; ``auto`` selects ``reasoning`` for names of GPT-5 and later
            and of the o series, else ``classic``.
        system_prompt: Text of a system message before the record's own messages; empty for none.
        extra: Further fields of the request body, such as ``reasoning_effort`` or ``seed``.
    """

    model: str
    max_new_tokens: int = 512
    temperature: float | None = 0.0
    rules: Rules = "auto"
    system_prompt: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.model:
            raise BadArgument("backend.model", "", "the name of a model of the server", "add `--model.backend.model M`")
        if self.max_new_tokens < 1:
            raise BadArgument("backend.max_new_tokens", self.max_new_tokens, "at least 1", "set 512")
        taken = sorted(set(self.extra) & {"messages", *self.fields(bare=True)})
        if taken:
            raise BadArgument("backend.extra", taken, "fields that no other option sets", "use the option of that name")
        if "stream" in self.extra or self.extra.get("n", 1) != 1:
            cure = "remove `stream` and `n`"
            raise BadArgument("backend.extra", sorted(self.extra), "a single reply without streaming", cure)

    @property
    def reasoning(self) -> bool:
        """Whether the rules of reasoning models apply."""
        return self.rules == "reasoning" or (self.rules == "auto" and _REASONING.match(self.model) is not None)

    def fields(self, *, bare: bool = False) -> dict[str, Any]:
        """Return the request body without messages, and with `bare` also without `extra`."""
        extra = {} if bare else dict(self.extra)
        if self.reasoning:
            return {"model": self.model, "max_completion_tokens": self.max_new_tokens, **extra}
        unset = self.temperature is None or self.rules == "no_temperature"
        temperature = {} if unset else {"temperature": self.temperature}
        return {"model": self.model, "max_tokens": self.max_new_tokens, **temperature, **extra}

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine a reply, as JSON values."""
        return {**self.fields(), "system_prompt": self.system_prompt}


def messages_of(
    record: Record, urls: Mapping[str, str], decoding: Decoding, detail: Detail = ""
) -> list[dict[str, Any]]:
    """Return the messages of a record in the format of chat-completions requests, with unchanged wording.

    Args:
        record: The record; its image parts correspond to `record.image` in order.
        urls: Image name -> data URL.
        decoding: Settings with the system prompt.
        detail: OpenAI's ``detail`` of an image.

    Raises:
        BadArgument: The numbers of image parts and of images differ.
    """
    places = sum(part.type == "image" for m in record.messages for part in m.parts)
    if places != len(record.image):
        expected = f"as many image parts in its messages as it has images ({len(record.image)})"
        raise BadArgument(f"record {record.id}", places, expected, "curate it again")
    images = iter([urls[name] for name in record.image])
    system = [{"role": "system", "content": decoding.system_prompt}] if decoding.system_prompt else []
    return [*system, *({"role": m.role, "content": _content(m, images, detail)} for m in record.messages)]


def _content(message: Message, images: Any, detail: Detail) -> str | list[dict[str, Any]]:
    """Return the parts of a message; a single text as a plain string, which every server accepts."""
    if all(part.type == "text" for part in message.parts) and len(message.parts) == 1:
        return message.parts[0].text
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if part.type == "text":
            parts.append({"type": "text", "text": part.text})
        else:
            parts.append({"type": "image_url", "image_url": _image(next(images), detail)})
    return parts


def _image(url: str, detail: Detail) -> dict[str, str]:
    return {"url": url, "detail": detail} if detail else {"url": url}


def rendered(messages: Sequence[Mapping[str, Any]], known: Mapping[str, str] | None = None) -> str:
    """Return messages as JSON, with data URLs replaced by size and hash.

    Args:
        messages: The messages.
        known: Data URL -> what replaces it, for images that several messages show.
    """
    return json.dumps([{**m, "content": _short(m["content"], known or {})} for m in messages], ensure_ascii=False)


def _short(content: Any, known: Mapping[str, str]) -> Any:
    if isinstance(content, str):
        return content
    return [
        {**p, "image_url": {**p["image_url"], "url": known.get(url := p["image_url"]["url"]) or described(url)}}
        if "image_url" in p
        else p
        for p in content
    ]
