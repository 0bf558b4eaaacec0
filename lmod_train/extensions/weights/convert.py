"""Write a checkpoint of a published layout in the layout of transformers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForImageTextToText, GenerationConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from lmod_train import __version__
from lmod_train.core.errors import NotConvertible, WeightsNotFound
from lmod_train.core.files import remembered_sha256, sha256_of
from lmod_train.core.lock import new_folder, refuse_filled
from lmod_train.core.weight_values import checkpoint_json, write_sha256sums
from lmod_train.extensions.weights import internvl, llava, llava_next
from lmod_train.extensions.weights.layout import EMBEDDING, HEAD, Layout, Rule, Words
from lmod_train.extensions.weights.tokenizer import words_of
from lmod_train.models.chat.base_files import PROCESSOR, licence_of
from lmod_train.models.chat.checkpoint_files import layout_name
from lmod_train.models.chat.delta import LEAST_GAIN, mean_gain
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.stored import TYPES, Stored, missing_shards, weight_files
from lmod_train.models.chat.templates import template_of

SHARD = 4 * 2**30
"""Maximum size of a file in bytes; a larger single tensor gets a file of its own."""


LAYOUTS: Mapping[str, type[Layout]] = {
    "internvl": internvl.LAYOUT,
    "llava": llava.LAYOUT,
    "llava_next": llava_next.LAYOUT,
}
"""Name of a layout (`layout_name`) -> its class."""


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
    refuse_filled(out, "--out")
    layout = _layout(folder, tower)
    name = template or layout.template
    text = layout.written(template_of(name))
    words, plan = words_of(layout), planned(layout)
    rows = plan.shapes[EMBEDDING][0]
    grow(plan, words.rows)
    config = layout.configuration(words, plan.shapes[EMBEDDING][0], plan.original)
    check(plan, layout, config)
    with new_folder(out, "--out") as part:
        write_shards(tensors_of(plan, layout), part, shard)
        write_sha256sums(part)
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
        cure = (
            f"`python -m lmod_train weights apply-delta --delta {folder} --base LLAMA --out WHOLE`, then convert WHOLE"
        )
        raise NotConvertible(folder, problem, cure)
    return LAYOUTS[name](folder, values, tower)


def _values(folder: Path) -> Mapping[str, Any]:
    file = folder / "config.json"
    if (folder / "adapter_config.json").is_file():
        problem = "it holds adapters (adapter_config.json), not a model"
        raise NotConvertible(folder, problem, "merge them into their base with the code they were trained with")
    if not file.is_file():
        raise NotConvertible(folder, "it holds no config.json", "name the folder of a checkpoint, or correct the path")
    return checkpoint_json(file)


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
    known = "LLaVA 1.0, 1.5 and 1.6, LLaVA-Med 1.0 and 1.5, ShareGPT4V, InternVL 1.5 to 3.5"
    return f"its layout (model_type {kind!r}) is none of {known}", "run it with its own code, behind an endpoint"


def _write_config(config: Any, folder: Path, dtype: str) -> None:
    config.architectures = [str(MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[config.model_type])]
    config.dtype = dtype
    config.save_pretrained(folder)


def _begun(template: str, words: Words) -> str:
    """Return a chat template, without the BOS token if the tokenizer does not prepend it."""
    tokenizer = words.tokenizer
    begins = tokenizer.bos_token is not None and tokenizer("a").input_ids[0] == tokenizer.bos_token_id
    return template if begins else template.replace("bos_token", "''")


def _write_generation(folder: Path, words: Words, out: Path) -> list[str]:
    """Write generation_config.json with the end tokens; return a note on settings that were left out."""
    file, tokenizer = folder / "generation_config.json", words.tokenizer
    stated = checkpoint_json(file) if file.is_file() else {}
    ids = {"bos_token_id": tokenizer.bos_token_id, "pad_token_id": tokenizer.pad_token_id}
    ids["eos_token_id"] = list(words.ends)
    try:
        GenerationConfig(**stated | ids).save_pretrained(out)
    except ValueError as error:
        GenerationConfig(**ids).save_pretrained(out)
        return [f"The source's generation_config.json contradicts itself and was left out ({str(error)[:120]})."]
    return []


SHOWN = 3
"""Number of left-out tensors that are named for each reason."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Content of a card beside the files.

    Attributes:
        template: Name of the chat template.
        rows_added: Number of rows added to embedding and head.
        notes: Sentences about choices of the conversion.
    """

    template: str
    rows_added: int
    notes: Sequence[str]


def card(layout: Layout, plan: Plan, facts: Facts, written: Path) -> str:
    """Return the text of the model card.

    Args:
        layout: Layout of the original checkpoint.
        plan: Plan of the tensors.
        facts: Further content.
        written: Folder of the result, complete except for the card.
    """
    licence, name = licence_of(layout.folder), layout.folder.name
    stated = licence if licence != "other" else "not stated in the source's folder; the terms of the source apply"
    parts = [
        f"---\nlicense: {licence}\nlibrary_name: transformers\npipeline_tag: image-text-to-text\n"
        f"base_model: {name}\n---",
        f"# {name}, in the layout of transformers",
        f"Licence: {stated}.",
        f"Converted by lmod_train {__version__} from the layout of {layout.title}. Nothing was trained; no weight is "
        f"random. {len(plan.mapped)} tensors of the source became {len(plan.shapes)}; their types are unchanged.",
        *_decided(facts),
        "## Left out\n\n" + "\n".join(_left_out(plan)),
        "## Source files\n\n" + "\n".join(_hashes(_sources(layout))),
        "## Result files\n\n" + "\n".join(_hashes({f.name: f for f in sorted(written.iterdir())}, settled=False)),
        "For research; not a medical device.",
    ]
    return "\n\n".join(parts) + "\n"


def _decided(facts: Facts) -> Iterator[str]:
    yield f"Chat template: `{facts.template}`, with the same text as the original code."
    if facts.rows_added:
        yield (
            f"Embedding and head have {facts.rows_added} more row(s), for tokens that the processor needs: each is the "
            "mean of the others, so that its logit is the mean of all logits and never the largest."
        )
    yield from facts.notes


def _left_out(plan: Plan) -> Iterator[str]:
    for why, names in counted(plan).items():
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield f"- {len(names)} tensor(s), {why}: {', '.join(f'`{n}`' for n in names[:SHOWN])}{more}"
    if not plan.dropped:
        yield "Nothing."


def _sources(layout: Layout) -> Mapping[str, Path]:
    """Return every file that the result depends on, by its name in the card."""
    found: dict[str, Path] = {}
    for folder in filter(None, (layout.folder, layout.tower)):
        kept = {file for pattern in ("config.json", "tokenizer.model", *PROCESSOR) for file in folder.glob(pattern)}
        with suppress(WeightsNotFound):  # a tower's folder may hold only its configuration
            kept |= set(weight_files(folder))
        found |= {f"{folder.name}/{file.name}": file for file in sorted(kept) if file.is_file()}
    return found


def _hashes(files: Mapping[str, Path], *, settled: bool = True) -> Iterator[str]:
    yield "| file | sha256 |\n| --- | --- |"
    for name, file in files.items():
        yield f"| {name} | {remembered_sha256(file) if settled else sha256_of(file)} |"


def write_shards(tensors: Iterable[tuple[str, Tensor]], folder: Path, limit: int = SHARD) -> None:
    """Write tensors in the given order, with an index if there is more than one file.

    Args:
        tensors: Pairs of name and tensor; read while they are written.
        folder: Existing folder to write to.
        limit: Maximum size of a file in bytes.
    """
    written: list[tuple[Path, list[str]]] = []
    total = 0
    for batch in _batches(tensors, limit):
        file = folder / f"{len(written)}.part.safetensors"
        save_file(batch, file, metadata={"format": "pt"})
        written.append((file, list(batch)))
        total += sum(map(_size, batch.values()))
        batch.clear()  # before the next file's tensors are read
    places: dict[str, str] = {}
    for i, (file, names) in enumerate(written, 1):
        one = "model.safetensors"
        name = one if len(written) == 1 else f"model-{i:05d}-of-{len(written):05d}.safetensors"
        file.rename(folder / name)
        places |= dict.fromkeys(names, name)
    if len(written) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")


def _batches(tensors: Iterable[tuple[str, Tensor]], limit: int) -> Iterator[dict[str, Tensor]]:
    batch: dict[str, Tensor] = {}
    for name, tensor in tensors:
        if batch and sum(map(_size, batch.values())) + _size(tensor) > limit:
            yield batch
            batch = {}
        batch[name] = tensor.contiguous()
    if batch:
        yield batch


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


# Plan of the conversion of every tensor, made from names and shapes before anything is written.
FEW = 6

FLOATING = set(TYPES.values())

Shape = tuple[int, ...]


@dataclass
class Plan:
    """The result of every tensor.

    Attributes:
        mapped: Names of the resulting tensors, by original name.
        dropped: Reason why a tensor is left out, by original name.
        unknown: Original names that no rule of the layout matches.
        shapes: Shapes of the resulting tensors, by name.
        original: Shapes of the original tensors, by name.
        dtype: Type of the language model, by its name in torch.
    """

    mapped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    original: dict[str, Shape] = field(default_factory=dict)
    dtype: str = "float32"


def planned(layout: Layout) -> Plan:
    """Return the plan of a checkpoint by the rules of its layout.

    Raises:
        NotConvertible: A tensor matches no rule, two have the same result, or one cannot be split by its rule.
    """
    plan = Plan()
    for tensor in layout.stored():
        plan.original[tensor.name] = tensor.shape
        _place(layout, plan, tensor)
    plan.shapes |= {name: tuple(made.shape) for name, made in layout.made(torch.float32).items()}
    if plan.unknown:
        raise _unlike(layout, f"tensors that no rule of {layout.title} matches: {_few(plan.unknown)}")
    if EMBEDDING not in plan.shapes:
        raise _unlike(layout, "the embedding of the language model is missing")
    return plan


def _place(layout: Layout, plan: Plan, tensor: Stored) -> None:
    rule = next((rule for rule in layout.rules if rule.places(tensor.name)), None)
    reasons = [why for pattern, why in layout.dropped.items() if re.fullmatch(pattern, tensor.name)]
    if reasons:
        plan.dropped[tensor.name] = reasons[0]
    elif rule is not None:
        _map(layout, plan, tensor, rule)
    else:
        plan.unknown.append(tensor.name)


def _map(layout: Layout, plan: Plan, tensor: Stored, rule: Rule) -> None:
    name, places = tensor.name, rule.places(tensor.name)
    if tensor.dtype not in FLOATING:
        raise _unlike(layout, f"{name} is of the type {tensor.dtype}: quantised weights cannot be converted")
    try:
        made = rule.change(torch.empty(tensor.shape, device="meta"))
    except RuntimeError as error:
        raise _unlike(layout, f"{name} of shape {list(tensor.shape)} cannot be split as in {layout.title}") from error
    if twice := [place for place in places if place in plan.shapes]:
        raise _unlike(layout, f"{_few(twice)} would come from two tensors, one of them {name}")
    plan.mapped[name] = places
    plan.shapes |= {place: tuple(part.shape) for place, part in zip(places, made, strict=True)}
    plan.dtype = tensor.dtype if EMBEDDING in places else plan.dtype


def grow(plan: Plan, rows: int) -> None:
    """Raise the number of rows of embedding and head in the plan to `rows`, if it is lower."""
    for name in (EMBEDDING, HEAD):
        if name in plan.shapes:
            plan.shapes[name] = (max(rows, plan.shapes[name][0]), *plan.shapes[name][1:])


def check(plan: Plan, layout: Layout, config: Any) -> None:
    """Compare the resulting tensors with those of the network that the configuration describes.

    Raises:
        NotConvertible: A tensor is missing, unexpected, or of another shape.
    """
    with torch.device("meta"):
        network = AutoModelForImageTextToText.from_config(config)
    wanted = {layout.published(name): tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    missing, strange = sorted(wanted.keys() - plan.shapes.keys()), sorted(plan.shapes.keys() - wanted.keys())
    other = [
        f"{name} {list(plan.shapes[name])}, expected {list(shape)}"
        for name, shape in wanted.items()
        if name in plan.shapes and plan.shapes[name] != shape
    ]
    problems = {"missing": missing, "left over": strange, "of another shape than config.json states": other}
    if any(problems.values()):
        raise _unlike(layout, "; ".join(f"{what}: {_few(names)}" for what, names in problems.items() if names))


def tensors_of(plan: Plan, layout: Layout) -> Iterator[tuple[str, Tensor]]:
    """Yield name and content of every resulting tensor; each original tensor is read once."""
    for stored in layout.stored():
        places = plan.mapped.get(stored.name, ())
        rule = next((rule for rule in layout.rules if rule.places(stored.name)), None) if places else None
        for name, made in zip(places, rule.change(stored.read()) if rule else (), strict=True):
            yield name, grown(made, plan.shapes[name][0]) if name in (EMBEDDING, HEAD) else made
    yield from layout.made(getattr(torch, plan.dtype)).items()


def grown(tensor: Tensor, rows: int) -> Tensor:
    """Return a tensor with additional rows, each the mean of its rows.

    In a head, the logit of such a row is the mean of all logits, which is never the largest.
    """
    if rows <= len(tensor):
        return tensor
    mean = tensor.float().mean(0, keepdim=True).to(tensor.dtype)
    return torch.cat([tensor, mean.expand(rows - len(tensor), -1)])


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _unlike(layout: Layout, problem: str) -> NotConvertible:
    cure = "fetch all files of the checkpoint again; if its page names other code, run it with that code"
    return NotConvertible(layout.folder, problem, cure)


def counted(plan: Plan) -> Mapping[str, list[str]]:
    """Return the names of left-out tensors by reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in plan.dropped.items():
        reasons.setdefault(why, []).append(name)
    return reasons
