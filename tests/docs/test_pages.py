"""README and docs/ are true: their commands parse, what they name exists, and what they add can be added."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
import yaml

from lmod_train.cli import FOLLOWING
from lmod_train.cli.catalogue import options_of as options_of_class
from lmod_train.cli.commands import LIGHTNING, groups
from lmod_train.cli.commands import commands as every_command
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.extension import Extension, extensions
from lmod_train.core.shipped import config_folders, configs_folder, shipped_as
from lmod_train.core.types import Box, Dropped, Sample, Unparsed
from lmod_train.data.sources.discovery import source_classes
from lmod_train.scoring.items import Item
from tests import forks
from tests.docs.pages import (
    DOCS,
    README,
    ROOT,
    code,
    commands,
    ours,
    pages,
    prose,
    read,
)
from tests.docs.standins import clinic, written
from tests.parsed import SERIES, lightning_parser, options_of, parse, plain_parser
from tests.test_architecture import ARROWS

OTHERS = {"bash", "pip", "hf", "sbatch", "wandb", "python", "python3.11", "source", "export", "mkdocs"}
"""Programs that the pages start beside this package's own command; what is known of their arguments is tested below."""


def run(command: str, folder: Path) -> None:
    arguments = shlex.split(command.removeprefix("python "))
    done = forks.run(arguments, folder)
    assert done.returncode == 0, f"{arguments}\n{done.stderr}"


def test_a_dataset_is_added_as_the_page_says(tmp_path: Path):
    """One file, one config, one test: the source keeps its promises, and its disc is boxed where it was painted."""
    assert written(tmp_path)[:3] == ["papilla.py", "papilla.yaml", "test_papilla.py"]
    clinic(tmp_path / "clinic" / "papilla")
    run("python -m lmod_train curate --config papilla.yaml --raw clinic --out PAPILLA", tmp_path)
    records = {r.key: r for r in read_records(tmp_path / "PAPILLA" / "records") if r.task == "anatomy"}
    assert {key: [(r.structure, r.box) for r in one.regions] for key, one in records.items()} == {
        f"eye{i:02}": [("optic disc", Box(10 + i, 12, 26 + i, 30))] for i in range(20)
    }
    contract_is_kept("test_papilla.py", tmp_path)


def contract_is_kept(test: str, folder: Path) -> None:
    """Run a test that a page shows, in the folder of the files that the pages show."""
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    done = forks.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", test], folder)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr


def test_a_task_is_added_as_the_page_says(tmp_path: Path):
    """Its contract is kept, and its answer is where the disc was painted, in the curated records."""
    written(tmp_path)
    clinic(tmp_path / "clinic" / "papilla")
    contract_is_kept("test_disc_place.py", tmp_path)
    run("python -m lmod_train curate --config disc_place.yaml --raw clinic --out PLACES", tmp_path)
    answers = {r.key: r.answer for r in read_records(tmp_path / "PLACES" / "records")}
    assert answers == {f"eye{i:02}": "LEFT" if 18 + i < 64 / 3 else "MIDDLE" for i in range(20)}


def test_the_metric_of_the_page_counts_neighbours_and_no_reply_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    pairs = [("LEFT", "LEFT"), ("MIDDLE", "LEFT"), ("RIGHT", "LEFT"), (Unparsed("empty"), "LEFT")]
    items = [
        Item(str(i), "unparsed" if isinstance(answer, Unparsed) else "answered", answer, truth, group=str(i))
        for i, (answer, truth) in enumerate(pairs)
    ]
    (score,) = importlib.import_module("near").near_scores("place", items, ("LEFT", "MIDDLE", "RIGHT"))
    assert (score.metric, score.n, score.value) == ("near", 4, 0.5)


