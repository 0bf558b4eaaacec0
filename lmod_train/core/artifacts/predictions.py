"""Predictions: one codec, for ``predictions.parquet`` and for the bytes that ranks gather."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from lmod_train.core.artifacts.parquet import each_row, is_of_other_version, write_rows
from lmod_train.core.artifacts.records import record_of, record_row
from lmod_train.core.artifacts.schema import PREDICTION_SCHEMA, REPLY_COLUMNS
from lmod_train.core.errors import NotAsked, NotScored, refuse_folder
from lmod_train.core.types import Answer, Prediction, Reason, Reply, Unparsed

_PLAIN = tuple(name for name, _ in REPLY_COLUMNS if name not in ("reply_step", "likelihoods"))
"""Columns that hold a field of the reply as it is, under its own name."""


def answer_json(answer: Answer | Unparsed) -> str:
    """Return an answer as JSON that `answer_of` reads back.

    Example:
        >>> answer_json({2: "optic cup"}), answer_of(answer_json({2: "optic cup"}))
        ('{"regions": {"2": "optic cup"}}', {2: 'optic cup'})
    """
    if isinstance(answer, Unparsed):
        return json.dumps({"unparsed": answer.reason, "detail": answer.detail}, ensure_ascii=False)
    if isinstance(answer, Mapping):
        return json.dumps({"regions": {str(k): v for k, v in answer.items()}}, ensure_ascii=False)
    return json.dumps({"answer": answer}, ensure_ascii=False)


def answer_of(text: str) -> Answer | Unparsed:
    """Return the answer that `answer_json` wrote."""
    value = json.loads(text)
    if "unparsed" in value:
        if value["unparsed"] not in get_args(Reason):
            raise ValueError(f"unknown reason {value['unparsed']!r}")
        return Unparsed(value["unparsed"], value["detail"])
    if "regions" in value:
        return {int(k): str(v) for k, v in value["regions"].items()}
    answer: Answer = value["answer"]
    return answer


def prediction_row(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as a row of `PREDICTION_SCHEMA`: record, last reply, answer or reason."""
    reply, answer = prediction.reply, prediction.answer
    row = record_row(prediction.record) | {name: getattr(reply, name) for name in _PLAIN}
    row["reply_step"], row["likelihoods"] = reply.step, json.dumps(dict(reply.likelihoods), sort_keys=True)
    row["status"], row["parsed"] = prediction.status, answer_json(answer)
    row["reason"] = answer.reason if isinstance(answer, Unparsed) else ""
    row["confidence"] = prediction.confidence
    return row


def prediction_of(row: Mapping[str, Any]) -> Prediction:
    """Return the prediction that `prediction_row` made the row of."""
    plain = {name: row[name] for name in _PLAIN}
    reply = Reply(id=row["id"], step=row["reply_step"], likelihoods=json.loads(row["likelihoods"]), **plain)
    return Prediction(record_of(row), reply, answer_of(row["parsed"]), row["confidence"])


def prediction_line(prediction: Prediction) -> bytes:
    """Return a prediction as one line of ASCII JSON, newline included, for ranks to gather.

    The text that the model was really sent (`Reply.rendered`) is left behind: no score reads it, it may be far longer
    than all the rest, and the reply file has it.
    """
    row = prediction_row(prediction) | {"rendered": ""}
    return json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"


def prediction_of_line(line: bytes) -> Prediction:
    """Return the prediction that `prediction_line` wrote, without what the model was sent."""
    return prediction_of(json.loads(line))


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> int:
    """Write ``predictions.parquet`` whole or not at all; return the number of rows."""
    return write_rows(path, PREDICTION_SCHEMA, map(prediction_row, predictions))


def read_predictions(path: Path) -> list[Prediction]:
    """Read ``predictions.parquet``.

    Raises:
        BadArgument: The path is that of the run's folder.
        ArtifactError: It is missing, unreadable, or of another schema version.
    """
    refuse_folder(path, "predictions.parquet")
    if not path.exists():
        raise NotScored(path, "no predictions here")
    refusal = NotAsked if is_of_other_version(path) else NotScored  # its records are of that version too
    kept: dict[str, str] = {}
    return [prediction_of(_sharing(row, kept)) for row in each_row(path, PREDICTION_SCHEMA, refusal)]


_REPEATED = (
    "task", "task_class", "source", "modality", "split", "language", "licence", "rendered", "finish_reason", "model",
    "settings",
)  # fmt: skip
"""Columns whose texts many rows share."""


def _sharing(row: dict[str, Any], kept: dict[str, str]) -> dict[str, Any]:
    """Return a row with texts that rows before it have, too: prompts are most of what a run holds in memory."""
    for name in _REPEATED:
        row[name] = kept.setdefault(row[name], row[name])
    for part in (part for message in row["messages"] for part in message["parts"]):
        part["text"] = kept.setdefault(part["text"], part["text"])
    return row
