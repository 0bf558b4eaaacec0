"""What a run was trained on survives any name, and is read where a checkpoint lies."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import (
    FINE_TUNING,
    TrainedImage,
    read_training_set,
    run_of_checkpoint,
    trained_on,
    training_of,
    training_warnings,
    write_training_set,
)


def test_images_are_written_once_each_whatever_they_are_called(tmp_path: Path):
    images = [TrainedImage("train", "a", name, sha) for name in ("a/p1", '=1,"x"', "张\n三") for sha in ("", "f0")]
    images.append(TrainedImage("val", "b", "b/p1", "f1"))
    write_training_set(tmp_path, [*images, *images])
    assert read_training_set(tmp_path) == sorted(images)
    assert read_training_set(tmp_path / "none") == []


def test_the_numbers_of_a_training_are_those_of_its_training_split(tmp_path: Path):
    write_training_set(
        tmp_path, [TrainedImage(s, "ab"[i % 3 == 0], f"p{i}", f"{i}") for i in range(9) for s in ("train", "val")]
    )
    assert training_of(tmp_path) == {"share": 1.0, "sources": {"a": 6, "b": 3}}
    Run(tmp_path).write_config({"data": {"share": 0.1}})
    assert training_of(tmp_path)["share"] == 0.1 and training_of(tmp_path / "none") == {}
    assert run_of_checkpoint(Path("R/seed_0/checkpoints/last.ckpt")) == Path("R/seed_0")


def test_recipe_and_warnings_travel_with_the_numbers_of_the_training(tmp_path: Path):
    write_training_set(tmp_path, [TrainedImage("train", "a", "p", "f")])
    said = {"nothing learned": "the loss never left ln 2"}
    model = {"class_path": FINE_TUNING, "init_args": {"label_smoothing": 0.0, "double_norm": True}}
    config = {"model": model, "trainer": {"max_epochs": 7}, "provenance": {"trained_on": {"warnings": said}}}
    Run(tmp_path).write_config(config)
    found = training_of(tmp_path)
    assert found["warnings"] == said and found["recipe"].startswith("own recipe: label smoothing 0, norm twice")
    assert training_warnings({"provenance": {"trained_on": found}}) == said
    for older in ({}, {"provenance": None}, {"provenance": {"trained_on": "x"}}, {"provenance": {"epochs": 3}}):
        assert training_warnings(older) == {} and trained_on(older) == {}
