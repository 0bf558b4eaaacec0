"""Which of RETFound's two recipes a run was trained with, from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FINE_TUNING = "lmod_train.models.modules.fine_tuning.FineTuning"
BEST = "lmod_train.training.callbacks.best_checkpoint.BestCheckpoint"
SELECTED = "auroc_macro"
"""Metric of `BestCheckpoint` if none is named."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The points in which the two recipes differ.

    Attributes:
        label_smoothing: Share of the target that is spread over all classes.
        double_norm: Whether the norm before the head is applied twice.
        selected_by: Metrics whose mean selects the best checkpoint; empty if none is selected.
        epochs: Number of epochs.
    """

    label_smoothing: float
    double_norm: bool
    selected_by: tuple[str, ...]
    epochs: int | None

    def __str__(self) -> str:
        """Return the name and the points, e.g. for provenance."""
        name = next((name for name, recipe in RECIPES.items() if recipe == self), "own recipe")
        selected = f"best {' + '.join(self.selected_by)}" if self.selected_by else "last weights"
        norm = "twice" if self.double_norm else "once"
        return f"{name}: label smoothing {self.label_smoothing:g}, norm {norm}, {selected}, {self.epochs} epochs"


RECIPES = {
    "RETFound as in LMOD": Recipe(0.1, False, (SELECTED,), 50),
    "RETFound 2025": Recipe(0.0, True, ("macro_f1", SELECTED, "kappa"), 100),
}
"""Name -> recipe, as in ``configs/model`` and ``configs/trainer``."""


def recipe_of(config: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe in the configuration of a training; None unless it fine-tunes RETFound's network."""
    model, trainer = config.get("model") or {}, config.get("trainer") or {}
    given = model.get("init_args") or {}
    if model.get("class_path") != FINE_TUNING or given.get("architecture"):
        return None
    smoothing, twice = float(given.get("label_smoothing", 0.1)), bool(given.get("double_norm"))
    return Recipe(smoothing, twice, _selected_by(trainer), trainer.get("max_epochs"))


def _selected_by(trainer: Mapping[str, Any]) -> tuple[str, ...]:
    callbacks = [c for c in trainer.get("callbacks") or () if isinstance(c, Mapping) and c.get("class_path") == BEST]
    metrics = [(c.get("init_args") or {}).get("metric", SELECTED) for c in callbacks[:1]]
    return tuple(name for several in metrics for name in ([several] if isinstance(several, str) else several))