def test_the_dataset_that_was_added_survives_what_tables_are_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Byte-order mark, semicolons, blanks and empty cells: what is lost is listed, and the rest is read."""
    written(tmp_path)
    clinic(tmp_path / "clinic")
    table = tmp_path / "clinic" / "findings.csv"
    rows = [" Photo ;Patient;GLAUCOMA;x0;y0;x1;y1;note"]
    rows += [f" eye{i:02} ;p{i // 2};{i // 2 % 2};{10 + i};12;{26 + i};30;" for i in range(18)]
    rows[1], rows[2], rows[3] = "eye00;p0;;10;12;26;30;", "eye01;p0;0;;12;27;30;", "eye02;;1;12;12;28;30;"
    rows[4] = "eye03;p1;1;13;12;29;30;;left over"
    table.write_bytes("\r\n".join([*rows, "eye99;p9;1;1;1;9;9;", ";;;;;;;", ""]).encode("utf-8-sig"))
    monkeypatch.syspath_prepend(tmp_path)
    source = importlib.import_module("papilla").Papilla(tmp_path / "clinic")
    told = list(source.samples())
    samples = {item.key: item for item in told if isinstance(item, Sample)}
    assert [*samples] == [f"eye{i:02}" for i in range(18) if i not in (2, 3)]
    assert [key for key, s in samples.items() if not s.labels] == ["eye00"]
    assert [key for key, s in samples.items() if not s.outlines] == ["eye01"]
    assert {(d.key, d.reason, d.extent) for d in told if isinstance(d, Dropped)} == {
        ("eye99", "missing photograph", "gone"),
        ("eye18", "missing row", "gone"),
        ("eye19", "missing row", "gone"),
        ("eye00", "missing label", "part"),
        ("eye01", "missing outline", "part"),
        ("eye02", "unusable row", "gone"),
        ("eye03", "unusable row", "gone"),
    }


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p.name == "baselines.md" else []) for p in pages()],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_every_command_of_ours_parses(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for arguments in filter(None, map(ours, commands(read(page)))):
        if not arguments[0].startswith("-") and not {"--help", "--print_config", "..."} & set(arguments):
            parse(arguments)


@pytest.mark.parametrize(
    "wrong", ["fit --config configs/quickstart.yaml --nothing 1", "weights merge --ckpt C --out O --bas B"]
)
def test_a_wrong_option_does_not_parse(wrong: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(BaseException, match=r"nothing|bas|2"):
        parse(wrong.split())


def test_every_other_command_names_what_exists():
    for page in pages():
        for words in commands(read(page)):
            if ours(words) is None and words[0] not in ("srun", "torchrun"):
                assert words[0] in OTHERS, (page, words)
                assert list(absent(words)) == [], (page, words)


def absent(words: list[str]) -> Iterator[str]:
    """Yield what a command of another program names and what is not there: scripts, options, extras, configs."""
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    for word in words[1:]:
        if re.fullmatch(r"(?:scripts|configs|tests)/[\w./-]+", word) and not (ROOT / word).exists():
            yield word
        yield from (extra for extra in re.findall(r"\.\[(\w+)\]", word) if extra not in extras)
    if words[0] == "python" and words[1].endswith(".py"):
        text = read(ROOT / words[1])
        yield from (word for word in words[2:] if word.startswith("--") and f'"{word}"' not in text)
    if words[0] == "hf" and words[words.index("--local-dir") + 1] not in weight_folders():
        yield words[-1]


@cache
def weight_folders() -> set[str]:
    """Return the folders of weights that the configs name."""
    checkpoints = [yaml.safe_load(read(f))["init_args"] for at in config_folders() for f in at.glob("model/*.yaml")]
    folders = {str(value.get("checkpoint")) for value in checkpoints}
    folders |= {value["towers"]["init_args"]["weights"] for value in checkpoints if "towers" in value}
    return folders | {str(Path(str(value.get("weights"))).parent) for value in checkpoints}


def test_every_command_is_in_the_pages_and_every_command_of_the_pages_exists():
    word = r"[a-z]+(?:-[a-z]+)*"
    pattern = rf"(?:python|\d) -m lmod_train ((?:(?:{'|'.join(groups())}) )?{word})"
    named = {name for page in pages() for name in re.findall(pattern, read(page))} - {*groups()}
    assert named <= {*every_command(), *LIGHTNING}
    assert {*every_command(), *LIGHTNING} <= named


@pytest.fixture(scope="module")
def options_known() -> set[str]:
    """Options of all commands, and the few of other programs that the pages explain."""
    added = [name for one in extensions() for name in one.options]
    known = {option for name in (*every_command(), *added) for option in options_of(plain_parser(name))}
    others = {"--slow", "--no-deps", "--small", "--version", "--help_all"}
    others |= {"--tensor-parallel-size", "--data-parallel-size", *SERIES}
    for path in ("lmod_train.models.backends.huggingface.HuggingFace", "lmod_train.models.backends.openai.OpenAI"):
        others |= {f"--model.backend.{option.name}" for option in options_of_class(path)}
    others |= {f"--model.{option.name}" for option in options_of_class("lmod_train.models.modules.frozen.Frozen")}
    return known.union(others, *map(options_of, lightning_parser()._subcommands_action.choices.values()))


def test_every_option_that_is_named_exists(options_known: set[str]):
    """Options in running text are those of some command."""
    for page in pages():
        named = {word for inline in code(read(page)) for word in re.findall(r"(?<![\w.-])--[a-z][\w.-]*", inline)}
        beginnings = ("--model.init_args.", "--trainer.logger", "--roots.")  # continued by a class, a source
        chosen = {name for name in named if name.startswith(beginnings) or name.endswith(".KEY")}
        assert sorted(named - chosen - options_known - {FOLLOWING}) == [], page


def test_every_file_that_is_named_exists():
    for page in pages():
        text = prose(read(page))
        named = set(re.findall(r"`((?:configs|lmod_train|tests|scripts)/[\w/.]+\.\w+)`", text))
        named |= {"LICENSE", "Dockerfile", *re.findall(r'^--8<-- "([^":]+)', read(page), re.M)}
        assert [name for name in sorted(named) if not ((ROOT / name).exists() or shipped_as(name))] == [], page
        linked = set(re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", text))
        assert [link for link in sorted(linked) if not (page.parent / link).exists()] == [], page


def test_every_link_to_a_heading_leads_to_one():
    for page in pages():
        for name, anchor in re.findall(r"\]\(([^)#:\s]*)#([\w-]+)\)", prose(read(page))):
            headings = re.findall(r"^#+ (.+)$", prose(read(page.parent / name if name else page)), re.M)
            known = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert anchor in known, (page, name, anchor)


def test_every_class_and_module_that_is_named_exists():
    inline = {word for page in pages() for word in code(read(page))}
    for name in sorted(word for word in inline if re.fullmatch(r"lmod_train(?:\.\w+)+", word)):
        module, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), last), name


def test_every_page_is_in_the_menu():
    assert sorted(DOCS.rglob("*.md")) == sorted(page for page in pages() if page != README)


def test_the_table_of_datasets_is_that_of_the_sources():
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w+-]+) \| [\d,]+ \|.*\]\((\S+)\) \|$", read(DOCS / "curate.md"), re.M)
    assert sorted(rows) == sorted((s.name, s.modality, s.reference) for s in source_classes().values())


def test_the_table_of_models_names_configs():
    (table,) = re.findall(r"^(\| `model_type`.*?)\n\n", read(DOCS / "tune.md"), re.S | re.M)
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[3])}
    chat = {
        file.stem
        for file in configs_folder().glob("model/*.yaml")
        if "VisionLanguageModel" in read(file) and file.stem not in ("small_base_wide", "small_base_full")
    }
    assert named == chat


def test_the_table_of_imports_is_that_of_the_architecture():
    (text,) = re.findall(r"^## Rooms\n(.*?)^## ", read(DOCS / "architecture.md"), re.M | re.S)
    rows = re.findall(r"^\| `(\w+)` \| .+ \|(.*)\|$", text, re.M)
    rooms = [room for room, _ in rows]
    shown = {
        room: set(rooms[:place]) if "all above" in allowed else set(re.findall(r"`(\w+)`", allowed))
        for place, (room, allowed) in enumerate(rows)
    }
    assert shown == {room: arrows for room, arrows in ARROWS.items() if room not in {"__main__", ""}}


def test_the_table_of_the_contract_is_that_of_the_records():
    (text,) = re.findall(r"^## The contract\n(.*?)^## ", read(DOCS / "architecture.md"), re.M | re.S)
    rows = re.findall(r"^\| (`.+?) \| .+ \| (.+) \|$", text, re.M)
    shown = {tuple(re.findall(r"`(\w+)`", names)): used for names, used in rows}
    assert [name for names in shown for name in names] == [field.name for field in fields(Extension)]
    ours = [one for one in extensions() if (ROOT / "lmod_train" / "extensions" / one.name).is_dir()]
    for names, used in shown.items():
        holders = sorted(one.name for one in ours if getattr(one, names[0]))
        assert used == ("all" if names[0] == "name" else ", ".join(f"`{name}`" for name in holders)), names
