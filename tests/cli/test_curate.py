"""From phantoms to records by the command line: what is found, what is skipped, what is written, what is refused."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli import curation
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Answer, Message, Part, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.tasks.base import Task
from tests.core.test_lock import end, hold


class Diagnosis(Task):
    """Asks for the diagnosis, the shortest way."""

    name = "diagnosis"
    version = 1
    choices = ("cataract", "diabetic retinopathy", "glaucoma", "normal")

    def ask(self, sample: Sample) -> Iterator[Question]:
        if "diagnosis" in sample.labels:
            messages = (Message("user", (Part("image"), Part("text", "Diagnosis?"))),)
            yield Question(self.name, messages, self.choices, sample.labels["diagnosis"])

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        return reply.reply

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        return []


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight phantoms a source, and a folder that is no source."""
    folder = tmp_path_factory.mktemp("phantoms")
    assert cli.main(["phantom", "--out", str(folder), "--n", "8", "--seed", "3"]) == 0
    (folder / "holiday" / "beach").mkdir(parents=True)
    (folder / "holiday" / "beach" / "dog.jpg").write_bytes(b"woof")
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "own.yaml"
    file.write_text(f"protocol: mine\ntasks:\n- class_path: {__name__}.Diagnosis\nworkers: 1\n")
    return file


def curate(config: Path, out: Path, *more: str | Path) -> int:
    return cli.main(["curate", "--config", str(config), "--out", str(out), *map(str, more)])


