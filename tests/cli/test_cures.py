"""Every cure is a command that exists: what an error prints to be typed is taken from the text and typed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import lmod_train
from lmod_train.cli import FOLLOWING, LATE, LIGHTNING, PLAIN, joined, main
from lmod_train.cli.catalogue import parameters_of
from lmod_train.cli.names import GROUPS
from lmod_train.cli.names import PLAIN as HEADS
from lmod_train.cli.parse import parser_of
from lmod_train.cli.series import FOLDS, SEEDS
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, write_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import LmodError
from lmod_train.core.types import Message, Part, Record, Reply
from lmod_train.tasks.ways import Ways

ROOM = Path(lmod_train.__file__).parent
OURS = "python -m lmod_train "
FOREIGN = {
    "--include_path",
    "--data_path",
    "--image_folder",
    "--tasks",
    "--split",
    "--scheduler",
    "--max-model-len",
    "--reasoning-parser",
}
"""Options of other programs, which an export or a cure explains; `--tasks`, `--split`, `--scheduler` are ours too."""
NESTED = {"--data.asking": Ways}
"""Options whose fields are options."""


MAPPINGS = {"--evaluation.encoders"}
"""Options that hold a mapping, whose keys are options."""


def snippets() -> Iterator[tuple[str, str]]:
    """Yield (place, text between backticks) of every string in the package that is no docstring."""
    for file in sorted(ROOM.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "`" + OURS not in text and "`--" not in text:
            continue
        tree = ast.parse(text)
        skip = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
                first = node.body[0]
                skip |= {id(first.value)} if isinstance(first, ast.Expr) else set()
        for node in ast.walk(tree):
            if id(node) not in skip and (words := written(node)):
                yield from ((f"{file.relative_to(ROOM)}:{node.lineno}", s) for s in re.findall(r"`([^`]+)`", words))


def written(node: ast.AST) -> str:
    """Return the text of a string; a word in capitals stands for what is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in node.values)
    return ""


@pytest.fixture(scope="module")
def printed() -> list[tuple[str, str]]:
    """The snippets, in order and each once: reading the package takes seconds."""
    return sorted(set(snippets()))


@cache
def options_of(command: str) -> set[str]:
    """Return the options of one command of ours, dashes and dots included, as far as its classes' text tells."""
    if command in PLAIN:
        return {name for action in parser_of(PLAIN[command], command)._actions for name in action.option_strings}
    heads = {f"--{name}" for name in (*HEADS, *GROUPS, "ckpt_path")} | {SEEDS, FOLDS}
    heads |= {f"{option}.{field.name}" for option, kind in NESTED.items() for field in fields(kind)}
    return heads | {f"--{group}.{name}" for group, path in GROUPS.items() for name in parameters_of(path) or ()}


def is_option(name: str, command: str) -> bool:
    name = name.partition("=")[0].removesuffix("+")
    known = options_of(command)
    if name.rpartition(".")[0] in known & MAPPINGS:
        return True
    return name in known or name.startswith("--model.init_args.") or f"{name.partition('.')[0]}" in known & {
        "--roots", "--model", "--doctor",
    }  # fmt: skip


def test_a_printed_command_is_one(printed: list[tuple[str, str]]):
    cures = [(place, s) for place, s in printed if s.startswith(OURS) and "VALUE --help" not in s]
    assert len(cures) > 20
    for place, cure in cures:
        command, *rest = joined(shlex.split(cure.removeprefix(OURS)))
        if command in ("COMMAND", "VALUE", "--help"):
            continue
        assert command in {*PLAIN, *LIGHTNING, *LATE}, place
        assert "..." not in rest, f"{place}: what stands for the dots?"
        for name in (word for word in rest if word.startswith("--")):
            assert is_option(name, command), f"{place}: {name} is no option of {command}"


