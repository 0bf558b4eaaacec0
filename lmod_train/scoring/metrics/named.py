"""Metrics of tasks by name, as `torchmetrics.Metric`: for ``self.log`` of a LightningModule.

A metric keeps predictions and looks its value up in the scores that `lmod_train.scoring` computes of all of them, over
all batches and ranks. The metrics of `TaskMetrics` share what is gathered and computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import torch
from torch import Tensor
from torchmetrics import Metric, MetricCollection
from torchmetrics.utilities.distributed import gather_all_tensors

from lmod_train.core.artifacts.predictions import answer_json, answer_of, prediction_line, prediction_of_line
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Record, Reply, Score, Unparsed
from lmod_train.scoring.classification import classification_scores, label_of
from lmod_train.scoring.completeness import share_failed
from lmod_train.scoring.grading import grading_scores
from lmod_train.scoring.headline_metrics import direction
from lmod_train.scoring.items import items_of
from lmod_train.scoring.region_scores import region_scores


@runtime_checkable
class Scorer(Protocol):
    """What reads replies and scores predictions: every `lmod_train.Task`."""

    @property
    def name(self) -> str:
        """Name of the task."""
        ...

    def prediction(self, record: Record, reply: Reply) -> Prediction:
        """Return record and reply with the answer read from the reply."""
        ...

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return all scores of predictions with different record ids."""
        ...

    def metric_names(self) -> list[str]:
        """Return the names of its metrics over all records."""
        ...


_Of: TypeAlias = "Scorer | _Shared | None"
_Version: TypeAlias = Literal["strict", "answered", "chance_filled"]
_Definition: TypeAlias = Literal["lmod_plus", "lmod_v1"]


class NamedMetric(Metric):
    """One metric over all batches and ranks; `compute` returns a 0-d tensor, NaN where it is not defined.

    Ranks may hold different numbers of predictions, also none. Each record counts once, with its last update: padding
    duplicates of a distributed sampler drop out. A missing answer is wrong, as in ``scores.csv``.

    Args:
        metric: Name of the metric in ``scores.csv``.
        task: Task that reads and scores; None scores answers against truths (see `update`).
        subset: ``all`` or ``key=value`` (of a task's scores); NaN for a subset that does not occur.
        choices: Without a task, the classes; default: those that occur. Levels of a scale are in their order.
        positive: Without a task, the class of sensitivity and specificity.
        **options: Options of `torchmetrics.Metric`, such as ``sync_on_compute``.

    Example:
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> kappa = NamedMetric("kappa", Glaucoma())
        >>> kappa.update([])
        >>> kappa.compute()
        tensor(nan)
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    outcomes: list[Tensor] | Tensor

    def __init__(
        self,
        metric: str,
        task: _Of = None,
        subset: str = "all",
        choices: Sequence[str | float] = (),
        positive: str | float | None = None,
        **options: Any,
    ) -> None:
        label = None if positive is None else label_of(positive)
        scorer = task or _Pairs(metric, tuple(map(label_of, choices)), label)
        shared = scorer if isinstance(scorer, _Shared) else _Shared(scorer)
        super().__init__(**{"dist_sync_fn": shared.gather} | options)
        self.metric, self.subset, self.shared = metric, subset, shared
        self.add_state("outcomes", default=[], dist_reduce_fx="cat")

    def update(self, preds: Any, target: Any = None, ids: Sequence[str] | None = None) -> None:
        """Add a batch, which may be empty.

        Args:
            preds: With a task, predictions; or replies (`Reply`, matched by id, or texts) with their records as
                `target`. Those of other tasks are passed over. Without a task, answers: words, class indices from 0,
                also as a tensor, or mappings from region id to structure; None or `Unparsed` for a missing answer.
                Other numbers only if `choices` has them.
            target: Without a task, the truths, one for each answer. An item with the truth -100 is not scored, as in
                torch's `cross_entropy`.
            ids: Without a task, an id for each answer, by which duplicates drop out; default: all are different.

        Raises:
            BadArgument: What is given does not fit the metric.
        """
        text = b"".join(map(prediction_line, self.shared.predictions(preds, target, ids)))
        self.shared.forget()
        parts = self._parts()
        text = text if parts else self.shared.heading + text
        if text:
            self.outcomes = [*parts, torch.frombuffer(bytearray(text), dtype=torch.uint8).to(self.device)]

    def _parts(self) -> list[Tensor]:
        return self.outcomes if isinstance(self.outcomes, list) else [self.outcomes]

    def scored(self) -> tuple[list[Prediction], list[Score]]:
        """Return the predictions, one per id in id order, and all their scores: of this rank, after `sync` of all."""
        return self.shared.scored(self._parts())

    def compute(self) -> Tensor:
        """Return the value of the metric.

        Raises:
            BadArgument: The scores have no metric of that name, or several.
        """
        scores = self.scored()[1]
        named, known = [s for s in scores if s.metric == self.metric], sorted({s.metric for s in scores})
        if len(known) > 1 and not named and self.metric not in self.shared.usual:  # a failed request has but its share
            raise BadArgument("metric", self.metric, f"one of {', '.join(known)}", "name a metric of this task")
        found = [s.value for s in named if s.subset == self.subset]
        value = found[0] if found else None
        dtype = torch.promote_types(self.dtype, torch.float32)
        return torch.tensor(float("nan") if value is None else value, dtype=dtype, device=self.device)

    def reset(self) -> None:
        """Remove all predictions."""
        self.outcomes = []  # not emptied in place, as the metrics of a compute group share the list
        self.shared.forget()
        super().reset()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Return figure and axes with one value or the values of several steps; by default the current value."""
        drawn: Any = self._plot(val, ax)
        drawn[1].set_ylabel(self.metric)
        return drawn


