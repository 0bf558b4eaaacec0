"""Distribution of requests over servers: questions about one image go to one server, failed servers are avoided."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.pace import Throttle

COOLDOWN, LONGEST_COOLDOWN = 5.0, 60.0
"""Seconds during which an unreachable server is avoided; doubled each time, up to the second value."""


class Replica:
    """One server.

    Attributes:
        client: Client that sends the requests.
        throttle: Limit of requests in flight.
        questions: Number of records assigned to it, including waiting ones.
        places: One for each record that is sent and whose reply is not yet written.
    """

    def __init__(self, client: Client, concurrency: int) -> None:
        self.client, self.throttle, self.questions = client, Throttle(concurrency), 0
        self.places = asyncio.Semaphore(concurrency)
        self._down_until, self._cooldown = 0.0, COOLDOWN

    @property
    def down(self) -> float:
        """Seconds during which it is still avoided; 0 for a server in use."""
        return max(0.0, self._down_until - asyncio.get_running_loop().time())

    def lost(self) -> None:
        """Record that it could not be reached."""
        if not self.down:
            self._down_until = asyncio.get_running_loop().time() + self._cooldown
            self._cooldown = min(LONGEST_COOLDOWN, 2 * self._cooldown)

    def answered(self) -> None:
        """Record that it has replied."""
        self._down_until, self._cooldown = 0.0, COOLDOWN


class Fleet:
    """Chooses a server for each request.

    The first question about an image goes to the server with the fewest questions, and all others to the same, as it
    has the image in its prefix cache. If a server cannot be reached or does not reply in time, its images are
    reassigned.

    Args:
        replicas: At least one.
    """

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.replicas = list(replicas)
        self._home: dict[tuple[str, ...], Replica] = {}

    @contextmanager
    def choose(self, images: tuple[str, ...]) -> Iterator[Replica]:
        """Yield the server for a question about these images, and count the question there during the block."""
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
        """Reassign the next question about these images."""
        self._home.pop(images, None)

    def another_than(self, replica: Replica) -> bool:
        """Return whether another server is reachable."""
        return any(not other.down for other in self.replicas if other is not replica)
