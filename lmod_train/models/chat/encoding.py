"""Images as input of a network, and their embeddings by tower and projector, computed once per image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.family.base import Family
from lmod_train.models.chat.family.llava import class_tokens as class_tokens  # scripts read it from here


class Images:
    """Distinct images of a batch, each as the tensors that the family's network takes for one image.

    Like `Batch`, this is no dataclass, as Lightning would walk into it.

    Args:
        items: For each image its tensors by the name of the network's argument, as `Family.item` returns them:
            `pixel_values` (tiles, 3, side, side), (1, tiles, 3, side, side) or (patches, values), and further tensors
            of the family.
        tokens: For each image its number of image tokens in a prompt; None if not counted.
    """

    def __init__(self, items: Sequence[Mapping[str, Tensor]], tokens: Sequence[int] | None = None) -> None:
        self.items = [dict(item) for item in items]
        self.tokens = None if tokens is None else list(tokens)

    def __len__(self) -> int:
        return len(self.items)

    def part(self, rows: Sequence[int]) -> Images:
        """Return some of the images, by their indices."""
        return Images([self.items[i] for i in rows], None if self.tokens is None else [self.tokens[i] for i in rows])

    def to(self, device: Any, *args: Any, **kwargs: Any) -> Images:
        """Return the same images on a device, or cast; integer tensors (sizes, grids) keep their type."""
        moved = [{k: v.to(device, *args, **kwargs).to(_kept(v)) for k, v in item.items()} for item in self.items]
        return Images(moved, self.tokens)


def _kept(tensor: Tensor) -> torch.dtype | None:
    return None if tensor.is_floating_point() else tensor.dtype


class Encoded:
    """Embeddings of images, of the language model's width.

    Attributes:
        features: For each image (tokens, width), or (tiles, tokens, width) in a family with tiles.
        deep: For each image the features that are added in later layers (Qwen3-VL); empty in other families.
        grids: For each image its `image_grid_thw` (1, 3); empty if the family has none.
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
        """Number of embeddings of each image."""
        return [f.shape[:-1].numel() for f in self.features]

    def of_image(self, row: int) -> Encoded:
        """Return the embeddings of one image."""
        deep, grids = self.deep[row : row + 1], self.grids[row : row + 1]
        return Encoded(self._family, [self.features[row]], deep, grids)

    @classmethod
    def joined(cls, several: Sequence[Encoded]) -> Encoded:
        """Return the embeddings of the images of several, at least one, in their order."""
        features, deep, grids = ([one for e in several for one in getattr(e, n)] for n in ("features", "deep", "grids"))
        return cls(several[0]._family, features, deep, grids)

    def select(self, rows: Sequence[int]) -> dict[str, Any]:
        """Return the argument `mm_encoder_outputs` for sequences with these images in this order; {} for none."""
        if not rows:
            return {}
        deep = [self.deep[r] for r in rows] if self.deep else []
        return {"image": self._family.encoder_output([self.features[r] for r in rows], deep)}

    def grids_of(self, rows: Sequence[int]) -> Tensor | None:
        """Return `image_grid_thw` of these images, (rows, 3); None without images, or in a family without grids."""
        return torch.cat([self.grids[r] for r in rows]) if rows and self.grids else None

    def inputs(self, ids: Tensor, rows: Sequence[int]) -> dict[str, Any]:
        """Return the arguments of `forward` beside ids and mask: embeddings, image token mask and grids.

        Args:
            ids: Token ids (sequences, length), image tokens expanded.
            rows: Indices of the images of these sequences, in order; empty for text.
        """
        given: dict[str, Any] = {"mm_encoder_outputs": self.select(rows)}
        if rows and self._family.token_types:
            given[self._family.token_types] = (ids == self._family.image_token_id).int()
        if (grids := self.grids_of(rows)) is not None:
            given["image_grid_thw"] = grids
        return given


def encode(network: Any, images: Images | None) -> Encoded:
    """Return the embeddings of each image by tower and projector; gradients flow to their trained parameters.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        images: Images of any float dtype, on the network's device; None or empty for a batch of text.

    Raises:
        WeightsMismatch: The number of embeddings of an image is not its number of image tokens in the prompt.
    """
    family = family_of(network)
    if images is None or not len(images):
        return Encoded(family, [], [], [])
    joined = family.joined(images.items)
    tower = next(network.get_submodule(family.tower).parameters()).dtype
    joined["pixel_values"] = joined["pixel_values"].to(tower)
    mixed = any(p.dtype != tower for path in family.projector for p in network.get_submodule(path).parameters())
    # a trained projector is float32 behind a 16-bit tower; otherwise the Trainer's precision applies
    with torch.autocast(joined["pixel_values"].device.type, tower) if mixed else nullcontext():
        made = network.get_image_features(**joined, return_dict=True)
    features = family.of_each(made.pooler_output, images.items)
    deep = list(zip(*getattr(made, "deepstack_features", None) or [], strict=True))
    grids = [item["image_grid_thw"] for item in images.items if "image_grid_thw" in item]
    encoded = Encoded(family, features, deep, grids)
    if images.tokens is not None and encoded.tokens != images.tokens:
        raise _other_count(encoded.tokens, images.tokens)
    return encoded


def encode_apart(network: Any, images: Images) -> Encoded:
    """Return the embeddings of each image; on a CPU one by one, so that what is computed of it stays in its cache."""
    if len(images) < 2 or network.device.type != "cpu":
        return encode(network, images)
    return Encoded.joined([encode(network, images.part([i])) for i in range(len(images))])


def verify_tokens(config: Any, images: Images) -> None:
    """Check by arithmetic, without a network, that it makes as many embeddings as prompts have image tokens.

    Raises:
        WeightsMismatch: The numbers differ.
    """
    family = family_of(config)
    made = [family.image_tokens(item) for item in images.items]
    if made != images.tokens:
        raise _other_count(made, images.tokens or [])


def _other_count(network: Sequence[int], processor: Sequence[int]) -> WeightsMismatch:
    missing = [f"{', '.join(map(str, network))} image tokens (network)"]
    unexpected = [f"{', '.join(map(str, processor))} image tokens (processor)"]
    cure = "use the processor files that were published with these weights"
    return WeightsMismatch("processor_config.json", missing, unexpected, cure)
