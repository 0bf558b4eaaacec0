"""Runs of chains with planted answers, confidences and likelihoods, scored by the project's own functions."""

import math
from dataclasses import replace
from pathlib import Path

from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.extensions.xpcr.results import every_chain
from lmod_train.extensions.xpcr.scores import chain_scores
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.items import items_of
from lmod_train.tasks.run_scores import RunScores
from tests.scoring.make import record

OPTIONS = ("alpha", "beta", "gamma", "delta")
MISSING = Unparsed("no_match")


def asked(case, stage, *, group=None, **fields):
    """The question of a stage, whose truth is beta."""
    own = {"level": "RAS"[STEPS.index(stage) // 2], "impact": "3", "stage": stage, **fields.pop("tags", {})}
    made = record(
        f"{case}/{stage}", "beta", task="chain", choices=OPTIONS, group=f"p{case}" if group is None else group
    )
    made = replace(made, id=f"chain/phantoms/{case}/{stage}", chain=f"phantoms/{case}", chain_step=stage, tags=own)
    return replace(made, **fields)


def answered(question, answer, confidence=None, likelihood=None, model="base"):
    """A prediction; `likelihood` is that of the answer, the other options share the rest."""
    rest = (1 - likelihood) / 3 if likelihood is not None else 0
    logs = {o: math.log(likelihood if o == answer else rest) for o in OPTIONS} if likelihood is not None else {}
    reply = Reply(question.id, str(answer), model=model, likelihoods=logs)
    return Prediction(question, reply, answer, confidence)


def chain_run(name, predictions, *, model="base", config=None):
    """Scores and outcomes of a run of the task ``chain``."""
    items = items_of(predictions, lambda p: p.record.answer)
    outcomes = Outcomes(tuple(predictions), {"chain": items}, {"chain": ()}, None, config or {})
    return RunScores(Path(name), name, model, tuple(chain_scores("chain", items))), outcomes


def results_of(*runs):
    """Results of runs of `chain_run`, with their names as labels."""
    outcomes = {scores.run: found for scores, found in runs}
    return Results(tuple(scores for scores, _ in runs), outcomes, dict.fromkeys(outcomes))


def planted(rows, *, regime="", tags=None, model="base", **fields):
    """Predictions of chains, a row per case, with what is held of each stage.

    It is whether the answer is right, or an answer, or one of both with confidence and likelihood; None for no
    question.
    """
    own = {"regime": regime} if regime else {}
    made = []
    for case, row in enumerate(rows):
        for stage, held in zip(STEPS, row, strict=True):
            if held is not None:
                answer, *sure = held if isinstance(held, tuple) else (held,)
                answer = answer if not isinstance(answer, bool) else "beta" if answer else "alpha"
                question = asked(case, stage, tags={**(own if stage != "IQA" else {}), **(tags or {})}, **fields)
                made.append(answered(question, answer, *sure, model=model))
    return made


def parts_of(show, results):
    """What a function of `lmod_train.extensions.xpcr` shows of each task that asks chains."""
    return [part for task, runs in every_chain(results).items() for part in show(task, runs)]
