"""GPU memory of models, compared with arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lmod_train.cli.listing import gpu_memory
from lmod_train.core.artifacts.model_facts import known_models

MODELS = {model.name: model for model in known_models()}


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        # 7.06e9 parameters x 2 bytes; keys and values of 32 layers of 4096 are 524,288 bytes a token; 8 x 1600 tokens
        ("llava_1_5_7b", 14.12 + 6.7109),
        # 7.57e9 x 2; 8 of 32 heads: 131,072 bytes a token; 8 x (2928 + 1024) tokens
        ("llava_1_6_mistral_7b", 15.14 + 4.1440),
        # 27.4e9 x 2; 62 layers x 16 heads x 128: 507,904 bytes a token; 8 x 1280 tokens
        ("medgemma_27b", 54.8 + 5.2009),
    ],
)
def test_weights_and_cache_are_added(name: str, gigabytes: float):
    assert gpu_memory(MODELS[name]) == pytest.approx(gigabytes, abs=1e-3)


def test_memory_is_absent_where_a_fact_is():
    known = MODELS["llava_1_5_7b"]
    for fact in ("parameters", "cache", "tokens"):
        assert gpu_memory(replace(known, **{fact: None})) is None
