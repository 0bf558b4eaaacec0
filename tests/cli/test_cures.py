"""Every cure is a command that exists: what an error prints to be typed is taken from the text and typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.cli.catalogue import parameters_of
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import LmodError
from lmod_train.core.types import Message, Part, Record, Reply
from tests.cli.printed import OURS, ROOM, printed


def test_model_options_that_cures_print_are_parameters_of_a_module():
    modules = ("conversation.VisionLanguageModel", "fine_tuning.FineTuning", "classifier.Classifier",
               "linear_probe.LinearProbe")  # fmt: skip
    known = {name for path in modules for name in parameters_of(f"lmod_train.models.modules.{path}") or ()}
    named = {m for one in printed() for m in re.findall(r"--model\.init_args\.(\w+)", one.text)} - {"X", "KEY", "VALUE"}
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
    write_run_records(run / "records.parquet", [record], {record.id: "hash"})
    replies = ReplyFile(run / "replies" / "rank-0.jsonl")
    replies.append([Reply(record.id, "GLAUCOMA", model="someone", asked="hash")])
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
