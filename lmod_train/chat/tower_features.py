"""Features of a frozen vision tower: computed once an image, kept on disk, and read in every later epoch and run.

A tower that does not learn makes the same of an image every time. What is kept is what the tower returns, so that
everything behind it (projector, packing of tiles, language model) runs as ever.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed
from torch.distributed.tensor import DTensor
from transformers import __version__ as transformers_version
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lmod_train.cache import Array, Cache
from lmod_train.chat.family import family_of
from lmod_train.errors import BadArgument

VERSION = 2
"""Of what is kept and how; counted up, all is computed anew."""

ARGUMENT = "model.init_args.tower_features"
STATE, LAST = "hidden_states.", "last_hidden_state"  # names in a file: hidden_states.<place>.<of how many>
NAMES = re.compile(rf"{re.escape(STATE)}\d+\.\d+|{LAST}")


class TowerFeatures:
    """Answers a tower's `forward` from a folder, and computes and keeps there what it lacks.

    The key of an image is the SHA-256 of what really enters the tower: its pixels after all preprocessing, their shape
    and type, the arguments beside them. (The hash in a record is of the raw file, which is the same with and without
    drawn boxes.) Whatever changes in processor, padding or decoder is therefore another image. A tile counts as an
    image. The folder of a tower is named by the hash of its weights, its configuration and the version of transformers.

    Only the hidden states that the network reads (`vision_feature_layer`) are kept, in the type in which the tower made
    them. Every image is a file of its own in a `Cache`: several ranks and runs fill one folder together, and a killed
    run keeps what was done. A file that is damaged is computed again. Features of an image that was computed beside
    others may differ from those computed alone by rounding, as ever.

    Args:
        network: A `...ForConditionalGeneration` whose tower takes (images, 3, height, width) and does not learn.
        folder: Where features are kept; made where it is missing. 1.2 MB an image for CLIP-L at 336 pixels in 16 bits.

    Attributes:
        found: Images that were read.
        computed: Images that went through the tower.

    Raises:
        BadArgument: The tower learns, or holds a projector that does; its weights are divided among processes; or the
            folder cannot be written to.
    """

    def __init__(self, network: Any, folder: Path) -> None:
        family = family_of(network)
        tower = network.get_submodule(family.tower)
        _refuse_learning(tower, [p for p in family.projector if p.startswith(f"{family.tower}.")], folder)
        cure = f"name another folder with `--{ARGUMENT} DIR`"
        self._cache = Cache(folder / weights_key(tower, folder), ARGUMENT, str(folder), cure)
        self._tower, self._forward = tower.eval(), tower.forward
        self.found = self.computed = 0
        tower.forward = self

    @torch.no_grad()
    def __call__(self, pixel_values: Tensor, **arguments: Any) -> BaseModelOutputWithPooling:
        """Return what the tower returns for these images (images, 3, height, width), as far as it is read.

        Tensors among the arguments have a row for each image (Idefics3's mask of its patches).
        """
        device = pixel_values.device.type
        cast = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        beside = {name: value for name, value in sorted(arguments.items()) if isinstance(value, Tensor)}
        same = {name: value for name, value in arguments.items() if name not in beside}
        settings = repr((sorted(same.items()), cast))
        keys = [_image_key(tensors, settings) for tensors in zip(pixel_values, *beside.values(), strict=True)]
        kept = {key: features for key in dict.fromkeys(keys) if (features := self._read(key)) is not None}
        missing = [key for key in dict.fromkeys(keys) if key not in kept]
        self.found += len(kept)
        if self._anywhere(bool(missing)):
            wanted = missing or keys[:1]  # a sharded tower is run by all ranks or by none
            rows = [keys.index(key) for key in wanted]
            own = {name: tensor[rows] for name, tensor in beside.items()}
            made = _kept(self._forward(pixel_values[rows], **own, **same))
            for key, features in zip(missing, _arrays(made), strict=False):
                self._cache.keep(_name(key), features)
                kept[key] = features
            self.computed += len(missing)
        return _output([kept[key] for key in keys], pixel_values.device)

    def _anywhere(self, missing: bool) -> bool:
        """Return whether this process lacks an image, or any process where they must compute together."""
        if not any(isinstance(p, DTensor) for p in self._tower.parameters()):
            return missing
        told = torch.tensor([missing], dtype=torch.int, device=next(self._tower.parameters()).device)
        distributed.all_reduce(told, distributed.ReduceOp.MAX)
        return bool(told.item())

    def _read(self, key: str) -> Array | None:
        """Return the features of an image, None where they are not there or the file is no such file."""
        features = self._cache.read(_name(key))
        names = () if features is None else features.dtype.names or ()
        return features if names and all(map(NAMES.fullmatch, names)) else None


def weights_key(tower: torch.nn.Module, folder: Path | None = None) -> str:
    """Return a short hash of all that a tower's answer follows from, but for the image.

    Raises:
        BadArgument: Its weights are divided among processes, and none has them all.
    """
    config: Any = getattr(tower, "config", None)
    named = [VERSION, transformers_version, type(tower).__name__, config.to_json_string() if config else ""]
    digest = hashlib.sha256(repr(named).encode())
    for name, tensor in sorted(tower.state_dict().items()):
        if isinstance(tensor, DTensor) or hasattr(tensor, "ds_id") or tensor.is_meta:
            raise divided(folder)
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()[:20]


def divided(folder: Path | None) -> BadArgument:
    """Return the error of a tower whose weights are, or will be, divided among processes."""
    expected = "a tower whose weights are whole in every process"
    return BadArgument(
        ARGUMENT, str(folder), expected, "take ZeRO-2 or FSDP2 in the place of ZeRO-3, or set it to null"
    )


def _refuse_learning(tower: torch.nn.Module, inside: Sequence[str], folder: Path) -> None:
    expected = "a tower that is frozen"
    if inside:  # its output is the projector's, and that is what is tuned
        expected += f"; of this family the projector ({', '.join(inside)}) lies inside it, and learns"
    elif not any(p.requires_grad for p in tower.parameters()):
        return
    raise BadArgument(ARGUMENT, str(folder), expected, "set it to null, or tune_tower to false where the tower learns")


def _bytes(tensor: Tensor) -> Any:
    """Return a tensor's bytes, of any type (numpy has no bfloat16), for a hash to read."""
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()


def _image_key(tensors: Sequence[Tensor], settings: str) -> str:
    """Return a hash of an image's pixels, of the tensors beside them, and of all other arguments."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(repr((settings, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _kept(made: Any) -> dict[str, Tensor]:
    """Return the tensors of a tower's output that a network reads, by name.

    The hidden states that were asked for; the last one beside them only where it may be read in their place: some
    families read it for layer -1, and it is after a norm that the hidden state is before.
    """
    states: tuple[Tensor | None, ...] = made.hidden_states or ()
    kept = {f"{STATE}{i}.{len(states)}": state for i, state in enumerate(states) if state is not None}
    last = states[-1] if states else None
    if not kept or (last is not None and not torch.equal(last, made.last_hidden_state)):
        kept[LAST] = made.last_hidden_state
    return kept


def _name(key: str) -> str:
    """Return where an image's features are kept: no folder holds more than a 256th of them."""
    return f"{key[:2]}/{key}"


def _arrays(made: Mapping[str, Tensor]) -> list[Array]:
    """Return the rows of tensors (images, ...), each an array of named fields, one for each tensor."""
    columns = {name: _to_numpy(tensor) for name, tensor in made.items()}
    kind = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    rows = np.empty(len(next(iter(columns.values()))), kind)
    for name, column in columns.items():
        rows[name] = column
    return [rows[i : i + 1].reshape(()) for i in range(len(rows))]


def _to_numpy(tensor: Tensor) -> Array:
    """Return a tensor as an array; bfloat16, which numpy has not, as its bits in whole numbers."""
    own = tensor.detach().cpu()
    array: Array = (own.view(torch.uint16) if own.dtype == torch.bfloat16 else own).numpy()
    return array


def _to_torch(array: Array) -> Tensor:
    """Return the tensor of which `_to_numpy` made an array; whole numbers are bfloat16, as no tower makes any."""
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if tensor.dtype == torch.uint16 else tensor


def _output(images: Sequence[Array], device: torch.device) -> BaseModelOutputWithPooling:
    """Put images together again; hidden states that are not kept are None."""
    names = images[0].dtype.names or ()
    tensors = {name: _to_torch(np.stack([image[name] for image in images])).to(device) for name in names}
    last = tensors.pop(LAST, None)
    states: list[Tensor | None] = []
    for name, state in tensors.items():
        place, number = map(int, name.removeprefix(STATE).split("."))
        states = states or [None] * number
        states[place] = state
    if last is None and states:
        last = states[-1]
    hidden: Any = tuple(states) or None
    return BaseModelOutputWithPooling(last_hidden_state=last, hidden_states=hidden)
