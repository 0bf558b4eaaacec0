"""Keys in a configuration."""

import random
import string

import pytest

from lmod_train.cli.run_config import refuse_secrets
from lmod_train.core.errors import BadArgument

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


LETTERS, HEX = string.ascii_letters, "0123456789abcdef"
MIXED = LETTERS + string.digits
SAFE = MIXED + "-_"
FORMS = {
    "sk-": (MIXED, 48),
    "sk-proj-": (SAFE, 150),
    "sk-ant-api03-": (SAFE, 93),
    "sk-or-v1-": (HEX, 64),
    "hf_": (LETTERS, 34),
    "gsk_": (MIXED, 52),
    "xai-": (MIXED, 80),
    "pplx-": (MIXED, 48),
    "r8_": (MIXED, 37),
    "ghp_": (MIXED, 36),
    "nvapi-": (SAFE, 64),
    "AIza": (SAFE, 35),
}
WORDS = (
    *("llava", "next", "mistral", "7b", "v1.5", "Qwen2", "LoRA", "r16", "finetuned", "seed42", "20261123", "fundus"),
    *("InternVL3", "checkpoints", "hf", "sk", "xai", "learn", "internal", "2e-4", "glaucoma", "fold", "1"),
)


def test_keys_of_every_form_are_refused_wherever_they_stand():
    for form, (letters, length) in FORMS.items():
        drawn = random.Random(form)
        keys = [form + "".join(drawn.choices(letters, k=length)) for _ in range(50)]
        for around in ("{}", "Bearer {}", "https://host/v1/{}/", "my_{}", '{{"key": "{}"}}'):
            for key in keys:
                with pytest.raises(BadArgument) as caught:
                    refuse_secrets({"a": around.format(key)})
                assert key not in str(caught.value)


def test_names_of_folders_and_runs_are_no_keys():
    for prefix in ("hf_", "hf-", "sk-", "sk_", "gsk_", "xai-", "xai_", "pplx-", "r8_", "nvapi-"):
        drawn = random.Random(prefix)
        for _ in range(300):
            separator = drawn.choice("-_")
            name = prefix + separator.join(drawn.choices(WORDS, k=drawn.randint(2, 12)))
            refuse_secrets({"run": f"runs/{name}", "checkpoint": name})


@pytest.mark.parametrize("field", ["api_key", "api-key", "apikey", "X-API-Key", "Authorization", "password"])
def test_a_field_of_a_key_holds_none_of_any_form(field):
    with pytest.raises(BadArgument, match="not shown") as caught:
        refuse_secrets({"extra": {"headers": {field: "0123456789abcdef0123456789abcdef"}}})
    assert "0123" not in str(caught.value)
    refuse_secrets(
        {"extra": {field: "EMPTY"}, "key_variable": "AZURE_OPENAI_API_KEY", "image_token": "<image_soft_token>"}
    )
