"""Features of a frozen vision tower, computed once per image, stored on disk and read in later epochs and runs.

The output of a frozen tower for an image never changes. The stored values replace the tower's output only; projector,
packing of tiles and language model run unchanged.
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

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.cache import Array, Cache
from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.family import family_of

ARGUMENT = "model.init_args.tower_features"
STATE, LAST = "hidden_states.", "last_hidden_state"  # names in a file: hidden_states.<index>.<number>
NAMES = re.compile(rf"{re.escape(STATE)}\d+\.\d+|{LAST}")


class TowerFeatures:
    """Replaces a tower's `forward`: reads features from a folder, computes missing ones and stores them there.

    The key of an image is the SHA-256 of the tower's input: pixels after all preprocessing, their shape and type, and
    further arguments. (The hash in a record is of the raw file, which is the same with and without drawn boxes.) Any
    change of processor, padding or decoder thus gives another key. A tile counts as an image. The subfolder of a tower
    is named by the hash of its weights, its configuration and the version of transformers.

    Only the hidden states that the network reads (`vision_feature_layer`) are stored, in the type of the tower's
    output. Each image has a file of its own in a `Cache`, so that several ranks and runs can fill one folder together,
    and a killed run loses nothing. A damaged file is computed again. Features computed in a batch may differ from those
    computed alone by rounding, as without a cache.

    Args:
        network: A `...ForConditionalGeneration` whose tower takes (images, 3, height, width) and is frozen.
        folder: Folder of the features, created if missing; 1.2 MB per image for CLIP-L at 336 pixels in 16 bits.

    Attributes:
        found: Number of images whose features were read.
        computed: Number of images whose features were computed.

    Raises:
        BadArgument: The tower is trained, or contains a projector that is; its weights are sharded; or the folder
            cannot be written to.
    """

    def __init__(self, network: Any, folder: Path) -> None:
        family = family_of(network)
        tower = network.get_submodule(family.tower)
        _refuse_learning(tower, [p for p in family.projector if p.startswith(f"{family.tower}.")], folder)
        cure = f"name another folder with `--{ARGUMENT} DIR`"
        self._cache = Cache(folder / weights_key(tower, folder), ARGUMENT, str(folder), cure, folder)
        self._tower, self._forward = tower.eval(), tower.forward
        self.found = self.computed = 0
        tower.forward = self

    @torch.no_grad()
    def __call__(self, pixel_values: Tensor, **arguments: Any) -> BaseModelOutputWithPooling:
        """Return the tower's output for these images (images, 3, height, width), as far as the network reads it.

        Tensors among the arguments have a row for each image (e.g. the patch mask of Idefics3).
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
            wanted = missing or keys[:1]  # either all ranks run a sharded tower or none does
            rows = [keys.index(key) for key in wanted]
            own = {name: tensor[rows] for name, tensor in beside.items()}
            made = _kept(self._forward(pixel_values[rows], **own, **same))
            for key, features in zip(missing, _arrays(made), strict=False):
                self._cache.keep(_name(key), features)
                kept[key] = features
            self.computed += len(missing)
        return _output([kept[key] for key in keys], pixel_values.device)

    def _anywhere(self, missing: bool) -> bool:
        """Return whether features are missing: in this process, or with a sharded tower in any process."""
        if not any(isinstance(p, DTensor) for p in self._tower.parameters()):
            return missing
        flag = torch.tensor([missing], dtype=torch.int, device=next(self._tower.parameters()).device)
        distributed.all_reduce(flag, distributed.ReduceOp.MAX)
        return bool(flag.item())

    def _read(self, key: str) -> Array | None:
        """Return the stored features of an image; None if there are none or the file holds something else."""
        features = self._cache.read(_name(key))
        names = () if features is None else features.dtype.names or ()
        return features if names and all(map(NAMES.fullmatch, names)) else None


def weights_key(tower: torch.nn.Module, folder: Path | None = None) -> str:
    """Return a short hash of everything but the image that a tower's output depends on.

    Raises:
        BadArgument: Its weights are sharded, so that no process has them all.
    """
    config: Any = getattr(tower, "config", None)
    named = [SCHEMA_VERSION, transformers_version, type(tower).__name__, config.to_json_string() if config else ""]
    digest = hashlib.sha256(repr(named).encode())
    for name, tensor in sorted(tower.state_dict().items()):
        if isinstance(tensor, DTensor) or hasattr(tensor, "ds_id") or tensor.is_meta:
            raise divided(folder)
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()[:20]


def divided(folder: Path | None) -> BadArgument:
    """Return the error for a tower whose weights are or will be sharded."""
    expected = "a tower whose weights are not sharded"
    return BadArgument(ARGUMENT, str(folder), expected, "use ZeRO-2 or FSDP2 instead of ZeRO-3, or set it to null")


def _refuse_learning(tower: torch.nn.Module, inside: Sequence[str], folder: Path) -> None:
    expected = "a tower that is frozen"
    if inside:  # the tower's output is that of the projector, which is trained
        expected += f"; in this family it contains the projector ({', '.join(inside)}), which is trained"
    elif not any(p.requires_grad for p in tower.parameters()):
        return
    raise BadArgument(ARGUMENT, str(folder), expected, "set it to null, or set tune_tower to false if it is true")


def _bytes(tensor: Tensor) -> Any:
    """Return the bytes of a tensor of any type (numpy has no bfloat16), for hashing."""
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()


def _image_key(tensors: Sequence[Tensor], settings: str) -> str:
    """Return a hash of an image's tensors and of all other arguments."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(repr((settings, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _kept(made: Any) -> dict[str, Tensor]:
    """Return the tensors of a tower's output that a network may read, by name.

    These are the hidden states that were requested, and `last_hidden_state` where it differs from the last of them:
    some families read it for layer -1, and in some towers a norm lies between the two.
    """
    states: tuple[Tensor | None, ...] = made.hidden_states or ()
    kept = {f"{STATE}{i}.{len(states)}": state for i, state in enumerate(states) if state is not None}
    last = states[-1] if states else None
    if not kept or (last is not None and not torch.equal(last, made.last_hidden_state)):
        kept[LAST] = made.last_hidden_state
    return kept


def _name(key: str) -> str:
    """Return the path of an image's features in the cache, divided over 256 subfolders."""
    return f"{key[:2]}/{key}"


def _arrays(made: Mapping[str, Tensor]) -> list[Array]:
    """Return for each image an array with one named field per tensor; the tensors are (images, ...)."""
    columns = {name: _to_numpy(tensor) for name, tensor in made.items()}
    kind = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    rows = np.empty(len(next(iter(columns.values()))), kind)
    for name, column in columns.items():
        rows[name] = column
    return [rows[i : i + 1].reshape(()) for i in range(len(rows))]


def _to_numpy(tensor: Tensor) -> Array:
    """Return a tensor as an array; bfloat16, which numpy lacks, as uint16 with the same bits."""
    own = tensor.detach().cpu()
    array: Array = (own.view(torch.uint16) if own.dtype == torch.bfloat16 else own).numpy()
    return array


def _to_torch(array: Array) -> Tensor:
    """Return an array of `_to_numpy` as a tensor; uint16 becomes bfloat16, as no tower returns integers."""
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if tensor.dtype == torch.uint16 else tensor


def _output(images: Sequence[Array], device: torch.device) -> BaseModelOutputWithPooling:
    """Return the tower's output for several images; hidden states that are not stored are None."""
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
