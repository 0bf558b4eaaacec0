"""Single requests: what is sent, by which way, and how much of a reply is read.

The library beneath reads no environment: a request holds nothing that its arguments do not, see ``SECURITY.md``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lmod_train.models.backends.endpoint.address import Route
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, completion_of, refused_status

MOST_BYTES = 2**23
"""Maximum size of a reply, before and after it is unpacked: that of 4,096 tokens with 20 likelihoods each."""

LISTING = 10.0
"""Seconds for the list of models."""

_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|$))|,(?=\s*[}\]])', re.DOTALL)


_PLACE = uuid.uuid4().hex
"""Stands for an image while a request is encoded; in no text."""


class Client:
    """Sends requests to one server.

    Args:
        route: The way to it.
        key: API key, which is never shown.
        timeout: Seconds until a request is aborted.
        ending_stated: Whether the server returns a finish reason.
    """

    def __init__(self, route: Route, key: Key, timeout: float, ending_stated: bool = True) -> None:
        from lmod_train.models.backends.endpoint.connections import Connections  # it takes time to import

        # which logs the headers of replies at level DEBUG, in which a server may repeat the key
        logging.getLogger("httpcore2").setLevel(logging.INFO)
        self.route = route
        self._key, self._timeout, self._stated = key, timeout, ending_stated
        self._connections = Connections(route)
        self._host = urlsplit(route.url).netloc

    async def attempt(self, body: Mapping[str, Any]) -> tuple[Completion | Trouble, Any]:
        """Send one chat-completions request.

        Args:
            body: Fields of the request.

        Returns:
            The result, and the parsed body of a completion (else None), with the key removed from both.
        """
        text = await self.exchange("POST", "/chat/completions", encoded(body))
        if not isinstance(text, str):
            return text, None
        try:
            received = self.read(text)
        except (ValueError, RecursionError):
            return Trouble(f"not JSON: {self._key.hide(text)[:80]!r}", again=True, unread=True), None
        ended = completion_of(received, self._stated)
        return ended, received if isinstance(ended, Completion) else None  # which may be large, and wait for a retry

    async def exchange(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        more: Mapping[str, str] | None = None,
        most: int = MOST_BYTES,
        timeout: float = 0.0,
    ) -> str | Completion | Trouble:
        """Return the text of a response with status 2xx, from which the key is not removed; else what it means.

        Args:
            method: GET or POST.
            path: Path below the base URL.
            content: Body of the request.
            more: Headers besides the usual ones, which they replace; one that is empty is not sent.
            most: Maximum bytes of the response.
            timeout: Seconds until it is aborted; 0 for those of the client.
        """
        seconds = timeout or self._timeout
        try:
            async with asyncio.timeout(seconds):
                status, headers, text = await self._answer(method, path, content, more or {}, most)
        except TimeoutError:
            return Trouble(f"no reply within {seconds:g} s", again=True, slower=True)
        except _TooLarge:
            return Trouble(f"the reply is larger than {most // 2**20} MiB", own=True)
        except (_Undecodable, zlib.error) as error:
            return Trouble(f"no reply: {self._key.hide(_named(error))}", again=True, unread=True)
        except Exception as error:  # of the connection, or raised for replies that are no HTTP
            unreachable = type(error).__name__ in ("ConnectError", "ConnectTimeout", "ProxyError")
            return Trouble(f"connection: {self._key.hide(_named(error))}", again=True, unreachable=unreachable)
        return text if status // 100 == 2 else refused_status(status, headers, self._key.hide(text))

    def read(self, text: str) -> Any:
        """Return the value of a JSON text with the key removed.

        Raises:
            ValueError, RecursionError: It is not JSON.
        """
        return self._key.hide(parsed(text))

    async def _answer(
        self, method: str, path: str, content: bytes, more: Mapping[str, str], most: int
    ) -> tuple[int, dict[str, str], str]:
        """Return status, headers with names in lower case, and text of a response; redirects are not followed.

        Raises:
            TimeoutError: As of the surrounding block, which limits the whole of connecting, sending and reading.
            Exception: Of a connection that cannot be made or is lost, or of a reply that cannot be read.
        """
        sent = {
            "Host": self._host,
            "Authorization": f"Bearer {self._key.value()}",
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "lmod-train",
        }
        sent = {name: value for name, value in {**sent, **more}.items() if value}
        async with self._connections.response(method, path, sent, content) as response:
            headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
            try:
                data = await _read(response.aiter_stream(), headers.get("content-encoding", ""), most)
            except (_TooLarge, _Undecodable, zlib.error):
                if response.status // 100 == 2:
                    raise
                data = b""  # of an error, the status is enough
        return response.status, headers, data.decode(json.detect_encoding(data), "replace")

    async def models(self) -> list[str]:
        """Return the names of the models on the server; [] if it does not list them."""
        text = await self.exchange("GET", "/models", timeout=min(self._timeout, LISTING))
        try:
            return [str(model["id"]) for model in self.read(text)["data"]] if isinstance(text, str) else []
        except Exception:
            return []  # `transformers serve` answers 500 without a hub cache; the list is only used in a message

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()


class _TooLarge(Exception):
    pass


class _Undecodable(Exception):
    pass


async def _read(parts: Any, encoding: str, most: int) -> bytes:
    """Return the body of a response, unpacked; packed though it was asked for as it is, it is at most packed once.

    Raises:
        _TooLarge: It is larger than `most`.
        _Undecodable: It is packed in another way, or ends too early.
        zlib.error: It is damaged.
    """
    packing = encoding.strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise _Undecodable(f"content-encoding {packing[:40]!r}, which was not asked for")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32) if packing not in ("", "identity") else None
    data, came = bytearray(), 0
    async for part in parts:
        came += len(part)
        data += unpacking.decompress(part, most + 1 - len(data)) if unpacking else part
        if max(came, len(data)) > most:
            raise _TooLarge
    if unpacking and not unpacking.eof:
        raise _Undecodable("the packed reply ends too early")
    return bytes(data)


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a request as JSON.

    The data URLs of images, which are nearly all of it, need no escapes, and are put in as they are.

    Example:
        >>> encoded({"messages": [{"role": "user", "content": "Hi"}]})
        b'{"messages": [{"role": "user", "content": "Hi"}]}'
    """
    shown: list[str] = []

    def without(part: Mapping[str, Any]) -> Mapping[str, Any]:
        url = part["image_url"]["url"] if "image_url" in part else ""
        if not url.startswith("data:") or not url.isascii() or '"' in url or "\\" in url:
            return part
        shown.append(url)
        return {**part, "image_url": {**part["image_url"], "url": _PLACE}}

    messages = [
        message if isinstance(message["content"], str) else {**message, "content": [*map(without, message["content"])]}
        for message in body["messages"]
    ]
    between = json.dumps({**body, "messages": messages}).split(_PLACE)
    return "".join(part for pair in zip(between, (*shown, ""), strict=True) for part in pair).encode("ascii")


def parsed(text: str) -> Any:
    """Return the value of a JSON text, in which commas may stand before closing brackets.

    Raises:
        ValueError: It is not JSON.

    Example:
        >>> parsed('{"content": "a,]", "n": [1, NaN,],}')
        {'content': 'a,]', 'n': [1, nan]}
    """
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(_STRING_OR_COMMA.sub(lambda found: found[1] or "", text))


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
