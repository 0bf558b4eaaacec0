"""Keys in a configuration."""

import pytest

from lmod_train.cli.secrets import refuse_secrets
from lmod_train.errors import BadArgument

SECRET = "no-form-of-a-key-0123"


@pytest.mark.parametrize(
    "config",
    [
        {"a": {"b": [{"c": f"http://u:{SECRET}@host/v1"}]}},
        {"a": {"b": {SECRET: 1}}},
        {"a": {"b": "sk-proj-0123456789abcdefABCDEF"}},
        {"a": {"b": "hf_0123456789abcdefABCDEF"}},
        {"a": {"b": "key=AIza0123456789abcdefABCDEF0123456789abc"}},
    ],
)
def test_a_key_is_refused_and_not_shown(monkeypatch, config):
    monkeypatch.setenv("LAB_API_KEY", SECRET)
    with pytest.raises(BadArgument, match=r"(?s)a.b.*=.*not shown.*key_variable") as caught:
        refuse_secrets(config)
    assert not [part for part in (SECRET, "sk-proj", "hf_0", "AIza") if part in str(caught.value)]


def test_other_texts_are_no_keys(monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "EMPTY")
    monkeypatch.setenv("LAB_KEYBOARD", "configs/model")
    refuse_secrets({"a": "EMPTY", "b": "configs/model/x.yaml", "c": [1, None, True], "d": "task-sk-1", "e": "sk_fold"})
