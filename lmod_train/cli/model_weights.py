"""Check that the weights which a command names are there, before torch, transformers and Lightning are imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmod_train.cli.typed import CONFIGS, Option, config_of, content_of, in_order, leaves, options, yaml_of
from lmod_train.models.chat.checkpoint_files import checked
from lmod_train.models.vision.published_weights import fetch_of, present, repository_of

OURS = "lmod_train.models."
"""Start of the class paths whose options `checkpoint` and `weights` name weights on disk."""


def check_model_weights(arguments: Sequence[str]) -> None:
    """Refuse a command whose model would not find its weights, with the error of the model's class itself.

    Where the class or its options cannot be told from the words and configs alone, nothing is refused here.

    Args:
        arguments: The arguments after the command, names of configs replaced by paths.

    Raises:
        LmodError: See `lmod_train.models.chat.checkpoint_files.checked` and
            `lmod_train.models.vision.published_weights.present`.
    """
    model = model_of(arguments)
    for key, value in model.items():
        owner, _, option = key.rpartition(".")
        own = {name: model.get(f"{owner}.{name}") for name in ("architecture", "finetuned")}
        if not isinstance(value, str) or not value or not _is_ours(model, owner):
            continue
        if option == "checkpoint":
            checked(value)
        elif option == "weights" and value != "random" and not own["finetuned"]:
            repository = repository_of(str(own["architecture"])) if own["architecture"] else ""
            if repository is not None:
                present(value, fetch_of(str(own["architecture"]), repository) if repository else "")


def _is_ours(model: Mapping[str, Any], owner: str) -> bool:
    """Return whether the class nearest above an option, as of `encoder.weights`, is one of this package's models."""
    while owner and f"{owner}.class_path" not in model:
        owner = owner.rpartition(".")[0]
    return str(model.get(f"{owner}.class_path", "")).startswith(OURS)


def model_of(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of the model that a command uses, as dotted keys without ``init_args``.

    Example:
        >>> model_of(["--model", "a.B", "--model.init_args.backend.checkpoint", "folder"])
        {'model.class_path': 'a.B', 'model.backend.checkpoint': 'folder'}
        >>> model_of(["--model", "{class_path: a.B, init_args: {weights: w}}", "--model.weights=v"])
        {'model.class_path': 'a.B', 'model.weights': 'v'}
    """
    found: dict[str, Any] = {}
    for option in options(in_order(arguments)):
        for key, value in _given(option):
            dropped = key if value in (None, "null") else ""
            if key.endswith(".class_path") and found.get(key, value) != value:  # which options stay is the parser's
                dropped = key.removesuffix(".class_path")
            if dropped:
                found = {k: v for k, v in found.items() if not f"{k}.".startswith(f"{dropped}.")}
            if value not in (None, "null"):
                found[key] = value
    return found


def _given(option: Option) -> Iterator[tuple[str, Any]]:
    """Yield the options of the model that one option of a command gives."""
    if option.key in CONFIGS:
        tree: Any = {"model": config_of(option).get("model")}
    elif option.key.partition(".")[0] == "model":
        is_file = option.value.endswith((".yaml", ".yml"))
        read = content_of(option.head, option.value) if is_file else yaml_of(option.value)
        tree = {option.key: read if isinstance(read, Mapping) else option.value}
    else:
        return
    for name, leaf in leaves(tree):
        plain = ".".join(part for part in name.split(".") if part != "init_args")
        is_class = plain in ("model", "model.backend") and leaf not in (None, "null")
        yield f"{plain}.class_path" if is_class else plain, leaf
