"""Forwards of the original code of published layouts, in plain torch, from tensors under their original names.

Written from the published architectures and not through transformers or this package: the other side of a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

Tensors = dict[str, Tensor]
IMAGE = -200
"""Stands for an image in a list of token ids, as in LLaVA's code."""


def linear(t: Tensors, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, t[f"{name}.weight"], t.get(f"{name}.bias"))


def layer_norm(t: Tensors, name: str, x: Tensor, eps: float) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], t[f"{name}.weight"], t[f"{name}.bias"], eps)


def rms_norm(weight: Tensor, x: Tensor, eps: float = 1e-6) -> Tensor:
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Of (heads, length, dimensions)."""
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores + torch.full(scores.shape[1:], float("-inf")).triu(1)
    return (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)


def heads_of(x: Tensor, heads: int) -> Tensor:
    return x.view(len(x), heads, -1).transpose(0, 1)


def clip(t: Tensors, prefix: str, pixels: Tensor, heads: int, layer: int) -> Tensor:
    """Return the hidden states behind a layer of a CLIP tower for one picture (3, side, side), class token first."""
    width = t[f"{prefix}embeddings.patch_embedding.weight"]
    patches = functional.conv2d(pixels[None], width, stride=width.shape[-1])[0].flatten(1).T
    x = torch.cat([t[f"{prefix}embeddings.class_embedding"][None], patches])
    x = layer_norm(t, f"{prefix}pre_layrnorm", x + t[f"{prefix}embeddings.position_embedding.weight"], 1e-5)
    states, i = [x], 0
    while f"{prefix}encoder.layers.{i}.layer_norm1.weight" in t:
        name = f"{prefix}encoder.layers.{i}"
        y = layer_norm(t, f"{name}.layer_norm1", x, 1e-5)
        q, k, v = (heads_of(linear(t, f"{name}.self_attn.{part}_proj", y), heads) for part in "qkv")
        x = x + linear(t, f"{name}.self_attn.out_proj", attention(q, k, v, causal=False))
        y = linear(t, f"{name}.mlp.fc1", layer_norm(t, f"{name}.layer_norm2", x, 1e-5))
        x = x + linear(t, f"{name}.mlp.fc2", y * torch.sigmoid(1.702 * y))
        states.append(x)
        i += 1
    return states[layer]


def rotated(x: Tensor, theta: float) -> Tensor:
    """Turn (heads, length, dimensions) by positions, halves paired as LLaMA's code in transformers pairs them."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[1])[:, None] * theta ** (-torch.arange(half) / half)[None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def attended(q: Tensor, k: Tensor, v: Tensor, theta: float) -> Tensor:
    """Return causal attention with turned queries and keys, each key head shared by a group of query heads."""
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    return attention(rotated(q, theta), rotated(k, theta), v, causal=True)


def llama(t: Tensors, prefix: str, x: Tensor, heads: int, keys: int, theta: float = 1e4) -> Tensor:
    """Return the last hidden states (length, width) of a LLaMA, Mistral, Qwen2 or Qwen3 for embeddings."""
    i = 0
    while f"{prefix}layers.{i}.input_layernorm.weight" in t:
        name = f"{prefix}layers.{i}"
        y = rms_norm(t[f"{name}.input_layernorm.weight"], x)
        q, k, v = (
            heads_of(linear(t, f"{name}.self_attn.{part}_proj", y), n)
            for part, n in zip("qkv", (heads, keys, keys), strict=True)
        )
        if f"{name}.self_attn.q_norm.weight" in t:  # of Qwen3: each head by itself
            q, k = (rms_norm(t[f"{name}.self_attn.{part}_norm.weight"], x) for part, x in (("q", q), ("k", k)))
        x = x + linear(t, f"{name}.self_attn.o_proj", attended(q, k, v, theta))
        y = rms_norm(t[f"{name}.post_attention_layernorm.weight"], x)
        gate, up = (linear(t, f"{name}.mlp.{part}_proj", y) for part in ("gate", "up"))
        x = x + linear(t, f"{name}.mlp.down_proj", functional.silu(gate) * up)
        i += 1
    return rms_norm(t[f"{prefix}norm.weight"], x)


