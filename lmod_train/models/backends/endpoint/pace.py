"""Adaptive limit of concurrent requests, and waiting times between attempts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lmod_train.core.errors import BadArgument

START = 16
"""Initial limit of concurrent requests, doubled with every round of replies until the server is overloaded."""


@dataclass(frozen=True)
class Pace:
    """Concurrency, time-outs and retries of requests; may change when a run is continued.

    Attributes:
        concurrency: Maximum number of concurrent requests per server.
        timeout: Seconds until a request without a complete reply is aborted.
        attempts: Maximum number of attempts per record and command.
        longest_wait: Maximum seconds between two attempts; a record fails if the server requests more.
        give_up_after: Number of consecutive failed records after which no more are sent; the next run asks them again.
    """

    concurrency: int = 32
    timeout: float = 300.0
    attempts: int = 6
    longest_wait: float = 60.0
    give_up_after: int = 20

    def __post_init__(self) -> None:
        for name in ("concurrency", "timeout", "attempts", "longest_wait", "give_up_after"):
            if not getattr(self, name) > 0:
                cure = f"remove pace.{name} to use its default"
                raise BadArgument(f"pace.{name}", getattr(self, name), "a number above 0", cure)

    def backoff(self, attempt: int, draw: float) -> float:
        """Return the seconds to wait after an attempt: exponential backoff with jitter.

        Args:
            attempt: Number of attempts made, from 1.
            draw: Random number from 0 to 1.

        Example:
            >>> [Pace().backoff(n, 1.0) for n in (1, 2, 3, 9)], Pace().backoff(1, 0.0)
            ([0.5, 1.0, 2.0, 60.0], 0.25)
        """
        return float(min(self.longest_wait, 0.5 * 2.0 ** (attempt - 1))) * (0.5 + 0.5 * draw)


class Throttle:
    """Limits the concurrent requests to one server, as congestion control in TCP does.

    The limit grows by one with each reply (doubling per round) until the server first reports overload, and by one per
    round afterwards. With each overload it is halved, only once for all requests in flight at that time. It only grows
    while it is reached.

    Args:
        most: Maximum limit.

    Attributes:
        limit: Current limit of concurrent requests.
        in_flight: Current number of requests.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = float(min(START, most))
        self.in_flight = 0
        self._halvings = 0
        self._paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait until a request may be sent, and count it during the block."""
        await self._enter()
        slot = Slot(self._halvings)
        try:
            yield slot
        finally:
            self._leave(slot)

    def pause(self, seconds: float) -> None:
        """Send no new requests for some seconds; those in flight continue."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def _enter(self) -> None:
        if self._waiting or self.in_flight >= int(self.limit):
            await self._room()
        else:
            self.in_flight += 1
        try:
            while (left := self._paused_until - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(left)
        except asyncio.CancelledError:
            self._leave(Slot(self._halvings))
            raise

    async def _room(self) -> None:
        """Wait until `_wake` counts this request as in flight."""
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(room)
        try:
            await room
        except asyncio.CancelledError:
            if not room.cancelled():
                self._leave(Slot(self._halvings))
            raise

    def _leave(self, slot: Slot) -> None:
        full = bool(self._waiting) or self.in_flight >= int(self.limit)
        self.in_flight -= 1
        if slot.slower and slot.halvings == self._halvings:
            self.limit, self._halvings = max(1.0, self.limit / 2), self._halvings + 1
        elif slot.fine and full:
            self.limit = min(float(self._most), self.limit + (1 / self.limit if self._halvings else 1))
        self._wake()

    def _wake(self) -> None:
        """Start waiting requests up to the limit, in the order of arrival."""
        while self._waiting and self.in_flight < int(self.limit):
            room = self._waiting.popleft()
            if not room.done():
                room.set_result(None)
                self.in_flight += 1


@dataclass(slots=True)
class Slot:
    """A request in flight.

    Attributes:
        halvings: Number of times the limit had been halved when it was sent.
        fine: Whether it returned a reply.
        slower: Whether the server reported overload.
    """

    halvings: int
    fine: bool = False
    slower: bool = False
