"""The commands that load no torch, as plain typed functions. What they need is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml

from lmod_train.errors import ArtifactError, BadArgument
from lmod_train.tasks.base import Task


def phantom(*, out: Path, n: int = 64, seed: int = 0, sources: str = "eye_diseases,refuge") -> None:
    """Draw phantom eyes from known truth, in the folder shapes of raw datasets.

    Args:
        out: Folder to write to; each source gets a folder of its own name in it.
        n: Eyes a source, at least 1.
        seed: The same seed draws the same eyes; another seed, other eyes.
        sources: Which folder shapes, separated by commas.
    """
    from importlib import import_module

    from lmod_train.sources.discovery import source_classes

    if n < 1:
        raise BadArgument("--n", n, "at least 1 eye", "`python -m lmod_train phantom --help`")
    known = [source.name for source in source_classes() if _can_be_drawn(source.name)]
    for name in sources.split(","):
        if name not in known:
            raise BadArgument("--sources", name, f"one of {', '.join(known)}", f"e.g. `--sources {known[0]}`")
    for name in sources.split(","):
        import_module(f"lmod_train.phantom.{name}").write(out / name, n, seed)
        print(f"{name}: {n} phantom eyes, seed {seed}, in {out / name}")


def _can_be_drawn(source: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"lmod_train.phantom.{source}") is not None


def rescore(run: Path) -> None:
    """Parse and score the saved replies of a run again, without a model; seconds instead of hours.

    Writes predictions.parquet and scores.csv anew, as the run itself does. Records that have no reply yet are left
    out and counted. Where replies of several checkpoint steps were saved, each record's newest one counts.

    Args:
        run: Folder of a run, with records.parquet and replies/ in it.
    """
    from lmod_train import artifacts
    from lmod_train.tasks import judging

    cure = f"name the folder of a run, or make its replies: `python -m lmod_train validate --config ... --run {run}`"
    if not (run / "replies").is_dir():
        raise ArtifactError(run / "replies", "no saved replies here", cure)
    records = artifacts.read_records(run / "records.parquet")
    replies = judging.newest(artifacts.read_replies(run / "replies").values())
    tasks = judging.tasks_asked(records, judging.task_arguments(_config_of(run)))
    predictions = [p for task in tasks for p in judging.judge(task, records, replies)]
    if not predictions:
        raise ArtifactError(run / "replies", f"no reply to any of the {len(records)} records", cure)
    scores = judging.scores_of(tasks, predictions)
    artifacts.write_predictions(run / "predictions.parquet", predictions)
    models = ", ".join(sorted({p.reply.model for p in predictions}))
    artifacts.write_scores(run / "scores.csv", *(_named_before(run) or (run.resolve().name, models)), scores)
    print(f"{run}: {len(predictions)} of {len({r.id for r in records})} records have a reply")
    for task in tasks:
        older = sorted({r.task_version for r in records if r.task == task.name} - {task.version})
        if older:
            print(f"{task.name}: asked as version {', '.join(map(str, older))}, read and scored as {task.version}")
    steps = sorted({p.reply.step for p in predictions})
    if len(steps) > 1:
        print(f"the replies are of several checkpoint steps: {', '.join(map(str, steps))}")
    print(f"wrote {run / 'predictions.parquet'} and {run / 'scores.csv'}")


def _config_of(run: Path) -> dict[str, Any]:
    path = run / "config.yaml"
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}


def _named_before(run: Path) -> tuple[str, str] | None:
    """Return run and model as the run itself wrote them, so that scoring again changes figures only."""
    from lmod_train import artifacts

    rows = artifacts.read_scores(run / "scores.csv") if (run / "scores.csv").exists() else []
    return rows[0][:2] if rows else None


def report(runs: list[Path], *, out: Path) -> None:
    """Draw tables, figures and a page to look through from the predictions of one or more runs.

    Args:
        runs: Folders of runs, each with predictions.parquet and scores.csv.
        out: Folder to write the report to.
    """
    from lmod_train.report.report import report as draw

    draw(runs, out)


def curate(
    *,
    out: Path,
    tasks: list[Task],
    protocol: str,
    raw: Path | None = None,
    roots: dict[str, Path] | None = None,
    seed: int = 0,
    workers: int = 2,
    strict: bool = False,
) -> None:
    """Turn raw datasets into benchmark records.

    Args:
        out: Folder to write images, records and manifest to.
        tasks: What to ask of every sample.
        protocol: Name of the protocol, written to the manifest; one folder is one protocol.
        raw: Folder to look for sources in, at any depth and under any names.
        roots: Source name -> folder, one by one, e.g. `--roots.refuge PATH`.
        seed: Of splits, balanced sampling and region numbers.
        workers: Processes that read and draw.
        strict: Stop at the first sample that must be left out, instead of counting and listing it.
    """


def show(kind: Literal["sources", "tasks", "models"]) -> None:
    """List sources, tasks or models, read from source text and configs; nothing is imported."""
    from lmod_train.cli import listing

    said = {"sources": listing.sources, "tasks": listing.tasks, "models": listing.models}[kind]()
    print(said or f"no {kind} yet")
