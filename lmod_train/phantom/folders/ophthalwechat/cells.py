"""The cells of OphthalWeChat's workbooks as people write them: marks in half and full width, answers in many forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from lmod_train.phantom.folders.ophthalwechat.questions import Drawn

T = TypeVar("T")

LETTERS, NEWLINE = "ABCD", "\n"

HEADERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "questions": {
        "en": ("QA ID", "Image ID", "Question type", "Question", "Answer"),
        "zh": ("问答编号", "图片编号", "题型", "语言", "问题", "答案"),
    },
    "images": {
        "en": ("Image ID", "URL", "Article ID", "Modality", "Subspecialty", "Condition", "Caption"),
        "zh": ("图片编号", "图片链接", "文章编号", "成像模态", "亚专科", "疾病", "图注"),
    },
}
"""Workbook -> language -> its headers; without a column of the language, the type names it."""

TYPES = {
    "binary_question": {"en": "Binary", "zh": "判断题"},
    "single_choice_question": {"en": "Single-choice", "zh": "单选题"},
    "open_question": {"en": "Open-ended", "zh": "开放题"},
}
_LANGUAGES = {"zh": "中文", "en": "英文"}
_SUFFIXES = {"zh": "CN", "en": "EN"}
_MARKS = {
    "en": ((": ", " "), (". ", "\n"), (") ", "; ")),
    "zh": (("：", " "), ("、", "；"), ("．", "\n"), (": ", " ")),
}
"""Language -> what may stand behind a letter, and behind an option."""

_FULL = str.maketrans(LETTERS, "ＡＢＣＤ")
_ENDS = {"zh": ("", "。", " "), "en": ("", ".", " ")}


def question_cells(drawn: Drawn, language: str, pair: int, image: int, headers: str, seed: int) -> list[object]:
    """Return a row of the workbook of questions.

    Args:
        drawn: The question.
        language: ``zh`` or ``en``.
        pair: Number of the question, shared with its translation.
        image: Id of the image.
        headers: Language of the headers.
        seed: Seed of marks and forms.
    """
    rng = np.random.default_rng([seed, 32, pair, language == "zh"])
    kind = TYPES[drawn.task][headers]
    named = [_LANGUAGES[language]] if headers == "zh" else []
    kind = kind if named else f"{kind}_{_SUFFIXES[language]}"
    return [pair, image, kind, *named, _words(drawn, language, rng), _answer(drawn, language, rng)]


def _words(drawn: Drawn, language: str, rng: np.random.Generator) -> str:
    """Return what is asked; options follow with letters in half or full width."""
    words = drawn.words[language]
    if drawn.task != "single_choice_question":
        return words + (_one(rng, _ENDS[language]) if drawn.task == "binary_question" else "")
    mark, between = _one(rng, _MARKS[language])
    letters = LETTERS.translate(_FULL) if language == "zh" and rng.random() < 0.3 else LETTERS
    options = zip(letters, drawn.options[language], strict=True)
    listed = between.join(f"{letter}{mark}{text}" for letter, text in options)
    return f"{words}{between if between == NEWLINE else ' '}{listed}"


def _answer(drawn: Drawn, language: str, rng: np.random.Generator) -> object:
    answer = drawn.answer[language]
    if drawn.task == "open_question":
        return answer
    if drawn.task == "single_choice_question":
        letter = LETTERS[drawn.options[language].index(answer)]
        return _one(rng, (letter, letter, f"{letter}.", letter.translate(_FULL), f"{letter}: {answer}", f" {letter} "))
    forms: Mapping[str, Sequence[object]] = {
        "对": ("对", "对", "对。", "正确"),
        "错": ("错", "错", "错。", "错误"),
        "True": ("True", "True", "TRUE", True),
        "False": ("False", "False", "FALSE", False),
    }
    return _one(rng, forms[answer])


def _one(rng: np.random.Generator, several: Sequence[T]) -> T:
    return several[int(rng.integers(len(several)))]
