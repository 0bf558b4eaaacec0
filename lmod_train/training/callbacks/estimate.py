"""Callback that states what an evaluation by a service will need: questions, images, tokens, money and hours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lightning import Callback, LightningModule, Trainer

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Record, Reply
from lmod_train.scoring.projection import Total, total_of
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.protocols import Charging, data_of

SAMPLE = 20
"""Questions that are asked to measure tokens, by default."""

MEASURE = f"the same command with `--estimate` measures them on {SAMPLE} questions, whose replies are kept"


class Estimate(Callback):
    """States the needs of the questions without a reply before the first request; refuses those that cost too much.

    Tokens and costs are predicted from the stored replies by the length of the prompt, size and number of the images,
    and the task (`lmod_train.scoring.projection.total_of`). The replies of a sample are those of the run, which does
    not ask them again.

    Args:
        sample: Number of replies to measure on. If above 0, only as many questions are asked as are missing, spread
            evenly over tasks and lengths, and the estimate is printed after them.
        most: Maximum costs of the whole run, in the currency of the prices; 0 for any.
    """

    def __init__(self, sample: int = 0, most: float = 0.0) -> None:
        self._sample, self._most = sample, most
        self._records: Sequence[Record] = ()
        self._service: Charging | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Choose the sample.

        Raises:
            BadArgument: There is no service to ask, or the sample cannot be drawn.
        """
        service, data = getattr(pl_module, "backend", None), data_of(trainer)
        self._service = service if isinstance(service, Charging) and stage != "fit" else None
        if not (self._sample or self._most):
            return
        option = "--estimate" if self._sample else "--max_cost"
        if self._service is None:
            cure = "leave it out; `fit`, and a model on this machine, cost no money"
            raise BadArgument(option, self._sample or self._most, "an evaluation of a model behind an endpoint", cure)
        if self._sample:
            if not hasattr(data, "choose") or any(r.needs for r in data.asked(stage)):
                expected = "records whose words hold no earlier answers, in a RecordsDataModule"
                raise BadArgument(option, self._sample, expected, "estimate with `--data.regime oracle`")
            self._service.ask_singly()
            if self._most:
                self._service.limit_cost(self._most)
            data.choose(lambda left: spread(left, self._sample - len(measured(self._answered(trainer)))))

    def _answered(self, trainer: Trainer) -> Mapping[str, Reply]:
        every: Any = getattr(trainer, "callbacks", ())
        return next((c.answered for c in every if isinstance(c, GenerationEval)), {})

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """State the estimate by the replies that are stored, before the first request."""
        if self._service is not None and not self._sample and not trainer.sanity_checking:
            self._tell(trainer, pl_module, self._service)

    on_test_start = on_predict_start = on_validation_start

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """State the estimate after the sample, also where it had been asked before."""
        if self._service is not None and self._sample and not trainer.interrupted:
            self._tell(trainer, pl_module, self._service)

    def _tell(self, trainer: Trainer, pl_module: LightningModule, service: Charging) -> None:
        data, fn = data_of(trainer), trainer.state.fn
        records, replies = data.asked(str(getattr(fn, "value", fn))), self._answered(trainer)
        shown = {n for r in records for n in r.image} if measured(replies) and len(replies) < len(records) else ()
        sizes = {name: math.prod(data.images.size(name)) / 1e6 for name in shown}
        needs = needs_of(records, replies, sizes, service)
        pl_module.print(needs.text(service))
        if self._most and needs.left:
            needs.refuse_above(self._most)
            service.limit_cost(self._most - (needs.spent or 0.0))


