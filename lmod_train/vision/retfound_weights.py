"""Loading of RETFound's weights with a report of every tensor; files that do not fit completely are refused.

The original program loads matching tensors and ignores the rest; a file with another prefix, or of another model, then
leaves a random backbone that trains without an error (issues 34 and 46 of its repository). Here unused and unfilled
tensors must be exactly those expected for a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.vision.retfound import RELEASES, initialise_head
from lmod_train.vision.weights_file import AGAIN, WeightsFile, read_weights

PREFIXES = ("module.", "backbone.", "model.")
"""Prefixes of names added by wrappers: data-parallel training, DINOv2's training, and a LightningModule."""

UNUSED = (
    "mask_token",
    "decoder_pos_embed",
    "decoder_embed.",
    "decoder_blocks.",
    "decoder_norm.",
    "decoder_pred.",
    "dino_head.",
    "ibot_head.",
)
"""Prefixes of tensors that are only used in pre-training."""

RENAMED = {"mlp.w12.": "mlp.fc1.", "mlp.w3.": "mlp.fc2."}
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


class TwiceLayerNorm(nn.LayerNorm):
    """Layer norm that is applied twice, as in the original program before the head since February 2025.

    Its model normalises the pooled features with ``fc_norm``, and timm 0.9 and later does so again. Weights that were
    fine-tuned in this way give other logits if the norm is applied once.

    Example:
        >>> norm = TwiceLayerNorm(2)
        >>> _ = norm.weight.data.fill_(3.0)
        >>> norm(torch.tensor([[1.0, 2.0]])).round().tolist()
        [[-3.0, 3.0]]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return (..., width) normalised over the width twice."""
        return super().forward(super().forward(input))


def initialise(model: VisionTransformer, weights: str | Path) -> LoadReport:
    """Load a pre-trained file into the model, or leave it random if `weights` is ``random``.

    Args:
        model: Model returned by `lmod_train.vision.retfound.vision_transformer`.
        weights: Path of a file, or ``random``. Nothing is downloaded.

    Raises:
        WeightsNotFound: The file does not exist or contains no weights; the message says where to get the release.
        WeightsMismatch: The file does not fit the model.
    """
    if str(weights) == "random":
        return LoadReport(
            "random", fresh=tuple(model.state_dict()), notes=("no pre-training, as requested by `random`",)
        )
    path = Path(weights)
    if not path.exists():
        release = next((r for r in RELEASES if path.name in (r.name, r.file)), None)
        fetch = release.fetch if release else f"{RELEASES[2].fetch} (any of {', '.join(r.name for r in RELEASES)})"
        cure = f"{fetch}, and give its path; or set it to `random` to train without pre-training"
        raise WeightsNotFound("weights", str(weights), "no such file; weights are not downloaded automatically", cure)
    return load_pretrained(model, path)


def load_pretrained(model: VisionTransformer, path: str | Path) -> LoadReport:
    """Load a pre-trained file into the model's backbone; head and ``fc_norm`` are initialised.

    Supported are the layouts of RETFound's releases, MAE and DINOv2: under the key ``model``, ``teacher`` or
    ``state_dict`` or without, with the decoder or heads of pre-training, which are dropped by name. Position embeddings
    of another grid are resized as in the original.

    Raises:
        WeightsNotFound: See `lmod_train.vision.weights_file.read_weights`.
        WeightsMismatch: The file is of another model or kind, or incomplete. The model is unchanged.
        BadArgument: The model is on the meta device.
    """
    file = read_weights(path)
    names = _without_prefix(file)
    if FC_NORM & names.keys() or (HEAD & names.keys() and "nb_classes" in file.arguments):
        _refuse(file, (), HEAD & names.keys(), "it is fine-tuned and has its own head", "use load_finetuned")
    unused = {n for n in names if n.startswith(UNUSED) or n in HEAD}
    if isinstance(model.norm, nn.Identity):
        unused |= NORM & names.keys()
    kept = {name: tensor for name, tensor in names.items() if name not in unused}
    if not kept:
        _refuse(file, model.state_dict(), unused, "it contains only parts of pre-training, no encoder", AGAIN)
    kept, resized = _fitted(model, kept)
    fresh = (HEAD | FC_NORM) & model.state_dict().keys()
    _fill(model, file, kept, fresh)
    initialise_head(model)
    if isinstance(model.fc_norm, nn.LayerNorm):
        model.fc_norm.reset_parameters()
    notes = ("its head was dropped, a new one is trained",) if HEAD & unused else ()
    return LoadReport(
        str(path), tuple(kept), resized, tuple(sorted(unused)), tuple(sorted(fresh)), notes, sha256=file.sha256
    )


def load_finetuned(
    model: VisionTransformer, path: str | Path, double_norm: bool | None = None, order: Sequence[int] = ()
) -> LoadReport:
    """Load a fine-tuned file such as ``checkpoint-best.pth`` into the whole model, with its head.

    Args:
        model: Model with the file's classes, image size and pooling.
        path: The file.
        order: For each class of the model the row of the file's head, each row once; empty if the order is the same.
        double_norm: Whether ``fc_norm`` is applied twice (see `TwiceLayerNorm`). By default this follows from the
            arguments that the original program stores in the file: twice if they name the model ``RETFound_mae`` with
            mean pooling, as only the program since February 2025 does, else once. The report's notes state it.

    Raises:
        WeightsNotFound: See `lmod_train.vision.weights_file.read_weights`.
        WeightsMismatch: The file is only pre-trained, or has other classes, image size, pooling or network. The model
            is unchanged.
        BadArgument: `double_norm` for a model without ``fc_norm``, or a model on the meta device.
    """
    if double_norm and isinstance(model.fc_norm, nn.Identity):
        raise BadArgument("double_norm", double_norm, "a model with mean pooling", "build it with pooling: mean")
    file = read_weights(path)
    names = _without_prefix(file)
    if order:
        names |= {n: names[n][list(order)] for n in HEAD & names.keys() if names[n].shape[:1] == (len(order),)}
    _fill(model, file, names, set())
    since_2025 = file.arguments.get("model") == "RETFound_mae" and bool(file.arguments.get("global_pool"))
    twice = (since_2025 if double_norm is None else double_norm) and not isinstance(model.fc_norm, nn.Identity)
    norm_twice(model, twice)
    why = "its arguments are those of the program since February 2025, which applies fc_norm twice"
    notes = ((why,) if since_2025 else ()) + ((f"fc_norm is applied {'twice' if twice else 'once'}",))
    return LoadReport(str(path), tuple(names), notes=notes, sha256=file.sha256)


