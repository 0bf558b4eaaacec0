"""Find and load Hugging Face checkpoints; refuse those that would load incompletely or wrongly."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from transformers import AutoModelForImageTextToText, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

from lmod_train.core.artifacts.model_facts import download
from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.core.weight_values import known_by
from lmod_train.models.chat import timm_tower
from lmod_train.models.chat.checkpoint_files import check_loaded, check_settings, check_weights, layout_name, short
from lmod_train.models.chat.family import MODEL_TYPES, is_known
from lmod_train.models.chat.family.base import Family

Attention = Literal["eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3"]

SHIPPED = Path(__file__).parent
"""Folder of the checkpoints that come with the package, one subfolder each."""


def find(checkpoint: str, family: type[Family] | None = None) -> Path:
    """Return the folder of a checkpoint of a known family: a path, or the name of one that comes with the package.

    Args:
        checkpoint: The path or the name.
        family: Class of its model family if that is defined outside this package.

    Raises:
        WeightsNotFound: There is no such folder, it holds no weights, a file that its index lists is missing, or a
            file cannot be read.
        WeightsMismatch: Its `config.json` is not in the layout of transformers.
        BadArgument: Its family is unknown, or is not `family`; or other weights would be loaded than it seems to hold,
            see `check_loaded`.

    Example:
        >>> find("small_base").name
        'small_base'
    """
    folder, model_type = _found(checkpoint, family)
    _check_known(checkpoint, model_type)
    return folder


def find_any(checkpoint: str, family: type[Family] | None = None) -> Path:
    """Return the folder of a checkpoint of any class of `AutoModelForImageTextToText`.

    Arguments and errors are those of `find`, except that the family may be unknown.

    Raises:
        BadArgument: transformers has no such class for its `model_type`.
    """
    folder, model_type = _found(checkpoint, family)
    if not is_known(model_type) and model_type not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        raise BadArgument(
            "checkpoint",
            checkpoint,
            f"a model_type of AutoModelForImageTextToText in transformers {transformers.__version__}; its config.json "
            f"says {model_type!r}",
            "name a checkpoint in transformers layout. Code that comes with a checkpoint (auto_map) is not run here: "
            "start a server that runs it (configs/server) and use `--model openai`",
        )
    return folder


def folder_of(checkpoint: str, cure: Callable[[], str]) -> Path:
    """Return the folder with the config.json of a checkpoint: the path itself, or of that name in the package.

    Raises:
        WeightsNotFound: There is none; the error ends with what `cure` returns.
    """
    folder = next((p for p in (Path(checkpoint), SHIPPED / checkpoint) if (p / "config.json").is_file()), None)
    if folder is None:
        missing = "no folder of that name with a config.json, neither here nor among the checkpoints of the package"
        raise WeightsNotFound("checkpoint", checkpoint, missing, cure())
    return folder


def model_type_of(folder: Path) -> str:
    """Return the `model_type` of a checkpoint's config.json."""
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type"))


