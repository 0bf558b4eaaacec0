"""The facts of a family of vision-language models that the rest must know: its parts, its positions, its masks.

One code path serves all families; where they differ, they differ in the values below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lmod_train.errors import BadArgument

MODEL_TYPES = ("llava", "llava_next", "internvl", "qwen2_5_vl", "qwen3_vl", "gemma3")
"""The `model_type` of every config.json that is understood."""

Part = Literal["tower", "projector", "language_model", "head"]


@dataclass(frozen=True)
class Family:
    """What one `model_type` of transformers is made of.

    Attributes:
        model_type: As its config.json says.
        image_token_id: Id of the token whose embedding an image's features replace.
        tower: Path of the vision tower below the network (the `...ForConditionalGeneration`).
        projector: Paths of the modules between tower and language model; in the Qwen family they lie inside the tower.
        projector_parameters: Paths of parameters that belong to the projector and to no module of their own.
        language_model: Path of the language model, its head excluded.
        token_types: Name of the argument of `forward` that marks image tokens with 1; None where there is none.
        three_axis: Positions count time, height and width (the Qwen family), and depend on the image's grid.
        bidirectional_image: Tokens of one image see each other, and the mask is a dict by kind of layer (Gemma 3).
        tiles: Features of an image are several tiles in one tensor (InternVL, Gemma 3), instead of one row of tokens.
        sliding_window: Tokens that some layers look back; None where every layer sees everything.
    """

    model_type: str
    image_token_id: int
    tower: str = "model.vision_tower"
    projector: tuple[str, ...] = ("model.multi_modal_projector",)
    projector_parameters: tuple[str, ...] = ()
    language_model: str = "model.language_model"
    token_types: str | None = None
    three_axis: bool = False
    bidirectional_image: bool = False
    tiles: bool = False
    sliding_window: int | None = None

    @property
    def adapted(self) -> str:
        """Regular expression of the linear maps that adapters go on: those of the language model and of nothing else.

        Anchored, as the seven names alone would also hit a tower's.
        """
        return r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"

    def is_loose(self, name: str) -> bool:
        """Return whether a parameter belongs to the projector and to no module of it, whatever wraps the network.

        Example:
            >>> family = Family("llava_next", 3, projector_parameters=("model.image_newline",))
            >>> family.is_loose("base_model.model.model.image_newline"), family.is_loose("model.embed_tokens.weight")
            (True, False)
        """
        return any(_within(name, path) for path in self.projector_parameters)

    def part(self, name: str) -> Part:
        """Return the part that a module or parameter belongs to, whatever wraps the network.

        Example:
            >>> Family("llava", 3).part("base_model.model.model.vision_tower.encoder.layers.0.mlp.fc1.weight")
            'tower'
        """
        if any(_within(name, path) for path in (*self.projector, *self.projector_parameters)):
            return "projector"
        if _within(name, self.tower):
            return "tower"
        return "language_model" if _within(name, self.language_model) else "head"


def _within(name: str, path: str) -> bool:
    return f".{path}." in f".{name}."


def family_of(network: Any) -> Family:
    """Return the facts of a network, or of its configuration.

    Args:
        network: A `...ForConditionalGeneration` of transformers, or its `config`.

    Raises:
        BadArgument: Its model_type is not one of `MODEL_TYPES`.
    """
    config = getattr(network, "config", network)
    known: dict[str, Any] = {"sliding_window": _sliding_window(config)}
    match config.model_type:
        case "llava":
            pass
        case "llava_next":
            known |= {"projector_parameters": ("model.image_newline",)}
        case "internvl":
            known |= {"tiles": True}
        case "qwen2_5_vl" | "qwen3_vl":
            merger = ("model.visual.merger", "model.visual.deepstack_merger_list")
            deep = config.model_type == "qwen3_vl"
            known |= {"tower": "model.visual", "projector": merger if deep else merger[:1]}
            known |= {"token_types": "mm_token_type_ids", "three_axis": True}
        case "gemma3":
            known |= {"token_types": "token_type_ids", "bidirectional_image": True, "tiles": True}
        case other:
            raise BadArgument(
                "model_type", other, f"one of {', '.join(MODEL_TYPES)}", "name a checkpoint of one of these families"
            )
    return Family(config.model_type, config.image_token_id, **known)


def _sliding_window(config: Any) -> int | None:
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    slides = "sliding_attention" in kinds if kinds else text.model_type == "mistral"  # Mistral has one kind of layer
    return getattr(text, "sliding_window", None) if slides else None
