"""The check of hyperparameters on a grid of worthless ones, and on published and shipped recipes."""

from types import SimpleNamespace

import yaml

from lmod_train.core.shipped import configs_folder
from lmod_train.training.doctor.recipe import recipe
from lmod_train.training.doctor.subject import Subject

FULL = {"lora": None, "tune_language_model": True}
LORA = {"lora": {"rank": 8, "alpha": 16, "dropout": 0.05}}
RATES = {"lr": 2e-4, "projector_lr": 2e-5, "warmup": 0.03}


def found(model=LORA, trainer=None, width=None, **rates):
    """Return the results for a model whose language model and tower have a width; None where it is not known."""
    config = {"model": {"init_args": {**model, "optimisation": RATES | rates}}, "trainer": trainer or {}}
    part = SimpleNamespace(hidden_size=width)
    widths = SimpleNamespace(text_config=part, vision_config=part)
    return list(recipe(Subject(config, width and SimpleNamespace(dialect=SimpleNamespace(config=widths)))))


def adapter(**values):
    return {"lora": LORA["lora"] | values}


def worthless():
    return {
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
        "full tuning at 1e-3, 7B": (found(FULL, width=4096, lr=1e-3), "lr=0.001 for the whole language model"),
        "decay 10": (found(weight_decay=10.0), "weight_decay=10"),
        "decay below 0": (found(weight_decay=-0.1), "weight_decay=-0.1"),
        "betas swapped": (found(betas=(0.999, 0.9)), "betas=[0.999, 0.9]: the first is larger"),
        "beta 1": (found(betas=(0.9, 1.0)), "betas=[0.9, 1.0]: both must be"),
        "clip 1e-9": (found(trainer={"gradient_clip_val": 1e-9}), "gradient_clip_val=1e-09"),
    }


def doubtful():
    return {
        "bf16-true, adapters learn": (found(LORA, {"precision": "bf16-true"}), "precision bf16-true"),
        "lr 0.02": (found(lr=0.02), "lr=0.02"),
        "projector_lr 0 beside adapters": (found(projector_lr=0.0), "projector_lr=0"),
        "dropout 0.8": (found(adapter(dropout=0.8)), "lora.dropout=0.8"),
        "warm-up of most steps": (found(warmup=0.7), "warmup=0.7"),
        "full tuning at the rate of adapters, 7B": (found(FULL, width=4096, lr=2e-4), "lr=0.0002 for the whole"),
        "full tuning at 1e-8": (found(FULL, lr=1e-8), "lr=1e-08 for the whole language model"),
        "adapters at 2e-6": (found(lr=2e-6), "lr=2e-06 for adapters"),
        "projector alone at 1e-6": (
            found({"lora": None}, projector_lr=1e-6),
            "projector_lr=1e-06 for the projector alone",
        ),
        "tower at 1e-3": (
            found(LORA | {"tune_tower": True}, width=1024, projector_lr=1e-3),
            "projector_lr=0.001 for the v",
        ),
        "alpha x rate 2": (found(adapter(rank=64, alpha=1024), lr=2e-3), "lr=0.002 for adapters: alpha 1024"),
        "alpha / rank 64": (found(adapter(alpha=512)), "lora: alpha 512 / rank 8 = 64"),
        "alpha / rank 1/256": (found(adapter(rank=256, alpha=1)), "lora: alpha 1 / rank 256 = 0.0039"),
        "rank above the width": (
            found(adapter(rank=256, alpha=256), width=192),
            "lora.rank=256 in matrices of width 192",
        ),
        "decay 1": (found(weight_decay=1.0), "weight_decay=1"),
        "first beta 0.999": (found(betas=(0.999, 0.9999)), "betas=[0.999, 0.9999]: steps follow gradients of 1000"),
        "clip by value": (
            found(trainer={"gradient_clip_val": 1.0, "gradient_clip_algorithm": "value"}),
            "gradient_clip",
        ),
        "clip 1e6": (found(trainer={"gradient_clip_val": 1e6}), "gradient_clip_val=1e+06"),
        "64 bits": (found(trainer={"precision": "64-true"}), "precision 64-true"),
        "warm-up epochs": (found(trainer={"max_epochs": 5}, warmup_epochs=10), "warmup_epochs=10 of 5 epochs"),
    }


def healthy():
    return {
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
        "LLaVA's full tuning, 7B": found(FULL, width=4096, lr=2e-5),
        "LLaVA-1.5's adapters, 13B": found(adapter(rank=128, alpha=256), width=5120),
        "the lab, its width": found(FULL, width=192, lr=2e-3, projector_lr=2e-3),
        "LLaVA's default alpha": found(adapter(rank=64, alpha=16)),
        "rank 1, alpha 32": found(adapter(rank=1, alpha=32), lr=1e-3),
        "LLaVA-NeXT's tower": found(FULL | {"tune_tower": True}, width=1024, lr=1e-5, projector_lr=2e-6),
        "decay 0.1, second beta 0.95": found(weight_decay=0.1, betas=(0.9, 0.95)),
        "equal betas": found(betas=(0.95, 0.95)),
        "RETFound": found({}, {"max_epochs": 50}, base_lr=5e-3, warmup_epochs=10, warmup=None),
    }


def test_a_recipe_that_learns_nothing_fails():
    wrong = {
        name: results
        for name, (results, start) in worthless().items()
        if len(results) != 1 or not stated(results[0], "fail", start) or not (results[0].why and results[0].cure)
    }
    assert not wrong


def test_a_recipe_that_learns_little_warns():
    wrong = {
        name: results
        for name, (results, start) in doubtful().items()
        if [r.level for r in results] != ["warn", "ok"] or not stated(results[0], "warn", start)
    }
    assert not wrong


def stated(result, level, start):
    return result.level == level and result.what.startswith(start)


def test_healthy_recipes_pass():
    wrong = {name: results for name, results in healthy().items() if [r.level for r in results] != ["ok"]}
    assert not wrong


def shipped(pattern):
    files = sorted((configs_folder() / "model").glob(pattern))
    assert files
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_every_shipped_model_passes():
    results = {name: list(recipe(Subject({"model": model}))) for name, model in shipped("*.yaml").items()}
    wrong = {name: found for name, found in results.items() if not {f.level for f in found} <= {"ok"}}
    assert not wrong


WIDTHS = {"small_base": 192, "smollm2": 576}


def test_every_shipped_tuning_fits_the_width_of_its_model():
    wrong = {}
    for stem, given in shipped("*_[lf]*.yaml").items():
        if given["class_path"].endswith("VisionLanguageModel"):
            model = {"lora": {"rank": 128, "alpha": 256, "dropout": 0.05}, **given["init_args"]}
            width = next((width for name, width in WIDTHS.items() if stem.startswith(name)), 4096)
            results = found(model, width=width, **model.pop("optimisation", {}))
            if [r.level for r in results] != ["ok"]:
                wrong[stem] = results
    assert not wrong
