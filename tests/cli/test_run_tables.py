"""A run of chains ends with tables of its stages, and the command of a run without earlier answers."""

import json
from dataclasses import replace
from pathlib import Path

from lmod_train.cli.after_run import scored
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.scoring.chain_steps import STEPS
from tests import forks
from tests.extensions.xpcr.test_other_regimes import write_run
from tests.report.chained import chain_run, planted
from tests.report.make import run as make_run


def test_a_run_of_chains_ends_with_a_line_a_stage(tmp_path: Path):
    made = planted([[(True, 0.9)] * 6, [(False, 0.9)] * 6, [(True, 0.4)] * 6])
    made = [replace(p, record=replace(p.record, task_class="lmod_train.extensions.xpcr.tasks.Chain")) for p in made]
    run, _ = chain_run("one", made)
    (tmp_path / "one").mkdir()
    write_predictions(tmp_path / "one" / "predictions.parquet", made)
    write_scores(tmp_path / "one" / "scores.csv", "one", "base", run.scores)
    said, headline, table, *_ = scored(tmp_path / "one").split("\n\n")
    assert said.startswith("Chains of questions: base answers 66.7 %") and "That is not shown to be better." in said
    assert "accuracy_strict" in headline and headline.count("\n") == 2
    shown = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert [name.split(",")[0] for name in shown[:6]] == [f"SWA {stage}" for stage in STEPS]
    assert {"CCR, complete chains", "ESA resident", "UAS, points", "ECE, 4 bins, debiased"} < set(shown)


def test_a_cascade_ends_with_what_its_context_did_or_the_command_of_a_run_without_it(tmp_path: Path):
    cascade = write_run(tmp_path / "runs" / "cas_all", {"AL": 9}, "cas_all")
    typed = ["validate", "--config", "xpcr", "--data.regime", "cas_all", "--run", str(cascade)]
    wanted = (
        f"`python -m lmod_train validate --config xpcr --data.regime independent --run {cascade.parent}/independent`"
    )
    assert wanted in scored(cascade, [], [], typed)
    stranger = write_run(tmp_path / "there" / "other", model="other")
    assert f"not compared with {stranger}: of another model" in scored(cascade, [stranger], [], typed)
    write_run(tmp_path / "runs" / "alone")
    found = scored(cascade, [], [], typed).rpartition("| compared")[2]
    (line,) = (line for line in found.splitlines() if "| AL " in line)
    assert [cell.strip() for cell in line.split("|")[1:6]] == ["cas_all - independent", "alone", "AL", "12", "-0.750"]
    assert "type `" not in found


def test_the_table_needs_no_file_of_the_report(tmp_path: Path):
    run = make_run(tmp_path / "run", 0.8)
    code = f"""import json, sys
from dataclasses import replace
from pathlib import Path
from lmod_train.cli.after_run import scored
from lmod_train.core.extension import joined
scored(Path({str(run)!r}), [], [], ["validate"])
of_options = {{"lmod_train.report.contents", "lmod_train.report.section"}}  # types of the options of `report`
loaded = {{name for name in sys.modules if name.startswith("lmod_train.report.")}} - of_options
print(json.dumps(sorted(loaded - {{path.partition(":")[0] for path in joined("rows")}})))"""
    done = forks.run(["-c", code], tmp_path)  # what was imported before is no file of the report
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])) == (0, [])
