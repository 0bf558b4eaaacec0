"""A run of chains ends with tables of its stages, and the command of a run without earlier answers."""

import shlex
from pathlib import Path

import pytest

from lmod_train.cli.run_tables import compared, in_another_regime, scored
from lmod_train.cli.shipped import by_name
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.scoring.steps import STEPS
from tests.report.chained import chain_run, planted
from tests.report.test_other_regimes import write_run

START = ["python", "-m", "lmod_train", "validate"]


def typed(run: Path, *options: str) -> list[str]:
    """Options of the printed command for a run that was made with the given ones."""
    words = shlex.split(in_another_regime(run, ["validate", *by_name("validate", options)]))
    assert words[:4] == START
    return words[4:]


def test_the_regime_and_the_folder_change_and_all_else_stays(tmp_path: Path):
    run, beside = tmp_path / "cas_all", str(tmp_path / "independent")
    kept = ["--config", "xpcr", "--model=small_base", "--data.tasks", "chain", "--data.limit", "9"]
    found = typed(run, *kept, "--data.regime", "cas_all", "--run", str(run), "--data.shard=1/2", "--against", "x")
    assert found == [*kept, "--data.regime", "independent", "--run", beside]


def test_paths_of_the_user_stay_as_typed(tmp_path: Path):
    kept = ["--config", "my own/xpcr.yaml", "--data.curated", str(tmp_path), "--model", "configs/model/scripted.yaml"]
    assert typed(tmp_path / "x", *kept, "--data.regime=oracle")[:6] == kept


@pytest.mark.parametrize(("name", "proposed"), [("cas_all_7b", "independent_7b"), ("validate", "validate_independent")])
def test_the_folder_is_new(name: str, proposed: str, tmp_path: Path):
    assert typed(tmp_path / name, "--data.regime", "cas_all")[-1] == str(tmp_path / proposed)
    (tmp_path / proposed).mkdir()
    assert typed(tmp_path / name, "--data.regime", "cas_all")[-1] == str(tmp_path / f"{proposed}_2")


def test_a_run_without_earlier_answers_is_not_asked_for_another(tmp_path: Path):
    assert in_another_regime(tmp_path / "one", ["validate", "--config", "xpcr"]) == ""
    (tmp_path / "config.yaml").write_text("data: {regime: cas_last}")
    assert in_another_regime(tmp_path, ["validate", "--config", "xpcr"]).endswith(f"{tmp_path.name}_independent")


def test_a_run_of_chains_ends_with_a_line_a_stage(tmp_path: Path):
    run, _ = chain_run("one", planted([[(True, 0.9)] * 6, [(False, 0.9)] * 6, [(True, 0.4)] * 6]))
    write_scores(tmp_path / "one" / "scores.csv", "one", "base", run.scores)
    said, headline, table = scored(tmp_path / "one").split("\n\n")
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
    assert wanted in compared(cascade, [], [], typed)
    stranger = write_run(tmp_path / "there" / "other", model="other")
    assert f"not compared with {stranger}: of another model" in compared(cascade, [stranger], [], typed)
    write_run(tmp_path / "runs" / "alone")
    found = compared(cascade, [], [], typed)
    (line,) = (line for line in found.splitlines() if "| AL " in line)
    assert [cell.strip() for cell in line.split("|")[1:6]] == ["cas_all - independent", "alone", "AL", "12", "-0.750"]
    assert "type `" not in found
