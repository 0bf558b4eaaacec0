"""Faults that are planted in a tuned small base, at three strengths each, for `dissection.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lmod_train.core.types import Batch, Reply  # noqa: E402
from lmod_train.data.datamodules.records import RecordsDataModule  # noqa: E402
from lmod_train.extensions.dissection.scores import LAST, LIKELIHOOD, PROJECTOR, REPLY, TOWER, UNUSED  # noqa: E402
from lmod_train.extensions.dissection.states import decoder_layers  # noqa: E402
from lmod_train.models.chat.chat_batch import ChatBatch  # noqa: E402
from lmod_train.models.chat.decoding import choice_replies  # noqa: E402
from lmod_train.models.chat.family import family_of  # noqa: E402
from lmod_train.models.modules.conversation import VisionLanguageModel  # noqa: E402

Plant = Callable[[Any, "Planted", float], None]


class Planted(VisionLanguageModel):
    """The tuned small base with a fault in the loaded network."""

    data: RecordsDataModule
    unreadable = 0.0

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the replies, a share of them in a form that no parser reads."""
        replies = super().respond(batch)
        noise = [float(np.random.default_rng(abs(hash(r.id)) % 2**32).random()) for r in replies]
        return [replace(r, reply="#" * 9) if x < self.unreadable else r for r, x in zip(replies, noise, strict=True)]


def random_tower(network: Any, module: Planted, share: float) -> None:
    """Draw the weights of the upper layers of the tower anew."""
    family = family_of(network)
    layers = network.get_submodule(f"{family.tower}.{family.tower_layers}")
    torch.manual_seed(0)
    for layer in list(layers)[round(len(layers) * (1 - share)) :]:
        for parameter in layer.parameters():
            parameter.data.normal_(0, 0.02 if parameter.ndim > 1 else 0.1)


def low_resolution(network: Any, module: Planted, factor: float) -> None:
    """Show the tower a picture of a fraction of its resolution."""

    def blur(_: Any, positional: tuple[Any, ...], given: dict[str, Any]) -> Any:
        pixels = positional[0] if positional else given["pixel_values"]
        small = functional.interpolate(pixels, scale_factor=1 / factor, mode="area")
        made = functional.interpolate(small, size=pixels.shape[-2:], mode="bilinear")
        return ((made, *positional[1:]), given) if positional else (positional, given | {"pixel_values": made})

    network.get_submodule(family_of(network).tower).register_forward_pre_hook(blur, with_kwargs=True)


def rank(network: Any, module: Planted, kept: float) -> None:
    """Keep some directions of the projector's last map."""
    weight = _last_map(network).weight
    u, s, v = torch.linalg.svd(weight.data, full_matrices=False)
    s[int(kept) :] = 0
    weight.data = u * s @ v


def permuted(network: Any, module: Planted, share: float) -> None:
    """Permute a share of the projector's output channels."""
    last = _last_map(network)
    width = last.weight.shape[0]
    generator = torch.Generator().manual_seed(0)
    some = torch.randperm(width, generator=generator)[: round(width * share)]
    order = torch.arange(width)
    order[some] = some.roll(1)
    last.weight.data = last.weight.data[order]
    if last.bias is not None:
        last.bias.data = last.bias.data[order]


def _last_map(network: Any) -> Any:
    projector = network.get_submodule(family_of(network).projector[0])
    return [m for m in projector.modules() if isinstance(m, torch.nn.Linear)][-1]


def noise_at(layer: int) -> Plant:
    """Return a plant that adds noise to the image tokens in front of a layer, in units of their own spread."""

    def plant(network: Any, module: Planted, size: float) -> None:
        generator = torch.Generator().manual_seed(0)

        def add(hidden: Tensor, shown: Tensor) -> Tensor:
            states = hidden[:, shown]
            noise = torch.randn(states.shape, generator=generator) * states.std() * size
            return states + noise if size < 100 else torch.zeros_like(states)

        _change_image_tokens(network, layer, add)

    return plant