def internlm2(t: Tensors, prefix: str, x: Tensor, heads: int, keys: int, theta: float = 1e4) -> Tensor:
    """Return the last hidden states (length, width) of an InternLM2, whose queries, keys and values are one map."""
    i, groups = 0, heads // keys
    while f"{prefix}layers.{i}.attention_norm.weight" in t:
        name = f"{prefix}layers.{i}"
        made = linear(t, f"{name}.attention.wqkv", rms_norm(t[f"{name}.attention_norm.weight"], x))
        made = made.view(len(x), keys, groups + 2, -1)
        q = made[:, :, :groups].flatten(1, 2).transpose(0, 1)
        k, v = made[:, :, -2].transpose(0, 1), made[:, :, -1].transpose(0, 1)
        x = x + linear(t, f"{name}.attention.wo", attended(q, k, v, theta))
        y = rms_norm(t[f"{name}.ffn_norm.weight"], x)
        gate, up = linear(t, f"{name}.feed_forward.w1", y), linear(t, f"{name}.feed_forward.w3", y)
        x = x + linear(t, f"{name}.feed_forward.w2", functional.silu(gate) * up)
        i += 1
    return rms_norm(t[f"{prefix}norm.weight"], x)


def intern_vit(t: Tensors, pixels: Tensor, heads: int) -> Tensor:
    """Return the last hidden states of an InternViT for one tile (3, side, side), class token first."""
    prefix = "vision_model.embeddings."
    width = t[f"{prefix}patch_embedding.weight"]
    patches = (
        functional.conv2d(pixels[None], width, t[f"{prefix}patch_embedding.bias"], stride=width.shape[-1])[0]
        .flatten(1)
        .T
    )
    x = torch.cat([t[f"{prefix}class_embedding"][0], patches]) + t[f"{prefix}position_embedding"][0]
    i = 0
    while f"vision_model.encoder.layers.{i}.ls1" in t:
        name = f"vision_model.encoder.layers.{i}"
        made = linear(t, f"{name}.attn.qkv", layer_norm(t, f"{name}.norm1", x, 1e-6)).view(len(x), 3, heads, -1)
        q, k, v = made.permute(1, 2, 0, 3)
        x = x + linear(t, f"{name}.attn.proj", attention(q, k, v, causal=False)) * t[f"{name}.ls1"]
        y = linear(
            t, f"{name}.mlp.fc2", functional.gelu(linear(t, f"{name}.mlp.fc1", layer_norm(t, f"{name}.norm2", x, 1e-6)))
        )
        x = x + y * t[f"{name}.ls2"]
        i += 1
    return x


def shuffled(x: Tensor) -> Tensor:
    """Join each two by two patches of a square grid (patches, width) into one of four times the width."""
    side = math.isqrt(len(x))
    grid = x.view(side // 2, 2, side // 2, 2, -1)  # row, its half, column, its half, width
    return grid.permute(0, 2, 1, 3, 4).reshape((side // 2) ** 2, -1)


def spliced(ids: Sequence[int], embedding: Tensor, pictures: Sequence[Tensor]) -> Tensor:
    """Return embeddings of tokens, with those of the next picture in place of each `IMAGE`."""
    left = iter(pictures)
    return torch.cat([next(left) if i == IMAGE else embedding[i][None] for i in ids])


def unpadded(x: Tensor, size: tuple[int, int]) -> Tensor:
    """Cut the padding off a grid of features (width, rows, columns) of a picture of (width, height)."""
    rows, columns = x.shape[1:]
    if size[0] / size[1] > columns / rows:
        cut = (rows - int(size[1] * (columns / size[0]))) // 2
        return x[:, cut : rows - cut]
    cut = (columns - int(size[0] * (rows / size[1]))) // 2
    return x[:, :, cut : columns - cut]


def best_grid(size: tuple[int, int], grids: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the width and height, of those offered, that keep most of a picture and waste least."""

    def worth(grid: tuple[int, int]) -> tuple[int, int]:
        scale = min(grid[0] / size[0], grid[1] / size[1])
        kept = min(int(size[0] * scale) * int(size[1] * scale), size[0] * size[1])
        return kept, -(grid[0] * grid[1] - kept)

    return max(grids, key=worth)


def any_resolution(
    tiles: Sequence[Tensor], size: tuple[int, int], grids: Sequence[tuple[int, int]], side: int, newline: Tensor
) -> Tensor:
    """Return LLaVA 1.6's features of a picture: its overview, then its tiles as one grid with an end to each row."""
    width, height = (n // side for n in best_grid(size, grids))
    patches = math.isqrt(len(tiles[0]))
    grid = torch.stack(list(tiles[1:])).view(height, width, patches, patches, -1)
    grid = unpadded(grid.permute(4, 0, 2, 1, 3).reshape(-1, height * patches, width * patches), size)
    ends = newline[:, None, None].expand(-1, grid.shape[1], 1)
    return torch.cat([tiles[0], torch.cat([grid, ends], 2).flatten(1).T])
