"""Loading of pre-trained and fine-tuned weights with a report of every tensor; files that do not fit are refused.

The original program loads matching tensors and ignores the rest; a file with another prefix, or of another model, then
leaves a random backbone that trains without an error (issues 34 and 46 of its repository). Here unused and unfilled
tensors must be exactly those expected for a release.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.layouts import TIMM
from lmod_train.models.vision.published_weights import present
from lmod_train.models.vision.retfound import initialise_head
from lmod_train.models.vision.strict_loading import FC_NORM, HEAD, NORM, LoadReport, fill, fitted, names_of, refuse
from lmod_train.models.vision.weights_file import AGAIN, WeightsFile, read_weights


class TwiceLayerNorm(nn.LayerNorm):
    """Layer norm that is applied twice, as in the original program before the head since February 2025.

    Its model normalises the pooled features with ``fc_norm``, and timm 0.9 and later does so again. Weights that were
    fine-tuned in this way give other logits if the norm is applied once.

    Example:
        >>> import torch
        >>> norm = TwiceLayerNorm(2)
        >>> _ = norm.weight.data.fill_(3.0)
        >>> norm(torch.tensor([[1.0, 2.0]])).round().tolist()
        [[-3.0, 3.0]]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return (..., width) normalised over the width twice."""
        return super().forward(super().forward(input))


def initialise(model: nn.Module, weights: str | Path, fresh: Set[str] = HEAD | FC_NORM, fetch: str = "") -> LoadReport:
    """Load a pre-trained file into the model, or leave it random if `weights` is ``random``.

    Args:
        model: Network of timm's names.
        weights: See `lmod_train.models.vision.published_weights.located`, or ``random``. Nothing is downloaded.
        fresh: See `load_pretrained`.
        fetch: What to do if there is no such file; by default how to get a release of RETFound.

    Raises:
        WeightsNotFound: The file does not exist or contains no weights; the message says where to get the release.
        WeightsMismatch: The file does not fit the model.
    """
    if str(weights) == "random":
        return LoadReport(
            "random", fresh=tuple(model.state_dict()), notes=("no pre-training, as requested by `random`",)
        )
    return replace(load_pretrained(model, present(weights, fetch), fresh), source=str(weights))


def load_pretrained(model: nn.Module, path: str | Path, fresh: Set[str] = HEAD | FC_NORM) -> LoadReport:
    """Load a pre-trained file into the model's backbone; its head, and ``fc_norm`` where it is new, are initialised.

    Supported are the layouts of `lmod_train.models.vision.layouts`: under the key ``model``, ``teacher`` or
    ``state_dict`` or without, with the decoder or heads of pre-training, which are dropped by name. Position embeddings
    of another grid are resized as in the original.

    Args:
        model: Network of timm's names.
        path: The file.
        fresh: Names that are new in a network for another task, whether or not this one has them.

    Raises:
        WeightsNotFound: See `lmod_train.models.vision.weights_file.read_weights`.
        WeightsMismatch: The file is of another model or kind, or incomplete. The model is unchanged.
        BadArgument: The model is on the meta device.
    """
    file = read_weights(path)
    names, dropped, layout = names_of(file, model)
    heads = fresh - FC_NORM
    if FC_NORM & fresh & names.keys() or (heads & names.keys() and "nb_classes" in file.arguments):
        refuse(file, (), fresh & names.keys(), "it is fine-tuned and has its own head", "set finetuned: true")
    _refuse_other_padding(model, file, layout)
    unused = heads & names.keys() | (
        NORM & names.keys() if isinstance(getattr(model, "norm", None), nn.Identity) else set()
    )
    kept = {name: tensor for name, tensor in names.items() if name not in unused}
    if not kept:
        found = [*dropped, *unused]
        refuse(file, model.state_dict(), found, "it contains only parts of pre-training, no encoder", AGAIN)
    kept, resized = fitted(model, kept)
    new = fresh & model.state_dict().keys()
    fill(model, file, kept, new)
    initialise_head(model)
    if FC_NORM & new and isinstance(model.fc_norm, nn.LayerNorm):
        model.fc_norm.reset_parameters()
    notes = ("its head was dropped, a new one is trained",) if heads & unused else ()
    gone = tuple(sorted({*dropped, *unused}))
    return LoadReport(
        str(path),
        tuple(kept),
        resized,
        gone,
        tuple(sorted(new)),
        notes + _about(layout, model) + file.notes,
        sha256=file.sha256,
    )


def _refuse_other_padding(model: nn.Module, file: WeightsFile, layout: str) -> None:
    """Refuse a file of efficientnet_lite_pytorch for a network with the same names that pads otherwise."""
    name = getattr(model, "pretrained_cfg", {}).get("architecture", "")
    if layout == "efficientnet_lite_pytorch" and not name.startswith("tf_"):
        reason = (
            f"its convolutions pad as TensorFlow's, those of {name or 'the model'} do not (same names, other logits)"
        )
        refuse(file, (), (), reason, f"set architecture: tf_{name or 'efficientnet_lite0'}")


def _about(layout: str, model: nn.Module) -> tuple[str, ...]:
    """Return the note about a layout that is not timm's, and about an activation that its names do not show."""
    if layout == TIMM.name:
        return ()
    plain = "CLIP" in layout and any(type(part) is nn.GELU for part in model.modules())
    warned = "the network has GELU: files of OpenAI, RET-CLIP and EyeCLIP need an architecture with clip_quickgelu"
    return (f"layout of {layout}", *((warned,) if plain else ()))


