"""Every command and option that an error prints to be typed exists, and is parsed with what it prints."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from lmod_train.cli import FOLLOWING
from lmod_train.cli.commands import commands
from lmod_train.core.shipped import configs_folder
from tests.cli.printed import COMMANDS, Printed, printed
from tests.parsed import TABLE, lightning_parser, options_of, parse, plain_parser

CAPITALS = {
    "CONFIG": "quickstart", "FILE": "options.yaml", "TASK.yaml": "own.yaml", "CURATED": "curated", "RAW": "raw",
    "N": "2", "P": "1", "Q": "1", "U": "http://127.0.0.1:9/v1", "M": "m", "KEY": "lr", "LABELS": "a,b", "RUN...": "run",
    "MODEL": "openai", "CLASS": "data", "'[VALUE]'": "[x]",
}  # fmt: skip
"""Word in capitals in a printed command -> what is typed; any other stands for a name or path."""

PUT_IN = {
    "core/errors.py: VALUE DIR": "--run DIR",
    "core/lock.py: VALUE DIR": "--run DIR",
    "core/errors.py: --VALUE DIR": "--run DIR",
    "core/errors.py: VALUE VALUE": "--data.tasks glaucoma",
    "cli/short_names.py: VALUE VALUE": "--data.tasks glaucoma,four_way",
    "extensions/table/places.py: VALUE VALUE": "--images PHOTOS",
    "extensions/drafting/commands.py: VALUE VALUE": "--kinds open_question",
    "models/chat/tower_features.py: --VALUE DIR": "--run DIR",
    "cli/seeds_and_folds.py: VALUE 5": "--seeds 5",
    "cli/seeds_and_folds.py: python -m lmod_train fit --config CONFIG VALUE N --run FIT":
        "fit --config CONFIG --folds N --run FIT",
    "data/datamodules/folder_tasks.py: --data.tasks FILE": "--data.tasks own.yaml",
    "models/chat/checkpoint.py: --model.init_args.family my_family.MyFamily":
        "--model.init_args.family lmod_train.models.chat.family.llava.Llava",
    "cli/parser.py: VALUE list options CLASS": "python -m lmod_train list options data",
    "cli/parser.py: VALUE VALUE": "python -m lmod_train fit --help",
    "cli/parser.py: --VALUE '[VALUE]'": "--trainer.callbacks '[lightning.pytorch.callbacks.DeviceStatsMonitor]'",
    "cli/names.py: python -m lmod_train VALUE": "python -m lmod_train list options data",
    "cli/short_names.py: python -m lmod_train list VALUEs": "python -m lmod_train list tasks",
    "cli/listing.py: python -m lmod_train list options VALUE": "python -m lmod_train list options idrid",
    "core/errors.py: python -m lmod_train curate --roots.VALUE PATH --out CURATED":
        "curate --roots.refuge PATH --out C",
    "data/datamodules/records.py: python -m lmod_train curate --config CONFIG --tasks+ VALUE --raw RAW --out NEW":
        "curate --config quickstart --tasks+ sex --raw RAW --out NEW",
    "data/formats/reading_sheet.py: VALUE VALUE.csv": "--blank SHEET.csv",
    "models/modules/base.py: --model.init_args.VALUE": "--model.init_args.max_tokens 3",
}  # fmt: skip
"""File and text whose options are put in -> an example of what is printed."""

VALUES = {
    "--tasks": "glaucoma", "--data.tasks": "glaucoma", "--config": "quickstart", "--sources": "refuge",
    "--model.backend.max_new_tokens": "5", "--data.subset": "own.yaml", "--model.backend.rules": "no_temperature",
    "--kinds": "open_question", "--max_cost": "20",
}  # fmt: skip
"""Option -> value that stands for ``VALUE``."""

GIVEN = {
    TABLE: "own.csv --out out --name own",
    "curate": "--raw raw --out out", "phantom": "--out out", "subset": "curated", "blind": "curated",
    "audit": "curated", "dissect": "small_base curated --task glaucoma --out out",
    "rescore": "run", "judge": "run", "answers": "--curated curated", "report": "run --out out",
    "export": "curated --to llava --out out", "import": "own.yaml --images raw --out out", "collapse-lab": "--out out",
    "list": "tasks", "draft ask": "curated --model openai --out out", "draft review": "out --curated curated",
    "draft captions": "own.yaml --model openai --out out", "draft judge": "out --model openai",
    "draft review-captions": "out", "weights convert": "w --out out", "weights merge": "--ckpt w --out out",
    "weights apply-delta": "--delta w --base w --out o",
}  # fmt: skip
"""Command -> arguments with which an option of it can be parsed."""

MODELS = {
    "--model.backend": "openai", "--model.backend.images.fit": "llava_1_5_7b", "--model.init_args": "small_base_lora",
}  # fmt: skip
"""Beginning of the options of a model -> a model that has them; the last one that fits counts."""

MENTIONED = {"--include_path", "--data_path", "--image_folder", "--scheduler", "--max-model-len", "--reasoning-parser"}
"""Options of other programs, which an error or an export explains."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which what the placeholders stand for lies."""
    folder = tmp_path_factory.mktemp("cures")
    (folder / "configs").symlink_to(configs_folder())
    shutil.copy(configs_folder() / "task" / "glaucoma.yaml", folder / "own.yaml")
    (folder / "options.yaml").write_text("protocol: own\n")
    for name in ("raw", "curated", "w", "run"):
        (folder / name).mkdir()
    return folder


