"""Records that are asked in batches of a service: left there, and collected by a later command.

A request is known by a hash of what is asked, so that a reply is found again after any kill, on any machine that has
the run folder. It is sent once: while its batch is open, or has its reply, it is not sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from lmod_train.core.types import Batch, Record, Reply
from lmod_train.models.backends.endpoint.background import Background
from lmod_train.models.backends.endpoint.batch_ledger import Ledger, Left
from lmod_train.models.backends.endpoint.batch_services import Batches, Refused, Service
from lmod_train.models.backends.endpoint.budget import Spending
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble
from lmod_train.models.backends.endpoint.request_batch import RequestBatch
from lmod_train.models.backends.endpoint.retries import Asking

SETTLING = 5.0
"""Seconds after which a service lists a batch that it has created."""

LOOKING = 20.0
"""Seconds between two looks at the batches while a command waits for them."""

Waiting = tuple[Record, str, str]
"""A record with the id of its request, and what is sent as text."""


class BatchAsking:
    """Leaves the requests for records at a service, and yields the replies that are there.

    Args:
        service: The service.
        ledger: The batches of the run.
        batches: Sizes, and how long to wait.
        fields: Fields of every request besides the messages.
        settings: Settings that determine the replies.
        asking: What makes replies of outcomes.
        spending: Usage, of which requests are those that are sent, and tokens those of collected replies.
        background: Event loop.
        most: Maximum number of requests to send; 0 for any.
    """

    def __init__(
        self,
        service: Service,
        ledger: Ledger,
        batches: Batches,
        fields: Mapping[str, Any],
        settings: Mapping[str, Any],
        asking: Asking,
        spending: Spending,
        background: Background,
        most: int = 0,
    ) -> None:
        self._service, self._ledger, self._batches = service, ledger, batches
        self._fields, self._settings, self._asking, self._spending = fields, settings, asking, spending
        self._background, self._most = background, most
        self._outcomes: dict[str, Completion | Trouble] = {}
        self._lines: dict[str, bytes] = {}
        self._done: dict[str, str] = {}
        self._sent = self._size = 0
        self._refused = False
        self._unclear: set[str] = set()
        for left in ledger.left.values():
            if left.ended:
                self._read(left, also_failed=False)

    def replies(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield one reply per record; of one whose reply is not there yet, that it was not asked."""
        self._look()
        open_ones, waiting = {id for left in self._ledger.open for id in left.ids}, list[Waiting]()
        for batch in batches:
            asked = RequestBatch.of(batch)
            for record, messages, text in zip(asked.records, asked.messages, asked.rendered, strict=True):
                id = self._id(record)
                if id in self._outcomes:
                    yield self._reply(record, id, text)
                    continue
                waiting.append((record, id, text))
                if id not in open_ones:
                    self._add(id, {**self._fields, "messages": messages})
        self._send()
        until = time.monotonic() + 60 * self._batches.wait
        while waiting:
            yield from (self._reply(*one) for one in waiting if one[1] in self._outcomes)
            waiting = [one for one in waiting if one[1] not in self._outcomes]
            if not self._ledger.open or time.monotonic() >= until:
                break
            time.sleep(min(LOOKING, 3 * self._batches.wait))
            self._look()
        left = {id for one in self._ledger.open for id in one.ids}
        for record, id, _ in waiting:
            yield self._asking.not_asked(record, "its reply is not there yet" if id in left else "")

    def summary(self) -> str:
        """Return what is left at the service, and what came of batches that have ended otherwise than usual."""
        lines = [f"batch {mark[:8]}: {text}" for mark, text in self._done.items()]
        if left := self._ledger.open:
            requests = sum(len(one.ids) for one in left)
            lines.append(f"{requests:,} requests are at the service in {len(left)} batches, of which the run knows")
            lines.append("Next: the same command, later and on any machine with the run folder, collects the replies")
        return "\n".join(lines)

    def _id(self, record: Record) -> str:
        """Return the id of a request: a hash of what is asked, in which images stand by their stored hashes."""
        shown = list(record.image_sha256) if all(record.image_sha256) else list(record.image)
        asked = [record.id, self._settings, [asdict(m) for m in record.messages], shown]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:48]

    def _reply(self, record: Record, id: str, text: str) -> Reply:
        outcome = self._outcomes[id]
        self._spending.begin()
        self._spending.end(outcome.usage)
        if isinstance(outcome, Trouble):
            return self._asking.failed(record, outcome, text, 0.0)
        return self._asking.replied(record, outcome, text, 0.0, {}, {"batch": self._batches.interface})

    def _add(self, id: str, body: Mapping[str, Any]) -> None:
        """Put a request into the next batch, and send this one if it is full."""
        if self._most and self._sent + len(self._lines) >= self._most:
            self._asking.end(f"the budget of {self._most} requests is spent")
        if self._asking.stopped:
            return
        line, most = self._service.line(id, body), 1e6 * self._batches.megabytes
        if len(self._lines) >= self._batches.requests or self._size + len(line) > most:
            self._send()
        self._lines[id] = line
        self._size += len(line)

    def _send(self) -> None:
        """Send the next batch, which is written down before."""
        ids, lines, mark = list(self._lines), list(self._lines.values()), uuid.uuid4().hex
        self._lines, self._size = {}, 0
        if not ids or self._refused:
            return
        self._ledger.begin(mark, ids)
        try:
            batch = self._background.run(self._service.submit(lines, mark))
        except Refused as refused:
            self._refused = True
            self._asking.end(str(refused))
            if refused.trouble.again:  # it may have been created: the next command looks
                self._unclear.add(mark)
            else:
                self._ledger.end(mark, f"not taken: {refused}")
            return
        self._ledger.sent(mark, [batch])
        self._sent += len(ids)

    def _look(self) -> None:
        """Look at the batches that are open, and read the results of those that have ended."""
        for left in (one for one in self._ledger.open if one.mark not in self._unclear):
            try:
                self._background.run(self._looked(left))
            except Refused as refused:
                self._done[left.mark] = str(refused)
                if str(refused).startswith("HTTP 404"):
                    self._ledger.end(left.mark, "gone")

    async def _looked(self, left: Left) -> None:
        if not left.batches:
            await asyncio.sleep(max(0.0, min(SETTLING, left.since + SETTLING - time.time())))
            known = {batch for one in self._ledger.left.values() for batch in one.batches}
            found = await self._service.find(left.mark, left.since, len(left.ids))
            if not (own := [batch for batch in found if batch not in known]):
                self._ledger.end(left.mark, "not created")
                return
            self._ledger.sent(left.mark, own)
            left = self._ledger.left[left.mark]
        states = [await self._service.state(batch) for batch in left.batches]
        self._done[left.mark] = f"{', '.join(s.text for s in states)}, {sum(s.done for s in states)} of {len(left.ids)}"
        if all(state.ended for state in states):
            lines = [line for batch in left.batches for line in await self._service.results(batch)]
            wanted, how = set(left.ids), ", ".join(state.text for state in states)
            self._ledger.end(left.mark, how, [line for line in lines if self._service.outcome(line)[0] in wanted])
            self._read(self._ledger.left[left.mark], also_failed=True)

    def _read(self, left: Left, *, also_failed: bool) -> None:
        """Take the outcomes of a batch that has ended.

        Requests that failed are told once, by the command that collects the batch; the next one sends them again.
        """
        found = dict(self._service.outcome(line) for line in self._ledger.results(left.mark))
        for id in left.ids:
            outcome = found.get(id, Trouble(f"in a batch that ended without its reply: {left.ended}"))
            if isinstance(outcome, Completion) or (also_failed and id not in self._outcomes):
                self._outcomes[id] = outcome
