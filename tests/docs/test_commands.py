"""Every command of README and docs/ is executed, outside the checkout, at a small size; or excused below.

A page is worked through in its order, in a folder of its own. What a command reads and the page has not made is made by
the commands of earlier pages, or stands in for what a reader has (`standins.py`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from tests import forks
from tests.docs.folders import Step, makers, makers_for, steps
from tests.docs.pages import ROOT, Block, blocks, pages
from tests.docs.standins import GIVEN, OF_PAGE, people, prepared, serving, small

EXCUSED = {
    r"python -m pre_commit install": "writes into the .git of the checkout",
    r"pip install .*|python3.11 -m venv .*": "installs packages",
    r"hf download .*": "downloads weights",
    r"PIP_EXTRA_INDEX_URL=\S+ bash scripts/quickstart.sh|bash scripts/quickstart.sh": "installs the package",
    r"bash scripts/test.sh.*": "runs these tests; tests/test_checks.py executes it with small ones",
    r"bash scripts/docs.sh": "installs packages; tests/docs/test_site.py builds the site",
    r"mkdocs serve": "does not end; tests/docs/test_site.py builds the site",
    r"bash scripts/(?:cnn|photographs|all_phantoms|xpcr_phantoms|build_base).sh.*": "minutes to hours of training",
    r"python scripts/benchmarks/photographs.py .*": "hours, on real photographs",
    r"python scripts/smollm2_vlm.py .*": "weights of 270 MB in a package; tests/test_smollm2_vlm.py has small ones",
    r"wandb (?:login|sweep .*|agent(?: SWEEP)?)": "needs a key; tests/test_sweep.py executes what the agent starts",
    r"python -P": "a name of an option of Python, no command",
}
"""Command -> why no test executes it."""

STOPS = {
    r"curate --table DRAWN/\S+ --images DRAWN --modality CFP --name clinic --out CLINIC$": 2,  # it asks
    r"doctor --config llava_med_published$": 2,  # it refuses
}
"""Command -> the status other than 0 with which the page says that it ends."""

QUICK = ("index.md",)
"""Pages that are executed in seconds."""


def told_as_the_pairs_do(folder: Path, printed: str) -> None:
    """Check the verdicts of the audit by pairs of phantoms that differ in the asked fact alone."""
    replies = {p.record.id: p for p in read_predictions(Run(folder / "runs" / "look").predictions)}
    changed: dict[str, list[bool]] = {}
    for name, other in replies.items():
        if other.record.variant == "counterfactual":
            own = replies[name.replace("/counterfactual", "/as_is")]
            changed.setdefault(own.record.answer, []).append(own.answer != other.answer)
    lines = re.findall(r"^small_base: glaucoma, (\S+) \(n \d+\): ([^;\n]+)", printed, re.M)
    told = {truth: verdict for truth, verdict in lines if verdict != "cannot be told"}
    assert told and len(lines) == 2, printed
    for truth, verdict in told.items():
        share = sum(changed[truth]) / len(changed[truth])
        assert share > 0.9 if verdict == "looks at the evidence" else verdict == "does not look" and share < 0.1


CHECKED = {"looking.md": told_as_the_pairs_do}
"""Page -> what is checked of its folder and of all that it prints."""


def excused(command: str) -> bool:
    return any(re.fullmatch(pattern, command) for pattern in EXCUSED)


def expected(line: str) -> str:
    """Return the pattern of a line: its numbers may differ, with the spaces before them, and ``...`` is anything."""
    loose = re.sub(r"(?:\\ )+", " +", re.escape(line).replace(r"\.\.\.", ".*"))
    return re.sub(r"\d+", r"\\d+", loose)


def missing(shown: str, printed: str) -> list[str]:
    """List the lines of `shown` that are not printed, in this order; other lines may stand between them.

    A printed table may have further columns, such as the warnings about scores of few records at the small size.
    """
    left = iter(printed.splitlines())
    lines = [(line, expected(line) + (r"(?: [^|]+\|)*" if line.endswith("|") else "")) for line in shown.splitlines()]
    return [line for line, pattern in lines if not any(re.fullmatch(pattern, real) for real in left)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one for each page, for what other pages need of it, so that it is made once."""
    return tmp_path_factory.mktemp("pages")


