"""Results of runs with given scores, and items of given sources."""

from pathlib import Path

from lmod_train.core.types import Score
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.items import Item
from lmod_train.tasks.run_scores import RunScores


def scored(scores, models=("a",), sources=()):
    """Return results of models with the same scores of one task, (subset, metric) -> value, and (source, modality)."""
    of: tuple[Score, ...] = (Score("t", "all", "accuracy_strict", 90, 0.5),)
    of += tuple(Score("t", subset, metric, 30, value, None, None) for (subset, metric), value in scores.items())
    items = [Item(str(i), "answered", "x", "x", source=s, modality=m) for i, (s, m) in enumerate(sources)]
    runs = tuple(RunScores(Path(m), m, m, of) for m in models)
    outcomes = {m: Outcomes((), {"t": items}, {"t": ("x",)}, None) for m in models}
    return Results(runs, outcomes, dict.fromkeys(models))
