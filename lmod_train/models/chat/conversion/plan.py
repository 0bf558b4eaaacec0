"""Plan of the conversion of every tensor, made from names and shapes before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForImageTextToText

from lmod_train.core.errors import NotConvertible
from lmod_train.models.chat.layouts.base import EMBEDDING, HEAD, Layout, Rule
from lmod_train.models.chat.stored import TYPES, Stored

FEW = 6
FLOATING = set(TYPES.values())
Shape = tuple[int, ...]


@dataclass
class Plan:
    """The result of every tensor.

    Attributes:
        mapped: Names of the resulting tensors, by original name.
        dropped: Reason why a tensor is left out, by original name.
        unknown: Original names that no rule of the layout matches.
        shapes: Shapes of the resulting tensors, by name.
        original: Shapes of the original tensors, by name.
        dtype: Type of the language model, by its name in torch.
    """

    mapped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    original: dict[str, Shape] = field(default_factory=dict)
    dtype: str = "float32"


def planned(layout: Layout) -> Plan:
    """Return the plan of a checkpoint by the rules of its layout.

    Raises:
        NotConvertible: A tensor matches no rule, two have the same result, or one cannot be split by its rule.
    """
    plan = Plan()
    for tensor in layout.stored():
        plan.original[tensor.name] = tensor.shape
        _place(layout, plan, tensor)
    plan.shapes |= {name: tuple(made.shape) for name, made in layout.made(torch.float32).items()}
    if plan.unknown:
        raise _unlike(layout, f"tensors that no rule of {layout.title} matches: {_few(plan.unknown)}")
    if EMBEDDING not in plan.shapes:
        raise _unlike(layout, "the embedding of the language model is missing")
    return plan


def _place(layout: Layout, plan: Plan, tensor: Stored) -> None:
    rule = next((rule for rule in layout.rules if rule.places(tensor.name)), None)
    reasons = [why for pattern, why in layout.dropped.items() if re.fullmatch(pattern, tensor.name)]
    if reasons:
        plan.dropped[tensor.name] = reasons[0]
    elif rule is not None:
        _map(layout, plan, tensor, rule)
    else:
        plan.unknown.append(tensor.name)


def _map(layout: Layout, plan: Plan, tensor: Stored, rule: Rule) -> None:
    name, places = tensor.name, rule.places(tensor.name)
    if tensor.dtype not in FLOATING:
        raise _unlike(layout, f"{name} is of the type {tensor.dtype}: quantised weights cannot be converted")
    try:
        made = rule.change(torch.empty(tensor.shape, device="meta"))
    except RuntimeError as error:
        raise _unlike(layout, f"{name} of shape {list(tensor.shape)} cannot be split as in {layout.title}") from error
    if twice := [place for place in places if place in plan.shapes]:
        raise _unlike(layout, f"{_few(twice)} would come from two tensors, one of them {name}")
    plan.mapped[name] = places
    plan.shapes |= {place: tuple(part.shape) for place, part in zip(places, made, strict=True)}
    plan.dtype = tensor.dtype if EMBEDDING in places else plan.dtype


def grow(plan: Plan, rows: int) -> None:
    """Raise the number of rows of embedding and head in the plan to `rows`, if it is lower."""
    for name in (EMBEDDING, HEAD):
        if name in plan.shapes:
            plan.shapes[name] = (max(rows, plan.shapes[name][0]), *plan.shapes[name][1:])


def check(plan: Plan, layout: Layout, config: Any) -> None:
    """Compare the resulting tensors with those of the network that the configuration describes.

    Raises:
        NotConvertible: A tensor is missing, unexpected, or of another shape.
    """
    with torch.device("meta"):
        network = AutoModelForImageTextToText.from_config(config)
    wanted = {layout.published(name): tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    missing, strange = sorted(wanted.keys() - plan.shapes.keys()), sorted(plan.shapes.keys() - wanted.keys())
    other = [
        f"{name} {list(plan.shapes[name])}, expected {list(shape)}"
        for name, shape in wanted.items()
        if name in plan.shapes and plan.shapes[name] != shape
    ]
    problems = {"missing": missing, "left over": strange, "of another shape than config.json states": other}
    if any(problems.values()):
        raise _unlike(layout, "; ".join(f"{what}: {_few(names)}" for what, names in problems.items() if names))


def tensors_of(plan: Plan, layout: Layout) -> Iterator[tuple[str, Tensor]]:
    """Yield name and content of every resulting tensor; each original tensor is read once."""
    for stored in layout.stored():
        places = plan.mapped.get(stored.name, ())
        rule = next((rule for rule in layout.rules if rule.places(stored.name)), None) if places else None
        for name, made in zip(places, rule.change(stored.read()) if rule else (), strict=True):
            yield name, grown(made, plan.shapes[name][0]) if name in (EMBEDDING, HEAD) else made
    yield from layout.made(getattr(torch, plan.dtype)).items()


def grown(tensor: Tensor, rows: int) -> Tensor:
    """Return a tensor with additional rows, each the mean of its rows.

    In a head, the logit of such a row is the mean of all logits, which is never the largest.
    """
    if rows <= len(tensor):
        return tensor
    mean = tensor.float().mean(0, keepdim=True).to(tensor.dtype)
    return torch.cat([tensor, mean.expand(rows - len(tensor), -1)])


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _unlike(layout: Layout, problem: str) -> NotConvertible:
    cure = "fetch all files of the checkpoint again; if its page names other code, run it with that code"
    return NotConvertible(layout.folder, problem, cure)


def counted(plan: Plan) -> Mapping[str, list[str]]:
    """Return the names of left-out tensors by reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in plan.dropped.items():
        reasons.setdefault(why, []).append(name)
    return reasons
