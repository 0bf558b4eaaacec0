"""The words of a command: its options with their values, the configs they name, and the order in which they apply."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.own_modules import VARIABLE, class_modules, importable
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import MOST_YAML_BYTES, parse_yaml, read_bytes, read_yaml
from lmod_train.core.shipped import config_at, config_files, config_folders

CONFIGS = ("config", "c")
"""Names of the option for configs."""

NOTHING: dict[str, str] = package_data(__file__, "texts.yaml")["nothing"]
"""Option that names a class or a list of classes -> value that drops what a config named."""

FILES = ("model", "trainer", "data")
"""Options that name a file of options."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a command, or a word that belongs to none.

    Attributes:
        words: The words as typed: the option, and its value if that is a word of its own.
    """

    words: tuple[str, ...]

    @property
    def head(self) -> str:
        """The option as typed, without its value; empty for a positional argument."""
        return self.words[0].partition("=")[0] if self.words[0].startswith("-") else ""

    @property
    def name(self) -> str:
        """The option without dashes; with ``+`` if it adds to a list."""
        return self.head.lstrip("-")

    @property
    def key(self) -> str:
        """The key of a config that it sets: its name without ``+``."""
        return self.name.removesuffix("+")

    @property
    def value(self) -> str:
        """Its value, empty without one; of a positional argument the word itself."""
        return (
            (self.words[0].partition("=")[2] if self.head else self.words[0]) if len(self.words) < 2 else self.words[1]
        )


def options(arguments: Sequence[str]) -> list[Option]:
    """Return the options of a command in the order in which they are typed.

    Args:
        arguments: The arguments after the command.

    Example:
        >>> [(o.name, o.value) for o in options(["RUN", "--out", "O", "--strict", "--data.tasks+=sex"])]
        [('', 'RUN'), ('out', 'O'), ('strict', ''), ('data.tasks+', 'sex')]
    """
    found, waiting = [], list(arguments)
    while waiting:
        word = waiting.pop(0)
        takes = word.startswith("-") and "=" not in word and waiting and not waiting[0].startswith("--")
        found.append(Option((word, waiting.pop(0)) if takes else (word,)))
    return found


def values_of(arguments: Sequence[str], head: str) -> list[str]:
    """Return every value of an option as typed.

    Example:
        >>> values_of(["fit", "--trust", "mine", "--trust=yours"], "--trust")
        ['mine', 'yours']
    """
    return [option.value for option in options(arguments) if option.head == head and option.value]


def taken(arguments: Sequence[str], *heads: str) -> tuple[str | None, list[str]]:
    """Return the last value of an option, None without it, and the arguments without it.

    Args:
        arguments: The arguments after the command.
        heads: The option, or the names of the same option.
    """
    found = options(arguments)
    own = [option.value for option in found if option.head in heads]
    return own[-1] if own else None, [word for option in found if option.head not in heads for word in option.words]


def value_of(key: str, arguments: Sequence[str]) -> str:
    """Return the value that a command gives to a key, typed or in the last config that has it; empty for none.

    A config that cannot be read has no keys here; `check_names` refuses it.

    Args:
        key: Key with dots, e.g. ``data.curated``.
        arguments: The arguments after the command, names of configs replaced by paths.
    """
    given = dict[str, Any]()
    with suppress(BadArgument):
        for option in sorted(options(arguments), key=lambda option: option.key not in CONFIGS):
            given |= dict(leaves(config_of(option))) if option.key in CONFIGS else {option.key: option.value}
    return str(given.get(key, ""))


def in_order(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command in the order in which they apply, each part named whole on its own.

    The parser merges values: a model named after a config of the same class keeps the config's options where it has
    none of its own, and so do the items of a list. A part that is named whole on the command line replaces that of the
    config instead, so that it is what its file states. Single options apply to the model that is used, also if they
    are typed before it. Two configs are merged, and so are the options of trainer and data. A part without
    ``class_path`` changes the config's part.

    Args:
        arguments: The arguments after the command.

    Example:
        >>> in_order(["--model.lr", "1", "--model", "my.Net", "--config=a.yaml"])
        ['--config=a.yaml', '--model', 'null', '--model', 'my.Net', '--model.lr', '1']
    """
    ranks = dict.fromkeys(NOTHING, 2) | dict.fromkeys(FILES, 1) | dict.fromkeys(CONFIGS, 0)
    ordered = sorted(options(arguments), key=lambda option: ranks.get(option.name, 3))
    return [word for option in ordered for words in (*_dropped(option), option.words) for word in words]


def _dropped(option: Option) -> Iterator[tuple[str, str]]:
    """Yield the options that drop the parts of a config which an option names whole: a class or a list."""
    tree = yaml_of(option.value) if option.head else None
    named = {option.name: tree}
    if option.name in FILES and isinstance(tree, Mapping):
        named |= {f"{option.name}.{key}": value for key, value in tree.items()}
    for part, value in named.items():
        whole = "class_path" in value if isinstance(value, Mapping) else isinstance(value, str | list)
        if part in NOTHING and whole:
            yield f"--{part}", NOTHING[part]


