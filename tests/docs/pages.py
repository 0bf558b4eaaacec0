"""Read README and the pages of docs/: their blocks of code, the commands in them, and what they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import yaml

from lmod_train.core.extension import PACKAGE

ROOT = PACKAGE.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(?P<kind>bash|python)\n(?P<text>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"^```\w+ file=(?P<name>\S+)\n(?P<text>.*?)^```\n", re.M | re.S)
FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(?P<text>(?:bash|python|pip|hf|wandb|mkdocs) [^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A block of a page, or a command in its text.

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

    @property
    def steps(self) -> list[str]:
        """Its commands, or its program."""
        return [self.text] if self.kind == "python" else [uncommented(line) for line in self.text.splitlines() if line]


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
    """Return the text of a page; one that only shows a whole Markdown file has the text of that file."""
    text = page.read_text(encoding="utf-8")
    shown = re.fullmatch(r'--8<-- "([\w.]+\.md)"\n', text)
    return (ROOT / shown[1]).read_text(encoding="utf-8") if shown else text


def blocks(page: Path) -> list[Block]:
    """Return what a page tells the reader to run, in its order; files that it shows are none of it."""
    text = read(page)
    found = {m.start(): Block(page.name, m["kind"], m["text"], m["shown"] or "") for m in BLOCK.finditer(text)}
    plain = FENCE.sub(lambda m: " " * len(m[0]), text)
    found |= {m.start(): Block(page.name, "bash", m["text"], "") for m in INLINE.finditer(plain)}
    return [found[place] for place in sorted(found)]


def uncommented(line: str) -> str:
    """Return a command without the comment behind it.

    Example:
        >>> uncommented("bash a.sh 'b #c'   # d")
        "bash a.sh 'b #c'"
    """
    return re.sub(r"(?<=\s)#\s.*", "", line).rstrip()


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
    lines += [m["text"] for m in INLINE.finditer(prose(text))]
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
