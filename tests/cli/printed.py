"""What the package prints to be typed: commands and options between backticks in its strings, docstrings left out."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lmod_train
from lmod_train.cli.commands import LIGHTNING, commands, groups, whole_name

ROOM = Path(lmod_train.__file__).parent
OURS = "python -m lmod_train "
COMMANDS = {*commands(), *LIGHTNING}


@dataclass(frozen=True, order=True)
class Printed:
    """A text between backticks.

    Attributes:
        place: File and line.
        text: The text; ``VALUE`` stands for what is put in.
    """

    place: str
    text: str

    @property
    def is_command(self) -> bool:
        """Whether it is a whole command of this package, with or without ``python -m lmod_train``."""
        if self.text.startswith(OURS):
            return True
        words = self.text.split()
        of_the_shell = words[:1] in (["export"], ["import"]) and "--" not in self.text
        return len(words) > 1 and whole_name(words)[0] in COMMANDS and not of_the_shell

    @property
    def is_option(self) -> bool:
        """Whether it is one or more options to add to a command."""
        return self.text.startswith("--") or bool(re.match(r"VALUE [\w/]", self.text))

    @property
    def words(self) -> list[str]:
        """The words, those of a command without ``python -m lmod_train``."""
        return shlex.split(self.text.removeprefix(OURS))

    def pattern(self) -> re.Pattern[str]:
        """Return what the text is when it is printed."""
        return re.compile(re.escape(self.text).replace("VALUE", ".*?"), re.DOTALL)


@cache
def printed() -> tuple[Printed, ...]:
    """Return all texts between backticks, in order and each once; reading the package takes seconds."""
    return tuple(sorted({Printed(place, text) for place, text in _snippets()}))


def _snippets() -> Iterator[tuple[str, str]]:
    for file in sorted(ROOM.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "`" not in text:
            continue
        skip: set[int] = set()
        for node in ast.walk(ast.parse(text)):  # a node comes before its parts
            if isinstance(node, ast.JoinedStr):
                skip.update(map(id, node.values))
            elif isinstance(node, ast.Expr):  # docstrings, and those of constants
                skip.add(id(node.value))
            if id(node) not in skip and (words := _written(node)):
                yield from ((f"{file.relative_to(ROOM)}:{node.lineno}", s) for s in re.findall(r"`([^`\n]+)`", words))


def _written(node: ast.AST) -> str:
    """Return the text of a string; a word in capitals stands for what is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in node.values)
    return ""


def whole(text: str) -> list[str]:
    """Return the commands and options between backticks that an error prints after ``Next``.

    Example:
        >>> whole("error: `--n 0`\\nNext: name `--n 3` or see `python -m lmod_train list tasks`")
        ['--n 3', 'python -m lmod_train list tasks']
    """
    shown = re.findall(r"`([^`]+)`", text.partition("Next: ")[2])
    return [
        s for s in shown if s.startswith(("--", OURS, "cp ")) or (" " in s and s.split()[0] in {*COMMANDS, *groups()})
    ]
