"""Connections to one server, by the addresses that were judged, which its requests use again and again.

The library's own pool looks at every connection with every request, and its streams are made for any event loop; with
a hundred requests in flight these cost more than all else. Its HTTP, TLS and proxies are used as they are.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpcore2

from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.endpoint.address import Route

CONNECTING, KEPT = 10.0, 5.0
"""Seconds to connect to an address, and to keep an unused connection."""

READ_AHEAD = 2**18
"""Bytes that are read before they are asked for; a server that sends more has to wait."""


class Connections:
    """Connections to one server, or to its proxy; the last used is used first.

    Args:
        route: The way to the server.
    """

    def __init__(self, route: Route) -> None:
        secure = certified() if "https:" in f"{route.url} {route.proxy}" else None
        between = secure if "https:" in route.proxy else None
        proxy = httpcore2.Proxy(route.proxy, ssl_context=between) if route.proxy else None
        self._url = httpcore2.URL(route.url)
        self._made = httpcore2.AsyncConnectionPool(
            secure, proxy, None, keepalive_expiry=KEPT, network_backend=Judged(route)
        )
        self._free: list[httpcore2.AsyncConnectionInterface] = []

    @asynccontextmanager
    async def response(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> AsyncIterator[httpcore2.Response]:
        """Send a request, and yield its response with a body to be read.

        Args:
            method: GET or POST.
            path: Path below the server's URL.
            headers: All headers.
            content: Body of the request.

        Raises:
            Exception: The connection cannot be made or is lost, or the response is no HTTP.
        """
        url, target = self._url, self._url.target.rstrip(b"/") + path.encode("ascii")
        url = httpcore2.URL(scheme=url.scheme, host=url.host, port=url.port, target=target)
        request = httpcore2.Request(method, url, headers=list(headers.items()), content=content)
        connection = await self._connection()
        try:
            response = await connection.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if connection.is_idle():
                self._free.append(connection)  # else it is closed: the response was not read to its end

    async def _connection(self) -> httpcore2.AsyncConnectionInterface:
        while self._free:
            connection = self._free.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return self._made.create_connection(self._url.origin)

    async def close(self) -> None:
        """Close the connections that are not in use."""
        while self._free:
            await self._free.pop().aclose()


class Judged(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses that were judged, one after the other, whatever a name resolves to later.

    Args:
        route: The way, with the addresses; by name without any.
    """

    def __init__(self, route: Route) -> None:
        self._addresses = route.addresses

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that accepts a connection."""
        *others, last = self._addresses or (host,)
        for address in others:
            try:
                return await _connected(address, port)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await _connected(last, port)


async def _connected(address: str, port: int) -> Stream:
    try:
        async with asyncio.timeout(CONNECTING):
            _, stream = await asyncio.get_running_loop().create_connection(Stream, address, port)
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout(f"no connection within {CONNECTING:g} s") from error
    except OSError as error:
        raise httpcore2.ConnectError(str(error)) from error
    return stream


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """A connection as the library wants it, on asyncio's own transport."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data, self._ended, self._paused = bytearray(), False, False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._unsent: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Keep what was sent until it is read."""
        self._data += data
        if len(self._data) > READ_AHEAD and self._transport is not None and not self._paused:
            self._transport.pause_reading()
            self._paused = True
        self._wake()

    def eof_received(self) -> None:
        """Note that the server sends no more; the transport closes itself."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Note why the connection is closed."""
        self._ended, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes with the next ones that are written, when an answer is read: head and body go together."""
        self._unsent.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what the server has sent, as soon as there is something; nothing at the end."""
        if self._unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent = []
        if not self._data and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if not self._data and self._error is not None:
            raise httpcore2.ReadError(str(self._error)) from self._error
        found = bytes(self._data[:max_bytes])
        del self._data[:max_bytes]
        if self._paused and len(self._data) <= READ_AHEAD and self._transport is not None:
            self._transport.resume_reading()
            self._paused = False
        return found

    async def aclose(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Encrypt the connection, after the certificate was checked."""
        assert self._transport is not None
        try:
            self._transport = await asyncio.get_running_loop().start_tls(
                self._transport, self, ssl_context, server_hostname=server_hostname
            )
        except (OSError, ValueError) as error:
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return what the library asks for: whether something was sent that nobody waits for, or the connection ended.

        Such a connection is not used again: what came too much would be taken for the next reply.
        """
        if info == "is_readable":
            return bool(self._data) or self._ended
        return self._transport.get_extra_info(info) if self._transport is not None else None


def certified() -> ssl.SSLContext:
    """Return what a server's certificate must be signed by: the system's authorities, or those of ``SSL_CERT_FILE``.

    `ssl.create_default_context` would also write the secrets of connections to the file that ``SSLKEYLOGFILE`` names.

    Raises:
        BadArgument: The file that the environment names cannot be read.
    """
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