def _change_image_tokens(network: Any, layer: int, change: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Change the states of image tokens in front of a layer; steps of decoding show none."""
    shown_in = _watched_ids(network)

    def put(_: Any, positional: tuple[Any, ...], given: dict[str, Any]) -> Any:
        hidden = positional[0] if positional else given["hidden_states"]
        shown = shown_in(hidden)
        if shown is None:
            return None
        made = hidden.clone()
        for row in range(len(made)):
            made[row : row + 1, shown[row]] = change(hidden[row : row + 1], shown[row])
        return ((made, *positional[1:]), given) if positional else (positional, given | {"hidden_states": made})

    decoder_layers(network)[layer].register_forward_pre_hook(put, with_kwargs=True)


def _watched_ids(network: Any) -> Callable[[Tensor], Tensor | None]:
    """Return a function of hidden states that tells which are of image tokens, (rows, tokens); None without any."""
    token = family_of(network).image_token_id
    ids: list[Tensor] = []

    def remember(_: Any, positional: tuple[Any, ...], given: dict[str, Any]) -> None:
        ids[:] = [given["input_ids"]]

    network.register_forward_pre_hook(remember, with_kwargs=True)

    def shown(hidden: Tensor) -> Tensor | None:
        found = ids[0] == token
        return found if found.shape == hidden.shape[:2] and found.any() else None

    return shown


MARK = 1024.0
"""What is added to the values of image tokens of a cut layer, by which they are known in a cache, too."""


def cut_from_image(network: Any, module: Planted, count: float) -> None:
    """Mask the attention of later positions to image tokens in some layers, from layer 1 on."""
    ALL_ATTENTION_FUNCTIONS.register("cut_from_image", _blind)
    shown_in = _watched_ids(network)

    def mark(_: Any, __: Any, values: Tensor) -> Tensor | None:
        shown = shown_in(values)
        return None if shown is None else values + MARK * shown[..., None]

    for layer in list(decoder_layers(network))[1 : 1 + int(count)]:
        attention: Any = layer.self_attn
        attention.config = copy(attention.config)
        attention.config._attn_implementation_internal = "cut_from_image"
        attention.v_proj.register_forward_hook(mark)


def _blind(layer: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **given: Any) -> Any:
    """Return the attention in which only image tokens attend to image tokens."""
    shown = value.mean(dim=(1, 3)) > MARK / 2
    asked, held = query.shape[2], key.shape[2]
    allowed = ~shown[:, None, None, :] | shown[:, None, held - asked :, None]
    if mask is None:
        allowed = allowed & torch.ones(asked, held, dtype=torch.bool, device=key.device).tril(held - asked)
    else:
        allowed = allowed & (mask if mask.dtype == torch.bool else mask > -1)
    return sdpa_attention_forward(layer, query, key, value - MARK * shown[:, None, :, None], allowed, **given)


def no_attention(network: Any, module: Planted, count: float) -> None:
    """Set the output of attention to zero in the first layers."""
    for layer in list(decoder_layers(network))[: int(count)]:
        attention: Any = layer.self_attn
        attention.o_proj.register_forward_hook(lambda _, __, out: torch.zeros_like(out))


def rotary(network: Any, module: Planted, factor: float) -> None:
    """Multiply the frequencies of the rotary embedding."""
    network.get_submodule(f"{family_of(network).language_model}.rotary_emb").inv_freq.mul_(factor)


def exchanged_words(network: Any, module: Planted, share: float) -> None:
    """Mix the scores of the first tokens of the choices with those of the next choice."""
    firsts = _first_tokens(module)

    def mix(_: Any, __: Any, logits: Tensor) -> Tensor:
        made = logits.clone()
        made[..., firsts] = (1 - share) * logits[..., firsts] + share * logits[..., firsts[1:] + firsts[:1]]
        return made

    network.lm_head.register_forward_hook(mix)


def preferred(network: Any, module: Planted, nats: float) -> None:
    """Add a constant to the score of one choice's first token."""
    first = _first_tokens(module)[0]

    def add(_: Any, __: Any, logits: Tensor) -> Tensor:
        made = logits.clone()
        made[..., first] += nats
        return made

    network.lm_head.register_forward_hook(add)


def _first_tokens(module: Planted) -> list[int]:
    """Return the token in which the reply of each choice first differs from the others."""
    data = module.data
    record = data.records("test")[0]
    batch = ChatBatch.of(module.collate([record], data.images))
    replies = [reply.ids for reply in choice_replies(module.dialect, batch)]
    same = next(i for i, tokens in enumerate(zip(*replies, strict=False)) if len(set(tokens)) > 1)
    return [ids[same] for ids in replies]


def unreadable(network: Any, module: Planted, share: float) -> None:
    """Give a share of the replies a form that no parser reads."""
    module.unreadable = share


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        plant: Plants it in a network.
        strengths: Weak, middle and strong.
        truth: Names of the step that are right; the first is that of the plan.
        place: Place that it lowers.
    """

    plant: Plant
    strengths: tuple[float, float, float]
    truth: tuple[str, ...]
    place: str


KINDS = {
    "random tower": Kind(random_tower, (0.25, 0.5, 1.0), ("representation",), TOWER),
    "low resolution": Kind(low_resolution, (4, 8, 32), ("representation",), TOWER),
    "projector of low rank": Kind(rank, (4, 2, 1), ("connection",), PROJECTOR),
    "permuted channels": Kind(permuted, (0.1, 0.3, 1.0), ("mapping", UNUSED), REPLY),
    "noise from the input on": Kind(noise_at(0), (2, 8, 1000), ("comprehension", UNUSED), LAST),
    "noise from layer 1 on": Kind(noise_at(1), (2, 8, 1000), ("comprehension", UNUSED), LAST),
    "cut from the image": Kind(cut_from_image, (1, 2, 3), ("comprehension", UNUSED), LIKELIHOOD),
    "no attention": Kind(no_attention, (1, 2, 4), ("comprehension", UNUSED), LIKELIHOOD),
    "rotary frequencies": Kind(rotary, (1.5, 2, 4), ("comprehension", UNUSED), LIKELIHOOD),
    "words exchanged": Kind(exchanged_words, (0.6, 0.8, 1.0), ("mapping",), LIKELIHOOD),
    "one answer preferred": Kind(preferred, (4, 8, 16), ("prior",), LIKELIHOOD),
    "unreadable replies": Kind(unreadable, (0.2, 0.5, 0.9), ("saying",), REPLY),
}
