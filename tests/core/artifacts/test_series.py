"""Folders of runs that differ in their seed or fold only."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import checkpoint_of, fold_name, is_trained, members, runs_of, seed_name
from tests.tabled import tabled


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Eleven seeds, and folders that are none."""
    for name in (*map(seed_name, range(11)), "seed_x", "notes", "my_seed_3"):
        (tmp_path / name).mkdir()
    (tmp_path / "seed_12").touch()
    return tmp_path


def test_members_are_in_the_order_of_their_numbers(series: Path):
    assert [path.name for path in members(series)] == [f"seed_{seed}" for seed in range(11)]
    assert members(series / "none") == []
    for fold in ("1/5", "5/5"):
        (series / "notes" / fold_name(fold)).mkdir()
    assert [path.name for path in members(series / "notes")] == ["fold_1of5", "fold_5of5"]


def test_a_series_stands_for_its_runs_with_scores(series: Path):
    assert runs_of([series]) == ([series], []), "without any scores the error names the folder that was typed"
    for seed in (0, 2, 10):
        (series / seed_name(seed) / "scores.csv").touch()
    runs, unscored = runs_of([series, series / "notes"])
    assert [path.name for path in runs] == ["seed_0", "seed_2", "seed_10", "notes"]
    assert [path.name for path in unscored] == [f"seed_{seed}" for seed in (1, 3, 4, 5, 6, 7, 8, 9)]
    (series / "scores.csv").touch()
    assert runs_of([series]) == ([series], []), "a folder with scores of its own is a run"


@tabled(
    ("config", "trained"),
    [
        ("", False),
        ("provenance: {git: a}", False),
        ("provenance: {epochs: 2, steps: 4}", True),
        ("provenance: steps", False),
        ("[", False),
    ],
)
def test_a_training_is_complete_once_it_noted_its_steps(config: str, trained: bool, tmp_path: Path):
    Run(tmp_path).config.write_text(config)
    assert is_trained(tmp_path) is trained


def test_checkpoints_of_a_series_are_named_as_that_of_a_single_run():
    assert checkpoint_of(Path("FIT/checkpoints/best.ckpt"), Path("seed_3")) == Path("FIT/seed_3/checkpoints/best.ckpt")
    assert checkpoint_of(Path("best.ckpt"), Path("seed_3")) == Path("seed_3/best.ckpt"), (
        "which is not there, and refused"
    )
