"""A signature becomes a command line: positionals, options, flags, dotted keys, defaults from a file, typos."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from lmod_train.cli import parse

seen: dict[str, Any] = {}


def cook(dish: Literal["soup", "stew"], pots: list[Path], *, salt: float, herbs: dict[str, Path] | None = None,
         slow: bool = False, portions: int = 4) -> None:  # fmt: skip
    """Cook a dish.

    A longer story.

    Args:
        dish: What to cook.
        pots: Where.
        salt: Grams.
        herbs: Name -> jar.
        slow: Take time.
        portions: How many.
    """
    seen.update(dish=dish, pots=pots, salt=salt, herbs=herbs, slow=slow, portions=portions)


@pytest.fixture(autouse=True)
def _configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    seen.clear()
    monkeypatch.setattr(parse, "configs_folder", lambda: tmp_path)
    return tmp_path


def test_positionals_options_flags_and_dotted_keys_arrive_typed():
    parse.call(cook, "cook", ["soup", "a", "b", "--salt", "2", "--slow", "--herbs.basil", "x", "--herbs.thyme", "y"])
    assert seen == {
        "dish": "soup", "pots": [Path("a"), Path("b")], "salt": 2.0, "slow": True, "portions": 4,
        "herbs": {"basil": Path("x"), "thyme": Path("y")},
    }  # fmt: skip
    parse.call(cook, "cook", ["stew", "a", "--salt=1", "--slow=false"])
    assert (seen["slow"], seen["herbs"]) == (False, None)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("portions", "1" + ":59" * 80_000, "portions="), ("portions", "1:30", "portions='1:30': expected"),
     ("portions", "[" * 200_000, "portions="), ("herbs", "[" * 200_000, "herbs="),
     ("herbs", "{a: &a x, b: *a}", "herbs="), ("herbs", "{a: x, <<: {b: y}}", "herbs="),
     ("herbs", "{a: x, a: y}", "herbs="), ("salt", "9" * 5000, "salt=")],
)  # fmt: skip
def test_a_value_that_costs_more_than_its_size_is_refused_on_the_command_line(
    option: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
):
    words = ["soup", "a", "--salt", "1"]
    with pytest.raises(SystemExit):
        parse.call(cook, "cook", [*words, f"--{option}", value])
    printed = capsys.readouterr().err
    assert said in printed and len(printed) < 400


def test_a_default_config_is_read_and_an_own_one_and_options_win(tmp_path: Path):
    (tmp_path / "cook").mkdir()
    (tmp_path / "cook" / "default.yaml").write_text("salt: 3\nportions: 2\n")
    (tmp_path / "own.yaml").write_text("portions: 9\n")
    parse.call(cook, "cook", ["soup", "a"])
    assert (seen["salt"], seen["portions"]) == (3.0, 2)
    parse.call(cook, "cook", ["soup", "a", "--config", str(tmp_path / "own.yaml"), "--salt", "7"])
    assert (seen["salt"], seen["portions"]) == (7.0, 9)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("soup a --salt 2 --portoins 3", ["--portoins", "did you mean --portions?"]),
        ("soup a --salt 2 --herb.basil x", ["--herb.basil", "did you mean --herbs.basil?"]),
        ("soup a --salt 2 --portion 3", ["--portion", "did you mean --portions?"]),
        ("soup a --salt 2 --portions many", ["portions", "many"]),
        ("soup a", ["salt", "required"]),
        ("sop a --salt 2", ["dish", "'sop'", "'soup', 'stew'"]),
        ("soup --salt 2", ["pots"]),
    ],
)
def test_a_mistake_names_the_option_and_the_cure(arguments: str, parts: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        parse.call(cook, "cook", arguments.split())
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert all(part in error for part in parts), error
    assert error.splitlines()[-1] == "Next: `python -m lmod_train cook --help` shows every option."
    assert seen == {}


def test_an_unknown_key_of_a_config_is_named_with_the_closest_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "cook").mkdir()
    (tmp_path / "own.yaml").write_text("protions: 9\n")
    with pytest.raises(SystemExit):
        parse.call(cook, "cook", ["soup", "a", "--salt", "1", "--config", str(tmp_path / "own.yaml")])
    error = capsys.readouterr().err
    assert "protions" in error and "did you mean --portions?" in error


def test_help_is_the_docstring_without_saying_it_twice(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        parse.call(cook, "cook", ["--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    for text in ("A longer story.", "What to cook.", "Where.", "Grams.", "How many."):
        assert shown.count(text) == 1
