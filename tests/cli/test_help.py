"""Help texts name the command that was typed and hold no dump of objects."""

import pytest

from lmod_train import cli


@pytest.mark.parametrize("command", ["curate", "report", "judge", "fit", "doctor"])
def test_help_names_its_command_and_shows_no_objects(command: str, capsys: pytest.CaptureFixture[str]):
    try:
        assert cli.main([command, "--help"]) == 0
    except SystemExit as ended:
        assert ended.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m lmod_train {command} ")
    assert "Namespace(" not in text and "[options]" not in text
    for python in ("<class", "Literal[", "Optional[", "\\u0008", "default: )", "default: null", "default config file"):
        assert python not in text