def norm_twice(model: VisionTransformer, twice: bool) -> None:
    """Make ``fc_norm`` apply twice (see `TwiceLayerNorm`) or once, with the same parameter objects.

    A model without ``fc_norm`` is unchanged.
    """
    old = model.fc_norm
    if isinstance(old, nn.LayerNorm) and isinstance(old, TwiceLayerNorm) != twice:
        new = (TwiceLayerNorm if twice else nn.LayerNorm)(old.normalized_shape, eps=old.eps)
        new.weight, new.bias = old.weight, old.bias
        model.fc_norm = new


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


def _without_prefix(file: WeightsFile) -> dict[str, Tensor]:
    named = {}
    for name, tensor in file.tensors.items():
        while prefix := next((p for p in PREFIXES if name.startswith(p)), ""):
            name = name.removeprefix(prefix)
        for old, new in RENAMED.items():
            name = name.replace(old, new)
        if name in named:
            _refuse(file, (), [name], "it contains two tensors of one name with different prefixes", AGAIN)
        named[name] = tensor
    return named


def _fitted(model: VisionTransformer, tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Return the tensors with position embeddings of the model's grid, and a description of the resizing."""
    table = tensors.get("pos_embed")
    if table is None:
        return tensors, ()
    try:
        resized = resize_positions(table, model.patch_embed.grid_size, model.num_prefix_tokens)
    except ValueError:
        return tensors, ()  # `_fill` refuses the shape
    if resized.shape == table.shape:
        return tensors, ()
    rows, columns = model.patch_embed.grid_size
    side = round((table.shape[1] - model.num_prefix_tokens) ** 0.5)
    return tensors | {"pos_embed": resized}, (f"pos_embed resized from {side}x{side} to {rows}x{columns}",)


def _fill(model: VisionTransformer, file: WeightsFile, tensors: Mapping[str, Tensor], fresh: Set[str]) -> None:
    """Load the tensors if they are exactly the model's without `fresh`; raise WeightsMismatch otherwise."""
    wanted: dict[str, Tensor] = model.state_dict()
    if any(tensor.is_meta for tensor in wanted.values()):
        raise BadArgument("model", "on the meta device", "a model with memory", "build it on a device, e.g. the CPU")
    misshapen = [
        f"{n} {tuple(wanted[n].shape)}, which is {tuple(t.shape)} in the file"
        for n, t in tensors.items()
        if n in wanted and t.shape != wanted[n].shape
    ]
    missing = [n for n in wanted if n not in tensors and n not in fresh]
    unexpected = [n for n in tensors if n not in wanted]
    if missing or unexpected or misshapen:
        compared = {n: t for n, t in wanted.items() if n not in fresh}
        reason, cure = _explanation(tensors, compared)
        _refuse(file, [*misshapen, *missing], unexpected, reason, cure)
    left = model.load_state_dict(dict(tensors), strict=False)
    if set(left.missing_keys) != set(fresh) or left.unexpected_keys:
        raise AssertionError(f"missing or unexpected tensors after loading: {left}")


def _explanation(there: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> tuple[str, str]:
    """Return why the file's tensors do not match the model's, by the most general difference, and what to do."""
    if not here.keys() & there.keys():
        first, known = next(iter(there)), ", ".join(PREFIXES)
        return f"no name in it is known, the first is {first!r}", f"remove its prefix (known are {known}), or {AGAIN}"
    if here.keys() >= HEAD and not HEAD & there.keys():
        return "it is only pre-trained, it has no head", "use load_pretrained and fine-tune, or name a fine-tuned file"
    theirs, ours = _traits(there), _traits(here)
    for trait, cure in _CURES.items():
        if None not in (theirs[trait], ours[trait]) and theirs[trait] != ours[trait]:
            return f"its {trait} is {theirs[trait]}, the model's is {ours[trait]}", cure
    return "some names or shapes differ", f"name a release of RETFound, or {AGAIN}"


_CURES = {
    "family": "build the model with the file's family (mae or dinov2), or name a file of the model's",
    "width": "build the model in the file's size, or name a file of the model's (the releases are large)",
    "side of a patch": "name a file with the model's patches (family mae: 16, dinov2: 14)",
    "depth": "name a complete file of the model's size (the releases are large: 24 blocks), or " + AGAIN,
    "pooling": "build the model with the file's pooling",
    "number of classes": "build the model with as many classes, or name a file fine-tuned for this task",
    "number of positions": "build the model with the image size of the file, which must be square",
}


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
        "number of positions": side("pos_embed", 3, 1),
    }


def _refuse(file: WeightsFile, missing: Iterable[str], unexpected: Iterable[str], reason: str, cure: str) -> NoReturn:
    raise WeightsMismatch(f"{file.path}: {reason}", list(missing), sorted(unexpected), cure)
