"""The parser: its help, and error messages with argument, value, what was expected and the next command to type."""

from __future__ import annotations

import re
import sys
from argparse import Action
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import yaml
from jsonargparse import ArgumentParser, DefaultHelpFormatter, _loaders_dumpers, get_loader, set_dumper, set_loader

from lmod_train.cli.catalogue import parameters_of
from lmod_train.core.own_modules import unnamed_import
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import LimitedLoader, dump_yaml
from lmod_train.core.shipped import FOLDER, config_at

_UNKNOWN = re.compile(r"unrecognized arguments: (--[\w.-]+)|Option '([\w.-]+)' is not accepted")

_KEY = re.compile(r'(?:Parser key|Validation failed.*?key) "([^"]+)"|[Ff]ailed at "([^"]+)"')

_EXPECTED = re.compile(r"Expected an? (path) but|Expected an? (.+?)(?:\. Got|\.?$)", re.MULTILINE)

_GIVEN = re.compile(r"(?:Given value|Got value|but got):? ([^\n]+)")

_NOT_FOUND = re.compile(
    r"given class_path '([\w.]+)':\s+(No module named [^\n]+|module '([\w.]+)' has no attribute '(\w+)')"
)

_OTHER_KIND = re.compile(r"Import path does not correspond to a subclass of (\w+)")

_PATH = re.compile(r"\w+(?:\.\w+)+")

_OF_CLASS = re.compile(r"class_path '([\w.]+)'")

_DEFAULT_FILES = re.compile(r"^default config file locations:\n.*?\n\n", re.MULTILINE | re.DOTALL)

_RANGE = re.compile(r'key "([^"]+)":\s+Not of type (\w+): (?:.* base 10: )?(.+?)(?: does not conform.*)?$', re.DOTALL)

_SINGLE = re.compile(r"([\w.]+)='([^'\[\]{}]+)': expected (?:.* )?list\b")

_LONG = re.compile(r"(\S{80})\S{320,}")

_NUMBERS = {"NonNegativeInt": "a whole number of at least 0", "PositiveInt": "a whole number of at least 1"}

PROGRAM = "python -m lmod_train"

YAML = get_loader("yaml")
"""The parser's own reading of YAML, with the limits of `lmod_train.core.raw`; numbers are read without it."""

_loaders_dumpers.yaml_default_loader = LimitedLoader  # type: ignore[assignment]

LONGEST = 400
"""Maximum characters of a parser's message of unknown form."""


class Refusing(ArgumentParser):
    """Parser with short error messages that name the closest option; options cannot be abbreviated."""

    whole_help: ClassVar[str] = "--help"
    """Option that shows every option of the command."""
    data_class: ClassVar[str] = ""
    """Path of the datamodule's class where a command names one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        set_loader("yaml", lambda text: _unnested(_located(YAML(text)), Refusing.data_class), (yaml.YAMLError,))
        set_dumper("yaml", dump_yaml)
        super().__init__(*args, **{"formatter_class": Help, **kwargs, "allow_abbrev": False})

    def format_help(self, *args: Any, **kwargs: Any) -> str:
        """Return the help text with the command as it is typed; the help of `--config` names the default file."""
        text = super().format_help(*args, **kwargs).replace(f"{PROGRAM} [options] ", f"{PROGRAM} ")
        return _DEFAULT_FILES.sub("", text)

    def error(self, message: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Print the error and the next command to type, and exit with status 2."""
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        command = self.prog.replace(" [options]", "")
        cure = f"`{command} {self.whole_help}` shows every option."
        if not command.startswith(PROGRAM):  # parser of a nested class, made by jsonargparse
            cure = f"`{PROGRAM} list options CLASS` shows every option of a class."
        short = in_short(message, known)
        single = _SINGLE.match(short)
        listed = f"for a list type `--{single[1]} '[{single[2]}]'`; " if single else ""
        near = unnamed_import(message)
        print(f"error: {short}\nNext: {near or listed + cure}", file=sys.stderr)
        raise SystemExit(2)


