"""Single requests with the official client, without its retries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lmod_train.core.errors import LmodError
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, completion_of, refused_status

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TRANSPORTS = ("httpcore", "httpcore2", "openai")
"""Loggers that write the headers of replies at level DEBUG, in which a server may repeat the key."""

INSTALL = "pip install 'lmod-train[openai]'"


class Client:
    """Sends requests to one server.

    Args:
        url: Base URL, up to and including ``/v1``.
        key: API key, which is never shown.
        timeout: Seconds until a request is aborted.
        ending_stated: Whether the server returns a finish reason.

    Raises:
        LmodError: The package ``openai`` is not installed.
    """

    def __init__(self, url: str, key: Key, timeout: float, ending_stated: bool = True) -> None:
        try:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient
        except ImportError as error:
            raise LmodError(
                f"the backend needs the package `openai`, which is not installed.\nNext: `{INSTALL}`"
            ) from error
        for name in TRANSPORTS:
            logging.getLogger(name).setLevel(logging.INFO)
        self.url = url
        self._key, self._timeout, self._stated = key, timeout, ending_stated
        # a redirect would send key and images to an address that was not checked
        direct = DefaultAsyncHttpxClient(base_url=url, timeout=timeout, follow_redirects=False)
        self._client: AsyncOpenAI = AsyncOpenAI(
            base_url=url, api_key=key.value(), timeout=timeout, max_retries=0, organization=None, http_client=direct
        )

    async def attempt(self, body: Mapping[str, Any]) -> tuple[Completion | Trouble, Any]:
        """Send one chat-completions request.

        Args:
            body: Fields of the request.

        Returns:
            The result, and the parsed body of the reply (None without one), with the key removed from both.
        """
        import openai

        try:
            async with asyncio.timeout(self._timeout):
                made = await self._client.chat.completions.with_raw_response.create(
                    model=body["model"],
                    messages=[],  # replaced by those in `extra_body`, which the client does not validate
                    extra_body=dict(body),
                )
            text = made.http_response.text
        except (TimeoutError, openai.APITimeoutError):
            return Trouble(f"no reply within {self._timeout:g} s", again=True, slower=True), None
        except openai.APIStatusError as error:
            response = error.response
            headers = {name.lower(): value for name, value in response.headers.items()}
            return refused_status(response.status_code, headers, self._key.hide(_text(response))), None
        except openai.APIConnectionError as error:
            return self._broken(error), None
        except Exception as error:  # raised by decoders and transports for malformed replies
            return Trouble(f"no reply: {self._key.hide(_named(error))}", again=True), None
        return self._read(text)

    def _read(self, text: str) -> tuple[Completion | Trouble, Any]:
        try:
            body = self._key.hide(json.loads(text))
        except (ValueError, RecursionError):
            return Trouble(f"not JSON: {self._key.hide(text)[:80]!r}", again=True), None
        return completion_of(body, self._stated), body

    def _broken(self, error: Exception) -> Trouble:
        """Return the trouble of a connection that failed, or was lost during the reply."""
        cause = error.__cause__ or error
        unreachable = type(cause).__name__ in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
        return Trouble(f"connection: {self._key.hide(_named(cause))}", again=True, unreachable=unreachable)

    async def models(self) -> list[str]:
        """Return the names of the models on the server; [] if it does not list them."""
        try:
            async with asyncio.timeout(min(self._timeout, 10.0)):
                made = await self._client.models.with_raw_response.list()
            listed = self._key.hide(json.loads(made.http_response.text))["data"]
            return [str(model["id"]) for model in listed]
        except Exception:
            return []  # `transformers serve` answers 500 without a hub cache; the list is only used in a message

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _text(response: Any) -> str:
    try:
        return str(response.text)
    except Exception:  # the body is incomplete or cannot be decoded
        return ""


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
