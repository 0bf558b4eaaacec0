"""Retries of requests: waiting times, budget, and stopping after repeated failures."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import NOT_ASKED, Record, Reply
from lmod_train.models.backends.endpoint.budget import UNMETERED, Spending
from lmod_train.models.backends.endpoint.constraint import FORMS, disobeyed, obeys
from lmod_train.models.backends.endpoint.fleet import Fleet, Replica
from lmod_train.models.backends.endpoint.likelihood import NO_LIKELIHOODS, Method, of_prompts, of_reply, turn
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, without_thinking
from lmod_train.models.backends.endpoint.pace import Pace
from lmod_train.models.backends.endpoint.request import Decoding

Result = tuple[Completion | Trouble, float, Any]
"""Result of a request, seconds of its last attempt, and body of the reply."""


class Asking:
    """Sends the requests for records to servers; used in a single event loop.

    A record that is sent has one of its server's places until its reply is written (`written`). So a process that is
    killed has never sent more records without a written reply than there are places.

    Args:
        fleet: The servers.
        decoding: Fields of every request besides the messages.
        pace: Time-outs and attempts.
        spending: Usage and budget.
        settings: Settings that determine the replies, stored with each reply.

    Attributes:
        stopped: Reason why no more requests are sent; empty while they are.
        without_text: Number of replies that were cut off before their first word, as of hidden reasoning.
        models: Names of the model, as returned with the replies.
        form: Field by which requests are constrained to the choices, one of `FORMS`; empty for free replies.
    """

    def __init__(
        self, fleet: Fleet, decoding: Decoding, pace: Pace, spending: Spending, settings: Mapping[str, Any]
    ) -> None:
        self._fleet, self._fields, self._pace, self._spending = fleet, decoding.fields(), pace, spending
        self._settings, self._model = settings, decoding.model
        self._random = random.Random()
        self._ended, self._stop = asyncio.Event(), asyncio.Event()
        self._unwritten: dict[str, asyncio.Semaphore] = {}
        self._failed_in_a_row, self._any_answered = 0, False
        self.stopped, self.without_text, self.form = "", 0, ""
        self.models: set[str] = set()

    async def reply(
        self, record: Record, messages: Sequence[Mapping[str, Any]], rendered: str, method: Method = NO_LIKELIHOODS
    ) -> Reply:
        """Return the reply to a record, with likelihoods by `method`; on failure one with `error` set.

        Its place is given to another record when `written` is called with its id.
        A record whose likelihoods fail for a time (an outage, the budget) fails, so that the next run asks it again.
        A reply that is none of the choices that it was constrained to is a failure, and ends the asking.
        """
        if self.stopped:
            return self.not_asked(record)
        began = time.perf_counter()
        only = list(replies_of(record).values()) if self.form else []
        limits = FORMS[self.form](only) if only else {}
        body = {**self._fields, **method.fields(), **limits, "messages": list(messages)}
        ended, seconds, received = await self.completed(body, record.image, attempt=partial(self._placed, record.id))
        if isinstance(ended, Completion) and only and ended.ending == "stop" and not obeys(ended.text, only, self.form):
            ended = Trouble(disobeyed(only, {self.form: ended.text}).replace("\n", " "), hopeless=True)
        if isinstance(ended, Completion):
            rated = await self._rated(record, messages, ended, received, method)
            if not isinstance(rated, Trouble):
                self._failed_in_a_row, self._any_answered = 0, True
                how: dict[str, str] = {"likelihoods_by": method.by} if rated else {}
                how |= {"constrain": "choices", "constrained_by": self.form} if only else {}
                return self.replied(record, ended, rendered, seconds, rated, how)
            ended = replace(rated, text=f"no likelihoods: {rated.text}", sent=True)
        if not ended.sent:
            return self.not_asked(record)
        self._count(ended)
        return self.failed(record, ended, rendered, time.perf_counter() - began)

    def written(self, id: str) -> None:
        """Give the place of a record, whose reply is written or no longer wanted, to the next one."""
        if places := self._unwritten.pop(id, None):
            places.release()

    async def _placed(self, id: str, replica: Replica, body: Mapping[str, Any]) -> Result:
        """Send a request for a record once there is a place; a reply keeps it, a failed attempt does not."""
        await replica.places.acquire()
        self._unwritten[id] = replica.places
        ended: Completion | Trouble | None = None
        try:
            ended, seconds, received = await self._attempt(replica, body)
        finally:
            if not isinstance(ended, Completion):
                self.written(id)
        return ended, seconds, received

    async def _rated(
        self, record: Record, messages: Sequence[Mapping[str, Any]], ended: Completion, received: Any, method: Method
    ) -> dict[str, float] | Trouble:
        """Return the log-likelihoods of the choices, {} if there are none; a temporary failure as such."""
        texts = replies_of(record) if method.by != "none" else {}
        if method.by == "logprobs" or not (texts and ended.usage and ended.usage.tokens_in):
            return of_reply(received, texts) if texts else {}
        asked = [self._turn(messages, text, record.image) for text in texts.values()]
        results = await asyncio.gather(*asked)
        for trouble in (result for result, _, _ in results if isinstance(result, Trouble)):
            return trouble if trouble.again or self.stopped else {}
        return of_prompts(
            dict(zip(texts, (body for _, _, body in results), strict=True)), ended.usage.tokens_in, method
        )

    async def _turn(self, messages: Sequence[Mapping[str, Any]], text: str, images: tuple[str, ...]) -> Result:
        return await self.completed(turn(self._fields, messages, text), images)

    async def completed(
        self,
        body: Mapping[str, Any],
        images: tuple[str, ...] = (),
        attempts: int = 0,
        attempt: Callable[[Replica, Mapping[str, Any]], Awaitable[Result]] | None = None,
    ) -> Result:
        """Send a request until it succeeds or fails finally.

        Args:
            body: Fields of the request.
            images: Names of its images.
            attempts: Maximum number of attempts; 0 for that of the pace.
            attempt: Function that sends it once; None sends it without a place, as a part of a record that has one.
        """
        ended: Completion | Trouble = Trouble("not asked")
        seconds, received, most = 0.0, None, attempts or self._pace.attempts
        send = attempt or self._attempt
        for made in range(1, most + 1):
            with self._fleet.choose(images) as replica:
                before = ended
                ended, seconds, received = await send(replica, body)
                if isinstance(ended, Trouble) and not ended.sent and made > 1:
                    ended = before  # it was asked, and has failed
                if isinstance(ended, Completion) or not ended.again or self.stopped:
                    break
                if ended.unread and isinstance(before, Trouble) and before.unread:
                    break  # a third reply would be as unreadable, and be paid for too
                wait = self._wait(replica, ended, made, images)
            if made == most or wait > self._pace.longest_wait:
                break
            await self._rest(wait)
        return ended, seconds, received

    async def _attempt(self, replica: Replica, body: Mapping[str, Any]) -> Result:
        async with replica.throttle.slot() as slot:
            if spent := await self._spent():
                return Trouble(spent, sent=False), 0.0, None
            self._spending.begin()
            began, used = time.perf_counter(), None
            try:
                ended, received = await replica.client.attempt(body)
                used = ended.usage
                if isinstance(ended, Completion) and used is None and ended.ending != "content_filter":
                    self._unmetered()
            finally:
                self._spending.end(used)
                self._ended.set()
                self._ended = asyncio.Event()
            slot.fine, slot.slower = isinstance(ended, Completion), isinstance(ended, Trouble) and ended.slower
            self._note(replica, ended)
            return ended, time.perf_counter() - began, received

    def _unmetered(self) -> None:
        """Stop after a reply whose tokens are not known, if the budget limits tokens or costs."""
        if self._spending.metered:
            self.end(UNMETERED)

    async def _spent(self) -> str:
        """Wait while requests in flight may exhaust the budget; return why no request may be sent, empty if one may."""
        while not self.stopped and (spent := self._spending.spent()):
            if not self._spending.in_flight:
                self.end(spent)
            else:
                await self._ended.wait()
        return self.stopped

    def _note(self, replica: Replica, ended: Completion | Trouble) -> None:
        if isinstance(ended, Trouble) and ended.unreachable:
            replica.lost()
        else:
            replica.answered()
        if isinstance(ended, Trouble) and ended.slower and 0 < ended.wait <= self._pace.longest_wait:
            replica.throttle.pause(ended.wait)

    def _wait(self, replica: Replica, trouble: Trouble, attempt: int, images: tuple[str, ...]) -> float:
        """Return the seconds until the next attempt: those requested by the server, or exponential backoff."""
        if trouble.unreachable or (trouble.slower and not trouble.wait):
            self._fleet.move(images)
            if trouble.unreachable and self._fleet.another_than(replica):
                return 0.0
        return max(trouble.wait, self._pace.backoff(attempt, self._random.random()))

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    def _count(self, trouble: Trouble) -> None:
        """Count a failed record, and stop if all others would fail too.

        A request that was refused for itself says nothing about others once one of them was answered.
        """
        self._failed_in_a_row += not (trouble.own and self._any_answered)
        if trouble.hopeless:
            self.end(trouble.text)
        elif self._failed_in_a_row >= self._pace.give_up_after:
            self.end(f"{self._failed_in_a_row} consecutive records failed, the last with: {trouble.text}")

    def end(self, reason: str) -> None:
        """Send no more requests."""
        self.stopped = self.stopped or reason
        self._stop.set()

    def not_asked(self, record: Record, why: str = "") -> Reply:
        """Return what stands for the reply to a record that was not asked, with the reason."""
        return Reply(record.id, "", "error", f"{NOT_ASKED}{why or self.stopped}", model=self._model)

    def failed(self, record: Record, trouble: Trouble, rendered: str, waited: float) -> Reply:
        """Return what stands for the reply to a record whose request has failed."""
        return Reply(record.id, "", "error", trouble.text, rendered, seconds=waited, model=self._model)

    def replied(
        self,
        record: Record,
        ended: Completion,
        rendered: str,
        seconds: float,
        likelihoods: Mapping[str, float],
        how: Mapping[str, str],
    ) -> Reply:
        """Return the reply to a record, with likelihoods, and how these and the reply were obtained."""
        self.without_text += ended.ending == "length" and not without_thinking(ended.text)
        self.models |= {ended.model} - {""} if ended.ending != "content_filter" else set()
        settings = {**self._settings, "system_fingerprint": ended.fingerprint, **how}
        return Reply(
            record.id,
            ended.text,
            ended.ending,
            rendered=rendered,
            tokens_in=ended.usage.tokens_in if ended.usage else 0,
            tokens_out=ended.usage.tokens_out if ended.usage else 0,
            seconds=round(seconds, 6),
            model=ended.model or self._model,
            settings=json.dumps(settings, sort_keys=True),
            likelihoods=likelihoods,
        )
