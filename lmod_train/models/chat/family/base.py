"""Base class of the families: parts, image tensors, token counts, masks and tensor names."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from PIL import Image
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.pictures import Fit

Part = Literal["tower", "projector", "language_model", "head"]

MaskForm = Literal["one", "by_layer"]
"""Form of a text model's attention masks: one for all layers, or a dict with one for each kind of layer."""

TEXT_MODELS: Mapping[str, MaskForm] = {"llama": "one", "mistral": "one", "qwen2": "by_layer", "qwen3": "by_layer"}
"""Text models that several families use, by `model_type`. Either all layers of a Mistral have a window or none."""


class Family(ABC):
    """Facts about one `model_type` of transformers. Paths are relative to the `...ForConditionalGeneration`.

    Args:
        config: The configuration of a network of this family.

    Attributes:
        model_type: What config.json calls the family, of a class outside this package; inside, the file's name says it.
        tower: Path of the vision tower.
        tower_layers: Path of the tower's list of layers, relative to the tower; a tower may have none.
        whole_tile: Index of the tile that shows the whole picture, of a tower that sees several tiles of an image.
        projector: Paths of the modules between tower and language model; in the Qwen family they are inside the tower.
        projector_parameters: Paths of parameters that belong to the projector but are not in one of its modules.
        language_model: Path of the language model, its head excluded.
        linear_maps: Names of the language model's linear maps, on which adapters go.
        tensors: Names of the image processor's tensors that the network takes as arguments.
        differs_beside: Whether an image is prepared differently if the prompt has several images.
        left_out: Names of further results of the image processor, which the network does not take.
        tiles: Whether the features of an image are several tiles in one tensor, instead of one row of tokens.
        token_types: Name of the argument of `forward` that marks image tokens with 1; None where there is none.
        three_axis: Whether positions have time, height and width, and depend on the image's grid.
        bidirectional_image: Whether tokens of one image attend to one another in both directions.
        masks: Form of the attention masks, by the text model's `model_type`.
        fit: Whether a picture that the processor would crop is padded to a square instead, see `Pictures`.
        server_names: Pairs of a regular expression and its replacement that turn the names of tensors as transformers
            writes them into those of the published checkpoints, which inference servers read; empty if they are equal.
    """

    model_type: ClassVar[str] = ""
    tower: ClassVar[str]
    tower_layers: ClassVar[str] = "encoder.layers"
    whole_tile: ClassVar[int] = 0
    projector: ClassVar[tuple[str, ...]]
    projector_parameters: ClassVar[tuple[str, ...]] = ()
    language_model: ClassVar[str]
    linear_maps: ClassVar[tuple[str, ...]] = (*(f"{of}_proj" for of in ("q", "k", "v", "o", "gate", "up", "down")),)
    tensors: ClassVar[tuple[str, ...]]
    differs_beside: ClassVar[bool] = False
    left_out: ClassVar[tuple[str, ...]] = ()
    tiles: ClassVar[bool] = False
    token_types: ClassVar[str | None] = None
    three_axis: ClassVar[bool] = False
    bidirectional_image: ClassVar[bool] = False
    masks: ClassVar[Mapping[str, MaskForm]]
    server_names: ClassVar[tuple[tuple[str, str], ...]] = ()

    fit: Fit = "pad"

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def image_token_id(self) -> int:
        """Id of the image token, whose embedding is replaced by image features."""
        return int(self.config.image_token_id)

    @property
    def sliding_window(self) -> int | None:
        """Size of the sliding window of some layers in tokens; None if all layers attend to everything."""
        text = self.config.get_text_config()
        kinds = getattr(text, "layer_types", None)
        slides = "sliding_attention" in kinds if kinds else text.model_type == "mistral"  # one kind of layer
        return getattr(text, "sliding_window", None) if slides else None

    @property
    def adapted(self) -> str:
        """Regular expression of the linear layers that get adapters: those of the language model only.

        It contains the language model's path, as the names alone would also match layers of a tower.
        """
        return rf"(.*\.)?{re.escape(self.language_model)}\..*\.({'|'.join(self.linear_maps)})"

    @abstractmethod
    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return the number of embeddings that the network makes of one image.

        Args:
            item: The image as `item` returns it.
        """

    def prepare(self, processor: Any) -> None:  # noqa: B027  # most need nothing
        """Correct settings that the processor files of some published checkpoints state wrongly."""

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return a picture padded to the shape that the family was trained on; unchanged by default."""
        return picture

    def processed(self, picture: Image.Image, processor: Any, beside: bool) -> Any:
        """Return the result of the image processor for one picture.

        Args:
            picture: RGB picture.
            processor: Processor of the checkpoint.
            beside: Whether the prompt has several images; see `differs_beside`.
        """
        options = dict(getattr(processor, "images_kwargs", None) or {})  # as the processor itself sets them
        return processor.image_processor([self.shaped(picture, processor)], **options | {"return_tensors": "pt"})

    def item(self, made: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return those of the image processor's results for one picture that the network takes.

        Raises:
            BadArgument: One is missing, or there are unknown ones.
        """
        strange = sorted(set(made) - {*self.tensors, *self.left_out})
        if strange or not all(name in made for name in self.tensors):
            raise BadArgument(
                f"results of the image processor of this {self.config.model_type}",
                ", ".join(sorted(made)),
                f"{', '.join(self.tensors)}" + (f"; not {', '.join(strange)}" if strange else ""),
                "use the preprocessor_config.json or processor_config.json that was published with these weights; if "
                f"the network takes more, state it in lmod_train/models/chat/family/{self.config.model_type}.py",
            )
        return {name: made[name] for name in self.tensors}

    def joined(self, items: Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
        """Return the arguments of `get_image_features` for all images together.

        Args:
            items: At least one image, as `item` returns it. Tiles in a second axis are padded with zeros.

        Raises:
            BadArgument: Images differ in height or width; such a family must override this method.
        """
        return {name: _joined(name, [item[name] for item in items]) for name in items[0]}

    def of_each(self, features: Any, items: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
        """Return the features of each image, from the result of `get_image_features` for all."""
        if self.tiles:
            features = features.split([len(item["pixel_values"]) for item in items])
        return list(features)

    def whole_picture(self, item: Mapping[str, Tensor]) -> slice:
        """Return which of an image's embeddings in the language model show the whole picture; by default all.

        Args:
            item: The image as `item` returns it.
        """
        return slice(None)

    def on_grid(self, tokens: Tensor, item: Mapping[str, Tensor]) -> Tensor | None:
        """Return tokens of the whole picture in rows and columns, (height, width, features).

        Args:
            tokens: (tokens, features), of a layer of the tower, at the projector's input, or behind it.
            item: The image as `item` returns it.

        Returns:
            None if the number of tokens is no square; a token in front of a square of others is left out.
        """
        side = math.isqrt(len(tokens))
        if side * side != len(tokens):
            side, tokens = math.isqrt(len(tokens) - 1), tokens[1:]
        return tokens.view(side, side, -1) if side and side * side == len(tokens) else None

    def encoder_output(self, features: Sequence[Tensor], deep: Sequence[Sequence[Tensor]]) -> Any:
        """Return the features of images in the form of the network's argument `mm_encoder_outputs`.

        Args:
            features: Features of each image, as `of_each` returns them.
            deep: Features of each image that are added in later layers; empty in most families.
        """
        together: Any = torch.cat(list(features)) if self.tiles else list(features)
        return BaseModelOutputWithPooling(pooler_output=together)

    def is_loose(self, name: str) -> bool:
        """Return whether a parameter is one of `projector_parameters`, with or without a wrapper around the network."""
        return any(_within(name, path) for path in self.projector_parameters)

    def part(self, name: str) -> Part:
        """Return the part that a module or parameter belongs to, with or without a wrapper around the network."""
        if any(_within(name, path) for path in (*self.projector, *self.projector_parameters)):
            return "projector"
        if _within(name, self.tower):
            return "tower"
        return "language_model" if _within(name, self.language_model) else "head"


def _joined(name: str, tensors: Sequence[Tensor]) -> Tensor:
    shapes = {tuple(t.shape[-2:]) for t in tensors if t.ndim > 3}
    if len(shapes) > 1:
        cure = "write the method `joined` of the family, e.g. pad the smaller images with zeros"
        raise BadArgument(f"{name} of images in one batch", sorted(shapes), "one height and width", cure)
    if tensors[0].ndim > 3:  # (1, tiles, ...), or (tiles, 3, ...), which needs no padding
        most = max(t.shape[1] for t in tensors)
        tensors = [torch.cat([t, t.new_zeros(len(t), most - t.shape[1], *t.shape[2:])], 1) for t in tensors]
    return torch.cat(list(tensors))


def _within(name: str, path: str) -> bool:
    return f".{path}." in f".{name}."
