"""Strict loading of a weights file into a network, with a report of every tensor.

Unused and unfilled tensors must be exactly those expected; otherwise the network is left unchanged, and the error names
what the file contains, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.package_data import package_data
from lmod_train.models.vision.layouts import PREFIXES, named_as_timm
from lmod_train.models.vision.weights_file import AGAIN, WeightsFile

HEAD = frozenset({"head.weight", "head.bias"})
FC_NORM = frozenset({"fc_norm.weight", "fc_norm.bias"})
NORM = frozenset({"norm.weight", "norm.bias"})


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Report of loading a file, with every tensor of the file and of the model.

    `loaded` and `fresh` together are the model's names; `loaded` and `dropped` are the file's, without prefixes.

    Attributes:
        source: The file, or ``random``.
        loaded: Names loaded from the file.
        resized: Descriptions of loaded tensors that were resized.
        dropped: Names in the file that the model does not use.
        fresh: Names with new values: the head, and the norm before it.
        notes: Further remarks for the user.
        sha256: SHA-256 of the file; empty without one.
    """

    source: str
    loaded: tuple[str, ...] = ()
    resized: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""

    def __str__(self) -> str:
        counts = f"{self.source}: {len(self.loaded)} tensors loaded, {len(self.dropped)} dropped"
        fresh = f"new: {', '.join(self.fresh) or 'none'}" if self.loaded else "every tensor is new"
        return "; ".join((counts, fresh, *self.resized, *self.notes))


def names_of(file: WeightsFile, model: nn.Module) -> tuple[dict[str, Tensor], list[str], str]:
    """Return the file's tensors by the network's names, dropped names, and the layout; see `named_as_timm`.

    Raises:
        WeightsMismatch: Two tensors have the same name without their prefixes.
    """
    try:
        return named_as_timm(file.tensors, model.state_dict())
    except ValueError as error:
        refuse(file, (), [str(error)], "it contains two tensors of one name with different prefixes", AGAIN)


