"""Single requests: what is sent, by which way, and how much of a reply is read.

The library beneath reads no environment: a request holds nothing that its arguments do not, see ``SECURITY.md``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import ssl
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.endpoint.address import Route
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, completion_of, refused_status

if TYPE_CHECKING:
    from httpcore2 import AsyncConnectionPool, AsyncNetworkStream

MOST_BYTES = 2**23
"""Maximum size of a reply, before and after it is unpacked: that of 4,096 tokens with 20 likelihoods each."""

CONNECTING, KEPT, LISTING = 10.0, 5.0, 10.0
"""Seconds to connect to an address, to keep an unused connection, and for the list of models."""

_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|$))|,(?=\s*[}\]])', re.DOTALL)


class Client:
    """Sends requests to one server.

    Args:
        route: The way to it.
        key: API key, which is never shown.
        timeout: Seconds until a request is aborted.
        ending_stated: Whether the server returns a finish reason.
    """

    def __init__(self, route: Route, key: Key, timeout: float, ending_stated: bool = True) -> None:
        # which logs the headers of replies at level DEBUG, in which a server may repeat the key
        logging.getLogger("httpcore2").setLevel(logging.INFO)
        self.route = route
        self._key, self._timeout, self._stated = key, timeout, ending_stated
        self._pool = _pool(route)

    async def attempt(self, body: Mapping[str, Any]) -> tuple[Completion | Trouble, Any]:
        """Send one chat-completions request.

        Args:
            body: Fields of the request.

        Returns:
            The result, and the parsed body of a completion (else None), with the key removed from both.
        """
        text = await self.exchange("POST", "/chat/completions", json.dumps(body).encode())
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
        self,
        method: str,
        path: str,
        content: bytes = b"",
        more: Mapping[str, str] | None = None,
        most: int = MOST_BYTES,
    ) -> tuple[int, dict[str, str], str]:
        """Return status, headers with names in lower case, and text of a response; redirects are not followed.

        Raises:
            TimeoutError: As of the surrounding block, which limits the whole of connecting, sending and reading.
            Exception: Of a connection that cannot be made or is lost, or of a reply that cannot be read.
        """
        server = urlsplit(self.route.url)
        sent: dict[str | bytes, str | bytes] = {
            "Host": server.netloc,
            "Authorization": f"Bearer {self._key.value()}",
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "lmod-train",
        }
        sent = {name: value for name, value in {**sent, **(more or {})}.items() if value}
        async with self._pool.stream(method, self.route.url + path, headers=sent, content=content) as response:
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
        try:
            async with asyncio.timeout(min(self._timeout, LISTING)):
                _, _, text = await self._answer("GET", "/models")
            return [str(model["id"]) for model in self._key.hide(parsed(text))["data"]]
        except Exception:
            return []  # `transformers serve` answers 500 without a hub cache; the list is only used in a message

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _TooLarge(Exception):
    pass


class _Undecodable(Exception):
    pass


async def _read(parts: Any, encoding: str, most: int = MOST_BYTES) -> bytes:
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


def _pool(route: Route) -> AsyncConnectionPool:
    """Return connections to a server, or to its proxy, by the addresses that were judged."""
    import httpcore2

    class Judged(httpcore2.AnyIOBackend):
        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> AsyncNetworkStream:
            *others, last = route.addresses or (host,)
            for address in others:
                try:
                    return await super().connect_tcp(address, port, CONNECTING)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                    continue
            return await super().connect_tcp(last, port, CONNECTING)

    secure = _certified() if "https:" in f"{route.url} {route.proxy}" else None
    proxy = (
        httpcore2.Proxy(route.proxy, ssl_context=secure if "https:" in route.proxy else None) if route.proxy else None
    )
    return httpcore2.AsyncConnectionPool(secure, proxy, None, keepalive_expiry=KEPT, network_backend=Judged())


def _certified() -> ssl.SSLContext:
    """Return what a server's certificate must be signed by: the system's authorities, or those of ``SSL_CERT_FILE``.

    `ssl.create_default_context` would also write the secrets of connections to the file that ``SSLKEYLOGFILE`` names.
    """
    import httpcore2

    file, folder = (os.environ.get(name) or None for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    if not file and not folder:
        return httpcore2.default_ssl_context()
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(file, folder)
    except OSError as error:
        wanted = "a file, or folder, of certificates that can be read"
        raise BadArgument("SSL_CERT_FILE or SSL_CERT_DIR", file or folder, wanted, "`unset` it") from error
    return context


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
