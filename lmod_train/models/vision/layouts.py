"""Layouts of weights files of vision encoders, and the renaming of their tensors to timm's names.

``layouts.yaml`` holds the names, and where they are from. A layout is recognised by a tensor that no other one has;
tensors that only its pre-training uses are dropped by name. Whatever else does not fit the network is refused by the
loading, not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from lmod_train.core.raw import read_yaml

PREFIXES = ("module.", "backbone.", "model.", "_orig_mod.")
"""Prefixes of names added by wrappers: data-parallel training, DINOv2's training, a LightningModule, torch.compile."""

_QKV = re.compile(r"(.*\.attn\.)([qkv])_proj\.(weight|bias)")
_CHUNKED = re.compile(r"blocks\.\d+\.(\d+\.(?:norm\d|attn|ls\d|mlp)\..*)")

LUMINANCE = (0.299, 0.587, 0.114)
"""Shares of red, green and blue in the luminance (ITU-R BT.601), as Pillow makes grey images."""

Tensors = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of one kind of weights file.

    Attributes:
        name: Name in reports and errors.
        mark: A name that only this layout has.
        renamed: Patterns and their replacements, applied to each name in this order.
        unused: Prefixes of names, as in the file, of tensors that an image encoder does not use.
    """

    name: str
    mark: str
    renamed: tuple[tuple[str, str], ...]
    unused: tuple[str, ...] = ()


def _read() -> tuple[tuple[str, ...], list[Layout]]:
    """Return the prefixes of tensors that only pre-training uses, and the layouts, timm's first."""
    facts = read_yaml(Path(__file__).with_suffix(".yaml"))
    return tuple(facts["unused"]), [
        Layout(
            one["name"],
            one["mark"],
            tuple(one["renamed"].items()),
            (*one.get("unused", ()), *(facts["text"] if one.get("beside_text") else ())),
        )
        for one in facts["layouts"]
    ]


UNUSED, (TIMM, *LAYOUTS) = _read()
"""Prefixes of unused tensors, timm's own layout, and the others. Names are compared without `PREFIXES`."""


def named_as_timm(tensors: Mapping[str, Tensor], wanted: Iterable[str]) -> tuple[Tensors, list[str], str]:
    """Return a file's tensors by timm's names, the names of dropped tensors, and the name of the file's layout.

    Args:
        tensors: Tensors by the names of the file.
        wanted: Names of the network's tensors, which determine how blocks are numbered and biases are stored.

    Raises:
        ValueError: Two tensors have the same name without their prefixes; the message is that name.
    """
    bare = without_prefixes(tensors)
    layout = next((kind for kind in LAYOUTS if _marked(bare, kind.mark)), TIMM)
    dropped = [name for name in bare if name.startswith(layout.unused) or name.startswith(UNUSED)]
    kept = {_renamed(name, layout): tensor for name, tensor in bare.items() if name not in set(dropped)}
    for change in _CHANGES:
        kept, gone = change(kept, frozenset(wanted))
        dropped += gone
    return kept, dropped, layout.name


def without_prefixes(tensors: Mapping[str, Tensor]) -> Tensors:
    """Return the tensors by their names without `PREFIXES`.

    Raises:
        ValueError: Two tensors have the same name then; the message is that name.

    Example:
        >>> list(without_prefixes({"module.backbone.cls_token": torch.zeros(1)}))
        ['cls_token']
    """
    named: Tensors = {}
    for name, tensor in tensors.items():
        while prefix := next((p for p in PREFIXES if name.startswith(p)), ""):
            name = name.removeprefix(prefix)
        if name in named:
            raise ValueError(name)
        named[name] = tensor
    return named


def _marked(names: Iterable[str], mark: str) -> bool:
    """Return whether a name is the mark, or ends with it after the name of a part (``vision_model.``, ``dinov2.``)."""
    parts = ("", "vision_model.", "dinov2.", "dinov2_with_registers.")
    return not {part + mark for part in parts}.isdisjoint(names)


def _renamed(name: str, layout: Layout) -> str:
    for old, new in layout.renamed:
        name = re.sub(old, new, name)
    return name


