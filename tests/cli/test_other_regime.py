"""The printed command asks the same questions, without earlier answers, in a new folder."""

import shlex
from pathlib import Path

import pytest

from lmod_train.cli.other_regime import in_another_regime
from lmod_train.cli.shipped import by_name

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
