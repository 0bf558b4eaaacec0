"""Labelled replies to questions for one condition; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from lmod_train.core.types import Reply, Unparsed
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS, SIGNS, Finding
from lmod_train.tasks.parsing.finding import parse_finding
from lmod_train.tasks.parsing.reading import read
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

BY_SHORT = {finding.short: finding for finding in FINDINGS}

LABELLED = {
    "AMD": [
        ("AMD TRUE; Explanations: drusen and pigment changes.", "TRUE"),
        ("AMD <TRUE>; Explanations: drusen", "TRUE"),
        ("AMD: FALSE", "FALSE"),
        ("AMD = TRUE", "TRUE"),
        ("AMD - FALSE", "FALSE"),
        ("**AMD TRUE**\n\n**Explanations:** drusen", "TRUE"),
        ('{"AMD": "TRUE", "Explanations": "drusen"}', "TRUE"),
        ("AMD (Age-Related Macular Degeneration): TRUE", "TRUE"),
        ("TRUE", "TRUE"),
        ("False; Explanations: no drusen seen", "FALSE"),
        ("FALSE\n\nExplanations: no drusen", "FALSE"),
        ("Yes, the patient has AMD.", "TRUE"),
        ("No, there are no signs of AMD.", "FALSE"),
        ("No.", "FALSE"),
        ("The patient does not have age-related macular degeneration.", "FALSE"),
        ("There is no evidence of AMD.", "FALSE"),
        ("AMD is present.", "TRUE"),
        ("The image suggests AMD.", "TRUE"),
        ("Negative for AMD", "FALSE"),
        ("AMD FALSE; Explanations: the patient has no AMD although drusen are present", "FALSE"),
        ("AMD TRUE; Explanations: there is no hemorrhage", "TRUE"),
        ("There are drusen, so the answer is TRUE.", "TRUE"),
        ("Final answer: FALSE", "FALSE"),
        ("AMD TRUE. Correction: AMD FALSE", "FALSE"),
        ("老年性黄斑变性：是", "TRUE"),
        ("未见黄斑变性", "FALSE"),
        ("患者患有年龄相关性黄斑变性", "TRUE"),
        ("AMD: 否", "FALSE"),
        ("否", "FALSE"),
        ("AMD <TRUE/FALSE>; Explanations: <EXPLANATIONS>", "?ambiguous"),
        ("AMD TRUE and AMD FALSE", "?ambiguous"),
        ("No AMD; TRUE", "?ambiguous"),
        ("No signs of AMD. True.", "?ambiguous"),
        ("TRUE; there is no AMD", "?ambiguous"),
        ("AMD is present; FALSE", "?ambiguous"),
        ("AMD is present; TRUE", "TRUE"),
        ("AMD TRUE; FALSE", "?ambiguous"),
        ("AMD: TRUE, no glaucoma", "TRUE"),
        ("TRUE; there is no glaucoma", "TRUE"),
        ("FALSE. No AMD.", "FALSE"),
        ("No AMD; Explanations: TRUE drusen are missing", "FALSE"),
        ("It is not true that AMD is present.", "FALSE"),
        ("AMD TRUE; Final answer: AMD FALSE", "FALSE"),
        ("AMD FALSE; GLAUCOMA TRUE", "FALSE"),
        ("AMD FALSE, DR: TRUE", "FALSE"),
        ("GLAUCOMA TRUE; Explanations: large cup", "?no_match"),
        ("DR FALSE", "?no_match"),
        ("AMD cannot be excluded.", "?no_match"),
        ("AMD may be present.", "?no_match"),
        ("The retina is normal.", "?no_match"),
        ("AMD is a disease of the macula.", "?no_match"),
        ("I'm sorry, I can't diagnose AMD.", "?refused"),
        ("Please consult an ophthalmologist.", "?refused"),
        ("无法诊断", "?refused"),
        ("", "?empty"),
    ],
    "DRUSEN": [
        ("DRUSEN TRUE", "TRUE"),
        ("the patient does not have drusen", "FALSE"),
        ("no drusen; TRUE", "?ambiguous"),
        ("no drusen, TRUE", "?ambiguous"),
        ("Drusen may be seen elsewhere. Answer: FALSE", "FALSE"),
        ("TRUE; no drusen are seen", "?ambiguous"),
        ("TRUE; drusen are seen", "TRUE"),
        ("no true drusen", "FALSE"),
        ("There are no drusen; this is a true statement.", "FALSE"),
        ("Multiple drusen are visible around the fovea.", "TRUE"),
        ("未见玻璃膜疣", "FALSE"),
        ("玻璃膜疣：有", "TRUE"),
        ("AMD TRUE", "?no_match"),
    ],
    "DR": [
        ("DR TRUE", "TRUE"),
        ("No diabetic retinopathy.", "FALSE"),
        ("DR FALSE; Explanations: HYPERTENSIVE RETINOPATHY TRUE", "FALSE"),
        ("hypertensive retinopathy: TRUE", "?no_match"),
        ("糖尿病视网膜病变：无", "FALSE"),
    ],
    "ABNORMAL MACULA": [
        ("ABNORMAL MACULA FALSE; Explanations: the macula is normal", "FALSE"),
        ("The macula appears normal.", "FALSE"),
        ("The macula is abnormal.", "TRUE"),
        ("The macula appears normal, TRUE", "?ambiguous"),
        ("The macula appears normal: FALSE", "FALSE"),
        ("The macula is abnormal; TRUE", "TRUE"),
        ("The macula is not abnormal.", "FALSE"),
        ("a normal macula", "FALSE"),
        ("TRUE; Explanations: pigment in the macula", "TRUE"),
        ("黄斑正常", "FALSE"),
        ("黄斑异常", "TRUE"),
        ("黄斑未见异常", "FALSE"),
    ],
    "ABNORMAL VESSELS": [
        ("The vessels are normal.", "FALSE"),
        ("The retinal vessels appear abnormal.", "TRUE"),
        ("no abnormal vessels", "FALSE"),
        ("血管正常", "FALSE"),
    ],
    "INCREASED CUP-TO-DISC RATIO": [
        ("INCREASED CUP-TO-DISC RATIO <FALSE>; Explanations: 0.3", "FALSE"),
        ("The cup-to-disc ratio is increased.", "TRUE"),
        ("The cup-to-disc ratio is not increased.", "FALSE"),
        ("The cup-to-disc ratio is normal.", "FALSE"),
        ("The CDR appears enlarged.", "TRUE"),
        ("杯盘比增大", "TRUE"),
        ("杯盘比正常", "FALSE"),
    ],
    "HEMORRHAGE": [
        ("Hemorrhages are present.", "TRUE"),
        ("no haemorrhage", "FALSE"),
        ("There is a retinal hemorrhage.", "TRUE"),
        ("未见出血", "FALSE"),
    ],
    "MYOPIC FUNDUS": [("The fundus is myopic.", "TRUE"), ("no myopic changes", "FALSE")],
    "SCAR": [("A chorioretinal scar is seen.", "TRUE"), ("SCAR FALSE", "FALSE")],
    "VASCULAR OCCLUSION": [("branch retinal vein occlusion is present", "TRUE"), ("no RVO", "FALSE")],
    "NEVUS": [("A choroidal nevus is visible.", "TRUE"), ("没有脉络膜痣", "FALSE")],
    "HYPERTENSIVE RETINOPATHY": [("Signs of hypertensive retinopathy.", "TRUE"), ("DR TRUE", "?no_match")],
}


@tabled(("short", "text", "wanted"), [(short, *pair) for short, pairs in LABELLED.items() for pair in pairs])
def test_replies(short: str, text: str, wanted: str) -> None:
    finding = BY_SHORT[short]
    answer = read(Reply("id", text), lambda text, choices: parse_finding(text, choices, finding), ("TRUE", "FALSE"))
    assert isinstance(answer, str | Unparsed)
    assert (f"?{answer.reason}" if isinstance(answer, Unparsed) else answer) == wanted


def test_every_finding_has_labelled_replies() -> None:
    assert set(LABELLED) == set(BY_SHORT)


DISEASES = [f for f in FINDINGS if f.condition not in SIGNS and "hyper" not in f.condition]


@tabled("layout", ["The patient has {}. TRUE", "Yes, the patient has {}.", "TRUE. The eye has {}."])
@tabled("asked", FINDINGS)
def test_a_yes_about_another_disease_is_no_answer(asked: Finding, layout: str) -> None:
    for other in DISEASES:
        read = parse_finding(layout.format(other.condition), ("TRUE", "FALSE"), asked)
        assert (read == "TRUE") == (other == asked), other.condition


@tabled("asked", [f for f in FINDINGS if not f.structure])
@tabled("layout", ["{}, no.", "{}, none.", "{}, not seen.", "{}, absent", "{}, no evidence of it."])
def test_a_no_behind_a_comma_denies(asked: Finding, layout: str) -> None:
    assert parse_finding(layout.format(asked.condition), ("TRUE", "FALSE"), asked) == "FALSE"


@tabled("asked", [f for f in FINDINGS if not f.structure])
@tabled("layout", ["{}，否", "{}，无。", "{}，没有", "{}，未见"])
def test_a_chinese_no_behind_a_comma_denies(asked: Finding, layout: str) -> None:
    name = next(term.chinese[0] for term in CONDITIONS if term.name == asked.condition)
    assert parse("conditions " + asked.condition, layout.format(name)) == "FALSE"


@tabled("asked", [f for f in FINDINGS if not f.structure])
def test_an_apposition_between_name_and_verb(asked: Finding) -> None:
    for predicate, wanted in (("noted", "TRUE"), ("absent", "FALSE"), ("not seen", "FALSE")):
        text = f"{asked.condition}, both old and new, is {predicate} here."
        assert parse_finding(text, ("TRUE", "FALSE"), asked) == wanted
