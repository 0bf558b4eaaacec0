"""The files of a Hugging Face checkpoint: where they are, and errors that name what is missing, without torch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from lmod_train.core.artifacts.model_facts import download
from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.core.raw import read_json
from lmod_train.core.weight_values import checkpoint_json

SHIPPED = Path(__file__).parent
"""Folder of the checkpoints that come with the package, one subfolder each."""

SETTINGS = (
    "config.json", "generation_config.json", "processor_config.json", "preprocessor_config.json",
    "tokenizer_config.json", "model.safetensors.index.json",
)  # fmt: skip
"""JSON files of a checkpoint that each hold an object; transformers ignores a generation_config.json that is broken."""

PARTS = {
    "tokenizer": ("tokenizer.json", "tokenizer.model", "vocab.json"),
    "image processor": ("preprocessor_config.json", "processor_config.json"),
}
"""Part of a checkpoint beside its weights -> files of which it needs one."""

PLAIN = {"F64", "F32", "F16", "BF16", "I64", "BOOL"}
"""Types in safetensors files of weights that are not quantised, with their indices and masks."""


def checked(checkpoint: str) -> tuple[Path, str]:
    """Return the folder of a checkpoint and its model_type, once its files are found to be there and whole.

    Neither torch nor transformers is imported, so that a command can end before they are.

    Args:
        checkpoint: A path, or the name of a checkpoint that comes with the package.

    Raises:
        WeightsNotFound: There is no such folder, it holds no weights, a file that its index lists is missing, or a
            file cannot be read.
        WeightsMismatch: Its `config.json` is not in the layout of transformers.
        BadArgument: Other weights would be loaded than it seems to hold, see `check_loaded`.

    Example:
        >>> folder, model_type = checked("small_base")
        >>> folder.name, model_type
        ('small_base', 'llava')
    """
    folder = folder_of(checkpoint, lambda: _how_to_fetch(checkpoint))
    check_settings(checkpoint, folder)
    config = checkpoint_json(folder / "config.json")
    if layout_name(config):
        _refuse_layout(folder, config)
    if not any(folder.glob("*.safetensors")):
        fetch = download(checkpoint)
        cure = (
            f"fetch the weights too{f', e.g. {fetch}' if fetch else ''}; pickled *.bin files are not loaded (they can "
            "execute code)"
        )
        raise WeightsNotFound("checkpoint", checkpoint, f"{folder} holds a configuration but no *.safetensors", cure)
    check_weights(checkpoint, folder)
    check_loaded(checkpoint, folder, config)
    for part, names in PARTS.items():
        if not any((folder / name).is_file() for name in names):
            fetch = f"`hf download OWNER/NAME {names[0]} --local-dir {shlex.quote(str(folder))}`"
            what = f"{folder} has no {part} ({' or '.join(names)})"
            raise WeightsNotFound("checkpoint", checkpoint, what, f"fetch that too, e.g. {fetch}")
    return folder, str(config.get("model_type"))


def folder_of(checkpoint: str, cure: Callable[[], str]) -> Path:
    """Return the folder with the config.json of a checkpoint: the path itself, or of that name in the package.

    Raises:
        WeightsNotFound: There is none; the error ends with what `cure` returns.
    """
    folder = next((p for p in (Path(checkpoint), SHIPPED / checkpoint) if (p / "config.json").is_file()), None)
    if folder is None and (inner := sorted(file.parent for file in Path(checkpoint).glob("*/config.json"))):
        named = " or ".join(f"`{shlex.quote(str(path))}`" for path in inner)
        what = "its config.json is not in this folder, but in one inside"
        raise WeightsNotFound("checkpoint", checkpoint, what, f"name as the checkpoint {named}")
    if folder is None:
        missing = "no folder of that name with a config.json, neither here nor among the checkpoints of the package"
        raise WeightsNotFound("checkpoint", checkpoint, missing, cure())
    return folder


def _how_to_fetch(checkpoint: str) -> str:
    if fetch := download(checkpoint):
        return f"on a machine with access to the hub: {fetch}"
    place = shlex.quote(checkpoint)
    return (
        f"download one in transformers layout: `hf download OWNER/NAME --local-dir {place}` on a machine with access "
        "to the hub; `python -m lmod_train list models --table` shows OWNER/NAME. Weights of its route K are in "
        "another layout: download them to another folder, and convert that: "
        f"`python -m lmod_train weights convert FOLDER --out {place}`. A tuned checkpoint becomes one by "
        f"`python -m lmod_train weights merge --ckpt CKPT --out {place}`"
    )


def _refuse_layout(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise an error that names the layout and the command that converts it to that of transformers."""
    code = "InternVL's own code" if layout_name(config) == "internvl" else "the original LLaVA code"
    unexpected = [name for name in ("mm_vision_tower", "llm_config") if name in config]
    cure = (
        f"this is a checkpoint of {code}, which transformers reads as another model, its weights random, or not at "
        f"all; convert it: `python -m lmod_train weights convert {shlex.quote(str(folder))} --out "
        f"{shlex.quote(f'{folder}-hf')}`, and name what that writes"
    )
    raise WeightsMismatch(str(folder), ["text_config", "vision_config"], unexpected, cure)


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
            if not isinstance(read_json(file), dict):
                raise ValueError("it holds no JSON object")
        except ValueError as error:
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
            with safe_open(file, framework="np"):  # reads the header only
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
    shards = sorted({*checkpoint_json(index).get("weight_map", {}).values()} if index.exists() else ())
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
        with safe_open(folder / file, framework="np") as opened:
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
