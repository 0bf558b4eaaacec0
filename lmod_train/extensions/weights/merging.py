"""Merge a checkpoint into its base: a Hugging Face folder with the adapters merged into the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from lmod_train import __version__
from lmod_train.core.errors import ArtifactError, WeightsMismatch
from lmod_train.core.lock import new_folder, refuse_filled
from lmod_train.core.package_data import package_data
from lmod_train.core.weight_values import checkpoint_json, write_sha256sums
from lmod_train.extensions.weights.server_names import Names, refuse_unread, rename_for_servers
from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.base_files import check_base, fingerprint, licence_of, write_processor_files
from lmod_train.models.chat.checkpoint import find, load
from lmod_train.models.chat.decoding import end_tokens
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.timm_tower import READ_BY, tower_config
from lmod_train.models.modules.base import counted
from lmod_train.models.strategies.saved import read

Onto = Literal["published", "quantised"]

WRAPPED = "model."
"""Prefix of the tensor names in a checkpoint, from the module's attribute."""


def merge(
    ckpt: Path,
    out: Path,
    base: str | None = None,
    names: Names = "transformers",
    trusted: Sequence[Path] = (),
    onto: Onto = "published",
) -> dict[str, Any]:
    """Write the tuned model as a folder that transformers loads without this package, unless its tower is of timm.

    Weights are merged in float32, which takes 4 bytes of memory per parameter, and written in the type that the
    training used: in bfloat16 a merged weight is rounded once, so that replies may differ in a word.

    Args:
        ckpt: A checkpoint of `VisionLanguageModel`, a file or the folder of any strategy.
        out: Folder to write, new or empty.
        base: Folder of the base; None for the one that the checkpoint names.
        names: Naming of the tensors, see `lmod_train.extensions.weights.server_names`; transformers loads both.
        trusted: Checkpoint folders whose pickles may run code, see `lmod_train.models.strategies.vetting`.
        onto: Weights of the base that are merged into, of a model that was tuned on quantised ones: those as published,
            or the quantised ones, which reply as the training did.

    Returns:
        The checkpoint's own facts: base, fingerprint, adapter settings, type.

    Raises:
        ArtifactError: It is no checkpoint, or one that does not name its base.
        BadArgument: `out` is not empty, or no server reads the network.
        WeightsNotFound: The base is missing.
        WeightsMismatch: The base is not that of the checkpoint, or its tensors do not fit the settings.
    """
    refuse_filled(out, "--out")
    saved = read(ckpt, trusted)
    facts = saved.get("conversation")
    if facts is None:
        cure = "name a checkpoint of a run that tuned a model"
        raise ArtifactError(ckpt, "does not name the base that it was tuned from", cure)
    folder = find(base or facts["base"])
    check_base(folder, fingerprint(folder), facts)
    if names == "server":
        refuse_unread(folder)
    lora = Lora(**facts["lora"]) if facts["lora"] else None
    model = trainable(_base(folder, facts, onto), lora, facts["tune_tower"], facts["tune_language_model"])
    _take(model, saved["state_dict"], ckpt)
    merged: Any = model if lora is None else model.merge_and_unload()
    with new_folder(out, "--out") as part:
        merged.eval().to(getattr(torch, facts["dtype"])).save_pretrained(part)
        if names == "server":
            rename_for_servers(part)
        write_processor_files(part, saved["files"])
        _stop_as_trained(part, merged)
        write_sha256sums(part)
        (part / "README.md").write_text(_card(folder, facts, int(saved["global_step"]), onto), encoding="utf-8")
    return dict(facts)


def _base(folder: Path, facts: Mapping[str, Any], onto: Onto) -> Any:
    """Return the weights to merge into, in float32."""
    quantise = facts.get("quantise")
    if onto == "published" or quantise is None:
        return load(folder)
    network: Any = load(folder, getattr(torch, facts["dtype"]), quantise=quantise)
    return network.dequantize().float()


def _take(model: Any, tensors: Mapping[str, Tensor], ckpt: Path) -> None:
    """Load the trained tensors, which must be exactly those of the model.

    Raises:
        WeightsMismatch: A tensor is missing, unexpected, or of another shape.
    """
    learnt = {name for name, p in model.named_parameters() if p.requires_grad} | set(counted(model))
    ours = {f"{n} {tuple(t.shape)}" for n, t in model.state_dict().items() if n in learnt}
    theirs = {f"{n.removeprefix(WRAPPED)} {tuple(t.shape)}" for n, t in tensors.items()}
    if ours != theirs:
        cure = "name an unchanged checkpoint and the base it was tuned from"
        raise WeightsMismatch(str(ckpt), sorted(ours - theirs), sorted(theirs - ours), cure)
    model.load_state_dict({n.removeprefix(WRAPPED): t for n, t in tensors.items()}, strict=False)


def _stop_as_trained(folder: Path, network: Any) -> None:
    """Write the end tokens of training to generation_config.json, as not every base names them all."""
    file = folder / "generation_config.json"
    settings = checkpoint_json(file)
    settings["eos_token_id"] = sorted(end_tokens(network, Dialect(folder)))
    file.write_text(json.dumps(settings, indent=2), encoding="utf-8")


def _card(folder: Path, facts: Mapping[str, Any], steps: int, onto: Onto) -> str:
    """Return the model card: licence, base and training."""
    licence, lora = licence_of(folder), facts["lora"]
    where = "language model and vision tower" if lora and lora.get("tower") else "language model"
    how = f"LoRA of rank {lora['rank']} (alpha {lora['alpha']}) on the {where}" if lora else "no adapters"
    if facts.get("quantise"):
        how += f", beside a base in {facts['quantise']} (merged here into the {onto} weights)"
    if lora and lora.get("peft"):
        how += f", with {', '.join(f'{name} {value}' for name, value in lora['peft'].items())}"
    parts = ["projector", *(p for p in ("tower", "language_model") if facts[f"tune_{p}"])]
    reader = "" if tower_config(folder) is None else f"{READ_BY}\n\n"
    stated = licence if licence != "other" else "not stated in the base's card; the terms of the base apply"
    base, trained = Path(facts["base"]).name, ", ".join(p.replace("_", " ") for p in parts)
    library, fingerprinted = "lmod_train" if reader else "transformers", facts["fingerprint"][:16]
    named = {"licence": licence, "library": library, "base": base, "stated": stated, "fingerprint": fingerprinted}
    done = {"version": __version__, "steps": steps, "how": how, "trained": trained, "reader": reader}
    card: str = package_data(__file__, "words.yaml")["merging"]["card"]
    return card.format(**named, **done)
