"""A refusal is recognised by what it says, in English and Chinese, and an answer is none."""

from __future__ import annotations

import pytest

from lmod_train.parsing.refusal import is_refusal


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't provide a medical diagnosis.",
        "I am not able to provide a diagnosis.",
        "Please consult an ophthalmologist.",
        "我无法提供医疗诊断。",
    ],
)
def test_refusals(text: str):
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["GLAUCOMA", "DISEASE: normal", "The optic disc looks abnormal.", "青光眼", ""])
def test_answers_are_not_refusals(text: str):
    assert not is_refusal(text)
