"""Delta weights: detect a published difference between two models, and add it to its base.

The first LLaVA and LLaVA-Med weights were published as differences from LLaMA, gains of the norms, embeddings and all
(LLaVA's ``make_delta``). A delta has the shapes of a model and loads without an error, but its values are noise around
zero, and fine-tuning it learns nothing but token frequencies.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from lmod_train.core.errors import LmodError, WeightsMismatch
from lmod_train.core.links import check_folder
from lmod_train.core.lock import NAME, new_folder, refuse_filled
from lmod_train.core.weight_values import checkpoint_json, write_sha256sums
from lmod_train.models.chat.stored import stored_in, stored_in_file, weight_files

LEAST_GAIN = 0.05
"""Mean gain of the language model's norms below which weights are a delta; a test model had 0.99, its delta 0.005."""
MOST_ENTROPY = 0.95
"""Entropy, as a share of ln(vocabulary), above which weights are a delta; a test model had 0.26, its delta 1.00."""
SENTENCES = ("The optic disc is where the optic nerve leaves the eye.", "What does this photograph show?")
EMBEDDING, HEAD = "embed_tokens.weight", "lm_head.weight"
TIED = {HEAD}
"""Tensors that may be absent, as a head can be tied to the embedding."""
RECOMPUTED = "rotary_emb.inv_freq"
"""Tensor that early versions of transformers wrote for each layer; every version computes it from the configuration."""
_NORM = re.compile(r"(^|\.)\w*(layernorm|norm)\w*\.weight$")


@dataclass(frozen=True, slots=True)
class DeltaSigns:
    """Evidence on whether weights are a delta.

    Attributes:
        named: Whether the folder's name contains the word delta.
        gain: Mean gain of the language model's norms; None where it is no evidence (Gemma stores gains minus one) or
            there are no weights.
        entropy: Mean next-token entropy on two plain sentences as a share of ln(vocabulary); None if not computed.
    """

    named: bool
    gain: float | None = None
    entropy: float | None = None

    @property
    def is_delta(self) -> bool:
        """Whether the weights are a delta: by gain and entropy if either is known, otherwise by name."""
        weighed = [self.gain < LEAST_GAIN] if self.gain is not None else []
        weighed += [self.entropy > MOST_ENTROPY] if self.entropy is not None else []
        return any(weighed) if weighed else self.named


def named_delta(checkpoint: str | Path) -> bool:
    """Return whether the last part of a name or path contains the word delta.

    Example:
        >>> named_delta("checkpoints/llava-med-7b-delta"), named_delta("delta-works/llava_med_merged")
        (True, False)
    """
    return "delta" in re.split(r"[^a-z]+", Path(checkpoint).name.lower())


def mean_gain(folder: Path) -> float | None:
    """Return the mean gain of the language model's norms, read from the files alone; None for Gemma and without norms.

    Raises:
        WeightsNotFound: There are no weights in the folder.
    """
    config = folder / "config.json"
    kind = json.dumps(checkpoint_json(config)) if config.is_file() else ""
    if '"gemma' in kind:  # its norms multiply by one plus what is stored
        return None
    gains = [read().float().mean().item() for name, read in tensors(folder) if _NORM.search(language_name(name))]
    return sum(gains) / len(gains) if gains else None


@torch.no_grad()
def next_token_entropy(network: Any, tokenizer: Any) -> float:
    """Return the mean entropy of the next token on two plain sentences, as a share of ln(vocabulary), in [0, 1].

    Args:
        network: A model that takes `input_ids` and gives `logits`.
        tokenizer: Its tokenizer.
    """
    shares: list[float] = []
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer(sentence).input_ids], device=network.device)
        logs = network(input_ids=ids).logits[0].float().log_softmax(-1)
        shares.append((-(logs.exp() * logs).sum(-1).mean() / math.log(logs.shape[-1])).item())
    return sum(shares) / len(shares)


def apply_delta(delta: Path, base: Path, out: Path) -> None:
    """Add a delta to the language model that it was subtracted from, and write the sum.

    Every tensor of the base is added to the tensor of the same name; rows of embedding and head beyond the base's
    vocabulary, the projector and the tower are copied from the delta, as are the files beside the weights. Tensors
    that every version recomputes (`RECOMPUTED`) are left out.

    Args:
        delta: Folder of the delta, safetensors or ``pytorch_model*.bin`` (read as tensors alone).
        base: Folder of the language model (LLaMA for LLaVA-Med 7B v1.0).
        out: Folder to write, new or empty.

    Raises:
        WeightsNotFound: A folder has no weights.
        WeightsMismatch: The base does not belong to the delta: a tensor has no counterpart or another shape.
        BadArgument: `out` is a file or contains files.
        LmodError: `delta` holds complete weights, or the sum still looks like a delta.
    """
    _refuse_whole(delta)
    _combine(delta, base, out, 1, lambda written: _refuse_delta(written, base))


def _refuse_delta(written: Path, base: Path) -> None:
    """Refuse a sum that still looks like a delta."""
    gain = mean_gain(written)
    if gain is not None and gain < LEAST_GAIN:
        raise LmodError(
            f"base={str(base)!r}: the sum still looks like a delta (mean gain of its norms {gain:.4f}, expected about "
            "0.1 to 2), so this is not the model that was subtracted, or it is a delta itself; nothing was written.\n"
            "Next: name the base that the delta's model card names, as complete weights"
        )


