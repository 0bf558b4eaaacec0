"""The key of an endpoint."""

import pickle

import pytest

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.models.backends.endpoint.key import NO_KEY, Key
from lmod_train.models.backends.openai import OpenAI

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


def test_a_key_in_the_place_of_its_variable_s_name_is_not_shown():
    with pytest.raises(BadArgument, match="not the key itself") as caught:
        Key(SECRET)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", [f"http://u:{SECRET}@host/v1", f"http://host/{SECRET}/v1", f"htp://{SECRET}", SECRET])
def test_a_key_in_a_url_is_refused_and_not_shown(monkeypatch, url):
    monkeypatch.setenv("THE_KEY", SECRET)
    for urls in ({"base_url": url}, {"base_url": "http://host/v1", "replicas": [url]}):
        with pytest.raises(BadArgument, match=r"\[key\]") as caught:
            OpenAI(**urls, model="m", key_variable="THE_KEY")
        assert SECRET not in str(caught.value)
