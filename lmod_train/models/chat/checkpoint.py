"""Find and load Hugging Face checkpoints; refuse those that would load incompletely or wrongly."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor, BitsAndBytesConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.core.weight_values import checkpoint_json, known_by
from lmod_train.models.chat import timm_tower
from lmod_train.models.chat.checkpoint_files import checked, short
from lmod_train.models.chat.family import MODEL_TYPES, family_class, is_known
from lmod_train.models.chat.family.base import Family

Attention = Literal["eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3"]

Quantise = Literal["nf4", "int8"]
"""Type of the language model's frozen matrices: 4 bits with double quantisation (QLoRA), or 8 (LLM.int8)."""


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


def model_type_of(folder: Path) -> str:
    """Return the `model_type` of a checkpoint's config.json."""
    return str(checkpoint_json(folder / "config.json").get("model_type"))


def _found(checkpoint: str, family: type[Family] | None) -> tuple[Path, str]:
    """Return the folder of a checkpoint and its model_type, which is that of `family` if it is given."""
    folder, model_type = checked(checkpoint)
    if family is not None and family.model_type != model_type:
        expected = f"a class whose model_type is {model_type!r}, as {folder / 'config.json'} says"
        raise BadArgument("family", f"{family.__module__}.{family.__name__}", expected, "set its model_type")
    return folder, model_type


def _check_known(checkpoint: str, model_type: str) -> None:
    if not is_known(model_type):
        expected = f"one of {', '.join(MODEL_TYPES)}; its config.json says model_type {model_type!r}"
        cure = (
            "name a checkpoint of one of these families in transformers layout, or the class of a family of your own, "
            "e.g. `--model.init_args.family my_family.MyFamily` (of `weights merge`: `--family my_family.MyFamily`). "
            "Without training, the backend HuggingFace evaluates any class of AutoModelForImageTextToText"
        )
        raise BadArgument("checkpoint", checkpoint, expected, cure)


def load(
    folder: Path,
    dtype: torch.dtype = torch.float32,
    attention: Attention | None = None,
    kind: Any = AutoModelForImageTextToText,
    quantise: Quantise | None = None,
) -> PreTrainedModel:
    """Return a model with all its weights loaded.

    Args:
        folder: Folder of a checkpoint, as `find` or `find_any` returns it.
        dtype: Data type of the weights.
        attention: Implementation of attention; None for the choice of transformers.
        kind: Class of transformers that builds it.
        quantise: Type of the language model's matrices, of an unknown family of all but the head; None for `dtype`.

    Raises:
        WeightsNotFound: There is no model.safetensors, and no index that names other files; or a tensor holds
            impossible values, see `lmod_train.core.weight_values`.
        WeightsMismatch: A tensor is missing, unexpected, or of another shape, or transformers makes no network of the
            configuration.
        BadArgument: The class or this machine does not support the implementation of attention, or config.json names
            a tower of timm that does not exist or has another size; or bitsandbytes is not installed.
    """
    quantised = {} if quantise is None else _quantised(folder, dtype, quantise)
    for file in sorted(folder.glob("*.safetensors")):
        known_by(file)  # reads it once, for its hash and to check its values
    timm_tower.register(folder)
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.ERROR)  # the load report is checked below and belongs in the error
    try:
        loaded: Any = kind.from_pretrained(
            folder,
            dtype=dtype,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # so that shapes are in the report and not only the first in an exception
            attn_implementation=attention,
            **quantised,
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
    part: Any
    for part in model.modules() if quantise else ():
        part.support_avx512bf16_for_cpu = False  # else a CPU lays 4-bit layers out anew, and they cannot be moved
    report: dict[str, Any] = loaded[1]
    missing = [*report["missing_keys"], *(str(k[0]) for k in report["mismatched_keys"])]
    unexpected = list(report["unexpected_keys"])
    if missing or unexpected:
        raise WeightsMismatch(
            str(folder), missing, unexpected, "fetch the checkpoint again, or name one of this architecture"
        )
    return model


def _quantised(folder: Path, dtype: torch.dtype, quantise: Quantise) -> dict[str, Any]:
    """Return the options of transformers for a quantised language model; tower, projector and head keep their type."""
    if find_spec("bitsandbytes") is None:
        expected = "none, as the package bitsandbytes is not installed"
        raise BadArgument(
            "quantise", quantise, expected, "`pip install 'lmod-train[quantise]'`, or `bitsandbytes` alone"
        )
    whole: list[str] | None = None
    if is_known(model_type_of(folder)):
        family = family_class(model_type_of(folder))
        whole = [family.tower, *family.projector, "lm_head"]
    settings = BitsAndBytesConfig(
        load_in_4bit=quantise == "nf4",
        load_in_8bit=quantise == "int8",
        llm_int8_skip_modules=whole,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    return {"quantization_config": settings, "device_map": {"": "cpu"}}  # moved with the module, as other weights are


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
