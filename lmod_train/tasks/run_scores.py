"""The scores of runs, as ``scores.csv`` has them, and short names of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, NotScored
from lmod_train.core.escaping import for_terminal
from lmod_train.core.types import Score
from lmod_train.scoring.completeness import Account, account_in


@dataclass(frozen=True, slots=True)
class RunScores:
    """The scores of one run.

    Attributes:
        path: The run folder.
        run: Name of the run: that of its folder, also if the run was copied; with folders above if it is another's.
        model: Name of the model.
        scores: All scores.
    """

    path: Path
    run: str
    model: str
    scores: tuple[Score, ...]

    @property
    def called(self) -> str:
        """Name of the model in tables and figures, on one line; of an absolute path, the last part."""
        return for_terminal(Path(self.model).name if Path(self.model).is_absolute() else self.model)

    def tasks(self) -> list[str]:
        """Names of the tasks, in the order of the scores."""
        return list(dict.fromkeys(s.task for s in self.scores))

    def account(self, task: str) -> Account | None:
        """Return how many records of a task have a reply, failed and were not asked; None if scores do not state it."""
        return account_in(self.scores, task)

    def complete(self) -> bool:
        """Whether every record has a reply, as far as the scores state it."""
        return all(account.complete for task in self.tasks() if (account := self.account(task)))

    def find(self, task: str, metric: str, subset: str = "all") -> Score | None:
        """Return one score, None if the run does not have it."""
        return next((s for s in self.scores if (s.task, s.metric, s.subset) == (task, metric, subset)), None)


def read_run_scores(runs: Sequence[Path]) -> list[RunScores]:
    """Return the scores of runs, in the given order.

    Raises:
        BadArgument: No run was given, or one twice.
        ArtifactError: A run has no scores, or an empty table.
    """
    if not runs or len({run.resolve() for run in runs}) < len(runs):
        raise BadArgument("runs", [str(r) for r in runs], "one or more different run folders", "name each run once")
    found = []
    for path in runs:
        rows = read_scores(Run(path).scores)
        if not rows:
            raise NotScored(Run(path).scores, "contains no scores")
        found.append(RunScores(path, Run(path).name, rows[0][1], tuple(score for _, _, score in rows)))
    alike = Counter((run.run, run.called) for run in found)
    named = zip(found, tails([run.path for run in found]), strict=True)
    return [run if alike[run.run, run.called] == 1 else replace(run, run=tail) for run, tail in named]


def tails(paths: Sequence[Path]) -> list[str]:
    """Return the shortest end of each path that distinguishes it from the others.

    Example:
        >>> tails([Path("/a/one/fit"), Path("/a/two/fit"), Path("/b/three")])
        ['one/fit', 'two/fit', 'three']
    """
    several = [path.resolve().parts for path in paths]

    def tail(own: tuple[str, ...]) -> str:
        others = [parts for parts in several if parts != own]
        length = next(n for n in range(1, len(own) + 1) if all(own[-n:] != parts[-n:] for parts in others))
        return "/".join(own[-length:])

    return [tail(own) for own in several]


def labels(runs: Sequence[RunScores]) -> list[str]:
    """Return a short name for each run: its model, followed by the name or path of the run if that is ambiguous.

    A model given by an absolute path is named by the last part of the path and the run.

    Example:
        >>> labels([RunScores(Path("a"), "zero", "base", ()), RunScores(Path("b"), "tuned", "base", ())])
        ['base (zero)', 'base (tuned)']
        >>> labels([RunScores(Path("a"), "zero", "base", ()), RunScores(Path("b"), "tuned", "/models/merged", ())])
        ['base', 'merged (tuned)']
    """
    models = [r.called for r in runs]
    alike, pairs = Counter(models), Counter((model, r.run) for model, r in zip(models, runs, strict=True))
    named = []
    for model, r, tail in zip(models, runs, tails([r.path for r in runs]), strict=True):
        within = r.run if pairs[model, r.run] == 1 else tail
        named.append(model if alike[model] == 1 and model == r.model else f"{model} ({within})")
    return named
