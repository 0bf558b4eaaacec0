"""Groups of commands: what they list, and how a typo is answered."""

from __future__ import annotations

import pytest

from lmod_train import cli
from lmod_train.cli.commands import groups


@pytest.mark.parametrize("group", groups())
def test_a_group_lists_its_commands_with_a_line_each(group: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main([group]) == 0
    shown = capsys.readouterr().out
    for name in groups()[group]:
        (line,) = [line for line in shown.splitlines() if line.startswith(f"  {name} ")]
        assert line.endswith(".")
    assert max(map(len, shown.splitlines())) <= 100
    for option in ("-h", "--help"):
        assert cli.main([group, option]) == 0
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("typed", "cure"),
    [
        ("weights convrt", "did you mean `python -m lmod_train weights convert`?"),
        ("weights captions", "did you mean `python -m lmod_train draft captions`?"),
        ("draft zzz", "see `python -m lmod_train draft --help`"),
        ("draft --out DRAFT", "see `python -m lmod_train draft --help`"),
        ("weigths merge", "did you mean `python -m lmod_train weights merge`?"),
        ("merge --out M", "did you mean `python -m lmod_train weights merge --out M`?"),
        ("jugde RUN", "did you mean `python -m lmod_train judge RUN`?"),
        ("mrge --out M", "did you mean `python -m lmod_train weights merge --out M`?"),
    ],
)
def test_a_typo_is_answered_with_the_closest_command(typed: str, cure: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(typed.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: command='") and error.endswith(f"Next: {cure}\n")


def test_the_commands_of_a_group_are_named_in_its_error(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["weights", "convrt"]) == 2
    expected = "expected one of weights convert, weights merge, weights apply-delta."
    assert f"error: command='weights convrt': {expected}" in capsys.readouterr().err
