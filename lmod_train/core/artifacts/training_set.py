"""What a model was trained on: ``trained_on.csv`` of the run folder, by content of images and families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import read_rows, write_csv

NOTHING_LEARNED, BALANCED_TWICE = "nothing learned", "classes balanced twice"
"""Phrases of the warnings about a training."""


@dataclass(frozen=True, slots=True, order=True)
class TrainedImage:
    """An image that a model was trained on, or that selected its best checkpoint.

    Attributes:
        split: ``train`` or ``val``.
        source: Name of its source.
        family: What belongs to it: patient, copies of the photograph, chain; a name within its curated folder.
        sha256: SHA-256 of the image file; empty if it is not recorded.
    """

    split: str
    source: str
    family: str
    sha256: str


def write_training_set(run: Path, images: Iterable[TrainedImage]) -> None:
    """Write ``trained_on.csv`` of a run, a row for each image."""
    columns = [f.name for f in fields(TrainedImage)]
    write_csv(Run(run).trained_on, columns, map(astuple, sorted(set(images))))


def read_training_set(run: Path) -> list[TrainedImage]:
    """Return the images that a run was trained on; none if they are not recorded."""
    path = Run(run).trained_on
    if not path.is_file():
        return []
    rows = [row for row in read_rows(path) if len(row) == len(fields(TrainedImage))]
    return [TrainedImage(*row) for row in rows[1:]]


def read_unseen(run: Path) -> frozenset[str] | None:
    """Return the ids of the questions that do not belong to the training of the model that a run evaluates.

    None if no question was found to belong to it, or if nobody looked.
    """
    path = Run(run).unseen
    return frozenset(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else None


def training_of(run: Path) -> dict[str, Any]:
    """Return what a run was trained on, in numbers, for the provenance of its replies; empty if it is not recorded.

    Keys are ``share`` (of the training split), ``sources`` (source -> number of training images), ``recipe`` if it
    fine-tuned RETFound (`retfound_recipe`), and ``warnings`` if there were any (phrase -> sentence).
    """
    trained = Counter(image.source for image in read_training_set(run) if image.split == "train")
    config = Run(run).known_config()
    data, recipe = config.get("data") or {}, recipe_of(config)
    share = (data.get("init_args") or data).get("share", 1.0)
    found = {"share": share, "sources": dict(sorted(trained.items())), "recipe": recipe and str(recipe)}
    found["warnings"] = training_warnings(config)
    return {key: value for key, value in found.items() if value} if trained else {}


def training_warnings(config: Mapping[str, Any]) -> dict[str, str]:
    """Return phrase -> sentence of the warnings about a training in a run's configuration."""
    stated = trained_on(config).get("warnings")
    return {str(phrase): str(text) for phrase, text in stated.items()} if isinstance(stated, dict) else {}


def trained_on(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return `training_of` as stated in a run's configuration; empty without a training."""
    stated = (config.get("provenance") or {}).get("trained_on")
    return stated if isinstance(stated, dict) else {}


def run_of_checkpoint(checkpoint: Path) -> Path:
    """Return the folder of the run that wrote a checkpoint.

    Example:
        >>> run_of_checkpoint(Path("FIT/checkpoints/best.ckpt")).as_posix()
        'FIT'
    """
    return checkpoint.parent.parent


FINE_TUNING = "lmod_train.models.modules.fine_tuning.FineTuning"
BEST = "lmod_train.training.callbacks.best_checkpoint.BestCheckpoint"


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
    "RETFound as in LMOD": Recipe(0.1, False, ("auroc_macro",), 50),
    "RETFound 2025": Recipe(0.0, True, ("macro_f1", "auroc_macro", "kappa"), 100),
}
"""Name -> recipe, as in ``configs/model`` and ``configs/trainer``."""


def recipe_of(config: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe in the configuration of a training; None unless it fine-tunes RETFound's network."""
    model, trainer = config.get("model") or {}, config.get("trainer") or {}
    given = model.get("init_args") or {}
    if model.get("class_path") != FINE_TUNING or given.get("architecture"):
        return None
    smoothing, twice = float(given.get("label_smoothing", 0.1)), bool(given.get("double_norm"))
    return Recipe(smoothing, twice, _selected_by(config), trainer.get("max_epochs"))


def _selected_by(config: Mapping[str, Any]) -> tuple[str, ...]:
    callbacks = (config.get("trainer") or {}).get("callbacks") or ()
    own = [c.get("init_args") or {} for c in callbacks if isinstance(c, Mapping) and c.get("class_path") == BEST]
    by = [*own, config.get("best") or {}][0].get("by") or ()
    return (by,) if isinstance(by, str) else tuple(by)
