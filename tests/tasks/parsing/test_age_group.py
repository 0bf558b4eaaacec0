"""Labelled replies to questions for the age group; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.age_group import parse_age_group
from lmod_train.tasks.parsing.reading import read
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

GROUPS = ("<18", "18–29", "30–39", "40–49", "50–59", "60–69", "70–79", "80+")
LISTED = "Group 1: <18; Group 2: 18–29; Group 3: 30–39; Group 4: 40–49; Group 5: 50–59; Group 6: 60–69"

LABELLED = [
    # the requested format
    ("Age Group: Group 3; Explanations: clear lens", "30–39"),
    ("Age Group: 30–39", "30–39"),
    ("Age Group: 30-39; Explanations: clear lens", "30–39"),
    ("Age Group: 60 to 69", "60–69"),
    ("Age Group: Group 3: 30–39; Explanations: a 65-year-old would show drusen", "30–39"),
    ("Age Group: Group 5 (50-59)", "50–59"),
    ("Age Group: 2 (18-29)", "18–29"),
    ("Age Group: 3", "30–39"),
    ("Age Group: <3>", "30–39"),
    ("Age Group: <30-39>", "30–39"),
    ("Age Group: <18", "<18"),
    ("Age Group: under 18", "<18"),
    ("Age Group: 80+", "80+"),
    ("Age Group: 65", "60–69"),
    ("Age Group: 65 years", "60–69"),
    ("Age Group: Group Six", "60–69"),
    ("Age Group: Group VI", "60–69"),
    ("Age: 35", "30–39"),
    ("**Age Group:** Group 5: 50–59\n\n**Explanations:** the vessels of a 70-79 year old differ.", "50–59"),
    ('{"Age Group": "Group 4: 40-49", "Explanations": "lens"}', "40–49"),
    ("Age Group: Group 4: 40–49, Explanations: lens clear", "40–49"),
    ("Sex/Age group: MALE / 30–39", "30–39"),
    ("Sex/Age group: F, 65", "60–69"),
    ("Group 8", "80+"),
    ("6", "60–69"),
    ("65", "60–69"),
    ("30-39", "30–39"),
    ("2; Explanations: young", "18–29"),
    ("Final answer: Group 7", "70–79"),
    ("Age Group: Group 6. Correction: Age Group: Group 7", "70–79"),
    # as LMOD v1 names its groups, with shared ends
    ("Age Group: 18-30", "18–29"),
    ("Age Group: 70-80", "70–79"),
    ("Age Group: 20-29", "18–29"),  # within one group
    # in words
    ("The patient is in their thirties.", "30–39"),
    ("in his 60s", "60–69"),
    ("likely in her mid-forties", "40–49"),
    ("in the eighties", "80+"),
    ("The patient is a 65-year-old male.", "60–69"),
    ("The patient is 45 years old.", "40–49"),
    ("aged 72", "70–79"),
    ("The age is around 55 years.", "50–59"),
    ("between 50 and 59 years of age", "50–59"),
    ("80 years or older", "80+"),
    ("The patient is over 80 years old.", "80+"),
    ("The patient is a child.", "<18"),
    ("I would say 18-29.", "18–29"),
    ("The image belongs to the 40–49 age group.", "40–49"),
    ("It is not group 3 but group 4.", "40–49"),
    # Chinese
    ("年龄组：第3组", "30–39"),
    ("年龄组：30-39岁；解释：晶状体透明", "30–39"),
    ("第六组", "60–69"),
    ("65岁", "60–69"),
    ("患者年龄约为45岁", "40–49"),
    ("患者约六十多岁", "60–69"),
    ("80岁以上", "80+"),
    ("18岁以下", "<18"),
    ("儿童", "<18"),
    # more than one
    ("Age Group: Group 3: 40–49", "?ambiguous"),
    ("Age Group: Group 4 or Group 5", "?ambiguous"),
    ("Group 3 or 4", "?ambiguous"),
    ("60–69 or 70–79", "?ambiguous"),
    ("Age Group: 35-45", "?ambiguous"),
    ("Age Group: 60+", "?ambiguous"),
    ("Age Group: over 60", "?ambiguous"),
    ("60岁以上", "?ambiguous"),
    ("in his teens", "?ambiguous"),
    ("Age: 7", "?ambiguous"),  # an age, or group 7
    ("Age Group: 5-7", "?ambiguous"),  # ages, or groups
    (f"The age groups are: {LISTED}", "?ambiguous"),
    # the prompt's list, repeated: no choice
    (f"Age Group: {LISTED}; Group 7: 70–79; Group 8: 80+.", "?ambiguous"),
    (f"Age Group: {LISTED}", "?ambiguous"),
    ("Age Group: Group 1: <18\nGroup 2: 18-29\nGroup 3: 30-39\n", "?ambiguous"),
    ("**Age Group:**\n- Group 1: <18\n- Group 2: 18-29", "?ambiguous"),
    ("Age Group: Group 1: <18. Group 2: 18-29. Group 3: 30-39.", "?ambiguous"),
    ("Age Group: Group 1 (<18), Group 2 (18-29), Group 3 (30-39)", "?ambiguous"),
    ("Age Group: Group 1 <18; Group 2 18-29", "?ambiguous"),
    ("Age Group: <18; 18–29; 30–39; 40–49; 50–59; 60–69; 70–79; 80+", "?ambiguous"),
    ("Age Group: 18-29 years; 30-39 years", "?ambiguous"),
    ("年龄组：第1组：<18；第2组：18-29；第3组：30-39", "?ambiguous"),
    ("Age Group: Group 3; Group 3: 30–39", "30–39"),
    ("Age Group: 30–39; Group 5 would show more drusen", "30–39"),
    ("Age Group: 30–39; 65 drusen; 0.3-0.4 cup-to-disc ratio", "30–39"),
    ("Age Group: Group 3: 30–39; Explanations: Group 1: <18; Group 2: 18–29", "30–39"),
    # none
    ("Age Group: Group 9", "?out_of_range"),
    ("Age Group: Group 0", "?out_of_range"),
    ("Age Group: 12", "?out_of_range"),  # no group, and the format asks for a group
    ("Age Group: 200", "?out_of_range"),
    ("Age Group: <GROUP_LABEL>; Explanations: <EXPLANATIONS>", "?no_match"),
    ("Age Group: adult", "?no_match"),
    ("an elderly patient", "?no_match"),
    ("not Group 3", "?no_match"),
    ("The patient has had diabetes for 20 years.", "?no_match"),
    ("The cup-to-disc ratio is 0.3-0.4.", "?no_match"),
    ("This is a 10-12 disc ratio", "?no_match"),
    ("The foveal avascular zone is over 80 microns wide.", "?no_match"),
    ("The camera is of the 1980s.", "?no_match"),
    ("I cannot determine the age group from this image.", "?refused"),
    ("Age Group: Unknown", "?refused"),
    ("无法判断年龄", "?refused"),
    ("", "?empty"),
]


@tabled(("text", "wanted"), LABELLED)
def test_replies(text: str, wanted: str) -> None:
    answer = read(Reply("id", text), parse_age_group, GROUPS)
    assert isinstance(answer, str | Unparsed)
    assert (f"?{answer.reason}" if isinstance(answer, Unparsed) else answer) == wanted


@tabled(("number", "label"), list(enumerate(GROUPS, 1)))
def test_every_group_by_number_and_by_label(number: int, label: str) -> None:
    for text in (
        f"Group {number}",
        f"Age Group: {number}",
        f"Age Group: {label}",
        f"Age Group: Group {number}: {label}",
    ):
        assert parse_age_group(text, GROUPS) == label


@tabled("age", range(18, 121))
def test_every_adult_age(age: int) -> None:
    wanted = GROUPS[1] if age < 30 else GROUPS[min(7, age // 10 - 1)]
    assert parse_age_group(f"The patient is {age} years old.", GROUPS) == wanted
    assert parse_age_group(f"Age Group: {age}", GROUPS) == wanted


OTHERS = ["Group 3 ", "30-39 ", "the patient is 4", "age " * 3, "12", "<", "over 6 ", "Group 2: 18-29; "]


@pytest.mark.parametrize(
    "piece", ["Age Group: 3; 18-29, ", *(pytest.param(piece, marks=pytest.mark.slow) for piece in OTHERS)]
)
def test_long_replies_are_read_in_linear_time(piece: str) -> None:
    assert growth(lambda size: parse_age_group(piece * (size // len(piece)), GROUPS), 5_000) < 2.5


@tabled("unit", ["microns", "um", "µm", "mm", "%", "pixels", "mmHg", "degrees", "微米", "毫米"])
@tabled("bound", ["under 18", "below 18", "less than 18", "over 80", "30-39", "<18"])
def test_measurements_are_no_ages(bound: str, unit: str) -> None:
    for text in (f"{bound} {unit}", f"The hole is {bound} {unit} wide."):
        assert isinstance(parse_age_group(text, GROUPS), Unparsed), text


@tabled(("word", "wanted"), [("Five", "50–59"), ("two", "18–29"), ("EIGHT", "80+")])
def test_a_group_in_words(word: str, wanted: str) -> None:
    assert parse("age_group", f"Age Group: {word}") == wanted == parse("age_group", f"Age Group: {word}; Reason: x")


def test_elderly_marks_a_range_as_ages() -> None:
    assert parse("age_group", "An elderly person, over 80 in my view.") == "80+"
