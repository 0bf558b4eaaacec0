"""Labelled replies to questions for the sex; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.sex import parse_sex
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

LABELLED = [
    ("Sex: MALE; Explanations: the disc is large.", "MALE"),
    ("Sex: FEMALE", "FEMALE"),
    ("Sex: F", "FEMALE"),
    ("Sex: M.", "MALE"),
    ("Sex: M; Explanations: ...", "MALE"),
    ("M", "MALE"),
    ("f", "FEMALE"),
    ("F; Explanations: small disc", "FEMALE"),
    ("Female", "FEMALE"),
    ("MALE.", "MALE"),
    ("Gender: Female", "FEMALE"),
    ("The patient's sex: male", "MALE"),
    ("Sex is male", "MALE"),
    ("Sex - Male", "MALE"),
    ("**Sex:** <FEMALE>; Explanations: <vessels>", "FEMALE"),
    ('{"Sex": "FEMALE", "Explanations": "vessels"}', "FEMALE"),
    ("Sex/Age group: MALE / 30–39", "MALE"),
    ("Sex/Age group: F / 60-69", "FEMALE"),
    ("Answer: male", "MALE"),
    ("Final answer: FEMALE", "FEMALE"),
    ("The patient is likely male.", "MALE"),
    ("The patient appears to be a woman.", "FEMALE"),
    ("I think the patient is a boy.", "MALE"),
    ("This is a man's eye.", "MALE"),
    ("The image shows the fundus of a 65-year-old female.", "FEMALE"),
    ("The sex of the patient is female.", "FEMALE"),
    ("Not male, so female.", "FEMALE"),
    ("The patient is not female but male.", "MALE"),
    ("Sex: MALE. Correction: Sex: FEMALE", "FEMALE"),
    ("Sex: FEMALE; Explanations: unlike male eyes, the disc is small.", "FEMALE"),
    ("<think>male? the disc is small</think>Sex: FEMALE", "FEMALE"),
    ("性别：女", "FEMALE"),
    ("性别：男；解释：视盘较大", "MALE"),
    ("性别为女", "FEMALE"),
    ("患者为女性。", "FEMALE"),
    ("该患者是一名男士。", "MALE"),
    ("男性", "MALE"),
    ("女", "FEMALE"),
    ("Sex: MALE/FEMALE", "?ambiguous"),
    ("Sex: <MALE/FEMALE>; Explanations: <EXPLANATIONS>", "?ambiguous"),
    ("Sex: M/F", "?ambiguous"),
    ("The patient is male or female.", "?ambiguous"),
    ("Sex: Both", "?no_match"),
    ("male and female eyes look alike", "?no_match"),
    ("There is no difference between male and female eyes.", "?no_match"),
    ("The patient could be male.", "?no_match"),
    ("可能是男性", "?no_match"),
    ("男女均可能", "?no_match"),
    ("该患者是男性还是女性", "?no_match"),
    ("The fundus is normal.", "?no_match"),
    ("I'm a language model", "?no_match"),
    ("The maleate salt", "?no_match"),
    ("Sex: Unknown", "?refused"),
    ("I'm unable to tell whether the patient is male or female.", "?refused"),
    ("It is not possible to determine sex from a fundus photograph.", "?refused"),
    ("无法判断性别", "?refused"),
    ("该患者是男性还是女性无法确定", "?refused"),
    ("", "?empty"),
    ("male " * 12, "?repetition"),
]


@tabled(("text", "wanted"), LABELLED)
def test_replies(text: str, wanted: str) -> None:
    answer = read(Reply("id", text), parse_sex, ("MALE", "FEMALE"))
    assert isinstance(answer, str | Unparsed)
    assert (f"?{answer.reason}" if isinstance(answer, Unparsed) else answer) == wanted


def test_the_answer_is_in_the_prompts_spelling() -> None:
    assert parse_sex("Sex: man", ("Male", "Female")) == "Male"


@tabled("join", [", ", " & ", " and ", " or ", "/", ","])
@tabled(("one", "other"), [("M", "F"), ("F", "M")])
def test_both_letters_are_unparsed(one: str, other: str, join: str) -> None:
    assert isinstance(parse("sex", f"Sex: {one}{join}{other}; Explanations: as seen"), Unparsed)


@tabled("who", ["patients", "people", "individuals", "subjects"])
def test_statements_about_groups_are_no_answer(who: str) -> None:
    for one, other in (("Male", "female"), ("Female", "male")):
        text = f"{one} {who} tend to have larger discs, {other} {who} a thicker choroid."
        assert isinstance(parse("sex", text), Unparsed), text