def _joined(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Join the separate projections of queries, keys and values; a missing bias of the keys is 0."""
    parts: dict[tuple[str, str], Tensors] = {}
    for name, tensor in tensors.items():
        if (match := _QKV.fullmatch(name)) and f"{match[1]}q_proj.weight" not in wanted:
            parts.setdefault((match[1], match[3]), {})[match[2]] = tensor
    joined = {n: t for n, t in tensors.items() if not _QKV.fullmatch(n) or n in wanted}
    for (place, kind), found in parts.items():
        if kind == "bias" and "k" not in found and {"q", "v"} <= found.keys():
            found["k"] = torch.zeros_like(found["q"])
        if found.keys() == {"q", "k", "v"}:
            joined[f"{place}qkv.{kind}"] = torch.cat([found[part] for part in "qkv"])
        else:  # the loading refuses what is left
            joined |= {f"{place}{part}_proj.{kind}": tensor for part, tensor in found.items()}
    return joined, []


def _hidden(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Name the first layer of transformers' DINOv3, which is one of two in a gated network."""
    gated = "blocks.0.mlp.fc1_x.weight" in wanted
    new = ".mlp.fc1_x." if gated else ".mlp.fc1."
    return {n if n in wanted else n.replace(".mlp.up_proj.", new): tensor for n, tensor in tensors.items()}, []


def _biases(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Store the bias of queries and values as timm's DINOv3 does, whose keys have none; drop biases of 0 only.

    A network without these biases is given none if they are 0 in the file, as in DINOv3's larger releases.
    """
    if "blocks.0.attn.qkv.bias" in wanted or "blocks.0.gamma_1" not in wanted:
        return tensors, []
    gone = [name for name in tensors if name.endswith(".attn.qkv.bias_mask")]
    kept = {name: tensor for name, tensor in tensors.items() if name not in set(gone)}
    for name in [name for name in kept if name.endswith(".attn.qkv.bias")]:
        place = name.removesuffix("qkv.bias")
        queries, keys, values = kept[name].chunk(3)
        if f"{place}q_bias" in wanted and (f"{name}_mask" in gone or not keys.any()):
            del kept[name]
            kept |= {f"{place}q_bias": queries, f"{place}v_bias": values}
        elif not queries.any() and not values.any():
            del kept[name]
            gone.append(name)
    return kept, gone


def _shaped(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Give the class token and the positions of CLIP their leading dimensions."""
    kept = dict(tensors)
    if "pos_embed" in kept and kept["pos_embed"].ndim == 2:
        kept["pos_embed"] = kept["pos_embed"][None]
        if "cls_token" in kept and kept["cls_token"].ndim == 1:
            kept["cls_token"] = kept["cls_token"][None, None]
    return kept, []


def _grey(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Let the patches of a network of grey images (MIRAGE) take colours, and flatten its grid of positions.

    Its global token has no position. A colour image gives what its luminance would give.
    """
    kept = dict(tensors)
    grid, patches = kept.get("pos_embed"), kept.get("patch_embed.proj.weight")
    if grid is not None and grid.ndim == 4:
        rows = grid.flatten(2).transpose(1, 2)
        kept["pos_embed"] = torch.cat([torch.zeros_like(rows[:, :1]), rows], dim=1)
        if patches is not None and patches.shape[1] == 1:
            kept["patch_embed.proj.weight"] = patches * patches.new_tensor(LUMINANCE)[None, :, None, None]
    return kept, []


def _registers(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Add the class token's position to the class token if there are register tokens, as in timm's DINOv2."""
    kept = dict(tensors)
    squared = "pos_embed" in kept and kept["pos_embed"].ndim == 3 and _square(kept["pos_embed"].shape[1] - 1)
    if squared and {"reg_token", "cls_token"} <= kept.keys() and "reg_token" in wanted:
        kept["cls_token"] = kept["cls_token"] + kept["pos_embed"][:, :1]
        kept["pos_embed"] = kept["pos_embed"][:, 1:]
    return kept, []


def _square(count: int) -> bool:
    return count > 0 and round(count**0.5) ** 2 == count


def _unchunked(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Number blocks that are stored in chunks (``blocks.<chunk>.<block>.``) without the chunk, as in DINOv2.

    Networks of several stages (Twins, MobileNetV4) have such names of their own, which are kept.
    """
    found = {name: _CHUNKED.fullmatch(name) for name in tensors if name not in wanted}
    return {f"blocks.{m[1]}" if (m := found.get(n)) else n: t for n, t in tensors.items()}, []


_LITE = re.compile(r"_blocks\.(\d+)\.(_\w+)\.(\w+)")
_LITE_PARTS = {
    True: {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2"}
    | {"_project_conv": "conv_pwl", "_bn2": "bn3"},
    False: {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"},
}
"""Parts of a block of efficientnet_lite_pytorch, with and without an expansion -> timm's."""


def _staged(tensors: Tensors, wanted: frozenset[str]) -> tuple[Tensors, list[str]]:
    """Number the blocks of efficientnet_lite_pytorch by stage and block, in the order of the network's."""
    places = sorted({(int(m[1]), int(m[2])) for n in wanted if (m := re.match(r"blocks\.(\d+)\.(\d+)\.conv", n))})
    kept: Tensors = {}
    for name, tensor in tensors.items():
        match = _LITE.fullmatch(name)
        if match and int(match[1]) < len(places):
            stage, block = places[int(match[1])]
            parts = _LITE_PARTS[f"_blocks.{match[1]}._expand_conv.weight" in tensors]
            name = f"blocks.{stage}.{block}.{parts.get(match[2], match[2])}.{match[3]}"
        kept[name] = tensor
    return kept, []


_CHANGES: tuple[Callable[[Tensors, frozenset[str]], tuple[Tensors, list[str]]], ...] = (
    _unchunked,
    _shaped,
    _grey,
    _registers,
    _joined,
    _hidden,
    _biases,
    _staged,
)
