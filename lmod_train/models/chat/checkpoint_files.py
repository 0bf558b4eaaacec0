"""Reading of the files of a checkpoint beside its weights, with errors that name the file to fetch again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoProcessor

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.models.chat import timm_tower
from lmod_train.models.chat.family.base import Family

SETTINGS = (
    "config.json", "generation_config.json", "processor_config.json", "preprocessor_config.json",
    "tokenizer_config.json", "model.safetensors.index.json",
)  # fmt: skip
"""JSON files of a checkpoint that each hold an object; transformers ignores a generation_config.json that is broken."""

PLAIN = {"F64", "F32", "F16", "BF16", "I64", "BOOL"}
"""Types in safetensors files of weights that are not quantised, with their indices and masks."""


def check_settings(checkpoint: str, folder: Path) -> None:
    """Check that the settings of a checkpoint can be read.

    Args:
        checkpoint: Name of the checkpoint in the error.
        folder: Its folder.

    Raises:
        WeightsNotFound: One of its files in `SETTINGS` is not a JSON object.
    """
    for file in (folder / name for name in SETTINGS if (folder / name).is_file()):
        try:
            if not isinstance(json.loads(file.read_text(encoding="utf-8")), dict):
                raise ValueError("it holds no JSON object")
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError too
            raise _damaged(checkpoint, file, error) from error


def check_weights(checkpoint: str, folder: Path) -> None:
    """Check that every safetensors file of a checkpoint is as long as its header states.

    Args:
        checkpoint: Name of the checkpoint in the error.
        folder: Its folder.

    Raises:
        WeightsNotFound: One is cut off, empty, or a pointer of Git LFS.
    """
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, framework="pt"):  # reads the header only
                pass
        except SafetensorError as error:
            raise _damaged(checkpoint, file, error) from error


def check_loaded(checkpoint: str, folder: Path, config: Mapping[str, Any]) -> None:
    """Check that transformers would load the files of a checkpoint that it seems to consist of, and no others.

    Args:
        checkpoint: Name of the checkpoint in the error.
        folder: Its folder, whose settings and weights have been checked.
        config: Its config.json.

    Raises:
        WeightsNotFound: A file that its index lists is missing.
        BadArgument: There are two sets of weights, or an adapter beside the weights; its index names a file outside
            the folder; or config.json and the files differ in whether the weights are quantised.
    """
    index = folder / "model.safetensors.index.json"
    listed = json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values() if index.exists() else ()
    shards = sorted({str(name) for name in listed})
    if outside := [name for name in shards if Path(name).name != name]:
        expected = f"an index that names files in its folder; {index.name} names {outside[0]!r}"
        raise BadArgument("checkpoint", checkpoint, expected, f"fetch {index} again from its authors")
    if absent := [name for name in shards if not (folder / name).is_file()]:
        what = f"{folder} lacks {', '.join(absent)}"
        raise WeightsNotFound("checkpoint", checkpoint, what, "fetch the missing files")
    single = folder / "model.safetensors"
    if shards and single.is_file() and single.name not in shards:
        expected = (
            f"one set of weights; transformers would load {single.name} and leave out the {len(shards)} files of "
        )
        cure = f"remove what is of an earlier download: `rm {single}`, or {index.name} and the files that it lists"
        raise BadArgument("checkpoint", checkpoint, expected + index.name, cure)
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        expected = (
            f"a model without an adapter; transformers would add that of {adapter.name} to the weights in silence"
        )
        cure = f"move adapter_*.* out of {folder}; to evaluate a tuned model, name its checkpoint by `--ckpt_path`"
        raise BadArgument("checkpoint", checkpoint, expected, cure)
    _check_quantisation(
        checkpoint, folder, shards or sorted(file.name for file in folder.glob("*.safetensors")), config
    )


def _check_quantisation(checkpoint: str, folder: Path, files: Sequence[str], config: Mapping[str, Any]) -> None:
    stated = next((own for own in _quantisations(config)), None)
    types: set[str] = set()
    for file in files:
        with safe_open(folder / file, framework="pt") as opened:
            types.update(opened.get_slice(name).get_dtype() for name in opened.keys())  # noqa: SIM118  # not a dict
    if stated is not None and types <= PLAIN:
        expected = f"quantised weights, as config.json states ({stated}); all tensors are {', '.join(sorted(types))}"
        cure = "fetch the config.json of these weights, or the quantised files; or remove quantization_config from it"
        raise BadArgument("checkpoint", checkpoint, expected, cure)
    if stated is None and any(name.startswith("F8_") for name in types):
        expected = "weights that are not quantised, as config.json states no quantization_config; tensors are 8-bit"
        cure = "fetch the config.json that was published with these weights"
        raise BadArgument("checkpoint", checkpoint, expected, cure)


def _quantisations(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the methods of quantisation that a configuration, or one of its parts, states."""
    for name, value in config.items():
        if name == "quantization_config" and value:
            yield str(value.get("quant_method", "unknown method") if isinstance(value, Mapping) else value)
        elif isinstance(value, Mapping):
            yield from _quantisations(value)


def _damaged(checkpoint: str, file: Path, error: Exception) -> WeightsNotFound:
    cure = f"fetch {file.name} again: a download that was cut off, or a pointer of Git LFS, reads like this"
    return WeightsNotFound("checkpoint", checkpoint, f"{file} cannot be read ({short(error)})", cure)


def config_of(folder: Path) -> Any:
    """Return the configuration of a checkpoint.

    Raises:
        WeightsMismatch: transformers cannot read it.
        BadArgument: It names a tower of timm that does not exist or has another size.
    """
    timm_tower.register(folder)
    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers raises errors of many types
        raise _unread(folder, "config.json", error) from error


def processor_of(folder: Path) -> Any:
    """Return the processor of a checkpoint.

    Raises:
        WeightsMismatch: A file of it is missing, or transformers cannot read it.
    """
    try:
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers raises errors of many types, by the file that is missing
        raise _unread(folder, "files of processor and tokenizer", error) from error


def prepare(family: Family, processor: Any, folder: Path) -> None:
    """Let a family prepare the processor of a checkpoint.

    Raises:
        WeightsMismatch: It is a processor of another class.
    """
    try:
        family.prepare(processor)
    except AttributeError as error:
        found, expected = type(processor).__name__, "a processor of the class that config.json states"
        cure = "use the config.json and the processor files that were published with these weights"
        raise WeightsMismatch(str(folder), [expected], [found], cure) from error


def _unread(folder: Path, what: str, error: Exception) -> WeightsMismatch:
    missing = f"{what} that transformers reads ({short(error)})"
    cure = f"copy the files that were published with these weights (*.json, *.jinja, *.model, *.txt) to {folder}"
    return WeightsMismatch(str(folder), [missing], [], cure)


def short(error: Exception) -> str:
    """Return type and text of an error, at most 160 characters of it."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}{'...' if len(text) > 160 else ''}"


def layout_name(values: Mapping[str, Any]) -> str | None:
    """Return the layout of a checkpoint of others' code: ``llava``, ``llava_next`` or ``internvl``; None for any other.

    Args:
        values: The content of a ``config.json``.

    Example:
        >>> layout_name({"model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14"})
        'llava'
        >>> layout_name({"model_type": "llava", "text_config": {}})
    """
    if values.get("model_type") == "internvl_chat":
        return "internvl"
    if "mm_vision_tower" not in values or "text_config" in values:
        return None
    return "llava_next" if values.get("image_aspect_ratio") == "anyres" else "llava"