class _Shared:
    """What the metrics of a collection have in common: the task, what was gathered, and its scores, computed once.

    A copy has the same task and begins empty.
    """

    def __init__(self, task: Scorer | _Pairs, usual: Sequence[str] = ()) -> None:
        if isinstance(task, type) or not isinstance(task, Scorer | _Pairs):
            raise BadArgument("task", task, "a task, with its options", "create one: `task=Glaucoma()`")
        self.task, self.usual = task, usual
        self._gathered: tuple[Tensor, list[Tensor]] | None = None
        self._parts: tuple[Tensor, ...] = ()
        self._scored: tuple[list[Prediction], list[Score]] = [], []

    def __reduce__(self) -> tuple[type[_Shared], tuple[Any, ...]]:
        return _Shared, (self.task, self.usual)

    @property
    def heading(self) -> bytes:
        """First line of a state, by which `MetricCollection` tells the states of two tasks apart before a reply."""
        return b"" if isinstance(self.task, _Pairs) else f"#{self.task.name}\n".encode("ascii", "backslashreplace")

    def predictions(self, preds: Any, target: Any, ids: Sequence[str] | None) -> list[Prediction]:
        """Return the predictions of a batch (see `NamedMetric.update`)."""
        task = self.task
        if isinstance(task, _Pairs):
            return task.predictions(preds, target, ids)
        if ids is not None:
            raise BadArgument("ids", "given", "none, as each record has its id", "leave it out")
        if target is None:
            (found,) = _columns(preds=preds)
            _refuse_others("preds", found, Prediction, "predictions")
            return [p for p in found if p.record.task == task.name]
        given, records = _columns(preds=preds, target=target)
        _refuse_others("target", records, Record, "the records of the replies")
        _refuse_others("preds", given, Reply | str, "replies or their texts")
        named = [Reply(r.id, p) if isinstance(p, str) else p for p, r in zip(given, records, strict=True)]
        replies = {reply.id: reply for reply in named}
        return [task.prediction(r, replies[r.id]) for r in records if r.task == task.name and r.id in replies]

    def forget(self) -> None:
        """Remove what was gathered."""
        self._gathered = None

    def gather(self, state: Tensor, group: Any = None) -> list[Tensor]:
        """Return the states of all ranks, gathered once after an update or reset.

        The state of a rank that was not updated comes as floating-point numbers.
        """
        own = state.to(torch.uint8)
        if self._gathered is None or not _equal(own, self._gathered[0]):
            self._gathered = own, gather_all_tensors(own, group)
        return self._gathered[1]

    def scored(self, parts: Sequence[Tensor]) -> tuple[list[Prediction], list[Score]]:
        """Return the predictions, one per id in id order, the scores of those with a reply, and ``share_failed``."""
        if len(parts) != len(self._parts) or not all(map(_equal, parts, self._parts)):
            lines = b"".join(part.to("cpu", torch.uint8).numpy().tobytes() for part in parts).splitlines()
            read = map(prediction_of_line, (line for line in lines if not line.startswith(b"#")))
            last = {p.record.id or f"#{n}": p for n, p in enumerate(read)}
            found = [p if p.record.id else replace(p, record=replace(p.record, id=id)) for id, p in last.items()]
            found.sort(key=lambda p: p.record.id)
            replied = [p for p in found if p.status != "failed"]
            failed = [share_failed(self.task.name, len(found) - len(replied), len(found))] if found else []
            self._scored = found, [*(self.task.score(replied) if replied else []), *failed]
            self._parts = tuple(parts)
        return self._scored


def _equal(one: Tensor, other: Tensor) -> bool:
    alike = (one.device, one.dtype, one.shape) == (other.device, other.dtype, other.shape)
    return one is other or (alike and torch.equal(one, other))