@dataclass(frozen=True, slots=True)
class Needs:
    """What the questions without a reply need.

    Attributes:
        questions: Number of all questions.
        left: Number of those without a reply.
        images: Number of images that these show.
        measured: Number of replies on which tokens were measured.
        tokens_in: Prompt tokens.
        tokens_out: Reply tokens.
        money: Costs; None without prices.
        spent: Costs of the replies that are there, at the price of single requests; None without prices.
        hours: Time of the requests; None if they are batches of the service, or nothing is measured.
    """

    questions: int
    left: int
    images: int
    measured: int
    tokens_in: Total
    tokens_out: Total
    money: Total | None
    spent: float | None
    hours: float | None

    def text(self, service: Charging) -> str:
        """Return it on one line."""
        head = f"estimate: {self.questions:,} questions, {self.questions - self.left:,} with a reply"
        if not self.left:
            return head
        head += f"; the other {self.left:,} show {self.images:,} images"
        if not self.measured:
            return f"{head}; tokens and costs are not measured: {MEASURE}"
        money = (
            f"costs of {_ends(self.money)} besides {self.spent:.4g} for those there"
            if self.money is not None
            else "costs: not known; add `--model.backend.budget.price_in P --model.backend.budget.price_out Q`"
        )
        hours = (
            f"{self.hours:.3g} hours ({service.at_once} requests at once)" if self.hours is not None else "as batches"
        )
        return (
            f"{head}: {_ends(self.tokens_in, ',.0f')} prompt tokens, {_ends(self.tokens_out, ',.0f')} reply tokens, "
            f"{money}, {hours}, by {self.measured:,} replies, with 95 % intervals"
        )

    def refuse_above(self, most: float) -> None:
        """Refuse to ask what may cost more.

        Raises:
            LmodError: The upper end of the costs is above, or they are not known. No request was sent.
        """
        if self.money is None or not self.measured:
            raise LmodError(f"max_cost={most:g}: the costs are not known yet. No request was sent.\nNext: {MEASURE}")
        upper = (self.money.value if self.money.high is None else self.money.high) + (self.spent or 0.0)
        if upper > most:
            raise LmodError(
                f"max_cost={most:g}: the run may cost {upper:.4g}. No request was sent.\nNext: ask less, e.g. by "
                f"`--data.limit`, or add `--max_cost {float(f'{1.1 * upper:.2g}'):g}`"
            )


def _ends(total: Total | None, form: str = ".4g") -> str:
    if total is None or total.low is None:
        return "-" if total is None else f"{total.value:{form}}"
    return f"{total.value:{form}} ({total.low:{form}} to {total.high:{form}})"


def measured(replies: Mapping[str, Reply]) -> dict[str, Reply]:
    """Return the replies whose tokens the service has stated."""
    return {id: reply for id, reply in replies.items() if reply.tokens_in > 0}


def needs_of(
    records: Sequence[Record], replies: Mapping[str, Reply], sizes: Mapping[str, float], service: Charging
) -> Needs:
    """Return what questions without a reply need, by the replies to others.

    Args:
        records: All questions.
        replies: Record id -> reply.
        sizes: Name of an image -> its size in millions of pixels.
        service: What answers.
    """
    known, tasks = measured(replies), [task for task, _ in Counter(r.task for r in records).most_common()]
    columns = {r.id: _columns(r, sizes, tasks[1:]) for r in records}
    left = [r for r in records if r.id not in replies]
    x, rest = [columns[r.id] for r in records if r.id in known], [columns[r.id] for r in left]
    own = [known[r.id] for r in records if r.id in known]
    costs = [cost for reply in own if (cost := service.cost(reply.tokens_in, reply.tokens_out)) is not None]
    ahead = [service.share_paid * cost for cost in costs]
    shown = {name for r in left for name in r.image}
    seconds = sum(r.seconds for r in own) / max(1, len(own))
    together = service.share_paid < 1 or not own
    return Needs(
        questions=len(records),
        left=len(left),
        images=len(shown),
        measured=len(own),
        tokens_in=total_of(x, [r.tokens_in for r in own], rest) if own else Total(0.0),
        tokens_out=total_of(x, [r.tokens_out for r in own], rest) if own else Total(0.0),
        money=total_of(x, ahead, rest) if ahead else None,
        spent=sum(costs) if costs else None,
        hours=None if together else seconds * len(left) / service.at_once / 3600,
    )


def _columns(record: Record, sizes: Mapping[str, float], tasks: Sequence[str]) -> list[float]:
    length = float(sum(len(part.text) for message in record.messages for part in message.parts))
    shown = [sum(sizes.get(name, 0.0) for name in record.image), float(len(record.image))]
    return [length, *shown, *(float(record.task == task) for task in tasks)]


def spread(records: Sequence[Record], number: int) -> list[Record]:
    """Return so many records, evenly spaced in the order of task, number of images and length of the prompt.

    Args:
        records: Any.
        number: How many; at most all, and none if it is below 1.
    """
    ordered = sorted(records, key=lambda r: (r.task, len(r.image), _columns(r, {}, ()), r.id))
    taken = min(max(0, number), len(ordered))
    return [ordered[(2 * i + 1) * len(ordered) // (2 * taken)] for i in range(taken)]
