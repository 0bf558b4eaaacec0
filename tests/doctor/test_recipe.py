"""The check of hyperparameters on a grid of worthless ones, and on published and shipped recipes."""

import pytest
import yaml

from lmod_train.doctor.recipe import recipe
from lmod_train.doctor.subject import Subject
from lmod_train.shipped import configs_folder

FULL = {"lora": None, "tune_language_model": True}
LORA = {"lora": {"rank": 8, "alpha": 16, "dropout": 0.05}}
RATES = {"lr": 2e-4, "projector_lr": 2e-5, "warmup": 0.03}


def found(model=LORA, trainer=None, **rates):
    config = {"model": {"init_args": {**model, "optimisation": RATES | rates}}, "trainer": trainer or {}}
    return list(recipe(Subject(config)))


def adapter(**values):
    return {"lora": LORA["lora"] | values}


WORTHLESS = {
    "bf16-true, all learns": (found(FULL, {"precision": "bf16-true"}), "precision bf16-true"),
    "lr 0": (found(lr=0.0), "lr=0"),
    "lr below 0": (found(lr=-1e-4), "lr=-0.0001"),
    "lr 1": (found(lr=1.0), "lr=1"),
    "projector_lr 1": (found(projector_lr=1), "projector_lr=1"),
    "projector alone at 0": (found({"lora": None}, projector_lr=0), "projector_lr=0"),
    "alpha 0": (found(adapter(alpha=0)), "lora.alpha=0"),
    "alpha below 0": (found(adapter(alpha=-16)), "lora.alpha=-16"),
    "dropout 1": (found(adapter(dropout=1.0)), "lora.dropout=1"),
    "warm-up in per cent": (found(warmup=3), "warmup=3"),
    "warm-up of the whole run": (found(warmup=1.0), "warmup=1"),
    "warm-up below 0": (found(warmup=-0.1), "warmup=-0.1"),
    "clip 1e-9": (found(trainer={"gradient_clip_val": 1e-9}), "gradient_clip_val=1e-09"),
}
DOUBTFUL = {
    "bf16-true, adapters learn": (found(LORA, {"precision": "bf16-true"}), "precision bf16-true"),
    "lr 0.02": (found(lr=0.02), "lr=0.02"),
    "projector_lr 0 beside adapters": (found(projector_lr=0.0), "projector_lr=0"),
    "dropout 0.8": (found(adapter(dropout=0.8)), "lora.dropout=0.8"),
    "warm-up of most steps": (found(warmup=0.7), "warmup=0.7"),
    "warm-up epochs": (found(trainer={"max_epochs": 5}, warmup_epochs=10), "warmup_epochs=10 of 5 epochs"),
}
HEALTHY = {
    "defaults": found(),
    "LLaVA's full tuning": found(FULL, {"precision": "bf16-mixed", "gradient_clip_val": 1.0}, lr=2e-5),
    "float32": found(FULL, {"precision": "32-true"}),
    "no precision": found(FULL, {"precision": None}),
    "the lab": found(FULL, lr=2e-3, projector_lr=2e-3),
    "projector pre-training": found({"lora": None}, projector_lr=1e-3, lr=2e-4),
    "no warm-up": found(warmup=0.0),
    "no dropout": found(adapter(dropout=0.0)),
    "alpha half the rank": found(adapter(alpha=4)),
    "clip 0.1": found(trainer={"gradient_clip_val": 0.1}),
    "no clip": found(trainer={"gradient_clip_val": None}),
    "RETFound": found({}, {"max_epochs": 50}, base_lr=5e-3, warmup_epochs=10, warmup=None),
}


@pytest.mark.parametrize(("results", "start"), WORTHLESS.values(), ids=WORTHLESS)
def test_a_recipe_that_learns_nothing_fails(results, start):
    (only,) = results
    assert only.level == "fail" and only.what.startswith(start) and only.why and only.cure


@pytest.mark.parametrize(("results", "start"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_recipe_that_learns_little_warns(results, start):
    warned, well = results
    assert (warned.level, well.level) == ("warn", "ok") and warned.what.startswith(start)


@pytest.mark.parametrize("results", HEALTHY.values(), ids=HEALTHY)
def test_healthy_recipes_pass(results):
    assert [r.level for r in results] == ["ok"]


@pytest.mark.parametrize("file", sorted((configs_folder() / "model").glob("*.yaml")), ids=lambda f: f.stem)
def test_every_shipped_model_passes(file):
    found = recipe(Subject({"model": yaml.safe_load(file.read_text(encoding="utf-8"))}))
    assert {f.level for f in found} <= {"ok"}
