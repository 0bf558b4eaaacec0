"""Backend for OpenAI-compatible endpoints: commercial services, or your own server (vLLM, SGLang, lmdeploy)."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from lmod_train.core.artifacts.model_facts import of_service
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Batch, Identity, Likelihoods, Reply
from lmod_train.models.backends.base import StreamBackend
from lmod_train.models.backends.endpoint.address import check_encrypted, checked, route_to
from lmod_train.models.backends.endpoint.background import Background
from lmod_train.models.backends.endpoint.batch_asking import BatchAsking
from lmod_train.models.backends.endpoint.batch_ledger import Ledger
from lmod_train.models.backends.endpoint.batch_services import SERVICES, SHARE_PAID, Batches
from lmod_train.models.backends.endpoint.budget import BY_REQUESTS, UNMETERED, Budget, Spending
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.constraint import FORMS
from lmod_train.models.backends.endpoint.features import probe
from lmod_train.models.backends.endpoint.fleet import Fleet, Replica
from lmod_train.models.backends.endpoint.image_urls import ImagePolicy
from lmod_train.models.backends.endpoint.key import NO_KEY, Key
from lmod_train.models.backends.endpoint.likelihood import NO_LIKELIHOODS, Method
from lmod_train.models.backends.endpoint.pace import Pace
from lmod_train.models.backends.endpoint.request import Decoding, Rules
from lmod_train.models.backends.endpoint.request_batch import RequestBatch, Writing
from lmod_train.models.backends.endpoint.retries import Asking


@dataclass(frozen=True, slots=True)
class _Open:
    """Objects that are created before the first request."""

    background: Background
    asking: Asking
    spending: Spending
    method: Method
    batches: BatchAsking | None = None


class OpenAI(StreamBackend):
    """Generates replies with a server that accepts chat-completions requests.

    `base_url`, `model`, decoding, and size and format of the images identify the replies of a run. Key, pace, budget
    and replicas may change when a run is continued.

    Args:
        base_url: URL of the server, up to and including ``/v1``.
        model: Name of the model on the server.
        max_new_tokens: Maximum length of a reply in tokens (LMOD Table 6: 512), including hidden reasoning.
        temperature: Sampling temperature; 0 for greedy decoding. Never sent to reasoning models.
        rules: Fields of a request: ``classic`` (``max_tokens`` and temperature), ``no_temperature`` (``max_tokens``),
            ``reasoning`` (``max_completion_tokens``), or ``auto`` to choose by the model's name (``reasoning`` for
            GPT-5, later ones and the o series, else ``classic``). State it for a model whose name says nothing.
        system_prompt: Text of a system message before the record's own; empty for none.
        likelihoods: Log-likelihood of every choice in the requested format to store with the replies: ``sum`` over its
            tokens, their ``mean``, or ``none``. By ``prompt_logprobs`` (vLLM), else for ``sum`` by the top ``logprobs``
            of the reply; absent if the server returns neither, which the first line of output states.
        extra: Further fields of the request body, e.g. ``{reasoning_effort: low}``.
        images: Size and format in which images are sent.
        key_variable: Environment variable that contains the API key. Not needed for servers in your own network.
        ending_stated: Set to false for a server that does not return a finish reason (VILA's own). Every reply then
            counts as complete, and truncated ones are not recognised.
        replicas: Base URLs of further servers with the same model. Questions about one image are sent to one server.
        send_sources: Names of sources whose images may be sent outside your network although their licence does not
            permit redistribution, because your agreement with their provider allows it.
        plain_key: Whether the key may be sent unencrypted (http) to another machine of your network.
        proxy: URL of the proxy through which the servers are reached; that of the environment is not used. Behind it,
            only numeric addresses can be in your network.
        pace: Concurrent requests, time-outs and attempts.
        budget: Maximum number of requests, tokens or costs per command and process.
        batches: Whether requests are left at the service as batches, at half price, and collected by a later command.

    Raises:
        BadArgument: The value of an option is invalid.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        max_new_tokens: int = 512,
        temperature: float | None = 0.0,
        rules: Rules = "auto",
        system_prompt: str = "",
        likelihoods: Likelihoods = "none",
        extra: dict[str, Any] | None = None,
        images: ImagePolicy = ImagePolicy(),
        key_variable: str = "OPENAI_API_KEY",
        ending_stated: bool = True,
        replicas: list[str] | None = None,
        send_sources: list[str] | None = None,
        plain_key: bool = False,
        proxy: str = "",
        pace: Pace = Pace(),
        budget: Budget = Budget(),
        batches: Batches = Batches(),
    ) -> None:
        self._key, self._ending_stated = Key(key_variable), ending_stated
        for url in (base_url, *(replicas or ()), proxy):
            self._key.refuse_in("base_url", url)
        between = checked(proxy, "proxy") if proxy else ""
        self._routes = tuple(route_to(checked(url), between) for url in (base_url, *(replicas or ())))
        self._decoding = Decoding(model, max_new_tokens, temperature, rules, system_prompt, extra or {})
        self._images, self._pace, self._budget = images, pace, budget
        self._likelihoods = likelihoods
        self.collate = Writing(self._decoding, images, self._routes, tuple(send_sources or ()))
        self._plain_key = plain_key
        self._batches, self._ledger = batches, (Path(), "")
        self._share_paid = 1.0 if batches.interface == "none" else SHARE_PAID
        if batches.interface != "none":
            self._refuse_in_batches()
        self._opened: _Open | None = None
        self._constrained = False

    def constrain(self) -> None:
        """Ask for one of the choices by a field of the request (`endpoint.constraint`); the first reply is checked."""
        if self._batches.interface != "none":
            super().constrain()
        if taken := sorted(FORMS.keys() & self._decoding.extra.keys()):
            cure = "leave it out, or add `--model.constrain null`"
            raise BadArgument("backend.extra", taken, "fields that `--model.constrain choices` does not set", cure)
        self._constrained = True

    def _refuse_in_batches(self) -> None:
        """Refuse what needs the reply of one request before the next is sent."""
        others = {"likelihoods": self._likelihoods != "none", "replicas": len(self._routes) > 1}
        limits = {"budget.tokens": self._budget.tokens, "budget.money": self._budget.money}
        if found := [name for name, is_set in (others | limits).items() if is_set]:
            cure = "leave it out, or ask by single requests; `--max_cost` limits what batches cost"
            raise BadArgument(f"backend.{found[0]}", "set", "not set where requests are sent in batches", cure)

    def stored_in(self, run: Path, name: str) -> None:
        """Take note of where the run keeps its batches."""
        self._ledger = Run(run).batches, name

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent requests to all servers."""
        return self._pace.concurrency * len(self._routes)

    @property
    def share_paid(self) -> float:
        """Share of the price of a single request that is paid."""
        return self._share_paid

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the price of a single request; None without prices."""
        return self._budget.cost(tokens_in, tokens_out) if self._budget.priced else None

    def limit_cost(self, most: float) -> None:
        """Limit the costs of a command, unless its budget is smaller; those of batches are not known in time."""
        if self._batches.interface != "none":
            return
        self._budget = replace(self._budget, money=min(most, self._budget.money or most))

    def ask_singly(self) -> None:
        """Send what follows as single requests."""
        self._batches = Batches()

    def prepare(self, device: Any) -> None:
        """Do nothing; the server is contacted with the first record."""

    def identity(self) -> Identity:
        """Return the URL with the model's name, and the settings of the requests."""
        return Identity((f"{self._routes[0].url} {self._decoding.model}",), settings=self._settings())

    def _settings(self) -> Mapping[str, Any]:
        wanted = {} if self._likelihoods == "none" else {"likelihoods": self._likelihoods}
        return {**self._decoding.settings(), "images": self._images.settings(), **wanted}

    def summary(self) -> str:
        """Return the usage, and what a user should know of the replies; empty if nothing was sent."""
        if self._opened is None:
            return ""
        asking = self._opened.asking
        lines = [f"{self._routes[0]}: {self._opened.spending.summary() or 'no reply was collected'}"]
        if self._opened.batches is not None:
            lines += filter(None, [self._opened.batches.summary()])
        if asking.stopped:
            lines.append(f"stopped asking: {asking.stopped}")
        if asking.stopped == UNMETERED:
            lines.append(f"Next: {BY_REQUESTS}")
        if asking.without_text:
            length = self._decoding.max_new_tokens
            lines.append(
                f"{asking.without_text} replies were cut off at max_new_tokens={length} before their first word, as of "
                f"hidden reasoning.\nNext: in a new run add `--model.backend.max_new_tokens {max(4096, 4 * length)}`"
            )
        if len(asking.models) > 1:
            lines.append(f"the replies are of {len(asking.models)} models: {', '.join(sorted(asking.models))}")
        return "\n".join(lines)

    def ending(self, today: date) -> str:
        """Return a note on the announced end of a commercial service that the model table knows; else empty.

        Args:
            today: Day from which the end is seen.
        """
        facts = of_service(self._decoding.model) if self._routes[0].place == "outside" else None
        said = facts.ending(today) if facts else ""
        return f"note: {said}. Replies name the model that wrote them" if said else ""

    def respond_stream(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield replies as they arrive; batches are read until twice as many requests wait as may be in flight.

        A reply counts as written when the next one is fetched; only then another request is sent in its place.
        """
        if self._batches.interface != "none":
            batching = self._open().batches
            assert batching is not None
            yield from batching.replies(batches)
            return
        places = self.at_once
        done: SimpleQueue[tuple[str, Task[Reply]]] = SimpleQueue()
        waiting: dict[str, None] = {}
        try:
            while True:
                # replies that have arrived come first, as their places are empty until they are written
                while (
                    len(waiting) < (2 * places if done.empty() else places)
                    and (batch := next(batches, None)) is not None
                ):
                    waiting |= self._begun(batch, done)
                if not waiting:
                    return
                id, task = done.get()
                yield task.result()
                del waiting[id]
                self._written(id)
        finally:
            if waiting and self._opened is not None:
                self._opened.background.cancel(list(waiting))  # before any place is free, which the next one would take
            for id in waiting:
                self._written(id)

    def _written(self, id: str) -> None:
        if self._opened is not None:
            self._opened.background.call(self._opened.asking.written, id)

    def _begun(self, batch: Batch, done: SimpleQueue[tuple[str, Task[Reply]]]) -> dict[str, None]:
        """Start the requests of a batch, and return their ids; each is put into `done` when it has finished."""
        if not batch.records:
            return {}
        asked, opened = RequestBatch.of(batch), self._open()
        begun = {
            record.id: opened.asking.reply(record, messages, rendered, opened.method)
            for record, messages, rendered in zip(asked.records, asked.messages, asked.rendered, strict=True)
        }
        opened.background.start(begun, done.put)
        return dict.fromkeys(begun)

    def _open(self) -> _Open:
        """Connect to the server and test which features it supports, only once.

        Raises:
            LmodError: There is no key, the name of the server does not resolve, or it does not reply.
        """
        import lightning.pytorch  # noqa: F401  (imports torch; sets the rank that `rank_zero_info` asks for)
        from lightning_utilities.core.rank_zero import rank_zero_info

        if self._opened is None:
            for route in self._routes:
                if route.leaves():
                    self._key.required(route.url)
                if self._key.value() != NO_KEY:
                    check_encrypted(route, self._plain_key)
            background = Background()
            in_batches = self._batches.interface != "none"
            spending = Spending(self._budget.at_share(SHARE_PAID) if in_batches else self._budget)
            clients = [Client(route, self._key, self._pace.timeout, self._ending_stated) for route in self._routes]
            fleet = Fleet([Replica(client, self._pace.concurrency) for client in clients])
            asking = Asking(fleet, self._decoding, self._pace, spending, self._settings())
            if note := self.ending(date.today()):
                rank_zero_info(note)
            if in_batches:
                batching = self._batching(clients[0], asking, spending, background)
                self._opened = _Open(background, asking, spending, NO_LIKELIHOODS, batching)
                return self._opened
            wanted = self._likelihoods, self._constrained
            support = background.run(probe(asking, clients[0], self._decoding, self._key, *wanted))
            rank_zero_info(support.summary(str(self._routes[0])))
            asking.form = support.form
            self._opened = _Open(background, asking, spending, support.method)
        return self._opened

    def _batching(self, client: Client, asking: Asking, spending: Spending, background: Background) -> BatchAsking:
        """Return what leaves requests at the service, with the batches that the run has left there.

        Raises:
            LmodError: Replies are not stored in a run.
        """
        folder, name = self._ledger
        if not name:
            why = "batches: expected a run folder that remembers them"
            raise LmodError(f"{why}.\nNext: ask by `validate` or a Trainer, or leave out `batches`")
        return BatchAsking(
            SERVICES[self._batches.interface](client, self._key),
            Ledger(folder, name),
            self._batches,
            self._decoding.fields(),
            self._settings(),
            asking,
            spending,
            background,
            self._budget.requests,
        )
