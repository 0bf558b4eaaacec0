"""Objects as models write them; time is linear, and no text raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.objects import Node, Word, objects
from tests.growth import growth

JSON = st.recursive(
    st.one_of(st.text(alphabet="ab c\"'\\{}[],:\n无", max_size=8), st.booleans(), st.integers(-9, 99)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(st.text("abcXY", min_size=1), inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip


def plain(node: Node) -> object:
    if isinstance(node, Word):
        return node.text
    if node.is_list:
        return [plain(inner) for _, inner in node.members]
    return {key: plain(inner) for key, inner in node.members}


def read(text: str) -> list[object]:
    return [plain(group) for group in objects(in_place(text), text)]


def as_text(value: object) -> object:
    if isinstance(value, dict):
        return {key: as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_text(inner) for inner in value]
    return value if isinstance(value, str) else json.dumps(value)


FLAT = st.dictionaries(
    st.text("abcXY", min_size=1),
    st.one_of(st.text("abc d", min_size=1), st.booleans(), st.lists(st.text("abc", min_size=1), min_size=1)),
    min_size=1,
)


@pytest.mark.parametrize("examples", [25, pytest.param(150, marks=pytest.mark.slow)])
def test_json_is_read_as_json_is(examples: int) -> None:
    settings(max_examples=examples)(given(value=FLAT)(read_as_json))()


def read_as_json(value: dict[str, object]) -> None:
    (found,) = read(json.dumps(value))
    assert str(found).replace("  ", " ").split() == str(as_text(value)).replace("  ", " ").split()


@pytest.mark.parametrize("examples", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_raises(examples: int) -> None:
    settings(max_examples=examples)(given(value=JSON, cut=st.integers(0, 60), before=st.text(max_size=5))(survives))()


def survives(value: object, cut: int, before: str) -> None:
    text = before + json.dumps(value, ensure_ascii=False)
    for part in (text, text[:cut], text[cut:]):
        for group in objects(in_place(part), part):
            assert 0 <= group.start < group.end <= len(part)


OTHERS = ["{", "[{", '{"a":', '{"a":"', '{"', "{a:", '"a": {', '["', "[("]


@pytest.mark.parametrize("unit", ['{"a": "b", ', *(pytest.param(unit, marks=pytest.mark.slow) for unit in OTHERS)])
def test_time_is_linear(unit: str) -> None:
    assert growth(lambda size: objects((unit * size)[:size], (unit * size)[:size]), 10_000) < 2.5