def filled(one: Printed) -> list[str]:
    """Return the words of a printed text with examples in the place of what is put in."""
    file = one.place.partition(":")[0]
    one = Printed(one.place, PUT_IN.get(f"{file}: {one.text}", one.text))
    words = [CAPITALS.get(word, word) for word in one.words]
    words = [
        VALUES.get(before, "x") if word == "VALUE" else word for before, word in zip(["", *words], words, strict=False)
    ]
    return [word.replace("VALUE", "x") for word in words]


def knows(command: str, option: str) -> bool:
    """Return whether a command has an option."""
    name = option.partition("=")[0].removesuffix("+")
    if name == FOLLOWING:
        return True
    if command in {*commands(), TABLE}:
        known = options_of(plain_parser(command))
        return name in known or (name.rpartition(".")[0] == "--roots" and "--roots" in known)
    known = options_of(lightning_parser()._subcommands_action.choices[command]) | {"--seeds", "--folds"}
    return name in known or name.startswith(("--model.", "--evaluation.encoders."))


def commands_of(words: list[str]) -> list[list[str]]:
    """Return the commands that have all printed options, each with the arguments that it needs and these options."""
    options = [word for word in words if word.startswith("--")]
    found = [[c, *given.split(), *words] for c, given in GIVEN.items() if all(knows(c, o) for o in options)]
    if all(knows("fit", o) for o in options):
        model = [word for head, name in MODELS.items() if options[0].startswith(head) for word in ("--model", name)]
        given = ["--data.curated", "curated", "--data.tasks", "own.yaml", *(model or ["--model", "scripted"])]
        found += [["validate", *given, *words]]
    return found


def parses(command: list[str]) -> str:
    """Return why a command does not parse; empty if it does."""
    return _parses(tuple(command))


@cache
def _parses(command: tuple[str, ...]) -> str:  # many places print the same
    try:
        parse([part for word in command for part in (word.split() if word in {*commands(), TABLE} else [word])])
    except SystemExit as ended:
        return "" if ended.code in (0, None) else "refused by the parser"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@cache
def commands_printed() -> list[Printed]:
    return [one for one in printed() if one.is_command]


@cache
def options_printed() -> list[Printed]:
    return [one for one in printed() if one.is_option]


def test_every_printed_command_parses(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    wrong = {}
    for one in commands_printed():
        words = filled(one)
        command = " ".join(words)
        if words[0] in ("COMMAND", "x") or command in {*COMMANDS, TABLE, "fit --help_all"} or words[-1] == "--help":
            continue  # a mention, or a help text, which the tests of the help print
        if why := parses(words):
            wrong[one] = why
    assert wrong == {}


def is_mentioned(words: list[str]) -> bool:
    """Return whether options are named without the value that they need, or are those of other programs."""
    return all(word.startswith("--") for word in words) and words[0] not in FLAGS


FLAGS = (FOLLOWING, "--strict", "--published", "--for_own_use")
"""Options without a value."""


def refused(words: list[str]) -> object:
    """Return why printed options parse with no command that has them; empty if they do with one."""
    if not words[0].startswith("--"):
        return parses(words)
    if is_mentioned(words):
        return [w for w in words if w not in MENTIONED and not any(knows(c, w) for c in (*GIVEN, "fit"))]
    tried: dict[str, str] = {}
    for command in commands_of(words):
        tried[" ".join(command)] = why = parses(command)
        if not why:
            return ""
    return tried or "no command has them"


def test_every_printed_option_parses_with_a_command_that_has_it(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    assert {one: why for one in options_printed() if (why := refused(filled(one)))} == {}


@pytest.mark.parametrize("wrong", ["--nothing 3", "--data.nothing 3", "--data.regime cas_nothing", "--workers many"])
def test_an_option_that_does_not_exist_does_not_parse(wrong: str, place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    assert "" not in {parses(command) for command in commands_of(wrong.split())}


@pytest.mark.parametrize(
    "wrong", ["list taks", "nothing --out x", "curate --raw raw --nothing 3", "validate --config no"]
)
def test_a_command_that_does_not_exist_does_not_parse(wrong: str, place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    assert parses(wrong.split()) != ""


def test_there_are_cures_to_parse():
    assert len(commands_printed()) > 80 and len(options_printed()) > 140
