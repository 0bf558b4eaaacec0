"""The warnings about every score of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from lmod_train.core.artifacts.records import curated_ids, read_run_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import FOLDS
from lmod_train.core.artifacts.training_set import read_unseen, trained_on, training_warnings
from lmod_train.core.errors import ArtifactError
from lmod_train.core.escaping import for_terminal
from lmod_train.core.tables import Table, table
from lmod_train.core.types import Prediction, Record, Reply, Score, Unparsed
from lmod_train.report.asked_alike import Otherwise, otherwise
from lmod_train.report.origin import leaks_of
from lmod_train.report.results import Outcomes, Results, named_folder
from lmod_train.scoring.headline_metrics import HEADLINES, has_baseline, headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item, item_of
from lmod_train.scoring.subset_names import subsets_of
from lmod_train.scoring.warnings import TaskOfRun, Warned, warnings_of
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.run_scores import RunScores

Place = tuple[Path, str]
"""Folder of a run, and name of a task."""


@lru_cache(maxsize=1)
def warned(results: Results) -> dict[Place, list[Warned]]:
    """Return the warnings about each score of the headline table; an empty list if there is none."""
    known, records = cache(_ids), cache(_run_records)  # several runs have one folder, and several tasks one run
    differ = {(one.task, one.run): one for one in otherwise(results)}
    trained = any(trained_on(found.config) for found in results.outcomes.values())
    return {
        (run.path, task): warnings_of(
            replace(
                _case(run, found, task, known(results.images[name] or named_folder(found.config)), records),
                otherwise=_told(differ.get((task, name))),
                trained_beside=trained,
            )
        )
        for (name, found), run in zip(results.outcomes.items(), results.runs, strict=True)
        for task in run.tasks()
    }


def warnings_table(results: Results, found: Mapping[Place, list[Warned]]) -> Table:
    """Return the warnings with their sentences, a row each."""
    rows = [
        (task, name, w.phrase, w.text)
        for name, run in zip(results.names, results.runs, strict=True)
        for task in run.tasks()
        for w in found[run.path, task]
    ]
    return table("warnings", ["task", "model", "warning", "what was found"], rows, "Warnings")


Records = Callable[[Path], Sequence[Record]]
"""Folder of a run -> the records that it was to ask."""


def _case(run: RunScores, outcomes: Outcomes, task: str, known: frozenset[str], records: Records) -> TaskOfRun:
    own = [p for p in outcomes.predictions if p.record.task == task]
    ids = {p.record.id for p in own}
    strange = [p.record.id for p in own if known and question_of(p.record.id, p.record.tags) not in known]
    unseen = read_unseen(run.path)
    chance, items = run.find(task, "chance"), outcomes.items.get(task, ())
    metric = headline_metric(run.scores, task)
    stated, counted = _counted(run, task, metric, items)
    return TaskOfRun(
        items=items,
        predictions=own,
        score=run.find(task, metric),
        chance=chance.value if chance and has_baseline(metric) else None,
        installed=outcomes.versions.get(task, 0),
        leaks=leaks_of(outcomes) or {},
        elsewhere=[id for id in strange if id not in known],
        stated=stated,
        counted=counted,
        pooled=FOLDS in outcomes.config,
        own_options=outcomes.choices.get(task) == (),
        account=run.account(task),
        failed=[*(item for item in outcomes.failed if item.id in ids), *_not_asked(run, outcomes, task, records)],
        balanced=run.find(task, "balanced_accuracy"),
        auroc=run.find(task, "auroc_macro"),
        trained_on=[]
        if unseen is None
        else [p.record.id for p in own if question_of(p.record.id, p.record.tags) not in unseen],
        training={phrase: for_terminal(text) for phrase, text in training_warnings(outcomes.config).items()},
    )


def _not_asked(run: RunScores, outcomes: Outcomes, task: str, records: Records) -> Iterator[Item]:
    """Yield an item for each record of a task that was not asked; none if the run's records cannot be read."""
    account = run.account(task)
    if account is None or not account.not_asked:
        return
    asked = {p.record.id for p in outcomes.predictions}
    for record in records(run.path):
        if record.task == task and record.id not in asked:
            unsent = Prediction(record, Reply(record.id, "", finish_reason="error"), Unparsed("failed"))
            yield item_of(unsent, outcomes.tasks[task].truth(unsent))


def _run_records(run: Path) -> tuple[Record, ...]:
    try:
        return tuple(read_run_records(Run(run).records))
    except ArtifactError:  # the account says how many, and the next `validate` writes the file again
        return ()


def _told(differ: Otherwise | None) -> tuple[str, float]:
    return (f"than {differ.first}: {differ.text}", differ.n / differ.of) if differ else ("", 0.0)


def _counted(
    run: RunScores, task: str, metric: str, items: Sequence[Item]
) -> tuple[list[Score], list[tuple[float, int]]]:
    """Return the scores of a run that are means over items, of all and of each subset, and what the items give."""
    means = {"share_unparsed": _is_unparsed} | ({metric: item_score} if metric in HEADLINES else {})
    stated = {(s.subset, s.metric): s for s in run.scores if s.task == task and s.metric in means}
    rows = [
        (score, (sum(map(mean, own)) / max(len(own), 1), len(own)))
        for subset, own in (subsets_of(items) or {"all": []}).items()
        for name, mean in means.items()
        if (score := stated.get((subset, name)))
    ]
    return [score for score, _ in rows], [now for _, now in rows]


def _is_unparsed(item: Item) -> float:
    return float(item.status == "unparsed")


def _ids(curated: Path | None) -> frozenset[str]:
    """Return the ids of the records of a curated folder; none if it is not there."""
    try:
        return curated_ids(curated) if curated else frozenset()
    except ArtifactError:
        return frozenset()