def _columns(**given: Any) -> list[list[Any]]:
    """Return the arguments as lists of one length.

    Raises:
        BadArgument: One is no sequence, of several dimensions, or longer than another one.
    """
    for name, values in given.items():
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
            shown = f"shape {tuple(values.shape)}" if hasattr(values, "shape") else values
            cure = "give a list, or one class index each, e.g. `logits.argmax(dim=-1)`"
            raise BadArgument(name, shown, "a sequence with one value for each item", cure)
    listed = [values.tolist() if hasattr(values, "tolist") else list(values) for values in given.values()]
    if other := [pair for pair in zip(given, map(len, listed), strict=True) if pair[1] != len(listed[0])]:
        (name, n), expected = other[0], f"{len(listed[0])}, one for each of preds"
        raise BadArgument(name, f"{n} values", expected, "give those of the same batch")
    return listed


def _refuse_others(name: str, values: Sequence[Any], kind: Any, expected: str) -> None:
    if other := [type(value).__name__ for value in values if not isinstance(value, kind)]:
        cure = "give replies with their records: `metric.update(replies, records)`; answers and truths need no task"
        raise BadArgument(name, other[0], expected, cure)


_IGNORED = -100
"""Truth of items that are not scored, as torch's losses have it."""
_ORDERED = ("kappa_quadratic", "mean_absolute_error", "macro_precision")


@dataclass(frozen=True)
class _Pairs:
    """Scores answers against truths, without a task (see `NamedMetric`)."""

    metric: str
    choices: tuple[str, ...] = ()
    positive: str | None = None
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.metric in (*_ORDERED, "accuracy_chance_filled", "chance") and not self.choices:
            raise BadArgument("choices", (), f"the classes, on which {self.metric} depends", "name all, or give a task")
        if self.metric in ("sensitivity", "specificity") and self.positive is None:
            raise BadArgument("positive", None, f"the class of the {self.metric}", "name it, or give a task")

    def predictions(self, preds: Any, target: Any, ids: Sequence[str] | None) -> list[Prediction]:
        """Return the predictions of a batch; those without an id are numbered once all are gathered."""
        if target is None:
            cure = "give the truths, or a task: `metric.update(answers, truths)`"
            raise BadArgument("target", None, "the truths of the answers", cure)
        answers, truths = _columns(preds=preds, target=target)
        names = _columns(preds=answers, ids=ids)[1] if ids is not None else [""] * len(truths)
        if other := [id for id in names if not isinstance(id, str)]:
            raise BadArgument("ids", other[0], "a text", "give ids of records: `[record.id for record in records]`")
        ignored = None if f"{_IGNORED}" in self.choices else _IGNORED
        rows = zip(answers, truths, names, strict=True)
        return [self._pair(*row) for row in rows if row[1] is None or row[1] != ignored]

    def _pair(self, answer: Any, truth: Any, id: str) -> Prediction:
        text = answer_json(self._answer("target", truth))
        record = Record(id, "", "", 0, "", "", "", (), (), (), "val", "", "", (), (), text)
        answer = Unparsed("no_match") if answer is None else answer
        read = answer if isinstance(answer, Unparsed) else self._answer("preds", answer)
        return Prediction(record, Reply(id, ""), read)

    def _answer(self, name: str, value: Any) -> Answer:
        """Return an answer, a number as the name of its class.

        Raises:
            BadArgument: It is a number that is no class index and none of the choices, or something else.
        """
        if isinstance(value, str | Mapping):
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if (number.is_integer() and number >= 0) or label_of(number) in self.choices:
            return label_of(number)
        cure = "give class indices, `probabilities.argmax(dim=-1)` or `(probability > 0.5).long()`, and a truth to each"
        raise BadArgument(name, value, "words, class indices from 0, or region ids with structures", cure)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the scores of regions, levels or classes, whichever the truths are."""
        items = items_of(predictions, lambda p: answer_of(p.record.answer))
        given = [a for item in items for a in (item.truth, item.answer) if not isinstance(a, Unparsed)]
        seen = {word for a in given for word in (a.values() if isinstance(a, Mapping) else [label_of(a)])}
        choices = self.choices or tuple(sorted(seen if self.positive is None else {*seen, self.positive}))
        items = [replace(item, choices=choices) for item in items]
        if isinstance(items[0].truth, Mapping):
            return region_scores("", items)
        if self.metric in _ORDERED:
            return grading_scores("", items, choices)
        return classification_scores("", items, choices, self.positive)


# The metrics that papers report, each by its name.


class _Fixed(NamedMetric):
    higher_is_better = True
    plot_lower_bound, plot_upper_bound = 0.0, 1.0
    metric_name: ClassVar[str] = ""

    def __init__(self, task: _Of = None, **options: Any) -> None:
        super().__init__(self.metric_name, task, **options)


def _known(name: str, value: str, names: Any) -> str:
    if value not in get_args(names):
        raise BadArgument(name, value, f"one of {', '.join(get_args(names))}", f'`{name}="{get_args(names)[0]}"`')
    return value


class Accuracy(_Fixed):
    """Accuracy in one of three versions (see `lmod_train.scoring.classification.classification_scores`).

    Args:
        version: How a missing answer counts: wrong, not at all, or as 1 / number of choices.
        task: See `NamedMetric`.
        **options: Other arguments of `NamedMetric`.
    """

    def __init__(self, version: _Version = "strict", task: _Of = None, **options: Any) -> None:
        NamedMetric.__init__(self, f"accuracy_{_known('version', version, _Version)}", task, **options)


class RegionF1(_Fixed):
    """F1 over regions by one of two published definitions (see `lmod_train.scoring.region_scores.region_scores`).

    Args:
        definition: ``lmod_plus``, the mean of per-image F1; or ``lmod_v1``, the harmonic mean of mean precision and
            mean recall.
        task: See `NamedMetric`.
        **options: Other arguments of `NamedMetric`.

    Example:
        >>> f1 = RegionF1()
        >>> f1.update([{1: "optic disc", 2: "fovea"}, None], [{1: "optic disc", 2: "optic cup"}, {1: "lens"}])
        >>> f1.compute()
        tensor(0.2500)
    """

    def __init__(self, definition: _Definition = "lmod_plus", task: _Of = None, **options: Any) -> None:
        NamedMetric.__init__(self, f"f1_{_known('definition', definition, _Definition)}", task, **options)


class RegionPrecision(_Fixed):
    """Mean share over images of the predicted regions whose structure is right."""

    metric_name = "precision"


class RegionRecall(_Fixed):
    """Mean share over images of the true regions whose structure is right."""

    metric_name = "recall"


class HallucinationResistance(_Fixed):
    """Share of predicted region ids that exist (HR, also printed as HC and PPV)."""

    metric_name = "hr"


class Sensitivity(_Fixed):
    """Share of positive items with a positive answer; a missing answer is wrong."""

    metric_name = "sensitivity"


class Specificity(_Fixed):
    """Share of negative items with a negative answer; a missing answer is wrong."""

    metric_name = "specificity"


class MacroF1(_Fixed):
    """Mean F1 over the classes that occur as truth or answer."""

    metric_name = "macro_f1"


class QuadraticKappa(_Fixed):
    """Cohen's kappa with quadratic weights over the answered items of a scale, whose levels are its `choices`."""

    metric_name = "kappa_quadratic"
    plot_lower_bound = -1.0


