"""How many requests are in flight at once: more while all goes well, half as many when a server asks for less."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lmod_train.errors import BadArgument

START = 16
"""Requests in flight at first; doubled with every round of replies until the server asks for less."""


@dataclass(frozen=True)
class Pace:
    """How hard a server is asked; decides no reply, and may differ when a run is continued.

    Attributes:
        concurrency: Most requests in flight at once, on each replica.
        timeout: Seconds until an attempt without a whole reply is given up.
        attempts: How often one record is asked in one command before it has failed.
        longest_wait: Most seconds between two attempts; a record whose server asks for more has failed.
        give_up_after: Records that fail in a row before the command stops asking; the next run asks them again.
    """

    concurrency: int = 32
    timeout: float = 300.0
    attempts: int = 6
    longest_wait: float = 60.0
    give_up_after: int = 20

    def __post_init__(self) -> None:
        for name in ("concurrency", "timeout", "attempts", "longest_wait", "give_up_after"):
            if not getattr(self, name) > 0:
                raise BadArgument(f"pace.{name}", getattr(self, name), "a number above 0", f"leave pace.{name} out")

    def backoff(self, attempt: int, draw: float) -> float:
        """Return the seconds to wait after an attempt: doubled each time, and jittered so that requests spread.

        Args:
            attempt: Attempts made, from 1.
            draw: From 0 to 1, at random.

        Example:
            >>> [Pace().backoff(n, 1.0) for n in (1, 2, 3, 9)], Pace().backoff(1, 0.0)
            ([0.5, 1.0, 2.0, 60.0], 0.25)
        """
        return float(min(self.longest_wait, 0.5 * 2.0 ** (attempt - 1))) * (0.5 + 0.5 * draw)


class Throttle:
    """Lets requests to one server through: at most `limit` at once, none before `paused_until`.

    The limit grows by one with each reply (which doubles it in a round) until the server first asks for less, and by
    one a round from then on. Each time the server asks for less it is halved, once for all requests that were in flight
    together. It grows only while it is reached.

    Args:
        most: Largest limit.

    Attributes:
        limit: Requests that may be in flight now.
        in_flight: Requests that are.
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
        """Wait for room and hold it within the block."""
        await self._enter()
        slot = Slot(self._halvings)
        try:
            yield slot
        finally:
            self._leave(slot)

    def pause(self, seconds: float) -> None:
        """Send nothing for so many seconds; requests in flight go on."""
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
        """Wait until `_wake` has counted this request as in flight."""
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
        """Let as many go on as there is room for, in the order in which they came."""
        while self._waiting and self.in_flight < int(self.limit):
            room = self._waiting.popleft()
            if not room.done():
                room.set_result(None)
                self.in_flight += 1


@dataclass(slots=True)
class Slot:
    """The place of one request in flight.

    Attributes:
        halvings: How often the limit had been halved when it was sent.
        fine: Whether it brought a reply.
        slower: Whether the server asked for fewer requests.
    """

    halvings: int
    fine: bool = False
    slower: bool = False
