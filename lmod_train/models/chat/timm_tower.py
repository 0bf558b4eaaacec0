"""A convolutional network of timm as the vision tower of a LLaVA: each place of its last feature map is a token.

LLaVA reads hidden states of shape (images, tokens, width), but transformers' own wrapper of timm returns maps of shape
(images, channels, height, width). The last map is used, not an earlier one of finer resolution: the mean of its tokens
is the pooled feature vector that the network was trained to classify by, and it has the fewest tokens (49 at 224
pixels, where the map before the last reduction has 196 tokens of 112 channels in EfficientNet-Lite0). A larger
`image_size` gives a finer map.

Only the architecture's name is read from a checkpoint, and none of its code is executed. Nothing is registered on
import; `register` does so when a checkpoint with such a tower is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from lmod_train.core.errors import BadArgument
from lmod_train.core.weight_values import checkpoint_json

MODEL_TYPE = "timm_tokens"
"""The `model_type` of such a tower in the `vision_config` of a checkpoint's config.json."""

REMAKE = "use the config.json that was written with these weights, or make the checkpoint again: scripts/eyes_vlm.py"


READ_BY = "Only lmod_train reads this folder: transformers and inference servers have no such tower."
"""What the card of a checkpoint with such a tower says of its readers."""


class TimmTokensConfig(PreTrainedConfig):
    """Configuration of a `TimmTokens`.

    Attributes:
        architecture: Name in timm.
        image_size: Side of the square input in pixels.
        patch_size: Side of the square of pixels of one token.
        hidden_size: Channels of the last feature map.
        num_hidden_layers: 0, as the tower's only hidden state is its output.
    """

    model_type = MODEL_TYPE

    architecture: str = "tf_efficientnet_lite0"
    image_size: int = 224
    patch_size: int = 32
    hidden_size: int = 1280
    num_hidden_layers: int = 0


class TimmTokens(PreTrainedModel):
    """Tower that returns the last feature map of a network of timm as tokens, row by row.

    Batch norm always uses its stored statistics, in training mode too, so that the features of an image never depend on
    the other images of its batch.

    Args:
        config: Architecture and size.

    Raises:
        BadArgument: timm has no such architecture, or it makes another feature map than the configuration states.
    """

    config: TimmTokensConfig
    config_class = TimmTokensConfig
    main_input_name = "pixel_values"
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = True  # it has no attention

    def __init__(self, config: TimmTokensConfig) -> None:
        super().__init__(config)
        check(config.to_dict())
        self.network: Any = _created(config.architecture)
        self.post_init()  # type: ignore[no-untyped-call]  # transformers annotates in part

    def forward(self, pixel_values: Tensor, **unused: Any) -> BaseModelOutputWithPooling:
        """Return the tokens (images, tokens, width) as last and only hidden state."""
        made = self.network.forward_features(pixel_values.to(self.dtype, memory_format=torch.channels_last))
        tokens = made.flatten(2).transpose(1, 2).contiguous()
        return BaseModelOutputWithPooling(last_hidden_state=tokens, hidden_states=(tokens,))

    def train(self, mode: bool = True) -> TimmTokens:
        """Set training mode, but for batch norm."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, _BatchNorm):
                module.training = False
        return self


def register(folder: Path) -> None:
    """Make the tower known to transformers if the config.json of a checkpoint names it; may be called repeatedly.

    Raises:
        BadArgument: As for `TimmTokens`.
    """
    vision = tower_config(folder)
    if vision is not None:
        known()
        check(vision)


def known() -> None:
    """Make the tower known to transformers; may be called repeatedly."""
    AutoConfig.register(MODEL_TYPE, TimmTokensConfig, exist_ok=True)
    AutoModel.register(TimmTokensConfig, TimmTokens, exist_ok=True)


def tower_config(folder: Path) -> Mapping[str, Any] | None:
    """Return the `vision_config` of a checkpoint if it is that of such a tower, otherwise None."""
    file = folder / "config.json"
    config = checkpoint_json(file) if file.is_file() else {}
    vision = config.get("vision_config")
    return vision if isinstance(vision, dict) and vision.get("model_type") == MODEL_TYPE else None


def check(vision: Mapping[str, Any]) -> None:
    """Check that an architecture makes the feature map that its configuration states.

    Raises:
        BadArgument: It does not, or timm has no such architecture.
    """
    names = ("architecture", "image_size", "patch_size", "hidden_size", "num_hidden_layers")
    values = {name: vision.get(name, getattr(TimmTokensConfig, name)) for name in names}
    for name in ("image_size", "patch_size", "hidden_size"):
        if not isinstance(values[name], int) or values[name] < 1:
            raise BadArgument(f"vision_config.{name}", values[name], "a whole number of at least 1", REMAKE)
    width, stride = shape_of(values["architecture"], values["image_size"])
    for name, found in {"hidden_size": width, "patch_size": stride, "num_hidden_layers": 0}.items():
        if values[name] != found:
            expected = f"{found}, as {values['architecture']} has at image_size {values['image_size']}"
            raise BadArgument(f"vision_config.{name}", values[name], expected, REMAKE)


@cache
def shape_of(architecture: str, image_size: int) -> tuple[int, int]:
    """Return the channels of an architecture's last feature map, and the side of the square of pixels of a place.

    Raises:
        BadArgument: timm has no such architecture, it makes no feature map, `image_size` does not suit it, or it has
            tensors that no file holds, such as the filters of a blur.

    Example:
        >>> shape_of("tf_efficientnet_lite0", 224)
        (1280, 32)
    """
    import timm  # seconds, with wandb, which models with other towers need not wait for

    if not isinstance(architecture, str) or not timm.is_model(architecture):  # create_model takes addresses too
        cure = "list them: python -c \"import timm; print(*timm.list_models('*efficientnet*'), sep='\\n')\""
        raise BadArgument("vision_config.architecture", architecture, f"a network of timm {timm.__version__}", cure)
    with torch.device("meta"):
        network = _created(architecture)
        made = _map_of(network, image_size)
    if made is None:
        expected = "a convolutional network, with a feature map of (images, channels, height, width)"
        raise BadArgument("vision_config.architecture", architecture, expected, "take e.g. tf_efficientnet_lite0")
    if (unsaved := _unsaved(network)) is not None:  # transformers would leave them without values
        expected = f"a network whose tensors are all saved; no file holds {unsaved}"
        raise BadArgument("vision_config.architecture", architecture, expected, "take e.g. tf_efficientnet_lite0")
    if made.shape[2] != made.shape[3] or image_size % made.shape[2]:
        raise BadArgument("vision_config.image_size", image_size, "a multiple of its reduction", "take 224 or 320")
    return made.shape[1], image_size // made.shape[2]


def _map_of(network: Any, side: int) -> Tensor | None:
    """Return the last feature map of an image, without values; None if the network makes something else."""
    if getattr(network, "output_fmt", "NCHW") != "NCHW":
        return None
    try:
        made = network.eval().forward_features(torch.empty(1, 3, side, side))
    except (AssertionError, RuntimeError, ValueError, TypeError, AttributeError):  # another input, or no features
        return None
    return made if isinstance(made, Tensor) and made.ndim == 4 else None


def _unsaved(network: nn.Module) -> str | None:
    """Return the name of the first buffer that a state dict does not hold; None if there is none."""
    saved = network.state_dict().keys()
    return next((name for name, _ in network.named_buffers() if name not in saved), None)


def _created(architecture: str) -> nn.Module:
    """Return a network with random weights and without its classifier."""
    import timm

    network: nn.Module = timm.create_model(architecture, pretrained=False, num_classes=0)
    return network
