"""What every family states: its parts, its image tensors, its token counts, its masks and its names."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from PIL import Image
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lmod_train.errors import BadArgument

Part = Literal["tower", "projector", "language_model", "head"]

MaskForm = Literal["one", "by_layer"]
"""How a text model takes its attention masks: one for all layers, or a dict with one for each kind of layer."""

TEXT_MODELS: Mapping[str, MaskForm] = {"llama": "one", "mistral": "one", "qwen2": "by_layer", "qwen3": "by_layer"}
"""Text models that several families are built on, by `model_type`. All layers of a Mistral have its window or none."""


class Family(ABC):
    """What one `model_type` of transformers is made of. Paths are below the `...ForConditionalGeneration`.

    Args:
        config: The configuration of a network of this family.

    Attributes:
        model_type: What config.json calls the family, of a class outside this package; inside, the file's name says it.
        tower: Path of the vision tower.
        projector: Paths of the modules between tower and language model; in the Qwen family they lie inside the tower.
        projector_parameters: Paths of parameters that belong to the projector and to no module of their own.
        language_model: Path of the language model, its head excluded.
        linear_maps: Names of the language model's linear maps, on which adapters go.
        tensors: Tensors of the image processor that the network takes, by the name of its argument.
        differs_beside: An image shown beside others in one prompt is prepared differently from one shown alone.
        left_out: Further results of the image processor, of which the network needs none.
        tiles: Features of an image are several tiles in one tensor, instead of one row of tokens.
        token_types: Name of the argument of `forward` that marks image tokens with 1; None where there is none.
        three_axis: Positions count time, height and width, and depend on the image's grid.
        bidirectional_image: Tokens of one image see each other in both directions.
        masks: How the text models of this family take their masks, by the text model's `model_type`.
        server_names: Pairs of a regular expression and its replacement, which make of the names of tensors that
            transformers writes those of the published checkpoints, which inference servers read; empty where
            transformers writes the published names.
    """

    model_type: ClassVar[str] = ""
    tower: ClassVar[str]
    projector: ClassVar[tuple[str, ...]]
    projector_parameters: ClassVar[tuple[str, ...]] = ()
    language_model: ClassVar[str]
    linear_maps: ClassVar[tuple[str, ...]] = (
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    )
    tensors: ClassVar[tuple[str, ...]]
    differs_beside: ClassVar[bool] = False
    left_out: ClassVar[tuple[str, ...]] = ()
    tiles: ClassVar[bool] = False
    token_types: ClassVar[str | None] = None
    three_axis: ClassVar[bool] = False
    bidirectional_image: ClassVar[bool] = False
    masks: ClassVar[Mapping[str, MaskForm]]
    server_names: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def image_token_id(self) -> int:
        """Id of the token whose embedding an image's features replace."""
        return int(self.config.image_token_id)

    @property
    def sliding_window(self) -> int | None:
        """Tokens that some layers look back; None where every layer sees everything."""
        text = self.config.get_text_config()
        kinds = getattr(text, "layer_types", None)
        slides = "sliding_attention" in kinds if kinds else text.model_type == "mistral"  # one kind of layer
        return getattr(text, "sliding_window", None) if slides else None

    @property
    def adapted(self) -> str:
        """Regular expression of the linear maps that adapters go on: those of the language model and of nothing else.

        Anchored at the language model's path, as the names alone would also hit a tower's.
        """
        return rf"(.*\.)?{re.escape(self.language_model)}\..*\.({'|'.join(self.linear_maps)})"

    @abstractmethod
    def image_tokens(self, item: Mapping[str, Tensor]) -> int:
        """Return how many embeddings the network makes of one image.

        Args:
            item: The image as `item` returns it.
        """

    def prepare(self, processor: Any) -> None:  # noqa: B027  # most need nothing
        """Set what the processor files of some published checkpoints state wrongly."""

    def shaped(self, picture: Image.Image, processor: Any) -> Image.Image:
        """Return a picture in the shape that the family was trained on: as it is, unless the family says otherwise."""
        return picture

    def processed(self, picture: Image.Image, processor: Any, beside: bool) -> Any:
        """Return what the image processor makes of one picture.

        Args:
            picture: RGB.
            processor: Of the checkpoint.
            beside: Whether the picture is shown beside others in one prompt; see `differs_beside`.
        """
        options = dict(getattr(processor, "images_kwargs", None) or {})  # what the processor itself would set
        return processor.image_processor([self.shaped(picture, processor)], **options | {"return_tensors": "pt"})

    def item(self, made: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the tensors that the network takes, of all that the image processor made of one picture.

        Raises:
            BadArgument: One of them is missing, or there are others of which nothing is known.
        """
        strange = sorted(set(made) - {*self.tensors, *self.left_out})
        if strange or not all(name in made for name in self.tensors):
            raise BadArgument(
                f"tensors that the image processor of this {self.config.model_type} makes",
                ", ".join(sorted(made)),
                f"{', '.join(self.tensors)}" + (f"; not {', '.join(strange)}" if strange else ""),
                "use the preprocessor_config.json or processor_config.json that was published with these weights; if "
                f"the network takes more, state it in lmod_train/chat/family/{self.config.model_type}.py",
            )
        return {name: made[name] for name in self.tensors}

    def joined(self, items: Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
        """Return each argument of `get_image_features` for all images together.

        Args:
            items: At least one, as `item` returns them. Tiles in a second axis are filled up with zeros.

        Raises:
            BadArgument: Images differ in height or width; a family that prepares them so states how they are joined.
        """
        return {name: _joined(name, [item[name] for item in items]) for name in items[0]}

    def of_each(self, features: Any, items: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
        """Return the features of each image, from those that `get_image_features` makes of all together."""
        if self.tiles:
            features = features.split([len(item["pixel_values"]) for item in items])
        return list(features)

    def encoder_output(self, features: Sequence[Tensor], deep: Sequence[Sequence[Tensor]]) -> Any:
        """Return the features of images as the network's `mm_encoder_outputs` takes them.

        Args:
            features: Of each image, as `of_each` returns them.
            deep: Of each image, what later layers add to it; empty in most families.
        """
        together: Any = torch.cat(list(features)) if self.tiles else list(features)
        return BaseModelOutputWithPooling(pooler_output=together)

    def is_loose(self, name: str) -> bool:
        """Return whether a parameter belongs to the projector and to no module of it, whatever wraps the network."""
        return any(_within(name, path) for path in self.projector_parameters)

    def part(self, name: str) -> Part:
        """Return the part that a module or parameter belongs to, whatever wraps the network."""
        if any(_within(name, path) for path in (*self.projector, *self.projector_parameters)):
            return "projector"
        if _within(name, self.tower):
            return "tower"
        return "language_model" if _within(name, self.language_model) else "head"


def _joined(name: str, tensors: Sequence[Tensor]) -> Tensor:
    shapes = {tuple(t.shape[-2:]) for t in tensors if t.ndim > 3}
    if len(shapes) > 1:
        raise BadArgument(
            f"{name} of images in one batch",
            sorted(shapes),
            "one height and width",
            "write the method `joined` of the family, e.g. fill the smaller images up with zeros",
        )
    if tensors[0].ndim > 3:  # (1, tiles, ...), or (tiles, 3, ...), of which nothing is filled up
        most = max(t.shape[1] for t in tensors)
        tensors = [torch.cat([t, t.new_zeros(len(t), most - t.shape[1], *t.shape[2:])], 1) for t in tensors]
    return torch.cat(list(tensors))


def _within(name: str, path: str) -> bool:
    return f".{path}." in f".{name}."
