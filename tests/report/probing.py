"""Runs of a chain and its probe, with planted answers, as `items_of` reads them from predictions."""

from pathlib import Path

from lmod_train.extensions.xpcr.scores import chain_scores
from lmod_train.report.results import Outcomes
from lmod_train.scoring.items import items_of
from lmod_train.scoring.probing import probe_scores, question_and_kind
from lmod_train.tasks.run_scores import RunScores
from tests.report.chained import answered, asked


def question(case, stage, variant="", kind="", *, regime="", needs=()):
    """The question of a stage of a case, of a chain or, with a kind, of its probe; needs are (stage, variant) each."""
    task, own = ("chain_probe", "-".join(filter(None, (variant, kind)))) if kind else ("chain", variant)
    start = f"{task}/phantoms/{case}"
    tags = {"regime": regime} if regime and stage != "IQA" else {}
    return asked(
        case,
        stage,
        tags=tags,
        id="/".join(filter(None, (start, stage, own))),
        task=task,
        key=str(case),
        variant=own,
        chain=f"phantoms/{case}{'-' * bool(kind)}{kind}",
        needs=tuple("/".join(filter(None, (start, *need, kind))) for need in needs),
    )


def said(question, right):
    """A prediction that is right or wrong, or another answer."""
    return answered(question, right if isinstance(right, str) else "beta" if right else "alpha")


def run_of(name, predictions, *, model="base", config=None):
    """Scores and outcomes of a run of the tasks ``chain`` and ``chain_probe``, of those that were asked."""
    items = {}
    for task in ("chain", "chain_probe"):
        if found := items_of([p for p in predictions if p.record.task == task], lambda p: p.record.answer):
            items[task] = found
    scores = tuple(chain_scores("chain", items.get("chain", [])))
    scores += tuple(
        probe_scores("chain_probe", items.get("chain_probe", []), lambda i: question_and_kind(i.variant)[1])
    )
    outcomes = Outcomes(tuple(predictions), items, dict.fromkeys(items, ()), None, config or {})
    return RunScores(Path(name), name, model, scores), outcomes
