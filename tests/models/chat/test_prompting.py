"""Options of the prompt: what is refused, and what is part of a reply's identity."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.templates import template_of


def test_defaults_state_nothing():
    assert Prompting().settings() == {} and Prompting().template_text() == ""


def test_each_setting_is_part_of_the_identity(tmp_path):
    file = tmp_path / "own.jinja"
    file.write_text("{{ messages }}\n")
    stated = [
        Prompting(template="vicuna_v1"),
        Prompting(template=str(file)),
        Prompting(system_prompt="Be brief."),
        Prompting(stop=("###",)),
        Prompting(thinking=True),
    ]
    settings = [p.settings() for p in stated]
    assert all(settings) and all(settings.count(s) == 1 for s in settings)
    file.write_text("{{ messages[0] }}\n")
    assert stated[1].settings() != settings[1], "a file is known by its content"


def test_a_template_is_a_name_or_a_file(tmp_path):
    (tmp_path / "own.jinja").write_text("{{ messages }}\n")
    assert Prompting(template="vicuna_v1").template_text() == template_of("vicuna_v1")
    assert Prompting(template=str(tmp_path / "own.jinja")).template_text() == "{{ messages }}"
    with pytest.raises(BadArgument, match=r"prompt.template='v7': expected one of .*words, or the path of a file"):
        Prompting(template="v7")


def test_an_empty_stop_word_is_refused():
    with pytest.raises(BadArgument, match=r"prompt.stop=\('###', ''\)"):
        Prompting(stop=("###", ""))
