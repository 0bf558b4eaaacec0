"""Which command of the pages makes a folder or file that another command reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import yaml

from lmod_train.core.shipped import config_at, config_files
from tests.docs.pages import blocks, pages

HAD = """
python -m lmod_train phantom --out raw --n 24 --sources refuge
python -m lmod_train curate --config lmod_v1 --raw ALL --out curated/lmod_v1
python -m lmod_train curate --config lmod_plus --raw ALL --out curated/lmod_plus
python -m lmod_train curate --raw RAW --out quickstart/curated
python -m lmod_train curate --config ophthalwechat_phantoms --raw POSTS --out ophthalwechat/curated
python -m lmod_train answers --blank SECOND.csv --curated CURATED --split val --tasks glaucoma
python -m lmod_train answers SECOND.csv --curated CURATED --run runs/reader_2 --reader reader_2
python -m lmod_train answers --blank THIRD.csv --curated CURATED --split val --tasks glaucoma
python -m lmod_train answers THIRD.csv --curated CURATED --run runs/reader_3 --reader reader_3
"""
"""What makes a folder that a reader of the pages has from elsewhere, or a shipped config names by default."""

MADE = re.compile(r" --(?:out|run|blank|sheet) (\S+)")
PACKED = re.compile(r" --pack (\S+)$")


@dataclass(frozen=True)
class Step:
    """One command of the pages.

    Attributes:
        page: Name of its page; empty for `HAD`.
        place: Its number among all commands, in the order of the menu.
        command: The command.
    """

    page: str
    place: int
    command: str

    def makes(self) -> list[str]:
        """Return the folders and files that it writes."""
        return [*MADE.findall(self.command), *(f"{run}.lmodpack" for run in PACKED.findall(self.command))]

    def reads(self, known: Mapping[str, object]) -> list[str]:
        """Return those of the known folders and files that it names, itself or in the configs that it names."""
        typed = MADE.sub("", self.command)
        texts = [re.sub(r"--(?:config|model|trainer) \w+(?!\S)", "", typed)]
        texts += [text for name in re.findall(r"--(?:config|model) (\w+)", typed) for text in _configs(name)]
        if "--data.curated" in typed or not re.search(r"lmod_train (?:fit|validate|test|predict|doctor) ", typed):
            texts = [re.sub(r"curated: \S+", "", text) for text in texts]
        return [name for name in known if any(_names(text, name) for text in texts)]


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-])", text) is not None


def _configs(name: str) -> Iterator[str]:
    """Yield the text of a shipped experiment or model, and of the model of the experiment."""
    for file in filter(None, (config_files().get(name), config_files("model").get(name))):
        yield re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
        model = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("model")
        if isinstance(model, str):
            yield re.sub(r"#.*", "", config_at(model, file.parent).read_text(encoding="utf-8"))


@cache
def steps() -> list[Step]:
    """Return every command of the pages, in the order of the menu, and those of `HAD`."""
    told = [(b.page, command) for page in pages() for b in blocks(page) if b.kind == "bash" for command in b.steps]
    told += [("", command) for command in HAD.split("\n") if command]
    return [Step(page, place, command) for place, (page, command) in enumerate(told)]


@cache
def makers() -> dict[str, list[Step]]:
    """Return folder or file -> the commands that write it."""
    found: dict[str, list[Step]] = {}
    for step in steps():
        for name in step.makes():
            found.setdefault(name, []).append(step)
    return found


def makers_for(reader: Step, name: str) -> list[Step]:
    """Return the commands that write what a command reads, all of one page: before it if possible, as near as possible.

    Empty for what its own page writes later or nothing writes.
    """
    others = [step for step in makers().get(name, []) if step.place != reader.place]
    page = next((step.page for step in [*reversed(others), *others] if step.place < reader.place), None)
    page = others[0].page if page is None and others else page
    return [step for step in others if step.page == page and (page != reader.page or step.place < reader.place)]
