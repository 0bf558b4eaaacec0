"""What is printed after a run: its scores in sentences and a table, the best weights, and the next commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.cli.short_names import by_short_name
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import NotScored
from lmod_train.core.extension import joined, loaded
from lmod_train.core.tables import Table, markdown
from lmod_train.tasks.building import task_arguments
from lmod_train.tasks.headline import headline, headline_table
from lmod_train.tasks.statements import findings
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint


def scored(run: Path, against: Sequence[Path] = (), trusted: Sequence[str] = (), arguments: Sequence[str] = ()) -> str:
    """Return what the scores of a run say, its headline table, and the tables and remarks of extensions.

    Args:
        run: Folder of the run.
        against: Folders of runs to compare it with.
        trusted: Modules outside this package with task classes that the runs name.
        arguments: The command and its options.
    """
    rows = headline([run])
    typed = [*arguments[:1], *(by_short_name(arguments[0], arguments[1:]) if arguments else ())]
    found = [part for rows in loaded(joined("rows")) for part in rows(run, against, trusted, typed)]
    shown = [markdown(part) if isinstance(part, Table) else part for part in (headline_table(rows), *found)]
    asked = [own for _, own in task_arguments(Run(run).read_config())]
    questions = {str(own["name"]): str(own["words"]) for own in asked if {"name", "words"} <= own.keys()}
    said = "\n".join(finding.text for finding in findings({rows[0].model: rows}, questions=questions))
    return "\n\n".join([said, *shown])


def best_of(experiment: Any, run: Path) -> list[str]:
    """Return what the best weights of a training are, and the command that asks them; nothing without any."""
    kept = next((c for c in experiment.trainer.callbacks if isinstance(c, BestCheckpoint)), None)
    if experiment.subcommand != "fit" or kept is None or not (said := kept.sentence(experiment.trainer)):
        return []
    command = "test" if experiment.datamodule.asked("test") else "validate"
    place = Run(run).checkpoints / "best.ckpt"
    config, best, new = (shlex.quote(str(p)) for p in (Run(run).config, place, f"{run}_{command}"))
    if not place.exists():
        return [said]
    line = f"`python -m lmod_train {command} --config {config} --ckpt_path {best} --run {new}` asks these weights"
    return [said, f"next: {line}"]


def next_of(run: Path) -> str:
    """Return the line with the command that shows the replies of a run."""
    return f"next: `python -m lmod_train report {shlex.quote(str(run))} --out REPORT` shows every reply"


def refuse_unscored(run: Path) -> None:
    """Refuse a run to compare with that has no scores, before anything is asked.

    Raises:
        NotScored: It has none.
    """
    if not Run(run).scores.is_file():
        raise NotScored(Run(run).scores, "missing, so that there is nothing to compare with")
