"""Groups of commands: what they list, how a typo is answered, and the former names of their commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.ended import INCOMPLETE
from lmod_train.models.chat.checkpoint import SHIPPED
from lmod_train.models.chat.delta import make_delta
from tests.cli.test_drafts import QUIET, all_good, model_file
from tests.cli.test_drafts import here as drafted  # noqa: F401
from tests.tabled import tabled


def ended(arguments: list[str]) -> int | str | None:
    """Return the exit status of a command, of which the parser ends `--help` and its own errors itself."""
    try:
        return cli.main(arguments)
    except SystemExit as stopped:
        return stopped.code


@pytest.mark.parametrize("group", cli.GROUPS)
def test_a_group_lists_its_commands_with_a_line_each(group: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main([group]) == 0
    shown = capsys.readouterr().out
    for name in cli.GROUPS[group]:
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
        ("draft ask-questions", "did you mean `python -m lmod_train draft ask`?"),
        ("draft zzz", "see `python -m lmod_train draft --help`"),
        ("draft --out DRAFT", "see `python -m lmod_train draft --help`"),
        ("weigths merge", "did you mean `python -m lmod_train weights merge`?"),
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


@tabled("former", list(cli.FORMER))
def test_a_former_name_means_its_command_and_says_so(former: str, capsys: pytest.CaptureFixture[str]):
    whole = cli.FORMER[former]
    for options in (["--help"], ["--nothing", "1"], []):
        status = ended([*whole.split(), *options])
        said = capsys.readouterr()
        assert ended([former, *options]) == status == (0 if options == ["--help"] else 2)
        again = capsys.readouterr()
        assert again.out == said.out
        note, rest = again.err.split("\n", 1)
        assert note == f"note: `{former}` is now `python -m lmod_train {whole}`; the next version removes the old name"
        assert rest == said.err


def test_former_names_are_those_of_the_commands_of_groups():
    assert sorted(cli.FORMER.values()) == sorted(name for name in cli.PLAIN if " " in name)
    assert not cli.FORMER.keys() & {*cli.PLAIN, *cli.LIGHTNING, *cli.LATE, *cli.GROUPS}


def test_only_the_first_process_of_a_run_says_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert ended(["merge", "--help"]) == 0
    assert capsys.readouterr().err == ""


def test_a_former_name_does_what_its_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    base = SHIPPED / "small_base"
    make_delta(base, base, tmp_path / "delta")
    for words, out in ((["weights", "apply-delta"], "one"), (["apply-delta"], "two")):
        assert cli.main([*words, "--delta", "delta", "--base", str(base), "--out", out]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.replace("wrote one", "wrote two") == second
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "two").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_a_former_name_continues_what_its_command_began(drafted: Path, capsys: pytest.CaptureFixture[str]):  # noqa: F811
    replies = all_good()
    replies.popitem()
    options = ["CURATED", "--model", model_file(drafted, replies), "--out", "DRAFT", *QUIET]
    assert cli.main(["draft", "ask", *options]) == INCOMPLETE
    first = capsys.readouterr().out
    drafts = Path("DRAFT/drafts.csv").read_bytes()
    assert cli.main(["ask-questions", *options]) == INCOMPLETE
    assert capsys.readouterr().out == first and Path("DRAFT/drafts.csv").read_bytes() == drafts