def _located(tree: Any) -> Any:
    """Return options in which shipped configs that are named as in a checkout are named by their paths."""
    if isinstance(tree, dict):
        return {key: _located(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_located(value) for value in tree]
    is_shipped = isinstance(tree, str) and tree.startswith(f"{FOLDER}/") and tree.endswith(".yaml")
    return str(config_at(tree, Path()) or tree) if is_shipped else tree


def _unnested(tree: Any, path: str) -> Any:
    """Return options in which those of the datamodule's class stand as the parser takes them: without its path.

    The data of a config without the class are left out where the class is of the user's own, with other options.

    Args:
        tree: Options of a command, or of its data.
        path: Path of the class; a config may name it by the last part.
    """
    if not (path and isinstance(tree, dict)):
        return tree
    if not path.startswith("lmod_train.") and isinstance(tree.get("data"), dict) and "class_path" not in tree["data"]:
        return {key: value for key, value in tree.items() if key != "data"}
    if tree.get("class_path") in (path, path.rpartition(".")[2]):
        own = {key: value for key, value in tree.items() if key not in ("class_path", "init_args")}
        return own | (tree.get("init_args") or {})
    return tree | {"data": _unnested(tree["data"], path)} if "data" in tree else tree


def in_short(message: str, known: Sequence[str]) -> str:
    r"""Return a parser's message on one line: argument, value, expected type or range, closest name.

    Args:
        message: Message of jsonargparse or argparse, of several lines for a type with alternatives.
        known: Options of the parser, including dashes.

    Example:
        >>> in_short('Parser key "n":\n  Errors:\n    - Expected a <class \'int\'>\n  Given value: abc', [])
        "n='abc': expected int"
        >>> in_short('Parser key "n":\n  Not of type PositiveInt: 0 does not conform to restriction v>0', [])
        "n='0': expected a whole number of at least 1"
        >>> in_short('Parser key "by":\n  Expected a typing.Literal[\'group\', \'image\']. Got value: pear', [])
        "by='pear': expected one of 'group', 'image'"
        >>> wrong = "Problem with given class_path 'a.B':\n    No module named 'a'"
        >>> in_short(f'Parser key "model":\n  Errors:\n  - {wrong}\n  Given value: a.B', [])
        "model='a.B': expected the path of a class (No module named 'a')"
        >>> in_short("unrecognized arguments: --portoins 3", ["--portions"])
        'unrecognized arguments: --portoins 3 (did you mean --portions?)'
    """
    message = _LONG.sub(r"\1...", message)
    limited = _RANGE.search(message)
    if limited and limited[2] in _NUMBERS:
        return f"{limited[1]}={limited[3].strip(chr(39))!r}: expected {_NUMBERS[limited[2]]}"
    unknown = _UNKNOWN.search(message)
    if unknown and not (unknown[2] and f"--{unknown[2]}" in known):
        return _unknown(message, unknown, known)
    key, given = _KEY.search(message), _GIVEN.findall(message)
    if key and given and (kind := _class_expected(message, given[-1].strip())):
        return f"{key[1] or key[2]}={given[-1].strip()!r}: expected {kind}"
    if key and (missing := _NOT_FOUND.search(message)):  # an item of a list
        return f"{key[1] or key[2]}={missing[1]!r}: expected {_not_found(missing)}"
    expected = [_plainly(path or kind) for path, kind in _EXPECTED.findall(message)]
    if key and expected and given:
        value = given[-1].strip().strip(chr(39))
        words = [word for kind in expected for word in re.findall("'([^']+)'", kind)]
        near = get_close_matches(value, words, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        return f"{key[1] or key[2]}={value!r}: expected {_either(expected)}{meant}"
    text = " ".join(message.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _unknown(message: str, unknown: re.Match[str], known: Sequence[str]) -> str:
    kind = _OF_CLASS.search(message)
    if unknown[2] and kind and (own := parameters_of(kind[1])):
        near = get_close_matches(unknown[2], own, n=1)
        return f"{unknown[2]!r} is not an option of {kind[1]}" + (f" (did you mean {near[0]}?)" if near else "")
    name, dot, rest = (unknown[1] or f"--{unknown[2]}").partition(".")
    near = get_close_matches(name, sorted(set(known)), n=1)
    meant = f" (did you mean {near[0]}{dot}{rest}?)" if near and near[0] != name else ""
    return " ".join(message.split())[:LONGEST] + meant


def _class_expected(message: str, given: str) -> str:
    """Return what was expected in the place of a class path that cannot be used; empty for any other value."""
    if not _PATH.fullmatch(given):
        return ""
    missing = _NOT_FOUND.search(message)
    if missing and missing[1] == given:
        return _not_found(missing)
    kinds = _OTHER_KIND.findall(message)
    return f"the path of a subclass of {_either(kinds)}" if kinds else ""


def _not_found(missing: re.Match[str]) -> str:
    """Return what was expected in the place of a class path of which nothing can be imported, with the closest one."""
    module, _, name = missing[1].rpartition(".")
    if missing[4]:
        meant = [
            f"{missing[3]}.{near}" for near in get_close_matches(missing[4], dir(sys.modules.get(missing[3])), n=1)
        ]
    else:
        own = get_close_matches(module, [file.stem for file in Path().glob("*.py")], n=1)
        meant = [f"{near}.{name}" for near in own]
    return f"the path of a class ({missing[2]}{f'; did you mean {meant[0]}?' if meant else ''})"


def _plainly(kind: str) -> str:
    if "Literal[" in kind:
        return "one of " + kind.partition("[")[2].rstrip("]")
    name = kind.removeprefix("<class '").removesuffix("'>").rpartition(".")[2].strip()
    return {"NoneType": "null", "path": "an existing file"}.get(name, name)


def _either(kinds: Sequence[str]) -> str:
    several = list(dict.fromkeys(kinds))
    return several[0] if len(several) == 1 else f"{', '.join(several[:-1])} or {several[-1]}"


# Help texts of options, with the types and defaults of Python in words.
_CLASSES = re.compile(r"default: \[Namespace\(.*\)\]", re.DOTALL)

_NO_DEFAULT = re.compile(r", default: (?:\[\]|null)?(?=[,)])| \(default: (?:\[\]|null)?\)")

_TYPES: dict[str, str] = package_data(__file__, "texts.yaml")["types"]
"""Type as jsonargparse writes it -> words."""


class Help(DefaultHelpFormatter):
    """Formatter that writes types in words and leaves out defaults that are null, empty or lists of classes."""

    def _expand_help(self, action: Action) -> str:
        text = _CLASSES.sub("default: those of the default configuration", super()._expand_help(action))
        return _NO_DEFAULT.sub("", text).replace("``", "`")

    def _format_action_invocation(self, action: Action) -> str:
        return super()._format_action_invocation(action).replace(" \b[", "[")  # jsonargparse deletes the space by \b

    def _get_type_str(self, action: Action) -> str | None:
        """Return the type in words; None for a choice, whose words already stand beside the option."""
        kind = super()._get_type_str(action)
        if kind is None or kind.startswith("Literal["):
            return None
        kind = re.sub(r"^Optional\[(.*)\]$", r"\1", kind.removesuffix(" | null"))
        return " or ".join(_TYPES.get(one, one) for one in kind.split(" | "))
