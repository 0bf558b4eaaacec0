"""Images as a network takes them, and what its tower and projector make of them, once per image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.llava_next.modeling_llava_next import LlavaNextModel
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from lmod_train.chat.family import Family, family_of
from lmod_train.errors import WeightsMismatch


class Images:
    """Distinct images of a batch, each with what the family's network takes for one image.

    A plain class on purpose, as `Batch` is.

    Args:
        items: For each image its tensors by the name of the network's argument: `pixel_values` (tiles, 3, side, side),
            for LLaVA-NeXT (1, tiles, 3, side, side) with `image_sizes` (1, 2), for the Qwen family (patches, values)
            with `image_grid_thw` (1, 3).
        tokens: For each image the places it has in a prompt; None where nobody counted.
    """

    def __init__(self, items: Sequence[Mapping[str, Tensor]], tokens: Sequence[int] | None = None) -> None:
        self.items = [dict(item) for item in items]
        self.tokens = None if tokens is None else list(tokens)

    def __len__(self) -> int:
        return len(self.items)

    def to(self, device: Any, *args: Any, **kwargs: Any) -> Images:
        """Return the same images elsewhere; sizes and grids stay whole numbers."""
        moved = [{k: v.to(device, *args, **kwargs).to(_kept(v)) for k, v in item.items()} for item in self.items]
        return Images(moved, self.tokens)

    def joined(self) -> dict[str, Tensor]:
        """Return each argument for all images together; of LLaVA-NeXT's tiles, fewer are filled up with zeros."""
        return {name: _joined([item[name] for item in self.items]) for name in self.items[0]}


def _kept(tensor: Tensor) -> torch.dtype | None:
    return None if tensor.is_floating_point() else tensor.dtype


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    if tensors[0].ndim == 5:
        most = max(t.shape[1] for t in tensors)
        tensors = [torch.cat([t, t.new_zeros(1, most - t.shape[1], *t.shape[2:])], 1) for t in tensors]
    return torch.cat(list(tensors))


class Encoded:
    """Embeddings of images in the language model's width.

    Attributes:
        features: For each image (tokens, width), or (tiles, tokens, width) in a family with tiles.
        deep: For each image the features that later layers add to it (Qwen3-VL); empty elsewhere.
        grids: For each image its `image_grid_thw` (1, 3); empty where the family has none.
    """

    def __init__(
        self, family: Family, features: Sequence[Tensor], deep: Sequence[Sequence[Tensor]], grids: Sequence[Tensor]
    ) -> None:
        self._family = family
        self.features, self.deep, self.grids = list(features), [list(d) for d in deep], list(grids)

    def __len__(self) -> int:
        return len(self.features)

    @property
    def tokens(self) -> list[int]:
        """Embeddings of each image."""
        return [f.shape[:-1].numel() for f in self.features]

    def select(self, rows: Sequence[int]) -> dict[str, Any]:
        """Return what `mm_encoder_outputs=` takes for sequences that hold these images in this order; {} for none."""
        if not rows:
            return {}
        chosen: Any = [self.features[r] for r in rows]
        if self._family.tiles:
            chosen = torch.cat(chosen)
        if not self.deep:
            return {"image": BaseModelOutputWithPooling(pooler_output=chosen)}
        layers: Any = [[self.deep[r][layer] for r in rows] for layer in range(len(self.deep[0]))]
        return {"image": BaseModelOutputWithDeepstackFeatures(pooler_output=chosen, deepstack_features=layers)}

    def inputs(self, ids: Tensor, rows: Sequence[int]) -> dict[str, Any]:
        """Return what `forward` takes beside ids and mask: the images, which tokens are theirs, their grids.

        Args:
            ids: Token ids (sequences, length), image tokens expanded.
            rows: The images they hold, in order; empty for text.
        """
        given: dict[str, Any] = {"mm_encoder_outputs": self.select(rows)}
        if rows and self._family.token_types:
            given[self._family.token_types] = (ids == self._family.image_token_id).int()
        if rows and self.grids:
            given["image_grid_thw"] = torch.cat([self.grids[r] for r in rows])
        return given


