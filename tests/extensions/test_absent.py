"""Records of an extension that is not here are counted with its name; the other tasks of a folder are used."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import read_records, write_records, write_run_records
from lmod_train.core.artifacts.replies import reply_line
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, ExtensionMissing
from lmod_train.data.datamodules.folder_tasks import rebuilt_tasks
from lmod_train.tasks.building import build, tasks_asked, tasks_here
from tests.extensions.test_taken_away import copied, run
from tests.report.make import records
from tests.report.make import run as write_run

LENS, GONE = "lmod_train.extensions.lenses.tasks.Lens", "need the extension lenses, which is not here"
QUIET = ["--trainer.logger", "false", "--trainer.enable_progress_bar", "false", "--data.split", "all"]


def moved(run: Path, *tasks: str) -> Path:
    """Write a run whose tasks are of an extension that is not here."""
    write_run(run, 0.8)
    said = [replace(p, reply=replace(p.reply, asked=f"asked {p.record.id}")) for p in read_predictions(run / FILE)]
    said = [replace(p, record=replace(p.record, task_class=LENS)) if p.record.task in tasks else p for p in said]
    write_predictions(run / FILE, said)
    write_run_records(run / "records.parquet", [p.record for p in said], {p.record.id: p.reply.asked for p in said})
    (run / "replies").mkdir()
    (run / "replies" / "rank-0.jsonl").write_text("".join(reply_line(p.reply) for p in said))
    return run


FILE, EVERY = "predictions.parquet", ("anatomy", "four_way", "glaucoma")


def test_records_are_counted_by_task_and_the_others_are_left():
    asked = [replace(r, task_class=LENS) if r.task == "glaucoma" else r for r in records(5)]
    tasks, lost = tasks_here(asked)
    assert [task.name for task in tasks] == ["four_way", "anatomy"]
    assert lost == {"glaucoma": f"5 records of task glaucoma {GONE}"}
    every = [replace(r, task_class=LENS) for r in asked]
    with pytest.raises(ExtensionMissing, match=f"5 records of task four_way {GONE}; .*glaucoma.*; .*anatomy"):
        tasks_asked(every)
    one = tasks_here([r for r in every if r.task == "anatomy"][:1])
    assert one == ([], {"anatomy": "1 record of task anatomy needs the extension lenses, which is not here"})


PROBE = "lmod_train.tasks.probe.Probe"


def test_a_task_of_the_main_path_may_hold_one_of_an_extension():
    """A probe of it; one of another task is used."""
    glaucoma = {"class_path": "lmod_train.tasks.glaucoma.Glaucoma"}
    probed = [replace(r, task="glaucoma_probe", task_class=PROBE) for r in records(3) if r.task == "glaucoma"]
    lens = [replace(r, task="lens_probe") for r in probed]
    configured = [(PROBE, {"of": of, "kinds": ["none"]}) for of in ({"class_path": LENS}, glaucoma)]
    for order in (configured, configured[::-1]):
        tasks, lost = tasks_here([*probed, *lens], order)
        assert [task.name for task in tasks] == ["glaucoma_probe"]
        assert lost == {"lens_probe": f"3 records of task lens_probe {GONE}"}
    with pytest.raises(BadArgument, match="lens_probe"):
        tasks_here(lens, configured[1:])
    with pytest.raises(ExtensionMissing, match=f"{LENS}' needs the extension lenses"):
        build(PROBE, {"of": {"class_path": LENS}, "kinds": ["none"]})


def test_rescore_and_report_go_on_with_the_other_tasks(tmp_path, capsys):
    run = moved(tmp_path / "run", "glaucoma")
    assert cli.main(["report", str(run), "--out", str(tmp_path / "report")]) == 0
    line = f"24 records of task glaucoma {GONE}"
    assert capsys.readouterr().out.count(line) == 1
    assert line in (tmp_path / "report" / "index.html").read_text()
    assert cli.main(["rescore", str(run)]) == 0
    assert f"left out: {line}\n" in capsys.readouterr().out
    assert {score.task for *_, score in read_scores(run / "scores.csv")} == {"anatomy", "four_way"}
    assert (run / "replies" / "rank-0.jsonl").read_text().count("\n") == 72  # what cannot be made again is kept


def test_rescore_and_report_of_nothing_else_are_refused_with_the_sentence(tmp_path, capsys):
    run = moved(tmp_path / "run", *EVERY)
    for words in (["report", str(run), "--out", str(tmp_path / "report")], ["rescore", str(run)]):
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: 24 records of task four_way {GONE}") and "\nNext: use an installation" in said


def test_the_settings_of_a_folder_may_name_it_within_another_task(curated, tmp_path):
    shutil.copytree(curated, tmp_path / "c")
    manifest = read_manifest(curated)
    lens = {"class": PROBE, "settings": {"of": {"class": LENS, "settings": {}}, "kinds": ["none"]}}
    manifest["settings"]["tasks"]["glaucoma/en"] = lens
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest))
    assert list(rebuilt_tasks(tmp_path / "c")) == ["anatomy", "four_way"]
    with pytest.raises(ExtensionMissing, match=f"records of task glaucoma {GONE}"):
        rebuilt_tasks(tmp_path / "c", ["anatomy", "glaucoma"])


def asked(curated: Path, out: Path, *tasks: str) -> Path:
    """Copy a curated folder, some of whose tasks are of an extension that is not here."""
    shutil.copytree(curated, out)
    manifest = read_manifest(out)
    for task in tasks:
        manifest["settings"]["tasks"][f"{task}/en"]["class"] = LENS
        file = out / "records" / f"{task}.parquet"
        own = [replace(r, task_class=LENS) for r in read_records(file)]
        file.unlink()
        write_records(file, own)
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out


def test_validate_goes_on_with_the_other_tasks(curated, tmp_path, capsys, caplog):
    folder, run = asked(curated, tmp_path / "c", "glaucoma"), tmp_path / "run"
    n = len(read_records(folder / "records" / "glaucoma.parquet"))
    line = f"{n} records of task glaucoma {GONE}"
    assert cli.main(["validate", "--config", "scripted", "--data.curated", str(folder), "--run", str(run), *QUIET]) == 0
    said = capsys.readouterr()
    assert f"left out: {line}" in said.out + said.err + caplog.text
    assert {score.task for *_, score in read_scores(run / "scores.csv")} == {"anatomy", "four_way"}
    assert list(rebuilt_tasks(folder)) == ["anatomy", "four_way"]
    for named in (["glaucoma"], ["anatomy", "glaucoma"]):
        with pytest.raises(ExtensionMissing, match=line):
            rebuilt_tasks(folder, named)


def test_validate_of_nothing_else_is_refused_with_the_sentence(curated, tmp_path, capsys):
    folder = asked(curated, tmp_path / "c", *EVERY)
    words = ["validate", "--config", "scripted", "--data.curated", str(folder), "--run", str(tmp_path / "run"), *QUIET]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count(GONE) == 3 and not (tmp_path / "run").exists()


MIXED = """protocol: mixed
sources: [configs/source/xpcr.yaml, configs/source/refuge.yaml]
tasks: [configs/task/chain.yaml, configs/task/glaucoma.yaml]
"""


@pytest.mark.slow
def test_folders_of_xpcr_where_its_folder_is_gone(tmp_path):
    """Curated and asked by the whole package, read by one without `lmod_train/extensions/xpcr`."""
    validate = f"validate --config scripted {' '.join(QUIET)} --data.curated"
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "mixed.yaml").write_text(MIXED)
    whole = copied(
        tmp_path / "whole",
        [],
        [
            "phantom --out raw --n 8 --sources xpcr,refuge",
            "curate --config xpcr --raw raw --out alone",
            "curate --config mixed.yaml --raw raw --out mixed",
            *(f"{validate} {name} --run {name}-run" for name in ("alone", "mixed")),
        ],
    )
    run([whole])
    assert {line[0] for line in (whole / "statuses").read_text().splitlines()} == {"0"}
    alone, mixed = whole / "alone", whole / "mixed"
    n, m = (len(read_records(folder / "records" / "chain.parquet")) for folder in (alone, mixed))
    commands = {
        f"{validate} {alone} --run again": (2, n),
        f"{validate} {mixed} --run others": (0, m),
        f"report {alone}-run --out nothing": (2, n),
        f"report {mixed}-run --out report": (0, m),
        f"rescore {alone}-run": (2, n),
        f"rescore {mixed}-run": (0, m),
        f"export {mixed} --to llava --out exported --for_own_use": (0, 0),
    }
    gone = copied(tmp_path / "gone", ["xpcr"], list(commands))
    run([gone])
    printed = (gone / "printed").read_text().split("$ ")[1:]
    found = [int(line.partition("\t")[0]) for line in (gone / "statuses").read_text().splitlines()]
    assert found == [status for status, _ in commands.values()], (gone / "printed").read_text()[-4000:]
    for part, (_, count) in zip(printed, commands.values(), strict=True):
        line = f"{count} records of task chain need the extension xpcr, which is not here"
        assert part.count(line) == (count > 0) and "Traceback" not in part, part
