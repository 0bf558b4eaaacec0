"""Functions that read replies, called with texts: `cases.jsonl` has a row for each call, and what it is about.

Of a row, `call` is a function of a module of `lmod_train.tasks.parsing`, ``asked`` a task of
`tests.tasks.parsing.asked`, ``bilingual`` a question of OphthalWeChat; `args` and `with` are its arguments, and `is` is
what it returns, ``{"?": reason}`` without an answer.
"""

from __future__ import annotations

import importlib
import json
import re
from collections import defaultdict
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.core.vocabulary.findings import FINDINGS, Finding
from tests.tasks.parsing import asked, bilingual

ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]
BY_SUBJECT: dict[str, list[dict[str, Any]]] = defaultdict(list)
for row in ROWS:
    BY_SUBJECT[row["about"].partition(":")[0]].append(row)


def function(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    own = {"asked": asked.parse, "bilingual": bilingual.outcome}
    return own.get(name) or getattr(importlib.import_module(f"lmod_train.tasks.parsing.{module}"), attribute)


def argument(value: Any) -> Any:
    """Return an argument of a function: lists are tuples, objects replies, parsers, findings or tables."""
    if isinstance(value, list):
        return tuple(map(argument, value))
    if not isinstance(value, dict):
        return value
    if "reply" in value:
        return Reply("id", value["reply"], value.get("finish", "stop"))
    if "parser" in value:
        parser, rest = function(value["parser"]), argument(value.get("rest"))
        return parser if rest is None else lambda text, _: parser(text, *rest)
    if "pattern" in value:
        return re.compile(value["pattern"], value["flags"])
    if "finding" in value:
        known = (f for f in FINDINGS if (f.condition, f.short) == (value["finding"], value["short"]))
        return next(known, Finding(value["finding"], "", value["short"]))
    return {key: argument(one) for key, one in value["map"].items()}


def plain(value: Any) -> Any:
    """Return what a function returned as JSON holds it."""
    match value:
        case Unparsed():
            return {"?": value.reason}
        case None | bool() | int() | float() | str():
            return value
        case re.Match():
            return value[0]
        case dict():
            return {str(key): plain(one) for key, one in value.items()}
        case set() | frozenset():
            return sorted(map(plain, value), key=str)
    return [plain(getattr(value, f.name)) for f in fields(value)] if is_dataclass(value) else [*map(plain, value)]


@pytest.mark.parametrize("subject", BY_SUBJECT)
def test_each_text_is_read_as_written(subject: str) -> None:
    for row in BY_SUBJECT[subject]:
        given = map(argument, row["args"])
        returned = plain(function(row["call"])(*given, **{k: argument(v) for k, v in row.get("with", {}).items()}))
        assert returned == row["is"], (row["about"], row["call"], row["args"])


def test_every_finding_has_labelled_replies() -> None:
    named = {row["args"][1]["rest"][1]["short"] for row in BY_SUBJECT["finding"] if row["about"] == "finding: replies"}
    assert named == {finding.short for finding in FINDINGS}
