"""Write a checkpoint of a published layout in the layout of transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from transformers import GenerationConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from lmod_train.core.errors import BadArgument, NotConvertible
from lmod_train.core.files import clear_parts, write_durably
from lmod_train.models.chat.conversion.card import Facts, card
from lmod_train.models.chat.conversion.plan import check, grow, planned, tensors_of
from lmod_train.models.chat.conversion.shards import SHARD, write_shards
from lmod_train.models.chat.conversion.words import words_of
from lmod_train.models.chat.delta import LEAST_GAIN, mean_gain
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.layouts import layout_name
from lmod_train.models.chat.layouts.base import EMBEDDING, Layout, Words
from lmod_train.models.chat.stored import missing_shards, weight_files
from lmod_train.models.chat.templates import template_of


@dataclass(frozen=True, slots=True)
class Converted:
    """Summary of a conversion.

    Attributes:
        title: Name of the original layout.
        tensors: Number of tensors of the result.
        dropped: Number of original tensors that were left out; the card lists them with the reasons.
        template: Name of the chat template.
    """

    title: str
    tensors: int
    dropped: int
    template: str


def convert(
    folder: Path, out: Path, tower: Path | None = None, template: str | None = None, shard: int = SHARD
) -> Converted:
    """Write a checkpoint of a published layout in the layout of transformers, completely or not at all.

    Args:
        folder: Folder of the original checkpoint.
        out: Folder of the result, new or empty.
        tower: Folder of the vision tower, if the checkpoint only names it.
        template: Name of a chat template; None for the one that the weights were published with.
        shard: Maximum size of a weight file in bytes, which is also the memory needed.

    Raises:
        BadArgument: `out` is not empty, or there is no such template.
        NotConvertible: The layout is unknown, or transformers' classes have no place for a tensor, file or setting.
        WeightsNotFound: There are no weights, or they cannot be read as tensors alone.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadArgument("--out", str(out), "a new or empty folder", "name another, or remove this one")
    layout = _layout(folder, tower)
    name = template or layout.template
    text = layout.written(template_of(name))
    words, plan = words_of(layout), planned(layout)
    rows = plan.shapes[EMBEDDING][0]
    grow(plan, words.rows)
    config = layout.configuration(words, plan.shapes[EMBEDDING][0], plan.original)
    check(plan, layout, config)
    clear_parts(out)
    with write_durably(out) as part:
        part.mkdir()
        write_shards(tensors_of(plan, layout), part, shard)
        _write_config(config, part, plan.dtype)
        layout.processor(words, config, _begun(text, words)).save_pretrained(part)
        notes = [*layout.notes, *_write_generation(folder, words, part)]
        Dialect(part).verify(config)
        facts = Facts(name, plan.shapes[EMBEDDING][0] - rows, notes)
        (part / "README.md").write_text(card(layout, plan, facts, part), encoding="utf-8")
    return Converted(layout.title, len(plan.shapes), len(plan.dropped), name)


def _layout(folder: Path, tower: Path | None) -> Layout:
    """Return the layout of a folder.

    Raises:
        NotConvertible: The layout is unknown, or a file that every checkpoint has is missing.
    """
    values = _values(folder)
    name = layout_name(values)
    if name is None:
        raise NotConvertible(folder, *_why_not(folder, values))
    if values.get("quantization_config"):
        cure = "name the checkpoint in float16 or bfloat16 that it was made from"
        raise NotConvertible(folder, "its weights are quantised (quantization_config)", cure)
    weight_files(folder)
    if lacking := missing_shards(folder):
        raise NotConvertible(folder, f"its index names files that are missing: {', '.join(lacking)}", "fetch them")
    gain = mean_gain(folder)
    if gain is not None and gain < LEAST_GAIN:
        problem = f"it is a delta (mean gain of its norms {gain:.3g}, of complete models about 0.1 to 2)"
        cure = f"`python -m lmod_train apply-delta --delta {folder} --base LLAMA --out WHOLE`, then convert WHOLE"
        raise NotConvertible(folder, problem, cure)
    known: type[Layout] = import_module(f"lmod_train.models.chat.layouts.{name}").LAYOUT
    return known(folder, values, tower)


def _values(folder: Path) -> Mapping[str, Any]:
    file = folder / "config.json"
    if (folder / "adapter_config.json").is_file():
        problem = "it holds adapters (adapter_config.json), not a model"
        raise NotConvertible(folder, problem, "merge them into their base with the code they were trained with")
    if not file.is_file():
        raise NotConvertible(folder, "it holds no config.json", "name the folder of a checkpoint, or correct the path")
    try:
        values: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotConvertible(folder, f"its config.json is not valid JSON ({error})", "fetch it again") from error
    return values


def _why_not(folder: Path, values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the problem of a folder without a known layout, and what to do."""
    if "text_config" in values:
        return (
            "it is already in the layout of transformers",
            f"name it directly: `--model.init_args.checkpoint {folder}`",
        )
    if (folder / "llm").is_dir():
        return "it is in VILA's layout, which transformers does not have", "run VILA's own server, behind an endpoint"
    kind = values.get("model_type")
    known = "LLaVA 1.0, 1.5 and 1.6, LLaVA-Med 1.0 and 1.5, ShareGPT4V, InternVL 1.5 to 2.5"
    return f"its layout (model_type {kind!r}) is none of {known}", "run it with its own code, behind an endpoint"


def _write_config(config: Any, folder: Path, dtype: str) -> None:
    config.architectures = [_class_name(config)]
    config.dtype = dtype
    config.save_pretrained(folder)


def _class_name(config: Any) -> str:
    return str(MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[config.model_type])


def _begun(template: str, words: Words) -> str:
    """Return a chat template, without the BOS token if the tokenizer does not prepend it."""
    tokenizer = words.tokenizer
    begins = tokenizer.bos_token is not None and tokenizer("a").input_ids[0] == tokenizer.bos_token_id
    return template if begins else template.replace("bos_token", "''")


def _write_generation(folder: Path, words: Words, out: Path) -> list[str]:
    """Write generation_config.json with the end tokens; return a note on settings that were left out."""
    file, tokenizer = folder / "generation_config.json", words.tokenizer
    stated: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    ids = {"bos_token_id": tokenizer.bos_token_id, "pad_token_id": tokenizer.pad_token_id}
    ids["eos_token_id"] = list(words.ends)
    try:
        GenerationConfig(**stated | ids).save_pretrained(out)
    except ValueError as error:
        GenerationConfig(**ids).save_pretrained(out)
        return [f"The source's generation_config.json contradicts itself and was left out ({str(error)[:120]})."]
    return []
