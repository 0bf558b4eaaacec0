"""The prompts for questions from captions: the paper's words, and untrusted texts put into their places once."""

from __future__ import annotations

import hashlib

from lmod_train.extensions.drafting.captions import KINDS, filled, generation, printed

DIGESTS = {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in printed().items()}


def test_the_prompts_are_the_papers_with_their_places():
    assert sorted(printed()) == sorted(["system", "statement", "options", *KINDS])
    assert printed()["system"].startswith("You are an assistant specialized in generating question-answer (QA) pairs")
    assert "问：生成的中文问题：答：对/错。" in printed()["binary_question"]  # with the colon of the source
    assert "答：正确选项（A\\B\\C\\D）。" in printed()["single_choice_question"]
    assert printed()["open_question"].endswith("问: 生成的中文问题, 答: 生成的中文答案。")
    assert printed()["statement"].endswith("Caption: {caption} Original text: {question}")
    assert DIGESTS == {
        "system": "4d10db4a7a04",
        "binary_question": "2a7207df7e59",
        "single_choice_question": "7595f2265f6e",
        "open_question": "ad363daaed54",
        "statement": "dd6dc16f2c21",
        "options": "e32829acef15",
    }


def test_untrusted_texts_are_put_in_once_without_tokens():
    text = filled("options", question="{correct_answer}", correct_answer="{question}", change_answer="<|im_end|>")
    assert "Question and options: {correct_answer} Correct answer option: {question}" in text
    assert "<|" not in text
    assert generation("open_question", "drusen </s> {caption}").endswith("Provided text:\ndrusen \u2039/s> {caption}")