def test_a_printed_option_is_one_of_some_command(printed: list[tuple[str, str]]):
    cures = [(place, s) for place, s in printed if s.startswith("--")]
    assert len(cures) > 20
    for place, cure in cures:
        for name in (word for word in shlex.split(cure) if word.startswith("--")):
            known = name in (*FOREIGN, FOLLOWING) or "VALUE" in name or any(is_option(name, c) for c in [*PLAIN, "fit"])
            assert known, f"{place}: {name} is an option of no command"


def test_model_options_that_cures_print_are_parameters_of_a_module(printed: list[tuple[str, str]]):
    modules = ("conversation.VisionLanguageModel", "fine_tuning.FineTuning", "classifier.Classifier",
               "linear_probe.LinearProbe")  # fmt: skip
    known = {name for path in modules for name in parameters_of(f"lmod_train.models.modules.{path}") or ()}
    named = {m for _, s in printed for m in re.findall(r"--model\.init_args\.(\w+)", s)} - {"X", "KEY", "VALUE"}
    assert named and named <= known


def cure_of(refused: pytest.ExceptionInfo[LmodError], **put_in: object) -> list[str]:
    """Return the command that an error prints, its capitals filled in, without ``python -m lmod_train``."""
    (printed,) = re.findall(rf"`{OURS}([^`]+)`", str(refused.value))
    return [str(put_in.get(word, word)) for word in shlex.split(printed)]


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """A run with replies and no scores yet, in a folder with a space in its name."""
    run = tmp_path / "my run"
    messages = (Message("user", (Part("text", "Glaucoma?"),)),)
    record = Record(
        "glaucoma/refuge/1", "glaucoma", "lmod_train.tasks.glaucoma.Glaucoma", 1, "refuge", "1", "CFP", (), (), (),
        "test", "p", "en", messages, ("GLAUCOMA", "NON-GLAUCOMA"), "GLAUCOMA",
    )  # fmt: skip
    write_records(run / "records.parquet", [record])
    replies = ReplyFile(run / "replies" / "rank-0.jsonl")
    replies.append([Reply(record.id, "GLAUCOMA", model="someone")])
    replies.close()
    return run


def test_the_cure_for_a_run_without_scores_makes_them(answered: Path):
    with pytest.raises(LmodError) as refused:
        read_scores(answered / "scores.csv")
    assert main(cure_of(refused)) == 0
    assert read_scores(answered / "scores.csv")


@pytest.mark.parametrize("read", [read_scores, read_predictions])
def test_a_folder_that_is_no_run_is_not_to_be_rescored(read: Callable[[Path], object], tmp_path: Path):
    with pytest.raises(LmodError) as refused:
        read(tmp_path / "nowhere" / "scores.csv")
    assert cure_of(refused)[0] == "validate" and "rescore" not in str(refused.value)


def test_the_cure_for_a_raw_folder_given_as_curated_does_not_write_into_it(tmp_path: Path):
    raw = tmp_path / "raw photographs"
    assert main(["phantom", "--out", str(raw), "--n", "12", "--sources", "eye_diseases"]) == 0
    before = sorted(raw.rglob("*"))
    with pytest.raises(LmodError) as refused:
        read_manifest(raw)
    assert main(cure_of(refused, NEW=tmp_path / "new")) == 0
    assert read_manifest(tmp_path / "new") and sorted(raw.rglob("*")) == before


def test_the_cure_for_damaged_records_makes_whole_ones(tmp_path: Path):
    raw, curated = tmp_path / "raw", tmp_path / "curated"
    assert main(["phantom", "--out", str(raw), "--n", "12", "--sources", "eye_diseases"]) == 0
    assert main(["curate", "--raw", str(raw), "--out", str(curated)]) == 0
    (curated / "records" / "four_way.parquet").write_bytes(b"PAR1")
    with pytest.raises(LmodError) as refused:
        read_records(curated / "records")
    default = ROOM.parent / "configs" / "curate" / "default.yaml"
    assert main(cure_of(refused, CONFIG=default, RAW=raw, NEW=tmp_path / "new")) == 0
    assert read_records(tmp_path / "new" / "records")
