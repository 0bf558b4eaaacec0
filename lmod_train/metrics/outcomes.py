"""Predictions as bytes: what ranks can gather whatever the number and length of the replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from lmod_train.types import Answer, Prediction, Record, Reply, Unparsed


def encode(prediction: Prediction) -> bytes:
    """Return the prediction as one line of ASCII JSON, newline included.

    The text that the model was really sent (`Reply.rendered`) is left behind: no score reads it, it may be far longer
    than all the rest, and the reply file has it.
    """
    row = {
        "record": asdict(prediction.record),
        "reply": asdict(replace(prediction.reply, rendered="", likelihoods=dict(prediction.reply.likelihoods))),
        "answer": _plain(prediction.answer),
    }
    return json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> Prediction:
    """Return the prediction that `encode` wrote."""
    row = json.loads(line)
    return Prediction(_revive(Record, row["record"]), _revive(Reply, row["reply"]), _answer(row["answer"]))


def _plain(answer: Answer | Unparsed) -> Any:
    if isinstance(answer, Unparsed):
        return {"unparsed": [answer.reason, answer.detail]}
    if isinstance(answer, Mapping):  # pairs, as JSON has no whole numbers for keys
        return {"regions": [list(pair) for pair in answer.items()]}
    return answer


def _answer(value: Any) -> Answer | Unparsed:
    if not isinstance(value, dict):
        answer: Answer = value
        return answer
    if "unparsed" in value:
        return Unparsed(*value["unparsed"])
    return {int(region): str(structure) for region, structure in value["regions"]}


@cache
def _types_of(noun: type) -> dict[str, Any]:
    return get_type_hints(noun)


def _revive(kind: Any, value: Any) -> Any:
    """Return `value`, as JSON reads it, in the type that a field of our nouns declares."""
    if is_dataclass(kind) and isinstance(kind, type):
        types = _types_of(kind)
        return kind(**{f.name: _revive(types[f.name], value[f.name]) for f in fields(kind)})
    if get_origin(kind) is tuple:
        return tuple(_revive(get_args(kind)[0], each) for each in value)
    return value
