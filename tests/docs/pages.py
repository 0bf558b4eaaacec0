"""Read README and the pages of docs/: their blocks of code, the commands in them, and what they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import yaml

from lmod_train.core.shipped import PACKAGE

ROOT = PACKAGE.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
BLOCK = re.compile(
    r"^```(?P<kind>bash|python) run\n(?P<text>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.M | re.S
)
FILE = re.compile(r"^```\w+ file=(?P<name>\S+)\n(?P<text>.*?)^```\n", re.M | re.S)
FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of a page that is run.

    Attributes:
        page: Name of the page.
        kind: ``bash``, one command a line, or ``python``.
        text: The code.
        shown: Lines that it prints, in this order among others.
    """

    page: str
    kind: str
    text: str
    shown: str


def pages() -> list[Path]:
    """Return README and the pages of the site, in the order of its menu."""
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    return [README, *(DOCS / name for name in _files(menu))]


def _files(menu: list[object]) -> Iterator[str]:
    for entry in menu:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from _files(value)
            else:
                yield str(value)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that are marked ``run``."""
    return [Block(page.name, m["kind"], m["text"], m["shown"] or "") for m in BLOCK.finditer(read(page))]


def prerequisites(page: Path) -> dict[str, str]:
    """Return the folders of earlier pages that the commands of a page read, directly or not: name -> what makes it.

    They are in the order in which they must be made.
    """
    steps = [(of, line) for of in pages() for b in blocks(of) if b.kind == "bash" for line in b.text.splitlines()]
    makers: dict[str, tuple[Path, str]] = {}
    for of, command in steps:
        for name in re.findall(r" --(?:out|run) (\S+)", command):
            makers.setdefault(name, (of, command))
    needed, left = set[str](), [command for of, command in steps if of == page]
    while left:
        read_here = {w for w in re.split(r"[\s/]", left.pop()) if w in makers and makers[w][0] != page} - needed
        needed |= read_here
        left += [makers[name][1] for name in read_here]
    return {name: command for name, (_, command) in makers.items() if name in needed}


def prose(text: str) -> str:
    """Return a page without its blocks of code."""
    return FENCE.sub("", text)


def code(text: str) -> list[str]:
    """Return what stands between single backticks outside blocks."""
    return re.findall(r"`([^`\n]+)`", prose(text))


def commands(text: str) -> list[list[str]]:
    """Return the words of every command of a page: of the lines of ``bash`` blocks, and of inline code that is one.

    Example:
        >>> commands("```bash\\nA=1 python -m b && pip c  # d\\n```\\nor `bash e.sh F`, and `bash`\\n")
        [['python', '-m', 'b'], ['pip', 'c'], ['bash', 'e.sh', 'F']]
    """
    lines = [line for m in FENCE.finditer(text) if m["head"].split()[:1] == ["bash"] for line in m["text"].splitlines()]
    lines += [c for c in code(text) if re.match(r"(?:bash|python|pip|hf|wandb|mkdocs) \S", c)]
    found = []
    for line in lines:
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word != "&&":
                words.append(word)
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words:
                found.append(words)
            words = []
    return found


def ours(words: list[str]) -> list[str] | None:
    """Return the arguments of a command of this package, whatever starts it; None for other commands.

    Example:
        >>> ours(["srun", "--nodes", "2", "python", "-m", "lmod_train", "fit", "--run", "R"])
        ['fit', '--run', 'R']
        >>> ours(["pip", "install", "-e", "."])
    """
    for place, pair in enumerate(pairwise(words)):
        if pair == ("-m", "lmod_train"):
            return words[place + 2 :]
    return None
