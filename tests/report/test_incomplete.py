"""What a run may lack: the report is written, and says what is shown without it."""

import json
import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
import yaml

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.errors import ArtifactError, BadArgument, Untrusted
from lmod_train.report.incomplete import incomplete
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.section import shipped_sections
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.sections.scores import Scores
from lmod_train.tasks.rescore import rescore
from tests.report.make import curate, run
from tests.tabled import stored


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    place = curate(root / "curated")
    return run(root / "good", 0.9, curated=place, seed=1), run(root / "other", 0.6, curated=place, seed=2), place


@pytest.fixture
def runs(kept, tmp_path):
    """Two whole runs, to be changed."""
    return [shutil.copytree(path, tmp_path / path.name) for path in kept[:2]]


def remarks(*runs, **options):
    return list(incomplete(read_results(runs, **options)))


def test_of_whole_runs_nothing_is_said(runs):
    assert remarks(*runs) == []


def test_a_run_half_done_states_how_many_replies_it_has(runs):
    write_predictions(runs[0] / "predictions.parquet", read_predictions(runs[0] / "predictions.parquet")[:30])
    assert remarks(runs[0]) == [
        "base is incomplete: 30 of 72 records have a reply, 42 not asked; scores are over these replies (the same "
        "command asks the rest)"
    ]


def test_a_run_with_failed_requests_is_incomplete_and_its_page_lists_them(runs, tmp_path):
    """After a rescore, as `validate` does, the headline has the counts, and no score contains what failed."""
    before = read_results([runs[0]]).runs[0]
    file = runs[0] / "predictions.parquet"
    kept = read_predictions(file)
    lost = [replace(p.reply, reply="", finish_reason="error", error="HTTP 500") for p in kept[:5]]
    write_run_records(runs[0] / "records.parquet", [p.record for p in kept], {p.record.id: "x" for p in kept})
    replies = [*lost, *(p.reply for p in kept[5:70])]
    ReplyFile(runs[0] / "replies" / "rank-0.jsonl").append([replace(reply, asked="x") for reply in replies])
    lines = rescore(runs[0])
    assert f"{runs[0]}: 65 of 72 records have a reply, 5 failed, 2 not asked" in lines
    missing = "incomplete: 5 requests failed (5 with 'HTTP 500') and 2 records were not asked; the command"
    assert any(line.startswith(missing) for line in lines)
    found = read_results([runs[0]])
    assert not found.runs[0].complete() and before.complete()
    assert sum(map(len, found.items["base"].values())) == 65 and len(found.outcomes["base"].failed) == 5
    assert "65 of 72 records have a reply, 5 failed, 2 not asked" in remarks(runs[0])[0]
    printed = []
    write_report([runs[0]], tmp_path / "out", sections=[Scores()], log=printed.append)
    assert "| replied | failed | not asked | warnings" in printed[1] and "incomplete" in printed[1]
    assert "Not all questions have a reply: base." in printed[0]
    assert "HTTP 500" in "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.suffix in (".html", ".js"))


def test_seeds_of_other_records_and_checkpoints_of_other_seeds_are_named(kept, tmp_path):
    for seed in range(3):
        shutil.copytree(kept[0], tmp_path / "S" / f"seed_{seed}")
    file = tmp_path / "S" / "seed_1" / "predictions.parquet"
    first, *rest = read_predictions(file)
    write_predictions(file, [replace(first, record=replace(first.record, image_sha256=("0" * 64,))), *rest[1:]])
    config = tmp_path / "S" / "seed_2" / "config.yaml"
    config.write_text(config.read_text() + "weights: FIT/seed_0/checkpoints/best.ckpt\n")
    said = remarks(*(tmp_path / "S" / f"seed_{seed}" for seed in range(3)))
    other = [line for line in said if "not of the training alone" in line]
    assert len(other) == 1 and "seed_1" in other[0]
    assert "(1 are missing or have no reply, 1 have other images, words or truths)" in other[0]
    assert [line for line in said if "by the checkpoint of seed_0" in line and "than seed_2" in line]
    config.write_text(config.read_text().replace("seed_0", "seed_2"))
    assert not [line for line in remarks(tmp_path / "S" / "seed_2") if "by the checkpoint" in line]


def test_a_run_without_configuration_is_shown(runs):
    (runs[0] / "config.yaml").unlink()
    assert remarks(runs[0]) == ["base: there is no config.yaml: its weights, settings and curated folder are not known"]


def other_schema(path):
    """Write the predictions as of schema version 9."""
    file = path / "predictions.parquet"
    table = pq.read_table(file)
    pq.write_table(table.replace_schema_metadata({b"lmod_train.schema": b"9"}), file)


def test_a_run_of_another_schema_is_left_out_beside_others(runs, tmp_path):
    other_schema(runs[1])
    found = read_results(runs)
    assert [run.run for run in found.runs] == ["good"]
    assert [line for line in incomplete(found) if line.startswith("other is left out: it is of another schema version")]
    with pytest.raises(ArtifactError, match="is of schema version 9, expected 4"):
        read_results(runs[1:])


def other_task(path, task="glaucoma", kind="lmod_train.tasks.gone.Gone"):
    rows = read_predictions(path / "predictions.parquet")
    facts = {"task_class": kind}
    changed = [replace(p, record=replace(p.record, **facts)) if p.record.task == task else p for p in rows]
    write_predictions(path / "predictions.parquet", changed)