def encode(network: Any, images: Images | None) -> Encoded:
    """Run tower and projector over each image once; gradients flow to what learns.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        images: Any float dtype, on the network's device; None or empty for a batch of text.

    Raises:
        WeightsMismatch: An image becomes another number of embeddings than its prompt has places.
    """
    family = family_of(network)
    if images is None or not len(images):
        return Encoded(family, [], [], [])
    joined = images.joined()
    tower = next(network.get_submodule(family.tower).parameters()).dtype
    joined["pixel_values"] = joined["pixel_values"].to(tower)
    mixed = any(p.dtype != tower for path in family.projector for p in network.get_submodule(path).parameters())
    # a projector that learns is float32 behind a tower of 16 bits; else the precision is that of the Trainer
    with torch.autocast(joined["pixel_values"].device.type, tower) if mixed else nullcontext():
        made = network.get_image_features(**joined, return_dict=True)
    features = made.pooler_output
    if family.tiles:
        features = features.split([len(item["pixel_values"]) for item in images.items])
    deep = list(zip(*getattr(made, "deepstack_features", None) or [], strict=True))
    grids = [item["image_grid_thw"] for item in images.items if "image_grid_thw" in item]
    encoded = Encoded(family, list(features), deep, grids)
    if images.tokens is not None and encoded.tokens != images.tokens:
        raise _other_count(encoded.tokens, images.tokens)
    return encoded


def verify_tokens(config: Any, images: Images) -> None:
    """Check by arithmetic, before a network exists, that it will make as many embeddings as the prompts have places.

    Raises:
        WeightsMismatch: It will not.
    """
    made = [image_tokens(config, item) for item in images.items]
    if made != images.tokens:
        raise _other_count(made, images.tokens or [])


def _other_count(network: Sequence[int], processor: Sequence[int]) -> WeightsMismatch:
    return WeightsMismatch(
        "processor_config.json",
        [f"{', '.join(map(str, network))} image tokens (network)"],
        [f"{', '.join(map(str, processor))} image tokens (processor)"],
        "use the processor files that were published with these weights",
    )


def image_tokens(config: Any, item: Mapping[str, Tensor]) -> int:
    """Return how many embeddings a network of this configuration makes of one image.

    Args:
        config: The network's configuration.
        item: The image as in `Images.items`.

    Raises:
        BadArgument: The configuration is of no known family.
    """
    vision, tiles = config.vision_config, len(item["pixel_values"])
    match family_of(config).model_type:
        case "qwen2_5_vl" | "qwen3_vl":
            return int(item["image_grid_thw"].prod() // vision.spatial_merge_size**2)
        case "gemma3":
            return tiles * int(config.mm_tokens_per_image)
        case "internvl":
            sides = [int(s) // int(p) for s, p in zip(vision.image_size, vision.patch_size, strict=True)]
            return int(tiles * int(sides[0] * config.downsample_ratio) * int(sides[1] * config.downsample_ratio))
    made = (vision.image_size // vision.patch_size) ** 2 + class_tokens(config)
    made -= config.vision_feature_select_strategy == "default"
    if config.model_type == "llava":
        return int(made)
    network: Any = SimpleNamespace(config=config)  # its own rule for tiles, padding and line ends, on empty features
    empty, end = torch.zeros(item["pixel_values"].shape[1], made, 1), torch.zeros(1)
    strategy = config.vision_feature_select_strategy
    packed = LlavaNextModel.pack_image_features(network, [empty], item["image_sizes"], strategy, end)
    return len(packed[0][0])


def class_tokens(config: Any) -> int:
    """Return how many tokens the tower of a LLaVA adds to an image's patches: CLIP one, SigLIP none."""
    return int(config.vision_config.model_type == "clip_vision_model")
