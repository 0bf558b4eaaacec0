"""The order in which the options of a command apply: configs, files of options, classes, single options.

The parser merges values: a model named after a config of the same class keeps the config's options where it has none
of its own, and so do the items of a list. A part that is named whole on the command line replaces that of the config
instead, so that it is what its file states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

NOTHING = {
    "model": "null",
    "model.backend": "null",
    "model.init_args.backend": "null",
    "trainer.strategy": "auto",
    "trainer.callbacks": "null",
    "data.tasks": "[]",
    "tasks": "[]",
    "sources": "[]",
    "sections": "[]",
}
"""Option that names a class or a list of classes -> value that drops what a config named."""

FILES = ("model", "trainer", "data")
"""Options that name a file of options."""

Option = tuple[str, ...]
"""The words of one option: its name, and its value if that is a word of its own."""


def in_order(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command in the order in which they apply, each part named whole on its own.

    Single options apply to the model that is used, also if they are typed before it. Two configs are merged, and so
    are the options of trainer and data. A part without ``class_path`` changes the config's part.

    Args:
        arguments: The arguments after the command.

    Example:
        >>> in_order(["--model.lr", "1", "--model", "my.Net", "--config=a.yaml"])
        ['--config=a.yaml', '--model', 'null', '--model', 'my.Net', '--model.lr', '1']
    """
    ordered = sorted(_options(arguments), key=_rank)
    return [word for option in ordered for words in (*_cleared(option), option) for word in words]


def _options(arguments: Sequence[str]) -> Iterator[Option]:
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        has_value = word.startswith("-") and "=" not in word and waiting and not waiting[0].startswith("--")
        yield (word, waiting.pop(0)) if has_value else (word,)


def _rank(option: Option) -> int:
    name = _name(option)
    return 0 if name in ("config", "c") else 1 if name in FILES else 2 if name in NOTHING else 3


def _name(option: Option) -> str:
    """Return the name of an option without dashes; empty for a positional argument."""
    return option[0].partition("=")[0].lstrip("-") if option[0].startswith("-") else ""


def _cleared(option: Option) -> Iterator[Option]:
    """Yield the options that drop the parts of a config which an option names whole."""
    name = _name(option)
    tree = _read(option[1] if len(option) > 1 else option[0].partition("=")[2])
    named = {name: tree}
    if name in FILES and isinstance(tree, Mapping):
        named |= {f"{name}.{key}": value for key, value in tree.items()}
    yield from ((f"--{part}", NOTHING[part]) for part, value in named.items() if part in NOTHING and _is_whole(value))


def _read(value: str) -> Any:
    """Return the content of a YAML file, or a value; None for what cannot be read, which the parser refuses."""
    try:
        is_file = value.endswith((".yaml", ".yml"))
        return yaml.safe_load(Path(value).read_text(encoding="utf-8") if is_file else value)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OSError):
        return None


def _is_whole(value: Any) -> bool:
    """Return whether a value names a class or a list, not single options of a class."""
    return "class_path" in value if isinstance(value, Mapping) else isinstance(value, str | list)