def yaml_of(value: str) -> Any:
    """Return the content of a YAML file, or of a value; None for what cannot be read, which the parser refuses."""
    try:
        is_file = value.endswith((".yaml", ".yml"))
        return read_yaml(Path(value)) if is_file else parse_yaml(value)
    except (OSError, ValueError):
        return None


def config_of(option: Option, room: str = "") -> Mapping[str, Any]:
    """Return the options in the config that an option names.

    Args:
        option: The option.
        room: Folder of the shipped configs that could be meant instead; empty for whole experiments.

    Raises:
        BadArgument: The file is missing, is not valid YAML, or contains no options.
    """
    tree = content_of(option.head, option.value, room=room)
    if not isinstance(tree, Mapping):
        found = "nothing" if tree is None else f"a {type(tree).__name__}"
        expected = f"a YAML file of options, `key: value`; it contains {found}"
        raise BadArgument(option.head, option.value, expected, f"correct {option.value}")
    return tree


def content_of(option: str, name: str, folder: Path = Path(), room: str = "") -> Any:
    """Return the content of a YAML file, with that of the files that it names as the value of a key.

    Raises:
        BadArgument: A file is missing or is not valid YAML.
    """
    file = config_at(name, folder)
    if file is None:
        raise BadArgument(option, name, "an existing YAML file", _closest_config(option, name, room))
    try:
        tree = parse_yaml(read_bytes(file, MOST_YAML_BYTES).decode("utf-8-sig"))  # the parser reads no other encoding
    except UnicodeDecodeError as error:
        cure = f"save it as UTF-8, e.g. `iconv -f utf-16 -t utf-8 {file}`"
        expected = f"a YAML file in UTF-8 ({error.reason}, byte {error.start})"
        raise BadArgument(option, str(file), expected, cure) from error
    except (OSError, ValueError) as error:
        raise BadArgument(option, str(file), f"a valid YAML file ({error})", f"correct {file}") from error
    return _whole(tree, option, file.parent)


def _whole(tree: Any, key: str, folder: Path) -> Any:
    if isinstance(tree, Mapping):
        return {str(k): _whole(v, str(k), folder) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_whole(v, key, folder) for v in tree]
    is_part = isinstance(tree, str) and tree.endswith((".yaml", ".yml"))
    return content_of(key, tree, folder) if is_part else tree


def _closest_config(option: str, name: str, room: str) -> str:
    """Return the cure for a file that does not exist: the closest shipped config, by name if the option takes names."""
    wanted = name.removesuffix(".yaml").removesuffix(".yml").removeprefix("configs/")
    listed = "`python -m lmod_train list configs` lists shipped configs"
    if option.lstrip("-") in CONFIGS:
        return did_you_mean(option, [wanted], list(config_files(room)), listed)
    shipped = {f.relative_to(d).with_suffix("").as_posix(): f for d in config_folders() for f in d.rglob("*.yaml")}
    near = get_close_matches(wanted, sorted(shipped), n=1)
    return f"did you mean `{shipped[near[0]]}`?" if near else listed


def leaves(tree: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of nested mappings; items of a list of classes have the list's key as their prefix."""
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from leaves(value, f"{key}.{name}" if key else name)
    elif isinstance(tree, list) and any(isinstance(item, Mapping) for item in tree):
        for item in tree:
            yield from leaves(item, key)
    else:
        yield key, tree


@contextmanager
def own_classes(arguments: Sequence[str]) -> Iterator[None]:
    """Allow importing the modules of the working folder in the block whose classes a command names.

    They are named on the command line, e.g. with `--trust`, or by a config that the command names. Installed packages
    come first. Where the user has set ``python -P`` or ``PYTHONSAFEPATH``, none is found.

    Args:
        arguments: The command and its options.
    """
    here = Path.cwd()
    if str(here) in sys.path or (sys.flags.safe_path and VARIABLE not in os.environ):
        yield
        return
    with importable(here, own_modules(arguments)):
        yield


def own_modules(arguments: Sequence[str]) -> list[str]:
    """Return the modules that a command and the configs on its command line name, wherever they lie.

    Example:
        >>> own_modules(["rescore", "run", "--trust", "mine"]), own_modules(["fit", "--model", "mine.Model"])
        (['mine'], ['mine'])
    """
    return list(
        dict.fromkeys(name for option in options(arguments) for name in class_modules(_tree(option), option.key))
    )


def _tree(option: Option) -> Any:
    """Return what an option gives: the content of its config, YAML, or the value itself."""
    value = option.value
    if option.key in CONFIGS or value.endswith((".yaml", ".yml")):
        try:
            return content_of(option.head, value)
        except BadArgument:  # which its reader refuses
            return None
    tree = yaml_of(value) if value.lstrip()[:1] in ("{", "[") else value
    with suppress(BadArgument):
        return _whole(tree, option.key, Path())
    return tree
