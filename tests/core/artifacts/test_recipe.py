"""The two recipes of RETFound, as shipped, and what a run's configuration says of them."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from inspect import signature
from typing import Any

import yaml

from lmod_train.core.artifacts.training_set import BEST, FINE_TUNING, RECIPES, Recipe, recipe_of
from lmod_train.core.shipped import configs_folder
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint
from tests.tabled import tabled


def read(kind: str, name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((configs_folder() / kind / f"{name}.yaml").read_text(encoding="utf-8")))


def resolved(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of a class: those given, over the defaults, nested settings flattened."""
    found: dict[str, Any] = {}
    for name, parameter in list(signature(kind.__init__).parameters.items())[1:]:
        if is_dataclass(parameter.default):
            whole = asdict(parameter.default) | dict(given.get(name) or {})
            found |= {f"{name}.{key}": tuple(v) if isinstance(v, list) else v for key, v in whole.items()}
        else:
            found[name] = given.get(name, parameter.default)
    return found


def differing(one: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {k: (one.get(k), other.get(k)) for k in one.keys() | other.keys() if one.get(k) != other.get(k)}


def test_the_models_differ_in_label_smoothing_and_norm_alone():
    old, new = (read("model", f"retfound_{name}") for name in ("faithful", "2025"))
    assert old["class_path"] == new["class_path"] == FINE_TUNING
    found = differing(*(resolved(FineTuning, config["init_args"]) for config in (old, new)))
    names = found.pop("name")
    assert found == {"label_smoothing": (0.1, 0.0), "double_norm": (None, True)}
    assert names == ("retfound", "retfound_2025"), "the replies of the two are told apart"


def test_the_trainers_differ_in_epochs_and_selection_alone():
    old, new = read("trainer", "retfound"), read("trainer", "retfound_2025")
    assert differing(old, new).keys() == {"max_epochs", "callbacks"}
    assert (old["max_epochs"], new["max_epochs"]) == (50, 100)
    (first,), (second,) = old["callbacks"], new["callbacks"]
    assert first["class_path"] == second["class_path"] == BEST
    found = differing(*(resolved(BestCheckpoint, c.get("init_args") or {}) for c in (first, second)))
    assert found == {"by": ("auroc_macro", ["macro_f1", "auroc_macro", "kappa"])}


@tabled(
    ("model", "trainer", "name"),
    [
        ("retfound_faithful", "retfound", "RETFound as in LMOD"),
        ("retfound_faithful_oct", "retfound", "RETFound as in LMOD"),
        ("retfound_2025", "retfound_2025", "RETFound 2025"),
        ("retfound_2025", "retfound", "own recipe"),
        ("retfound_faithful", "retfound_2025", "own recipe"),
    ],
)
def test_the_shipped_configs_are_recognised_and_mixtures_are_called_so(model, trainer, name):
    recipe = recipe_of({"model": read("model", model), "trainer": read("trainer", trainer)})
    assert recipe is not None and str(recipe).startswith(f"{name}: ")
    assert (recipe == RECIPES.get(name)) == (name in RECIPES)


def test_every_point_of_a_recipe_is_said():
    assert str(RECIPES["RETFound 2025"]) == (
        "RETFound 2025: label smoothing 0, norm twice, best macro_f1 + auroc_macro + kappa, 100 epochs"
    )
    assert str(Recipe(0.2, False, (), 3)) == "own recipe: label smoothing 0.2, norm once, last weights, 3 epochs"


def test_other_models_have_no_recipe():
    for model in ({}, None, {"class_path": "x.CNN"}, read("model", "cnn"), read("model", "timm")):
        assert recipe_of({"model": model}) is None
    assert recipe_of({}) is None
