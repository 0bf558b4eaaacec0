import json
from dataclasses import replace

import pytest
import yaml

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Unparsed
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import Scores
from lmod_train.report.warned import warned, warnings_table
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.headline import headline_rows
from lmod_train.tasks.parsed_replies import scores_of
from lmod_train.tasks.staging import Staging
from tests.report.chained import chain_run, planted, results_of
from tests.report.make import classify, curate, records, run
from tests.report.probing import question, run_of, said


@pytest.fixture
def made(tmp_path):
    """A run that is always right, with its curated folder; nothing is to be warned about."""
    place = curate(tmp_path / "curated")
    write_records(place / "records" / "all.parquet", records())
    return run(tmp_path / "run", 1.0, curated=place), place


def found(path):
    results = read_results([path])
    return {(task, w.phrase) for (_, task), several in warned(results).items() for w in several}


def change(path, **facts):
    """Change records and replies of every second prediction."""
    rows = read_predictions(path / "predictions.parquet")
    reply, record = facts.get("reply", {}), facts.get("record", {})
    changed = [replace(p, reply=replace(p.reply, **reply), record=replace(p.record, **record)) for p in rows[::2]]
    write_predictions(path / "predictions.parquet", [*changed, *rows[1::2]])


ALL = {"anatomy", "four_way", "glaucoma"}


def test_a_good_run_has_no_warning_and_no_table(made):
    results = read_results([made[0]])
    assert not any(warned(results).values()) and warnings_table(results, warned(results)).rows == ()
    assert {task for _, task in warned(results)} == ALL


def test_leaks_of_the_manifest_reach_every_task(made):
    manifest = json.loads((made[1] / "manifest.json").read_text())
    manifest["leakage"] = {"counts": {"near": {"crossing_splits": 3}, "exact": {"crossing_splits": 0}}}
    (made[1] / "manifest.json").write_text(json.dumps(manifest))
    assert found(made[0]) == {(task, "leak between splits") for task in ALL}


def test_records_that_are_not_in_the_folder_are_found(made):
    write_records(made[1] / "records" / "all.parquet", records()[:30])
    assert found(made[0]) == {(task, "records of another folder") for task in ALL}
    table = warnings_table(read_results([made[0]]), warned(read_results([made[0]])))
    assert "14 of 24 records are not in the curated folder" in str(table.rows)


def test_warnings_of_the_training_reach_the_headline_table_and_older_runs_have_none(made, tmp_path):
    config = yaml.safe_load((made[0] / "config.yaml").read_text())
    for trained_on in (None, {}, "damaged", {"sources": {"a": 3}}, {"warnings": ["damaged"]}):
        (made[0] / "config.yaml").write_text(yaml.safe_dump({**config, "provenance": {"trained_on": trained_on}}))
        assert found(made[0]) == set()
    said = {"nothing learned": "the training loss never left ln 2 = 0.693\n", "other": "of a later version"}
    (made[0] / "config.yaml").write_text(yaml.safe_dump({**config, "provenance": {"trained_on": {"warnings": said}}}))
    assert found(made[0]) == {(task, "nothing learned") for task in ALL}
    write_report([made[0]], tmp_path / "out", sections=[Scores()], log=(lines := []).append)
    assert "nothing learned" in lines[0] and "never left ln 2 = 0.693" in (tmp_path / "out" / "tables.md").read_text()


def test_scores_of_earlier_replies_are_found(made, tmp_path):
    other = run(tmp_path / "other", 0.5, seed=7)
    (made[0] / "predictions.parquet").write_bytes((other / "predictions.parquet").read_bytes())
    assert {(task, "scores of other replies") for task in ALL} <= found(made[0])


@pytest.mark.parametrize("was", ["four_way,all,accuracy_strict,24,1.0", "glaucoma,all,accuracy_strict,24,1.0"])
@pytest.mark.parametrize(("place", "value"), [(-1, "0.999"), (-2, "25")])
def test_a_score_changed_by_hand_is_found(made, was, place, value):
    cells, file = was.split(","), made[0] / "scores.csv"
    cells[place] = value
    text = file.read_text()
    assert was in text
    file.write_text(text.replace(was, ",".join(cells), 1))
    assert found(made[0]) == {(cells[0], "scores of other replies")}


def test_scores_without_any_reply_are_found(made):
    file = made[0] / "predictions.parquet"
    write_predictions(file, [p for p in read_predictions(file) if p.record.task != "anatomy"])
    assert ("anatomy", "scores of other replies") in found(made[0])


@pytest.mark.parametrize("seed", range(6))
def test_scores_of_the_own_replies_are_the_same(tmp_path, seed):
    path = run(tmp_path / "run", seed / 5, seed=seed, n=7 + seed, modalities=("CFP", "OCT", "SLO")[: 1 + seed % 3])
    assert "scores of other replies" not in {phrase for _, phrase in found(path)}


def test_a_folder_that_is_gone_is_no_other_folder(made):
    (made[0] / "config.yaml").write_text(yaml.safe_dump({"data": {"curated": "/nowhere"}}))
    assert found(made[0]) == set()