def _refuse_whole(delta: Path) -> None:
    """Refuse weights that are no delta: the sum of two models loads, and its replies are noise."""
    gain = mean_gain(delta)
    if gain is not None and gain >= LEAST_GAIN:
        raise LmodError(
            f"--delta {delta}: expected delta weights, whose norms have a mean gain near 0 (below {LEAST_GAIN}); it is "
            f"{gain:.3g}, as in complete weights.\n"
            f"Next: name these weights as they are (`--model.init_args.checkpoint {delta}`); they need no base"
        )


def make_delta(target: Path, base: Path, out: Path) -> None:
    """Subtract a base from a model, as the first LLaVA weights were published; the inverse of `apply_delta`.

    Args:
        target: Folder of the complete model.
        base: Folder of the language model to subtract, or of a multimodal model that contains it.
        out: Folder to write, new or empty.

    Raises:
        WeightsNotFound: A folder has no weights.
        WeightsMismatch: A tensor of the base has no counterpart in the target or another shape.
        BadArgument: `out` is a file or contains files.
    """
    _combine(target, base, out, -1)


def language_name(name: str) -> str:
    """Return the name of a tensor within its language model, without prefixes; empty for any other tensor.

    Example:
        >>> language_name("language_model.model.layers.0.mlp.up_proj.weight"), language_name("model.norm.weight")
        ('layers.0.mlp.up_proj.weight', 'norm.weight')
        >>> language_name("vision_tower.encoder.layers.0.layer_norm1.weight"), language_name("model.mm_projector.bias")
        ('', '')
    """
    if "vision" in name or "projector" in name or "visual" in name:
        return ""
    own = name.rpartition("language_model.")[2]
    return own.removeprefix("model.")


def tensors(folder: Path) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Yield (name, function that returns the tensor) for every tensor of a folder, one file open at a time.

    Raises:
        WeightsNotFound: There are no weights in the folder.
    """
    yield from ((tensor.name, tensor.read) for tensor in stored_in(folder))


def _combine(left: Path, right: Path, out: Path, sign: int, check: Callable[[Path], None] = lambda _: None) -> None:
    """Write left + sign * right, tensor by tensor, in the files and with the other files of `left`."""
    refuse_filled(out, "--out")
    check_folder(left)
    ours = {language_name(name) for name, _ in tensors(left) if not name.endswith(RECOMPUTED)} - {""}
    added = ((name, read) for name, read in tensors(right) if not name.endswith(RECOMPUTED))
    theirs = {own: read() for name, read in added if (own := language_name(name))}
    if HEAD in ours and EMBEDDING in theirs:  # a base without a head ties it to the embedding
        theirs.setdefault(HEAD, theirs[EMBEDDING])
    strange, absent = sorted(theirs.keys() - ours - TIED), sorted(ours - theirs.keys() - TIED)
    if strange or absent:
        raise WeightsMismatch(str(right), absent, strange, f"name the language model that {left} belongs to")
    with new_folder(out, "--out") as part:
        skipped = shutil.ignore_patterns("*.safetensors", "*.bin", NAME)
        shutil.copytree(left, part, ignore=skipped, dirs_exist_ok=True)
        for file in weight_files(left):
            kept = ((t.name, t.read) for t in stored_in_file(file) if not t.name.endswith(RECOMPUTED))
            made = {name: _sum(read(), theirs.get(language_name(name)), sign, name, right) for name, read in kept}
            save_file(made, part / f"{file.stem}.safetensors", metadata={"format": "pt"})
        write_sha256sums(part)
        _mend_index(part)
        check(part)


def _sum(ours: Tensor, theirs: Tensor | None, sign: int, name: str, right: Path) -> Tensor:
    """Return the sum, over the rows that both have, computed in float32 and cast to the first tensor's type."""
    if theirs is None:
        return ours.contiguous()
    words = language_name(name) in (EMBEDDING, HEAD)  # only these may have additional rows
    if ours.shape[words:] != theirs.shape[words:] or len(ours) < len(theirs):
        cure = "name the model it belongs to"
        raise WeightsMismatch(str(right), [f"{name} {list(ours.shape)}"], [f"{name} {list(theirs.shape)}"], cure)
    made = ours.float().clone()
    made[: len(theirs)] += sign * theirs.float()
    return made.to(ours.dtype)


def _mend_index(folder: Path) -> None:
    """Rewrite the index for the safetensors files, without tensors that were left out.

    Where a folder holds both kinds of files, the index of the safetensors is used, as in `weight_files`.
    """
    theirs = sorted(folder.glob("*.bin.index.json"))
    for index in sorted(folder.glob("*.safetensors.index.json")) or theirs:
        text: dict[str, Any] = checkpoint_json(index)
        places = {name: file for name, file in text["weight_map"].items() if not name.endswith(RECOMPUTED)}
        text["weight_map"] = {name: f"{Path(file).stem}.safetensors" for name, file in places.items()}
        (folder / "model.safetensors.index.json").write_text(json.dumps(text, indent=1), encoding="utf-8")
    for index in theirs:
        index.unlink()


def described(signs: DeltaSigns) -> Sequence[str]:
    """Return the evidence for or against a delta, in words.

    Example:
        >>> described(DeltaSigns(True, 0.004))
        ['its name contains delta', 'mean gain of the norms 0.004 (complete models: about 0.1 to 2)']
    """
    found = ["its name contains delta"] if signs.named else []
    if signs.gain is not None:
        found.append(f"mean gain of the norms {signs.gain:.3g} (complete models: about 0.1 to 2)")
    if signs.entropy is not None:
        found.append(
            f"next-token entropy {signs.entropy:.3g} of ln(vocabulary) (complete models: well below {MOST_ENTROPY})"
        )
    return found
