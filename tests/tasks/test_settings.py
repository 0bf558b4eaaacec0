"""What changes a task's questions is told, whatever holds it; what cannot be told is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.data.curation.manifest_files import task_settings
from lmod_train.tasks.base import Task
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.settings import plain
from tests.tabled import tabled


@dataclass
class Options:
    words: tuple[str, ...]
    file: Path | None = None


class Told(Task):
    """Asks whatever its attributes say."""

    name = "told"
    version = 1
    choices = ("YES", "NO")

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def ask(self, sample: Sample) -> Iterator[Question]:
        yield from ()

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        return reply.reply

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        return []

    @cached_property
    def table(self) -> object:
        return object()


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_plain_values_are_told_as_they_are_and_others_otherwise(one: Any, other: Any):
    told = Told(option=one).settings()["option"]
    assert told == one and json.loads(json.dumps(told)) == told
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (json.dumps(told, sort_keys=True) == json.dumps(plain(other, "o"), sort_keys=True)) == same


def test_a_path_is_known_by_its_content_and_not_by_its_name(tmp_path: Path):
    def told(text: str, name: str = "words.txt") -> Any:
        (tmp_path / name).write_text(text)
        options = Options(("a",), tmp_path / name)
        return Told(words=tmp_path / name, several=[{"deep": tmp_path / name}], options=options).settings()

    assert told("disc") == told("disc", "other.txt") != told("cup")
    first, second = told("disc"), told("cup")
    assert all(first[name] != second[name] for name in ("words", "several", "options"))
    (tmp_path / "folder").mkdir()
    folder = Told(words=tmp_path / "folder")
    empty = folder.settings()
    (tmp_path / "folder" / "a.txt").write_text("a")
    assert folder.settings() != empty


def test_collections_patterns_and_dataclasses_are_told():
    told = Told(pair=("a", 1), group={"b", "a"}, seen=frozenset([2, 1]), form=re.compile("x", re.I), o=Options(("w",)))
    assert told.settings() == {
        "pair": ["a", 1], "group": ["a", "b"], "seen": [1, 2], "form": {"pattern": "x", "flags": 34},
        "o": {"words": ["w"], "file": None},
    }  # fmt: skip


def test_a_task_within_a_task_is_told_with_all_it_holds():
    of = [Probe(Glaucoma(image_type=text)).settings() for text in ("a fundus image", "an eye")]
    assert of[0] != of[1] and of[0]["of"]["settings"]["image_type"] == "a fundus image"
    assert of[0]["of"]["class"] == "lmod_train.tasks.glaucoma.Glaucoma" and of[0]["of"]["version"] == Glaucoma.version


def test_what_is_computed_once_does_not_count():
    task = Told(option=1)
    assert task.table is task.table and "table" in vars(task)
    assert task.settings() == {"option": 1}


@tabled(
    "value",
    [
        object(), lambda: 1, {("a", "b"): 1}, float("nan"), float("inf"), b"bytes", Path("nowhere/at/all"),
        [{"x": object()}],
    ],
)  # fmt: skip
def test_what_json_cannot_hold_is_refused_by_name_with_a_cure(value: Any):
    with pytest.raises(BadArgument, match=r"(?s)^Told\.option.*expected.*\nNext: "):
        Told(option=value).settings()


def test_a_task_may_say_itself_what_counts():
    class Says(Told):
        def settings(self) -> dict[str, Any]:
            return {"words": ("a", "b")}

    assert task_settings(Says(option=object()))["settings"] == {"words": ["a", "b"]}