class UnparsedShare(_Fixed):
    """Share of items whose reply has no answer that could be read."""

    metric_name = "share_unparsed"
    higher_is_better = False


class RefusedShare(_Fixed):
    """Share of items whose reply is a refusal (LMOD's rejection rate)."""

    metric_name = "share_refused"
    higher_is_better = False


class _Higher(NamedMetric):
    higher_is_better = True


class _Lower(NamedMetric):
    higher_is_better = False


_NAMED: dict[str, Callable[..., NamedMetric]] = {
    **{f"accuracy_{version}": partial(Accuracy, version) for version in get_args(_Version)},
    **{f"f1_{definition}": partial(RegionF1, definition) for definition in get_args(_Definition)},
    **{kind.metric_name: kind for kind in _Fixed.__subclasses__() if kind.metric_name},
}


class TaskMetrics(MetricCollection):
    """The metrics of a task over one state: it is gathered once and scored once for all of them.

    Args:
        task: The task.
        names: Names of metrics in ``scores.csv``, which are the keys; default: all that are over all records.
        **options: Options of `torchmetrics.Metric`.
    """

    def __init__(self, task: Scorer, names: Sequence[str] = (), **options: Any) -> None:
        shared, by_direction = _Shared(task), {1: _Higher, 0: NamedMetric, -1: _Lower}
        shared.usual = usual = [] if names else task.metric_names()
        made = {n: _NAMED.get(n) or partial(by_direction[direction(n)], n) for n in names or usual}
        super().__init__({n: kind(task=shared, **options) for n, kind in made.items()}, compute_groups=[list(made)])

    def scored(self) -> tuple[list[Prediction], list[Score]]:
        """Return the predictions of all ranks, one per record id in id order, and all their scores.

        The scores are those of ``scores.csv``: with subsets and intervals, over the records with a reply.
        """
        first = next(iter(self.values(copy_state=False)))
        assert isinstance(first, NamedMetric)
        with first.sync_context(first.dist_sync_fn, should_sync=first.sync_on_compute):
            return first.scored()
