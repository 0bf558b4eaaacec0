"""The key of an endpoint."""

import pickle

import pytest

from lmod_train.backends.endpoint.key import NO_KEY, Key
from lmod_train.errors import LmodError

SECRET = "sk-test-0123456789abcdef"


def test_it_is_hidden_wherever_a_server_repeats_it(monkeypatch):
    monkeypatch.setenv("THE_KEY", SECRET)
    key = Key("THE_KEY")
    body = {"a": [f"Bearer {SECRET}", 3, None], SECRET: {"b": SECRET}}
    assert key.hide(body) == {"a": ["Bearer [key]", 3, None], "[key]": {"b": "[key]"}}
    assert SECRET not in repr(key) and SECRET.encode() not in pickle.dumps(key)


def test_a_word_that_stands_for_no_key_hides_nothing(monkeypatch):
    monkeypatch.setenv("THE_KEY", "EMPTY")
    assert Key("THE_KEY").value() == "EMPTY"
    assert Key("THE_KEY").hide("EMPTY choices") == "EMPTY choices"


@pytest.mark.parametrize("variable", ["", "THE_KEY"])
def test_without_a_key_the_variable_is_named(monkeypatch, variable):
    monkeypatch.delenv("THE_KEY", raising=False)
    assert Key(variable).value() == NO_KEY
    with pytest.raises(LmodError, match="export"):
        Key(variable).required("https://api.example.com/v1")