def test_versions_and_settings_of_replies_are_compared(made):
    change(made[0], record={"task_version": 99})
    assert {phrase for _, phrase in found(made[0])} == {"other task version"}
    change(made[0], record={"task_version": 99}, reply={"settings": '{"temperature": 1}'})
    assert {phrase for _, phrase in found(made[0])} == {"other task version", "mixed settings"}


def test_likelihoods_of_a_part_are_found(tmp_path):
    path = classify(tmp_path / "run", 9.0, given=0.5)
    assert found(path) >= {(task, "likelihoods of a part") for task in ("glaucoma", "macular_hole_stage")}


def test_a_task_that_answers_like_chance_is_found(tmp_path):
    path = run(tmp_path / "run", 0.2, seed=5)
    assert ("glaucoma", "interval includes chance") in found(path)


def test_a_text_that_is_the_answer_of_one_patient_only_is_no_class():
    made = planted([[True] * 6] * 4)
    mine = [replace(p, record=replace(p.record, answer="gamma")) if p.record.group == "p0" else p for p in made]
    results = results_of(chain_run("one", mine))
    (several,) = warned(results).values()
    assert "one patient behind a class" not in {w.phrase for w in several}
    outcomes = replace(results.outcomes["one"], choices={"chain": ("beta", "gamma")})
    (several,) = warned(replace(results, outcomes={"one": outcomes})).values()
    assert "one patient behind a class" in {w.phrase for w in several}, "as of a task with these classes"


@pytest.mark.parametrize("right", [0, 3, 12])
def test_a_probe_that_refuses_nothing_is_not_below_the_chance_of_being_right(right):
    """Chance is an accuracy; the headline of a probe is the share of refusals."""
    asked = [said(question(case, "DD", kind="none"), case < right) for case in range(12)]
    results = results_of(run_of("probe", asked))
    (row,) = headline_rows(results.runs)
    assert (row.metric, row.value, row.chance, row.majority) == ("share_refused", 0.0, None, None)
    phrases = {w.phrase for several in warned(results).values() for w in several}
    assert not phrases & {"below chance", "interval includes chance"}


@pytest.mark.parametrize("n", [0, 7])
def test_records_of_the_training_are_warned_about_where_their_score_stands(made, n):
    glaucoma = sorted(r.id for r in records() if r.task == "glaucoma")
    assert found(made[0]) == set(), "nobody found records of a training"
    Run(made[0]).unseen.write_text("".join(f"{r.id}\n" for r in records() if r.id not in glaucoma[:n]))
    assert found(made[0]) == {("glaucoma", "trained on these records")} if n else not found(made[0])
    texts = [w.text for several in warned(read_results([made[0]])).values() for w in several]
    assert all(f"{n} of {len(glaucoma)} records" in text and str(made[0]) not in text for text in texts)


def rescore(path):
    """Write the scores of the replies as they are now."""
    rows = read_predictions(path / "predictions.parquet")
    names = {p.record.task for p in rows}
    tasks = [task for task in (FourWay(), Glaucoma(), Anatomy(), Staging("macular_hole_stage")) if task.name in names]
    write_scores(path / "scores.csv", path.name, "m", scores_of(tasks, rows))


def failed_where(path, truth):
    """Let the requests about a class of glaucoma fail."""
    rows = read_predictions(path / "predictions.parquet")
    lost = {p.record.id for p in rows if p.record.task == "glaucoma" and p.record.answer == truth}
    error = {"reply": "", "error": "500", "finish_reason": "error"}
    changed = [
        replace(p, reply=replace(p.reply, **error), answer=Unparsed("failed")) if p.record.id in lost else p
        for p in rows
    ]
    write_predictions(path / "predictions.parquet", changed)
    rescore(path)


@pytest.mark.parametrize("truth", ["GLAUCOMA", "NON-GLAUCOMA"])
def test_failed_requests_of_a_class_stand_beside_the_score(made, truth):
    failed_where(made[0], truth)
    assert ("glaucoma", "requests of a class failed") in found(made[0])
    assert ("four_way", "requests of a class failed") not in found(made[0])


def test_sources_and_splits_of_records_reach_the_warnings(made):
    change(made[0], record={"source": "refuge"})
    assert ("glaucoma", "source or camera tells the class") in found(made[0])
    change(made[0], record={"split": "train"})
    assert "records of the training split" not in dict(found(made[0])).values()
    config = {"provenance": {"trained_on": {"sources": {"refuge": 9}}}}
    Run(made[0]).config.write_text(yaml.safe_dump(config))
    assert ("glaucoma", "records of the training split") in found(made[0])


def test_likelihoods_that_rank_reach_the_warnings(tmp_path):
    path = classify(tmp_path / "run", 0.99, n=200)
    rows = read_predictions(path / "predictions.parquet")
    always = [
        replace(p, answer="NON-GLAUCOMA", reply=replace(p.reply, reply="NON-GLAUCOMA"))
        if p.record.task == "glaucoma"
        else p
        for p in rows
    ]
    write_predictions(path / "predictions.parquet", always)
    rescore(path)
    assert ("glaucoma", "likelihoods rank better") in found(path)
    (row,) = (r for r in headline_rows(read_results([path]).runs) if r.task == "glaucoma")
    assert row.balanced.value == 0.5