class Reader:
    """Somebody who works through the pages.

    Args:
        server: Address of the server that stands in for others.
        shelf: Folder with what this reader has made of other pages.
    """

    def __init__(self, server: str, shelf: Path) -> None:
        self.server = server
        self.shelf = shelf
        self.environment = {**os.environ, "WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1", "PYTHON": sys.executable}
        self.executed: list[str] = []

    def work(self, page: str, block: Block, folder: Path) -> str:
        """Do what a block says in a folder, and return what is printed."""
        if block.kind == "python":
            self._bring(Step(page, 0, block.text), folder)
            return self._ended(["-c", block.text], folder, block.text)
        return "".join(self.do(step, folder) for step in _of(block) if not excused(step.command))

    def do(self, step: Step, folder: Path) -> str:
        """Execute one command of the pages with what it reads."""
        self.executed.append(step.command)
        if step.command.startswith("export "):
            name, _, value = step.command.removeprefix("export ").partition("=")
            self.environment[name] = value
            return ""
        self._bring(step, folder)
        people(step.command, folder)
        command = small(step.command, self.server)
        program, *words = shlex.split(command)
        if program == "sbatch":
            return self._array(words, folder)
        assert program == "python", command
        if words[0].startswith("scripts/"):
            return self._script([sys.executable, str(ROOT / words[0]), *words[1:]], folder)
        return self._ended(words, folder, step.command)

    def _bring(self, step: Step, folder: Path) -> None:
        """Put what a command reads into a folder, with what that was made of."""
        for (page, name), write in OF_PAGE.items():
            if page == step.page and not (folder / name).exists() and name in step.reads({name: 0}):
                write(folder / name)
        for name in step.reads({**makers(), **GIVEN}):
            if (folder / name).exists():
                continue
            if name in GIVEN:
                GIVEN[name](folder / name)
            elif made := makers_for(step, name):
                self._make(name, made, folder)

    def _make(self, name: str, made: list[Step], folder: Path) -> None:
        stage = self.shelf / (made[0].page or "had")
        if not stage.exists():
            prepared(stage)
        if not (stage / name).exists():
            for step in made:
                self.do(step, stage)
        if stage != folder and not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (stage / name).is_dir() else shutil.copy
            copy(stage / name, folder / name)
            for step in made:
                self._bring(step, folder)

    def _ended(self, words: list[str], folder: Path, command: str) -> str:
        done = forks.run(words, folder, self.environment)
        status = next((status for pattern, status in STOPS.items() if re.search(pattern, command)), 0)
        assert done.returncode == status, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout + (done.stderr if status else "")

    def _script(self, words: list[str], folder: Path, **more: str) -> str:
        environment = {**self.environment, "PYTHONPATH": str(ROOT), **more}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def _array(self, words: list[str], folder: Path) -> str:
        """Do what SLURM does with an array of two, the first and the last of those asked for."""
        (array, script), rest = words[:2], words[2:]
        assert array == "--array=1-8"
        numbers = {"SLURM_ARRAY_TASK_COUNT": "2"}
        command = ["bash", str(ROOT / script), *rest]
        return "".join(self._script(command, folder, SLURM_ARRAY_TASK_ID=n, **numbers) for n in "12")


def _of(block: Block) -> list[Step]:
    """Return the commands of a block with their places among all."""
    same = [step for step in steps() if step.page == block.page]
    wanted = block.steps
    for start in range(len(same)):
        if [step.command for step in same[start : start + len(wanted)]] == wanted:
            return same[start : start + len(wanted)]
    raise AssertionError(block)


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[] if p.name in QUICK else pytest.mark.slow) for p in pages() if blocks(p)],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_the_commands_of_a_page_run_and_print_what_is_shown(page: Path, tmp_path: Path, server: str, shelf: Path):
    folder, reader, everything = prepared(tmp_path / "page"), Reader(server, shelf), ""
    for block in blocks(page):
        printed = reader.work(page.name, block, folder)
        everything += printed
        assert missing(block.shown, printed) == [], printed
    if page.name in CHECKED:
        CHECKED[page.name](folder, everything)
    told = [command for block in blocks(page) if block.kind == "bash" for command in block.steps]
    assert {command for command in told if command not in reader.executed} == set(filter(excused, told))


def test_every_command_can_be_executed_or_is_excused():
    """Nothing is left that neither the reader of these tests can start nor a reason keeps from it."""
    others = {
        step.command for step in steps() if not re.match(r"(?:python|export|srun|torchrun|sbatch) ", step.command)
    }
    assert {command for command in others if not excused(command)} == set()


def test_every_excuse_is_needed():
    told = [step.command for step in steps()]
    assert [pattern for pattern in EXCUSED if not any(re.fullmatch(pattern, command) for command in told)] == []
    assert [pattern for pattern in STOPS if not any(re.search(pattern, command) for command in told)] == []


def test_a_name_that_other_pages_read_has_one_meaning():
    """A folder that a page reads and does not make is made by one page."""
    several = {}
    for step in steps():
        for name in step.reads(makers()):
            made = makers_for(step, name)
            pages_of = {maker.page for maker in makers()[name] if maker.page not in ("", "README.md")}
            if made and step.page != made[0].page and len(pages_of) > 1:
                several[step.page, name] = pages_of
    assert several == {}


@pytest.mark.parametrize(
    ("shown", "printed", "left"),
    [
        ("a 12 b\n", "x\na 7 b\ny\n", []),
        ("a (...)\n", "a (z z)\n", []),
        ("two\none\n", "one\ntwo\n", ["one"]),
        ("a.b\n", "axb\n", ["a.b"]),
        ("| 10 | b |\n", "|  4 | b |\n", []),
        ("a b\n", "ab\n", ["a b"]),
    ],
)
def test_the_comparison_can_fail(shown: str, printed: str, left: list[str]):
    assert missing(shown, printed) == left