def test_replies_of_a_task_that_is_left_out_are_not_missing(runs):
    other_task(runs[0])
    assert not [line for line in remarks(runs[0]) if "have a reply" in line]


def test_a_task_that_is_not_installed_is_left_out_beside_others(runs, tmp_path):
    other_task(runs[0])
    found = read_results(runs)
    assert [set(run.tasks()) for run in found.runs] == [{"anatomy", "four_way"}, {"anatomy", "four_way", "glaucoma"}]
    assert {p.record.task for p in found.outcomes["base (good)"].predictions} == {"anatomy", "four_way"}
    (line,) = [line for line in incomplete(found) if "left out" in line]
    assert line.startswith(
        "base (good): glaucoma is left out, as its task cannot be used: task_class='lmod_train.tasks"
    )
    assert write_report(runs, tmp_path / "out", sections=[Metrics()]).exists()


def test_a_module_that_is_nowhere_is_left_out_and_one_that_is_installed_asks_for_trust(runs):
    other_task(runs[0], kind="nowhere_at_all.Task")
    assert [line for line in remarks(runs[0]) if "glaucoma is left out" in line]
    other_task(runs[0], kind="yaml.Task")
    with pytest.raises(Untrusted):
        read_results(runs[:1])


def test_a_run_with_no_task_that_is_installed_is_an_error(runs):
    for task in ("glaucoma", "four_way", "anatomy"):
        other_task(runs[0], task)
    with pytest.raises(BadArgument, match="task_class"):
        read_results(runs)


def test_runs_with_the_same_replies_are_named_once_together(runs, tmp_path):
    copy = shutil.copytree(runs[0], tmp_path / "copy")
    line = "base (good) and base (copy) have the same 72 replies: one may be a copy of the other"
    assert remarks(runs[0], copy, runs[1]) == [line]
    third = shutil.copytree(runs[0], tmp_path / "third")
    (line,) = remarks(runs[0], runs[1], third, copy)
    assert line.startswith("base (good), base (third) and base (copy) have the same 72 replies: they may be copies")


def test_images_that_are_gone_are_counted(runs, kept, tmp_path):
    place = shutil.copytree(kept[2], tmp_path / "curated")
    (place / "images" / "phantoms" / "3.jpg").unlink()
    cure = "(name the folder with `--curated CURATED`)"
    assert remarks(runs[0], curated=place) == [f"base: 1 of 24 images are not in the curated folder {cure}"]
    (runs[0] / "config.yaml").write_text(yaml.safe_dump({"data": {"curated": str(tmp_path / "gone")}}))
    assert remarks(runs[0]) == [f"base: its curated folder is gone: images, licences and leaks are not shown {cure}"]


@pytest.mark.parametrize(
    ("manifest", "problem"),
    stored(__file__, "incomplete.a_manifest_that_says_nothing_is_stated"),
)
def test_a_manifest_that_says_nothing_is_stated(manifest, problem, runs, kept, tmp_path):
    place = shutil.copytree(kept[2], tmp_path / "curated")
    (place / "manifest.json").write_text(json.dumps(manifest))
    (line,) = remarks(runs[0], curated=place)
    assert problem in line


def test_replies_of_a_megabyte_are_reported(runs, tmp_path):
    rows = read_predictions(runs[0] / "predictions.parquet")
    long = [replace(p, reply=replace(p.reply, reply="=1+1 <b>\n" * 120_000)) for p in rows[:2]]
    write_predictions(runs[0] / "predictions.parquet", [*long, *rows[2:]])
    assert write_report(runs[:1], tmp_path / "out", sections=[Metrics()]).exists()
    assert remarks(runs[0]) == []


def test_everything_at_once_is_still_a_report_with_every_section(runs, kept, tmp_path):
    """A run without configuration, half done, with a task that is not installed, beside one of another schema."""
    other_task(runs[0])
    rows = read_predictions(runs[0] / "predictions.parquet")
    write_predictions(runs[0] / "predictions.parquet", rows[::3])
    (runs[0] / "config.yaml").unlink()
    other_schema(runs[1])
    said = []
    write_report(runs, tmp_path / "out", sections=shipped_sections(), log=said.append)
    assert sum("left out" in line for line in said) == 2 and any("records have a reply" in line for line in said)
    assert not [line for line in said if str(tmp_path) in line]


@pytest.mark.parametrize("swapped", [0, 1])
def test_records_of_one_id_and_other_truths_are_named(swapped, runs):
    words = ("GLAUCOMA", "NON-GLAUCOMA")
    file = runs[swapped] / "predictions.parquet"
    other = dict(zip(words, reversed(words), strict=True))
    rows = read_predictions(file)
    write_predictions(
        file, [replace(p, record=replace(p.record, answer=other.get(p.record.answer, p.record.answer))) for p in rows]
    )
    (remark,) = remarks(*runs)
    assert remark.startswith("base (other): 24 records of glaucoma have another truth than in base (good): ")


def test_records_of_other_patients_in_another_run_are_named(runs):
    file = runs[1] / "predictions.parquet"
    first, *rest = read_predictions(file)
    write_predictions(file, [replace(first, record=replace(first.record, group="another")), *rest])
    (said,) = [line for line in remarks(*runs) if "other patients" in line]
    assert said.split(":")[1].strip().startswith("1 records belong to other patients than in base")