def _found(checkpoint: str, family: type[Family] | None) -> tuple[Path, str]:
    """Return the folder of a checkpoint and its model_type, after checking its files."""
    folder = folder_of(checkpoint, lambda: _how_to_fetch(checkpoint))
    check_settings(checkpoint, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if layout_name(config):
        _refuse_layout(folder, config)
    if not any(folder.glob("*.safetensors")):
        fetch = download(checkpoint)
        raise WeightsNotFound(
            "checkpoint",
            checkpoint,
            f"{folder} holds a configuration but no *.safetensors",
            f"fetch the weights too{f', e.g. {fetch}' if fetch else ''}; pickled *.bin files are not loaded (they can "
            "execute code)",
        )
    check_weights(checkpoint, folder)
    check_loaded(checkpoint, folder, config)
    model_type = str(config.get("model_type"))
    if family is not None and family.model_type != model_type:
        expected = f"a class whose model_type is {model_type!r}, as {folder / 'config.json'} says"
        raise BadArgument("family", f"{family.__module__}.{family.__name__}", expected, "set its model_type")
    return folder, model_type


def _how_to_fetch(checkpoint: str) -> str:
    if fetch := download(checkpoint):
        return f"on a machine with access to the hub: {fetch}"
    place = shlex.quote(checkpoint)
    return (
        f"download one in transformers layout: `hf download OWNER/NAME --local-dir {place}` on a machine with access "
        "to the hub; `python -m lmod_train list models --table` shows OWNER/NAME. Weights of its route K are in "
        "another layout: download them to another folder, and convert that: "
        f"`python -m lmod_train weights convert FOLDER --out {place}`"
    )


def _refuse_layout(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise an error that names the layout and the command that converts it to that of transformers."""
    code = "InternVL's own code" if layout_name(config) == "internvl" else "the original LLaVA code"
    raise WeightsMismatch(
        str(folder),
        ["text_config", "vision_config"],
        [name for name in ("mm_vision_tower", "llm_config") if name in config],
        f"this is a checkpoint of {code}, which transformers reads as another model, its weights random, or not at "
        f"all; convert it: `python -m lmod_train weights convert {shlex.quote(str(folder))} --out "
        f"{shlex.quote(f'{folder}-hf')}`, and name what that writes",
    )


def _check_known(checkpoint: str, model_type: str) -> None:
    if not is_known(model_type):
        raise BadArgument(
            "checkpoint",
            checkpoint,
            f"one of {', '.join(MODEL_TYPES)}; its config.json says model_type {model_type!r}",
            "name a checkpoint of one of these families in transformers layout, or the class of a family of your own, "
            "e.g. `--model.init_args.family my_family.MyFamily` (of `weights merge`: `--family my_family.MyFamily`). "
            "Without training, the backend HuggingFace evaluates any class of AutoModelForImageTextToText",
        )


def load(folder: Path, dtype: torch.dtype = torch.float32, attention: Attention | None = None) -> PreTrainedModel:
    """Return a model with all its weights loaded.

    Args:
        folder: Folder of a checkpoint, as `find` or `find_any` returns it.
        dtype: Data type of the weights.
        attention: Implementation of attention; None for the choice of transformers.

    Raises:
        WeightsNotFound: There is no model.safetensors, and no index that names other files; or a tensor holds
            impossible values, see `lmod_train.core.weight_values`.
        WeightsMismatch: A tensor is missing, unexpected, or of another shape, or transformers makes no network of the
            configuration.
        BadArgument: The class or this machine does not support the implementation of attention, or config.json names
            a tower of timm that does not exist or has another size.
    """
    for file in sorted(folder.glob("*.safetensors")):
        known_by(file)  # reads it once, for its hash and to check its values
    timm_tower.register(folder)
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.ERROR)  # the load report is checked below and belongs in the error
    try:
        loaded: Any = AutoModelForImageTextToText.from_pretrained(
            folder,
            dtype=dtype,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # so that shapes are in the report and not only the first in an exception
            attn_implementation=attention,
        )
    except OSError as error:
        cure = "fetch the files of weights that were published with it, model.safetensors.index.json included"
        raise WeightsNotFound("checkpoint", str(folder), f"weights are missing ({error})", cure) from error
    except (ValueError, ImportError) as error:
        if attention is None:
            stated = f"the network that config.json describes ({short(error)})"
            cure = "use config.json and generation_config.json as published with these weights"
            raise WeightsMismatch(str(folder), [stated], [], cure) from error
        expected = f"an implementation that this class and machine support ({error})"
        raise BadArgument("attention", attention, expected, "leave it out for the choice of transformers") from error
    finally:
        transformers_logging.set_verbosity(level)
    model: PreTrainedModel = loaded[0]
    report: dict[str, Any] = loaded[1]
    missing = [*report["missing_keys"], *(str(k[0]) for k in report["mismatched_keys"])]
    unexpected = list(report["unexpected_keys"])
    if missing or unexpected:
        raise WeightsMismatch(
            str(folder), missing, unexpected, "fetch the checkpoint again, or name one of this architecture"
        )
    return model