def load_finetuned(
    model: nn.Module,
    path: str | Path,
    double_norm: bool | None = None,
    order: Sequence[int] = (),
    heads: Set[str] = HEAD,
) -> LoadReport:
    """Load a fine-tuned file such as ``checkpoint-best.pth`` into the whole model, with its head.

    Args:
        model: Model with the file's classes, image size and pooling.
        path: The file.
        order: For each class of the model the row of the file's head, each row once; empty if the order is the same.
        double_norm: Whether ``fc_norm`` is applied twice (see `TwiceLayerNorm`). By default this follows from the
            arguments that the original program stores in the file: twice if they name the model ``RETFound_mae`` with
            mean pooling, as only the program since February 2025 does, else once. The report's notes state it.
        heads: Names of the head's tensors.

    Raises:
        WeightsNotFound: See `lmod_train.models.vision.weights_file.read_weights`.
        WeightsMismatch: The file is only pre-trained, or has other classes, image size, pooling or network; or it is a
            checkpoint of lmod_train. The model is unchanged.
        BadArgument: `double_norm` for a model without ``fc_norm``, or a model on the meta device.
    """
    has_norm = isinstance(getattr(model, "fc_norm", None), nn.LayerNorm)
    if double_norm and not has_norm:
        norm_twice(model, True)  # raises
    file = read_weights(path)
    if file.lmod_version:
        cure = f"leave finetuned and finetuned_classes out, set weights: random, and add --ckpt_path {path}"
        refuse(file, (), (), "it is a checkpoint of lmod_train, which brings its own classes and settings", cure)
    names, dropped, _ = names_of(file, model)
    if order:
        names |= {n: names[n][list(order)] for n in heads & names.keys() if names[n].shape[:1] == (len(order),)}
    fill(model, file, names, set())
    since_2025 = file.arguments.get("model") == "RETFound_mae" and bool(file.arguments.get("global_pool"))
    twice = (since_2025 if double_norm is None else double_norm) and has_norm
    norm_twice(model, twice)
    why = "its arguments are those of the program since February 2025, which applies fc_norm twice"
    notes = ((why,) if since_2025 else ()) + ((f"fc_norm is applied {'twice' if twice else 'once'}",))
    return LoadReport(str(path), tuple(names), dropped=tuple(dropped), notes=notes + file.notes, sha256=file.sha256)


def norm_twice(model: nn.Module, twice: bool) -> None:
    """Make ``fc_norm`` apply twice (see `TwiceLayerNorm`) or once, with the same parameter objects.

    A model without ``fc_norm`` is unchanged.

    Raises:
        BadArgument: It is to be applied twice, and there is none.
    """
    old = getattr(model, "fc_norm", None)
    if twice and not isinstance(old, nn.LayerNorm):
        raise BadArgument("double_norm", twice, "a model with mean pooling", "build it with pooling: mean")
    if isinstance(old, nn.LayerNorm) and isinstance(old, TwiceLayerNorm) != twice:
        new = (TwiceLayerNorm if twice else nn.LayerNorm)(old.normalized_shape, eps=old.eps)
        new.weight, new.bias = old.weight, old.bias
        model.fc_norm = new