def fitted(model: nn.Module, tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Return the tensors with position embeddings of the model's grid, and a description of the resizing."""
    table, network = tensors.get("pos_embed"), cast(Any, model)
    if table is None or not hasattr(getattr(model, "patch_embed", None), "grid_size"):
        return tensors, ()
    grid = network.patch_embed.grid_size
    prefix = 0 if getattr(model, "no_embed_class", False) else getattr(model, "num_prefix_tokens", 0)
    try:
        resized = resize_positions(table, grid, prefix)
    except ValueError:
        return tensors, ()  # `fill` refuses the shape
    if resized.shape == table.shape:
        return tensors, ()
    side = round((table.shape[1] - prefix) ** 0.5)
    return tensors | {"pos_embed": resized}, (f"pos_embed resized from {side}x{side} to {grid[0]}x{grid[1]}",)


def resize_positions(table: Tensor, grid: tuple[int, int], prefix: int = 1) -> Tensor:
    """Return position embeddings resized as in RETFound and MAE: bicubic, corners not aligned, no antialiasing.

    timm's resizing uses antialiasing, which changes pre-trained embeddings by up to their standard deviation.

    Args:
        table: Position embeddings, (1, prefix + side * side, width).
        grid: Rows and columns of the result.
        prefix: Number of tokens before the patches, which are unchanged.

    Returns:
        (1, prefix + rows * columns, width); the table itself if the grid is the same.

    Raises:
        ValueError: The table is not of a square grid.

    Example:
        >>> resize_positions(torch.zeros(1, 1 + 14 * 14, 8), (20, 20)).shape
        torch.Size([1, 401, 8])
    """
    tokens = table.shape[1] - prefix if table.ndim == 3 else 0
    side = round(max(tokens, 0) ** 0.5)
    if not side or side * side != tokens:
        raise ValueError(f"a position table of shape {tuple(table.shape)} is not of a square grid")
    if (side, side) == grid:
        return table
    patches = table[:, prefix:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
    resized = functional.interpolate(patches.float(), size=grid, mode="bicubic", align_corners=False, antialias=False)
    return torch.cat((table[:, :prefix], resized.permute(0, 2, 3, 1).flatten(1, 2).to(table.dtype)), dim=1)


def fill(model: nn.Module, file: WeightsFile, tensors: Mapping[str, Tensor], fresh: Set[str]) -> None:
    """Load the tensors if they are exactly the model's without `fresh`; raise WeightsMismatch otherwise."""
    wanted: dict[str, Tensor] = model.state_dict()
    if any(tensor.is_meta for tensor in wanted.values()):
        raise BadArgument("model", "on the meta device", "a model with memory", "build it on a device, e.g. the CPU")
    misshapen = [
        f"{n} {tuple(wanted[n].shape)}, which is {tuple(t.shape)} in the file"
        for n, t in tensors.items()
        if n in wanted and t.shape != wanted[n].shape
    ]
    misshapen += [
        f"{n} {wanted[n].dtype}, which is {t.dtype} in the file"
        for n, t in tensors.items()
        if n in wanted and t.is_floating_point() != wanted[n].is_floating_point()
    ]
    missing = [n for n in wanted if n not in tensors and n not in fresh]
    unexpected = [n for n in tensors if n not in wanted]
    if missing or unexpected or misshapen:
        compared = {n: t for n, t in wanted.items() if n not in fresh}
        reason, cure = _explanation(tensors, compared)
        refuse(file, [*misshapen, *missing], unexpected, reason, cure)
    left = model.load_state_dict(dict(tensors), strict=False)
    if set(left.missing_keys) != set(fresh) or left.unexpected_keys:
        raise AssertionError(f"missing or unexpected tensors after loading: {left}")


def _explanation(there: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> tuple[str, str]:
    """Return why the file's tensors do not match the model's, by the most general difference, and what to do."""
    if not here.keys() & there.keys():
        first = next(iter(there))
        known = ", ".join(PREFIXES)
        cure = f"remove its prefix (known are {known}), build the network that the file is of, or {AGAIN}"
        return f"no name in it is known, the first is {first!r}", cure
    if here.keys() >= HEAD and not HEAD & there.keys():
        return "it is only pre-trained, it has no head", "leave finetuned out and train it, or name a fine-tuned file"
    theirs, ours = _traits(there), _traits(here)
    for trait, cure in _CURES.items():
        if None not in (theirs[trait], ours[trait]) and theirs[trait] != ours[trait]:
            return f"its {trait} is {theirs[trait]}, the model's is {ours[trait]}", cure
    return "some names or shapes differ", f"set size, family or architecture to that of the file, or {AGAIN}"


_CURES: dict[str, str] = package_data(__file__, "texts.yaml")["cures"]


def _traits(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the properties of a network that follow from names and shapes; None if unknown."""

    def side(name: str, ndim: int, axis: int) -> int | None:
        found = tensors.get(name)
        return None if found is None or found.ndim != ndim else found.shape[axis]

    blocks = {int(n.split(".")[1]) for n in tensors if n.startswith("blocks.") and n.split(".")[1].isdigit()}
    scaled = any(".ls1." in n for n in tensors)
    pooled = "mean" if FC_NORM & tensors.keys() else "cls" if NORM & tensors.keys() else None
    return {
        "family": ("dinov2" if scaled else "mae") if blocks else None,
        "width": side("patch_embed.proj.weight", 4, 0),
        "side of a patch": side("patch_embed.proj.weight", 4, 3),
        "depth": f"{len(blocks)} blocks",
        "pooling": pooled,
        "number of classes": side("head.weight", 2, 0),
        "number of register tokens": side("reg_token", 3, 1) or 0,
        "number of positions": side("pos_embed", 3, 1),
    }


def refuse(file: WeightsFile, missing: Iterable[str], unexpected: Iterable[str], reason: str, cure: str) -> NoReturn:
    """Raise the error of a file that does not fit.

    Args:
        file: The file.
        missing: Names that the network needs, and shapes that differ.
        unexpected: Names that the network does not have.
        reason: What the file is, in comparison with the network.
        cure: What to do.

    Raises:
        WeightsMismatch: Always.
    """
    raise WeightsMismatch(f"{file.path}: {reason}", list(missing), sorted(unexpected), cure)
