"""Checklists of reporting guidelines: the items seen on a public page, with what a report knows of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Table, table
from lmod_train.extensions.manuscript.characteristics import SPLITS
from lmod_train.extensions.manuscript.cohort import Question, patients_in, photographs
from lmod_train.report.contents import heads, texts
from lmod_train.report.origin import NOT_RECORDED, counted, origin_of
from lmod_train.report.results import Results
from lmod_train.report.warned import warned
from lmod_train.tasks.display_names import metric_name, task_name

_TEXTS, _HEADS = texts(__file__), heads(__file__)

_LISTS: Mapping[str, Mapping[str, Any]] = package_data(__file__, "checklists.yaml")

UNKNOWN = "not known"


def checklists(facts: Mapping[str, str]) -> Iterator[Table]:
    """Yield a table for each checklist.

    Args:
        facts: Name -> what is known, of `facts_of`.
    """
    for name, one in _LISTS.items():
        rows = [[item, about, known.format(**facts) or None, add or None] for item, about, known, add in one["items"]]
        yield table(f"paper_{name}", _HEADS["items"], rows, one["title"], _TEXTS["note"].format(**one))


def facts_of(
    results: Results, manifest: Mapping[str, Any], asked: Sequence[Question], everything: Sequence[Question]
) -> dict[str, str]:
    """Return what a report knows of its data, models and scores.

    Args:
        results: The runs.
        manifest: Manifest of the curated folder; empty where it is gone.
        asked: Questions of the runs.
        everything: Questions of the curated folder.
    """
    return facts_of_data(manifest, asked, everything) | _of_models(results) | _of_scores(results, asked)


def facts_of_data(
    manifest: Mapping[str, Any], asked: Sequence[Question], everything: Sequence[Question]
) -> dict[str, str]:
    """Return what is known of the data alone, see `facts_of`."""
    sources, settings = manifest.get("sources", {}), manifest.get("settings", {})
    images = photographs(everything or asked)
    drops = {source: sum(n.values()) for source, n in manifest.get("dropped_extents", {}).items()}
    ratios, made = settings.get("ratios"), manifest.get("images", {})
    without = {
        "age": sum(image.person.age is None for image in images),
        "sex": sum(not image.person.sex for image in images),
        "eye": sum(not image.person.laterality for image in images),
    }
    cameras = sorted({image.person.camera for image in images if image.person.camera})
    splits = {said: sum(q.split == split for q in everything or asked) for split, said in SPLITS.items()}
    how = (
        f" (shares {', '.join(map(str, ratios))} by {settings.get('split_by')}, seed {manifest.get('seed')})"
        if ratios
        else ""
    )
    return {
        "sources": ", ".join(sorted({q.source for q in everything or asked})),
        "licences": "; ".join(f"{name}: {one.get('licence') or UNKNOWN}" for name, one in sources.items()) or UNKNOWN,
        "dropped": f"left out, by source: {counted(drops) or 'nothing'}" if manifest else UNKNOWN,
        "preprocessing": f"longest side at most {made.get('longest_side')} pixels, {made.get('format')}"
        if made
        else UNKNOWN,
        "balance": "classes balanced by omission within split and source"
        if manifest.get("balance")
        else "not balanced",
        "missing": f"of {len(images)} images not stated: {counted(without)}",
        "cameras": ", ".join(cameras) or "no camera is stated",
        "splits": f"questions: {counted({k: n for k, n in splits.items() if n})}{how}",
        "disjoint": f"by {settings.get('split_by', UNKNOWN)}; pairs across splits: {_leaks(manifest)}",
        "pseudonyms": "reports name no file of a source that must not be redistributed",
        "flow": "figure paper_flow",
        "characteristics": "table paper_characteristics",
    }


def _leaks(manifest: Mapping[str, Any]) -> str:
    counts = manifest.get("leakage", {}).get("counts", {})
    return counted({kind: one.get("crossing_splits", 0) for kind, one in counts.items()}) or UNKNOWN


def _of_models(results: Results) -> dict[str, str]:
    origins = {name: origin_of(outcomes) for name, outcomes in results.outcomes.items()}
    versions = sorted({one.version for one in origins.values()})
    return {
        "models": ", ".join(results.names),
        "weights": "; ".join(f"{name}: {one.weights}" for name, one in origins.items()),
        "training": "; ".join(f"{name}: {one.trained}" for name, one in origins.items()),
        "software": f"lmod_train {', '.join(versions)}" if versions != [NOT_RECORDED] else UNKNOWN,
        "settings": "table settings",
        "compute": "table costs, where replies state seconds and tokens",
        "prompts": "table paper_prompts; all in records.parquet of each run",
        "parsing": "free replies are read by the parser of the task; what it cannot read counts as wrong",
    }


def _of_scores(results: Results, asked: Sequence[Question]) -> dict[str, str]:
    metrics = {
        task_name(task, results.questions.get(task, "")): metric_name(results.metric(task)) for task in results.tasks
    }
    images = photographs(asked)
    patients, bare = len(patients_in(images)), sum(not image.patient for image in images)
    tested = {said: sum(q.split == split for q in asked) for split, said in SPLITS.items()}
    phrases = sorted({one.phrase for several in warned(results).values() for one in several})
    return {
        "metrics": "; ".join(f"{task}: {metric}" for task, metric in metrics.items()),
        "intervals": "95 % intervals clustered by patient; p values of pairs adjusted by Holm within a task",
        "robustness": "tables of subsets and ways of asking, where there are any",
        "sizes": f"questions {len(asked)}, images {len(images)} ({bare} of no stated patient), patients {patients}",
        "tested": f"asked, by split: {counted({k: n for k, n in tested.items() if n})}",
        "scores": "table paper_scores",
        "warnings": f"warnings of this report: {', '.join(phrases)}" if phrases else "no warning was found",
    }
