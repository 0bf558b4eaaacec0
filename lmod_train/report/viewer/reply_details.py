"""What the viewer shows of a model's reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Prediction, Unparsed
from lmod_train.report.viewer.texts import Numbered
from lmod_train.report.viewer.wording import answer_text
from lmod_train.scoring.items import Item
from lmod_train.tasks.base import Task
from lmod_train.tasks.judgement_replies import given
from lmod_train.tasks.taken import spans_taken

Verdicts = Sequence[tuple[str, str]]


def reply_details(
    item: Item, prediction: Prediction, task: Task | None, verdicts: Verdicts, texts: Numbered[str]
) -> dict[str, Any]:
    """Return the values of a reply as JSON holds them.

    Args:
        item: The item it is scored as.
        prediction: Record, reply and answer.
        task: The task, to find the words the answer was read from; None if it is not installed.
        verdicts: (judge, verdict) pairs.
        texts: Numbers the inputs of models, which many replies share.
    """
    reply = prediction.reply
    return {
        "pieces": pieces(prediction, task),
        "rendered": texts.number(reply.rendered),
        "answer": answer_text(item.answer),
        "reason": _reason(prediction),
        "regions": region_outcomes(item),
        "likelihoods": list(reply.likelihoods.items()),
        "confidence": prediction.confidence,
        "seconds": reply.seconds,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "finish": reply.finish_reason,
        "error": without_folders(reply.error),
        "verdicts": list(verdicts),
        "given": _given(prediction),
    }


def pieces(prediction: Prediction, task: Task | None) -> list[str]:
    """Return the reply in pieces, of which every second one is what the answer was read from."""
    text = prediction.reply.reply
    spans = spans_taken(task, prediction) if task else []
    cuts = [0, *(place for span in spans for place in span), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def region_outcomes(item: Item) -> list[list[Any]]:
    """Return region id, outcome and stated structure of each region of truth or answer.

    The outcome is ``right``, ``wrong`` (another structure), ``missed`` (no answer) or ``invented`` (no such region).

    Example:
        >>> truth = {1: "iris", 2: "lens", 3: "pupil"}
        >>> region_outcomes(Item("a", "answered", {1: "iris", 2: "iris", 9: "lens"}, truth))
        [[1, 'right', 'iris'], [2, 'wrong', 'iris'], [3, 'missed', ''], [9, 'invented', 'lens']]
    """
    if not isinstance(item.truth, Mapping):
        return []
    answer = item.answer if isinstance(item.answer, Mapping) else {}
    return [
        [id, _outcome(item.truth.get(id), answer.get(id)), answer.get(id, "")] for id in sorted({*item.truth, *answer})
    ]


def _outcome(truth: str | None, answer: str | None) -> str:
    if truth is None:
        return "invented"
    if answer is None:
        return "missed"
    return "right" if answer == truth else "wrong"


def _reason(prediction: Prediction) -> str:
    answer = prediction.answer
    return without_folders(f"{answer.reason}: {answer.detail}".rstrip(": ")) if isinstance(answer, Unparsed) else ""


def _given(prediction: Prediction) -> str | None:
    """Return the text that judges are sent, if it differs from the reply by more than blanks; empty if none is sent."""
    text = given(prediction)
    return None if text is not None and text == prediction.reply.reply.strip() else text or ""
