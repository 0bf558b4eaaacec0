"""The servers that share a run: questions about one image go to one of them, and none waits for a dead one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lmod_train.backends.endpoint.client import Client
from lmod_train.backends.endpoint.pace import Throttle

COOLDOWN, LONGEST_COOLDOWN = 5.0, 60.0
"""Seconds that a server that could not be reached is left alone; doubled each time, up to the second."""


class Replica:
    """One server.

    Attributes:
        client: Sends to it.
        throttle: Limits the requests in flight to it.
        questions: Records that are with it, waiting ones included.
    """

    def __init__(self, client: Client, concurrency: int) -> None:
        self.client, self.throttle, self.questions = client, Throttle(concurrency), 0
        self._down_until, self._cooldown = 0.0, COOLDOWN

    @property
    def down(self) -> float:
        """Seconds that it is still left alone; 0 for one that is asked."""
        return max(0.0, self._down_until - asyncio.get_running_loop().time())

    def lost(self) -> None:
        """Note that it could not be reached."""
        if not self.down:
            self._down_until = asyncio.get_running_loop().time() + self._cooldown
            self._cooldown = min(LONGEST_COOLDOWN, 2 * self._cooldown)

    def answered(self) -> None:
        """Note that it has sent something."""
        self._down_until, self._cooldown = 0.0, COOLDOWN


class Fleet:
    """Chooses a server for each attempt.

    The first question about an image goes to the server with the fewest questions, the others follow it there, where
    the image is in the prefix cache. Where a server cannot be reached or does not reply in time, its images move.

    Args:
        replicas: At least one.
    """

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.replicas = list(replicas)
        self._home: dict[tuple[str, ...], Replica] = {}

    @contextmanager
    def choose(self, images: tuple[str, ...]) -> Iterator[Replica]:
        """Yield the server for a question about these images, and count the question as its own in the block."""
        replica = self._chosen(images)
        replica.questions += 1
        try:
            yield replica
        finally:
            replica.questions -= 1

    def _chosen(self, images: tuple[str, ...]) -> Replica:
        home = self._home.get(images)
        if home is not None and (not home.down or len(self.replicas) == 1):
            return home
        best = min(self.replicas, key=lambda r: (r.down, r.questions))
        if images:
            self._home[images] = best
        return best

    def move(self, images: tuple[str, ...]) -> None:
        """Let the next question about these images choose anew."""
        self._home.pop(images, None)

    def another_than(self, replica: Replica) -> bool:
        """Return whether there is another server that can be asked."""
        return any(not other.down for other in self.replicas if other is not replica)