def test_raw_folder_becomes_records(
    raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.argv", ["lmod_train", "curate", "--raw", "RAW"])
    out = tmp_path / "curated"
    assert curate(config, out, "--raw", raw, "--seed", "5", "--longest_side", "64", "--ratios", "[0.5,0.5,0]") == 0
    said = capsys.readouterr().out.splitlines()
    records = read_records(out / "records")
    manifest = read_manifest(out)
    splits = {s: sum(r.split == s for r in records) for s in ("train", "val")}
    assert {r.source for r in records} >= {"eye_diseases"}
    assert [line for line in said if line.startswith("skipped")] == [
        f"skipped {raw / 'holiday'}: no known source recognised in it"
    ]
    assert [line.split(" in ")[0] for line in said if line.startswith("found")] == [
        "found eye_diseases",
        "found refuge",
    ]
    assert f"diagnosis: {len(records)} records (train {splits['train']}, val {splits['val']})" in said
    assert said[-1] == f"wrote {out / 'manifest.json'}"
    assert manifest["settings"]["seed"] == 5
    assert manifest["settings"]["longest_side"] == 64
    assert manifest["protocol"] == "mine"
    assert manifest["command"] == "python -m lmod_train curate --raw RAW"


def test_roots_are_named_one_by_one(raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (root,) = [p for p in raw.iterdir() if "diseases" in p.name]
    assert curate(config, tmp_path / "curated", "--roots.eye_diseases", root, "--longest_side", "64") == 0
    said = capsys.readouterr().out
    assert f"found eye_diseases in {root}" in said and "refuge" not in said
    assert list(json.loads((tmp_path / "curated" / "manifest.json").read_text())["sources"]) == ["eye_diseases"]


def test_a_file_left_out_is_said_and_strict_refuses(
    raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (root,) = [p for p in raw.iterdir() if "diseases" in p.name]
    broken = next(root.rglob("glaucoma")) / "broken.jpg"
    broken.write_bytes(b"not an image")
    try:
        arguments = ("--roots.eye_diseases", root, "--longest_side", "64")
        assert curate(config, tmp_path / "kept", *arguments) == 0
        assert f"listed in {tmp_path / 'kept' / 'dropped.csv'}" in capsys.readouterr().out
        assert curate(config, tmp_path / "strict", *arguments, "--strict") == 2
        assert "strict=True" in capsys.readouterr().err
        listed = [(tmp_path / name / "dropped.csv").read_text().splitlines() for name in ("kept", "strict")]
        assert ["broken.jpg" in lines[1] and len(lines) == 2 for lines in listed] == [True, True]
        assert not (tmp_path / "strict" / "records").exists(), "as the help of --strict says"
        assert curate(config, tmp_path / "strict", *arguments) == 0, "without it, the same folder is finished"
        assert read_records(tmp_path / "strict" / "records") == read_records(tmp_path / "kept" / "records")
    finally:
        broken.unlink()


@pytest.fixture
def refuge(raw: Path, tmp_path: Path) -> Path:
    """A copy of the refuge phantoms without the masks of the validation part."""
    root = shutil.copytree(raw / "REFUGE", tmp_path / "REFUGE")
    shutil.rmtree(root / "REFUGE-Validation400-GT" / "Disc_Cup_Masks")
    return root


def test_what_is_missing_is_said_and_what_was_looked_at_may_pass(
    refuge: Path,
    config: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    config.write_text(config.read_text().replace(f"{__name__}.Diagnosis", "lmod_train.tasks.glaucoma.Glaucoma"))
    out, listing = tmp_path / "out", tmp_path / "out" / "dropped.csv"
    typed = ["curate", "--config", str(config), "--raw", str(refuge), "--out", str(out), "--strict"]
    monkeypatch.setattr("sys.argv", ["lmod_train", *typed])
    assert cli.main(typed) == 2
    said = capsys.readouterr()
    assert "missing of refuge: mask of val (none of 3 has one)" in said.out
    assert f"dropped of refuge: 0 gone, 1 in part (missing mask 1); listed in {listing}" in said.out
    assert listing.read_text().splitlines()[1].startswith("refuge,val,REFUGE-Validation400/")
    copy, again = (
        command.removeprefix("python -m lmod_train ") for command in re.findall("`((?:cp|python) .*?)`", said.err)
    )
    assert subprocess.run(shlex.split(copy), check=False).returncode == 0
    assert cli.main(shlex.split(again)) == 0, "the command that the error printed"
    assert read_manifest(out)["dropped_extents"] == {"refuge": {"gone": 0, "part": 1}}
    assert read_records(out / "records")
    assert cli.main(shlex.split(again)) == 0 and cli.main(typed) == 2, "a finished folder is held to the same"
    capsys.readouterr()
    next(refuge.rglob("T0001.bmp")).unlink()
    other = shlex.join([*typed[:-2], str(tmp_path / "other"), *shlex.split(again)[-3:]])
    assert cli.main(shlex.split(other)) == 2, "a drop that nobody accepted"
    assert "refuge read missing mask: 1" in capsys.readouterr().err
    shutil.rmtree(refuge / "REFUGE-Validation400")
    (tmp_path / "two.csv").write_text(
        "source;key;reason\nrefuge;test/T0001;missing mask\nrefuge;val;missing split\nrefuge;val;missing mask\n"
    )
    mended = [*shlex.split(other)[:-1], str(tmp_path / "two.csv")]
    mended[mended.index("--out") + 1] = str(tmp_path / "third")
    assert cli.main(mended) == 0
    assert "but no longer dropped: refuge, val, missing mask" in capsys.readouterr().out


def test_accept_needs_strict_and_a_file_that_can_be_read(
    raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert curate(config, tmp_path / "out", "--raw", raw, "--accept", tmp_path / "none.csv") == 2
    assert "add `--strict`" in capsys.readouterr().err
    assert curate(config, tmp_path / "out", "--raw", raw, "--strict", "--accept", tmp_path / "none.csv") == 2
    said = capsys.readouterr().err
    assert "accept=" in said and "none.csv" in said and not (tmp_path / "out").exists()


def test_sources_that_are_not_there_and_folders_that_are_none_are_listed(
    raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    copy = shutil.copytree(raw, tmp_path / "raw")
    for photographs in ("REFUGE-Training400", "REFUGE-Validation400", "REFUGE-Test400"):
        shutil.rmtree(copy / "REFUGE" / photographs)
    assert curate(config, tmp_path / "all", "--raw", copy) == 0
    rows = [line.split(",")[:5] for line in (tmp_path / "all" / "dropped.csv").read_text().splitlines()[1:]]
    assert rows == [
        ["raw", "holiday", "holiday", "read", "folder not used"],
        ["refuge", "all", ".", "read", "missing folder"],
    ]
    assert "missing of refuge: folder of all (source 'refuge': every photograph" in capsys.readouterr().out
    config.write_text(
        config.read_text()
        + "sources:\n"
        + "".join(
            f"- class_path: lmod_train.data.sources.{path}\n" for path in ("eye_diseases.EyeDiseases", "idrid.Idrid")
        )
    )
    assert curate(config, tmp_path / "some", "--raw", copy) == 0
    rows = [line.split(",")[:5] for line in (tmp_path / "some" / "dropped.csv").read_text().splitlines()[1:]]
    assert rows == [["idrid", "all", ".", "read", "missing folder"]]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["--raw=None", "--roots.SOURCE PATH"]),
        (["--raw", "nowhere"], ["raw='nowhere'", "an existing folder"]),
        (["--roots.refug", "x"], ["--roots.refug='x'", "refuge"]),
        (["--roots.refuge", "x"], ["'refuge'", "Expected one of these layouts"]),
        (["--rawr", "x"], ["--rawr", "did you mean --raw?"]),
        (["--raw", ".", "--split_by", "eye"], ["split_by", "eye"]),
    ],
)
def test_what_cannot_be_curated_is_answered_with_its_cure(
    arguments: list[str], parts: list[str], config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    try:
        status: object = curate(config, tmp_path / "curated", *arguments)
    except SystemExit as stop:
        status = stop.code
    error = capsys.readouterr().err
    assert status == 2
    assert all(part in error for part in [*parts, "\nNext: "]), error


def test_a_folder_without_sources_is_said_to_have_none(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    assert curate(config, tmp_path / "curated", "--raw", tmp_path / "empty") == 2
    assert "no known source was recognised" in capsys.readouterr().err


def test_the_command_that_was_typed_is_in_the_manifest(
    raw: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    typed = ["curate", "--config", str(config), "--raw", str(raw), "--out", str(tmp_path / "a folder")]
    monkeypatch.setattr("sys.argv", ["lmod_train", *typed, "--longest_side", "64"])
    assert cli.main() == 0
    command = read_manifest(tmp_path / "a folder")["command"]
    assert shlex.split(command) == ["python", "-m", "lmod_train", *typed, "--longest_side", "64"]


def test_what_the_command_presets_is_what_the_pipeline_presets():
    parameters = inspect.signature(curation.curate).parameters
    assert parameters["strict"].default is Refusal().strict
    assert BoxFilter(parameters["box_quantity"].default, parameters["box_threshold"].default) == BoxFilter()


def test_a_folder_that_another_process_writes_is_not_touched(
    raw: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    other = hold(tmp_path / "out")
    assert curate(config, tmp_path / "out", "--raw", raw) == 2
    error = capsys.readouterr().err
    assert f"process {other.pid} on" in error and "`--out DIR`" in error
    assert [f.name for f in (tmp_path / "out").iterdir()] == [".lock"]
    end(other)
    assert curate(config, tmp_path / "out", "--raw", raw) == 0
    assert not (tmp_path / "out" / ".lock").exists()
