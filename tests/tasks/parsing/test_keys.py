"""What keys announce, in English and Chinese."""

from __future__ import annotations

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.tasks.parsing.keys import is_probability, kind_of, role_of
from tests.tabled import tabled

ROLES = {
    "answer": ("answer", "final_answer", "isPresent", "Is present?", "结论", "是否存在", "最终答案"),
    "subject": ("condition", "Condition name", "finding", "question", "病变", "项目"),
    "diagnosis": ("diagnosis", "primary diagnosis", "disease_name", "诊断", "疾病名称"),
    "extra": ("confidence", "Confidence (%)", "explanations", "probability", "置信度", "依据", "options"),
    "id": ("Region ID", "id", "box", "编号"),
    "type": ("type", "label", "structure", "类型"),
    "denied": ("excluded", "wrong answer", "Answer is not", "ruled out", "least likely diagnosis", "排除", "错误选项"),
    "": ("drusen", "no glaucoma", "NON-GLAUCOMA", "TRUE", "yes", "stage", "macula"),
}


@tabled("role", ROLES)
def test_roles(role: str) -> None:
    assert {key: role_of(key) for key in ROLES[role]} == dict.fromkeys(ROLES[role], role)


def test_no_name_of_a_condition_is_a_key() -> None:
    names = [form for term in CONDITIONS for form in (term.name, *term.english[:2], *term.chinese[:1])]
    assert {name: role_of(name) for name in names if role_of(name)} == {}


def test_kinds_of_cells() -> None:
    kinds = {"Answer": "heading", "Condition": "key", "present": "either", "AMD": "name", "no": "word", "7": "word"}
    assert {word: kind_of(word) for word in (*kinds, "flat")} == kinds | {"flat": ""}


def test_a_probability_is_no_confidence() -> None:
    assert [is_probability(key) for key in ("probability", "predicted_probability", "概率", "confidence")] == [
        True, True, True, False
    ]  # fmt: skip
