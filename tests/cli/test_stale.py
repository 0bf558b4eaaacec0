"""The same command typed again: what has changed is asked again, and nothing else; by the real `validate`."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from lmod_train import __version__, cli
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, read_run_column, read_run_records, write_records
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.files import sha256_of
from lmod_train.core.shipped import configs_folder
from tests.tiny import write_tiny

CONFIG = configs_folder() / "zero_shot.yaml"
BACKEND = "--model.init_args.backend.init_args"


def validate(folder: Path, *more: str) -> int:
    task = str(configs_folder() / "task" / "glaucoma.yaml")
    data = [
        "--data.curated",
        str(folder / "curated"),
        "--data.tasks",
        f"[{task}]",
        "--data.split",
        "all",
        "--data.limit",
        "3",
    ]
    model = [f"{BACKEND}.checkpoint", str(folder / "model"), f"{BACKEND}.max_new_tokens", "2"]
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
    return cli.main(["validate", "--config", str(CONFIG), *data, *model, *quiet, "--run", str(folder / "run"), *more])


@pytest.fixture(scope="module")
def first(curated, tmp_path_factory):
    """A curated folder, a model, and a run of three questions."""
    folder = tmp_path_factory.mktemp("first")
    shutil.copytree(curated, folder / "curated")
    (folder / "model").mkdir()
    write_tiny(folder / "model")
    assert validate(folder) == 0
    return folder


@pytest.fixture
def again(first, tmp_path, monkeypatch):
    """The same under another path, and the command typed there, which must not read what was settled elsewhere."""
    shutil.copytree(first, tmp_path / "again")
    config = tmp_path / "again" / "run" / "config.yaml"
    config.write_text(config.read_text().replace(str(first), str(tmp_path / "again")))
    return tmp_path / "again"


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "run" / "replies" / "rank-0.jsonl").read_text().splitlines()]


def change(folder: Path, **fields) -> None:
    """Write every glaucoma record anew, with other fields where the record is of the split val."""
    file = folder / "curated" / "records" / "glaucoma.parquet"
    write_records(file, [replace(r, **{k: f(r) for k, f in fields.items()}) for r in read_records(file)])


def words(record):
    (turn,) = record.messages
    image, text = turn.parts
    return (replace(turn, parts=(image, replace(text, text=text.text + " Please."))),)


def template(folder: Path) -> None:
    file = folder / "model" / "chat_template.jinja"
    file.write_text("Hello. " + file.read_text())


def weights(folder: Path) -> None:
    size = (folder / "model" / "model.safetensors").stat().st_size
    write_tiny(folder / "model", seed=1)
    assert (folder / "model" / "model.safetensors").stat().st_size == size


CHANGES = {
    "words": lambda folder: change(folder, messages=words),
    "image": lambda folder: change(folder, image_sha256=lambda r: ("f" * 64,)),
    "choices": lambda folder: change(folder, choices=lambda r: r.choices[::-1]),
    "weights": weights,
    "template": template,
    "settings": lambda folder: (folder / "run" / "config.yaml").unlink(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_has_changed_is_asked_again_and_scored_alone(again, what, capsys, caplog):
    CHANGES[what](again)
    before = lines(again)
    if what == "weights":  # nothing is asked yet: the replies are still those of the old weights
        assert cli.main(["rescore", str(again / "run")]) == 0
    assert validate(again, *([f"{BACKEND}.max_new_tokens", "3"] if what == "settings" else [])) == 0
    said = capsys.readouterr()
    assert "asked again, and the old lines kept: 3 replies to other words" in caplog.text
    assert "left out: 3 outdated replies" in said.out
    after = lines(again)
    assert after[:3] == before and len(after) == 6
    today = read_run_column(again / "run" / "records.parquet", "asked")
    assert {line["id"]: line["asked"] for line in after[3:]} == today
    assert not set(today.values()) & {line["asked"] for line in before}
    assert [p.reply.asked for p in read_predictions(again / "run" / "predictions.parquet")] == list(today.values())
    if what in ("words", "settings"):  # one of the records, and one of the model
        assert validate(again, *([f"{BACKEND}.max_new_tokens", "3"] if what == "settings" else [])) == 0
        assert lines(again) == after, "nothing is asked a third time"


def test_where_nothing_has_changed_nothing_is_asked_and_nothing_said(again, capsys, caplog):
    before = lines(again)
    assert len(before) == 3 and all(len(line["asked"]) == 64 for line in before)
    assert validate(again) == 0
    said = capsys.readouterr()
    assert lines(again) == before
    assert not any(word in caplog.text + said.out for word in ("asked again", "left out: ", "scored again"))


def test_another_truth_alone_is_scored_anew_and_said(again, caplog):
    other = {"GLAUCOMA": "NON-GLAUCOMA", "NON-GLAUCOMA": "GLAUCOMA"}
    before = {(s.task, s.metric): s.value for *_, s in read_scores(again / "run" / "scores.csv") if s.subset == "all"}
    change(again, answer=lambda r: other[r.answer], task_version=lambda r: 7)
    saved = lines(again)
    assert validate(again) == 0
    assert lines(again) == saved
    assert "3 of 3 reference answers have changed; stored replies are scored again" in caplog.text
    assert {r.answer for r in read_run_records(again / "run" / "records.parquet")} <= set(other)
    after = {(s.task, s.metric): s.value for *_, s in read_scores(again / "run" / "scores.csv") if s.subset == "all"}
    shares = [after["glaucoma", "majority"], before["glaucoma", "majority"]]
    assert after.keys() == before.keys() and shares[0] == shares[1]
    assert [p.record.answer for p in read_predictions(again / "run" / "predictions.parquet")] == [
        r.answer for r in read_run_records(again / "run" / "records.parquet")
    ]


def test_a_run_of_another_version_is_asked_by_the_command_that_its_refusal_names(again, capsys):
    run, before = again / "run", lines(again)
    for name in ("records.parquet", "predictions.parquet"):
        table = pq.read_table(run / name)
        pq.write_table(table.replace_schema_metadata({"lmod_train.schema": "2"}), run / name)
    cure = f"Next: `python -m lmod_train validate --config CONFIG --run {run}` rewrites it and keeps the replies"
    for command in (["rescore", str(run)], ["report", str(run), "--out", str(again / "page")]):
        assert cli.main(command) == 2
        assert capsys.readouterr().err.endswith(f"schema version 2, expected 4\n{cure}\n")
    assert validate(again) == 0 and lines(again) == before
    assert cli.main(["rescore", str(run)]) == 0


def test_replies_that_do_not_say_what_was_asked_do_not_count_and_are_asked_again(again, capsys, caplog):
    file = again / "run" / "replies" / "rank-0.jsonl"
    bare = [{k: v for k, v in line.items() if k != "asked"} for line in lines(again)]
    file.write_text("".join(json.dumps(line) + "\n" for line in bare))
    assert cli.main(["rescore", str(again / "run")]) == 2
    assert "no reply to any of the 3 records (3 saved replies are outdated)" in capsys.readouterr().err
    assert validate(again) == 0 and len(lines(again)) == 6


def test_failed_replies_are_asked_again_and_a_torn_one_too(again, caplog):
    file = again / "run" / "replies" / "rank-0.jsonl"
    kept, failed, torn = lines(again)
    text = json.dumps(kept) + "\n" + json.dumps({**failed, "reply": "", "error": "timeout"}) + "\n"
    file.write_text(text + json.dumps(torn)[:40])
    assert validate(again) == 0
    assert "asked again, and the old lines kept: 1 failed requests" in caplog.text
    assert [line["id"] for line in lines(again)] == [kept["id"], failed["id"], torn["id"], failed["id"]]
    statuses = [p.status for p in read_predictions(again / "run" / "predictions.parquet")]
    assert "failed" not in statuses and len(statuses) == 3


def test_lines_of_another_run_do_not_count_though_their_ids_are_the_same(again, tmp_path):
    """Two folders merged by hand: the other run was of another model."""
    before = read_predictions(again / "run" / "predictions.parquet")
    other = [{**line, "asked": "e" * 64, "reply": "GLAUCOMA", "step": 9} for line in lines(again)]
    (again / "run" / "replies" / "rank-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in other))
    assert cli.main(["rescore", str(again / "run")]) == 0
    assert read_predictions(again / "run" / "predictions.parquet") == before


def test_the_config_says_what_made_the_run(again):
    said = yaml.safe_load((again / "run" / "config.yaml").read_text())
    files = {f.name: sha256_of(f) for f in (again / "model").iterdir() if f.suffix in (".json", ".safetensors")}
    weights = {f"model/{name}": files[name] for name in ("config.json", "model.safetensors")}
    assert said["provenance"]["weights"] == weights and said["provenance"]["lmod_train"] == __version__


def test_the_config_of_a_run_starts_another(again):
    assert cli.main(["validate", "--config", str(again / "run" / "config.yaml"), "--run", str(again / "other")]) == 0
    one, other = (yaml.safe_load((again / run / "config.yaml").read_text()) for run in ("run", "other"))
    assert one["provenance"] == other["provenance"]
    one, other = (read_run_column(again / run / "records.parquet", "asked") for run in ("run", "other"))
    assert one == other


@pytest.mark.slow
def test_of_two_processes_one_asks_and_a_killed_one_is_continued_without_asking_twice(first, tmp_path):
    """Real processes of the real command: two at once, SIGKILL between replies, and the same command again."""
    shutil.copytree(first, tmp_path / "place", ignore=shutil.ignore_patterns("run"))
    task = str(configs_folder() / "task" / "glaucoma.yaml")
    data = [
        "--data.curated",
        "curated",
        "--data.tasks",
        f"[{task}]",
        "--data.split",
        "all",
        "--data.eval_batch_size",
        "1",
    ]
    model = [f"{BACKEND}.checkpoint", "model", f"{BACKEND}.max_new_tokens", "300"]
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false", "--run", "run"]
    command = [sys.executable, "-m", "lmod_train", "validate", "--config", str(CONFIG), *data, *model, *quiet]
    start = partial(subprocess.Popen, command, cwd=tmp_path / "place", stderr=subprocess.PIPE, text=True)
    replies = tmp_path / "place" / "run" / "replies" / "rank-0.jsonl"

    one, two = start(), start()
    while one.poll() is None and two.poll() is None:
        time.sleep(0.01)
    first_in, second = (one, two) if one.poll() is None else (two, one)
    said = second.communicate()[1]
    assert second.returncode == 2 and f"process {first_in.pid} on" in said
    while not (replies.exists() and replies.read_bytes().count(b"\n") > 2):
        time.sleep(0.01)
    first_in.kill()
    first_in.communicate()
    before = replies.read_bytes()
    again = start()
    again.communicate()
    assert again.returncode == 0
    asked = read_run_column(tmp_path / "place" / "run" / "records.parquet", "asked")
    lines = [json.loads(line) for line in replies.read_text().splitlines()]
    assert replies.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert 2 < before.count(b"\n") < len(asked) == 10
    assert sorted(line["id"] for line in lines) == sorted(asked) and not (replies.parent.parent / ".lock").exists()
