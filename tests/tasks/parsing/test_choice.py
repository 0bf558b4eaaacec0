"""Labelled replies to questions with one word as the answer; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.reading import read
from tests.tabled import tabled

POLAR = ("GLAUCOMA", "NON-GLAUCOMA")
FOUR = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
TRUTH = ("TRUE", "FALSE")
YES_NO = ("yes", "no")
G, N = POLAR


def outcome(text: str, choices: tuple[str, ...]) -> str:
    answer = read(Reply("id", text), parse_choice, choices)
    assert isinstance(answer, str | Unparsed)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else answer


GLAUCOMA_REPLIES = [
    # the requested format
    ("GLAUCOMA", G),
    ("NON-GLAUCOMA", N),
    ("GLAUCOMA; Explanation: The cup-to-disc ratio is 0.8.", G),
    ("NON-GLAUCOMA; Explanation: The cup-to-disc ratio is 0.3.", N),
    ("glaucoma; explanation: large cup", G),
    ("non-glaucoma; explanation: small cup", N),
    ("Non Glaucoma; Explanation: small cup", N),
    ("Nonglaucoma; Explanation: small cup", N),
    ("NON_GLAUCOMA", N),
    ("**GLAUCOMA**; Explanation: **cupping**", G),
    ("**NON-GLAUCOMA**\n\nExplanation: healthy rim.", N),
    ("<GLAUCOMA>; Explanation: <The disc is cupped>", G),
    ("`NON-GLAUCOMA`; Explanation: the rim is intact.", N),
    ("GLAUCOMA\nThe neuroretinal rim is thin.", G),
    ("GLAUCOMA. The neuroretinal rim is thin.", G),
    ("NON-GLAUCOMA. The cup is small.", N),
    ("Answer: GLAUCOMA", G),
    ("Answer: NON-GLAUCOMA; Explanation: none", N),
    ("Diagnosis: Glaucoma", G),
    ("Diagnosis: No glaucoma", N),
    ('{"diagnosis": "NON-GLAUCOMA", "explanation": "small cup"}', N),
    ('{"answer": "GLAUCOMA"}', G),
    ("GLAUCOMA: YES; shows microaneurysms, hemorrhages", G),  # LMOD+ Table 8
    ("GLAUCOMA: NO; But shows elevated IOP and optic cupping", N),  # LMOD+ Table 8
    ("GLAUCOMA: YES; Optic disc appears completely normal", G),  # LMOD+ Table 8
    ("Glaucoma: present", G),
    ("Glaucoma: absent", N),
    ("Glaucoma - No", N),
    ("GLAUCOMA TRUE; Explanations: cupping", G),
    ("GLAUCOMA FALSE; Explanations: no cupping", N),
    ("GLAUCOMA <FALSE>", N),
    ("NON-GLAUCOMA: TRUE", N),
    ("This is not yet glaucoma.", N),
    ("Not yet glaucoma", N),
    # the format beats an explanation that contradicts it
    ("GLAUCOMA; Explanation: there are no signs of glaucoma.", G),
    ("NON-GLAUCOMA; Explanation: the large cup suggests glaucoma.", N),
    ("NON-GLAUCOMA; Explanation: typical signs of glaucoma are absent.", N),
    # options repeated, two answers
    ("GLAUCOMA / NON-GLAUCOMA", "?ambiguous"),
    ("GLAUCOMA / NON-GLAUCOMA; Explanation: <JUSTIFICATION>", "?ambiguous"),
    ("GLAUCOMA or NON-GLAUCOMA", "?ambiguous"),
    ("GLAUCOMA: YES/NO", "?ambiguous"),
    ("The image shows glaucoma. There is no glaucoma.", "?ambiguous"),
    ("Yes, there is no glaucoma.", "?ambiguous"),
    ("No, the image shows glaucoma.", "?ambiguous"),
    # yes and no
    ("Yes", G),
    ("No", N),
    ("Yes.", G),
    ("No.", N),
    ("Yes, this image contains glaucoma.", G),
    ("No, this image does not contain glaucoma.", N),
    ("No, there is no evidence of glaucoma.", N),
    ("Yes; Explanation: cupping", G),
    ("No; Explanation: no cupping", N),
    # free text
    ("The image shows glaucoma.", G),
    ("This image contains glaucoma.", G),
    ("The findings are consistent with glaucoma.", G),
    ("The enlarged cup suggests glaucoma.", G),
    ("Signs of glaucoma are present.", G),
    ("Glaucoma is present.", G),
    ("Glaucoma is likely.", G),
    ("This is most likely glaucoma.", G),
    ("It looks like an eye. The patient probably has glaucoma.", G),
    ("There is glaucomatous optic neuropathy.", G),
    ("The image shows no doubt glaucoma.", G),
    ("The disc is not round and is consistent with glaucoma.", G),
    ("The image shows no clear disc margins, which suggests glaucoma.", G),
    ("It has a thin rim, therefore it is glaucoma.", G),
    ("I think this is glaucoma, not a normal eye.", G),
    ("No signs of glaucoma.", N),
    ("There are no signs of glaucoma in this image.", N),
    ("The image shows no signs of glaucoma.", N),
    ("The image does not contain glaucoma.", N),
    ("The image doesn't show any evidence of glaucoma.", N),
    ("This is not glaucoma.", N),
    ("Glaucoma is absent.", N),
    ("Glaucoma is not present.", N),
    ("Glaucoma was not detected.", N),
    ("Glaucoma is unlikely.", N),
    ("Glaucoma can be ruled out.", N),
    ("Absence of glaucoma.", N),
    ("Negative for glaucoma.", N),
    ("The eye is free of glaucoma.", N),
    ("The disc is non-glaucomatous.", N),
    ("A nonglaucomatous optic disc is seen.", N),
    ("I cannot see any signs of glaucoma.", N),
    ("The eye is without glaucoma.", N),
    ("Neither cataract nor glaucoma is visible.", N),
    ("There is no cataract, glaucoma or diabetic retinopathy.", N),
    ("The image appears normal, without evidence of glaucoma.", N),
    (
        "The image shows a normal fundus with no signs of glaucoma. The optic disc appears to be within "
        "normal limits, and "
        "there are no visible cup-to-disc ratios that would suggest glaucoma.",
        N,
    ),  # LMOD+ figure 7
    (
        "Glaucoma is an eye condition characterized by increased pressure within the eye, leading to "
        "damage to the optic "
        "nerve. This condition can cause vision loss if not treated promptly. The image shows signs of "
        "glaucoma such as "
        "elevated intraocular pressure.< | end_of_sentence | >",
        G,
    ),  # LMOD+ figure 7, special token and all
    # final answers and corrections
    ("The cup suggests glaucoma. Final answer: NON-GLAUCOMA", N),
    ("There are no signs of glaucoma.\nFinal answer: GLAUCOMA", G),
    ("GLAUCOMA; Explanation: large cup. Correction: NON-GLAUCOMA", N),
    ("NON-GLAUCOMA. Wait, I meant GLAUCOMA.", G),
    ("GLAUCOMA. On second thought, there is no glaucoma.", N),
    ("The final answer is NON-GLAUCOMA.", N),
    (r"Thus \boxed{GLAUCOMA}", G),
    ("<answer>NON-GLAUCOMA</answer>", N),
    ("<|begin_of_box|>GLAUCOMA<|end_of_box|>", G),
    ("The disc suggests glaucoma at first sight. In conclusion, there is no glaucoma.", N),
    # Chinese
    ("青光眼", G),
    ("非青光眼", N),
    ("该图像显示青光眼。", G),
    ("未见青光眼", N),
    ("未见青光眼征象。", N),
    ("无青光眼", N),
    ("没有青光眼的迹象", N),
    ("不是青光眼", N),
    ("诊断：青光眼", G),
    ("诊断：非青光眼；理由：杯盘比正常", N),
    ("考虑青光眼。", G),
    ("青光眼；解释：杯盘比增大", G),
    ("非青光眼；解释：杯盘比正常", N),
    ("杯盘比增大，提示青光眼。", G),
    ("毫无疑问是青光眼", G),
    ("是的，存在青光眼。", G),
    ("否", N),
    ("不符合青光眼", N),
    ("青光眼可能性大", G),
    ("青光眼可能性小", N),
    ("初看提示青光眼。最终答案：非青光眼", N),
    ("不能排除青光眼", "?no_match"),
    ("是否为青光眼", "?no_match"),
    ("无法判断是否为青光眼", "?refused"),
    ("抱歉，我无法提供诊断，建议咨询眼科医生。", "?refused"),
    ("青光眼是一种常见的眼病。", "?no_match"),
    # abstentions
    ("I'm sorry, I can't provide a medical diagnosis.", "?refused"),
    ("I cannot tell from this image.", "?refused"),
    ("I am not able to provide a diagnosis", "?refused"),
    ("I cannot diagnose glaucoma from this image.", "?refused"),
    ("I'm unable to determine whether this image contains glaucoma.", "?refused"),
    ("It is not possible to diagnose glaucoma from a single image. Please consult an ophthalmologist.", "?refused"),
    ("Please consult an eye doctor.", "?refused"),
    ("As an AI language model, I cannot make a diagnosis.", "?refused"),
    (
        "The image does not provide enough information to definitively determine if it is a fundus image of glaucoma.",
        "?refused",
    ),  # LMOD+ figure 7
    ("Image not clear enough", "?refused"),  # LMOD+ Table 8, visual avoidance
    ("Need comprehensive examination", "?refused"),  # LMOD+ Table 8 (without its full sentence)
    ("This is not a fundus image; it is a photograph of a cat.", "?refused"),
    ("I don't know.", "?refused"),
    ("N/A", "?refused"),
    # an answer beside an abstention is an answer
    ("I cannot diagnose, but this is likely glaucoma.", G),
    ("As an AI, I cannot provide a diagnosis. However, the image shows signs consistent with glaucoma.", G),
    ("GLAUCOMA; Explanation: cupping. Please consult an ophthalmologist.", G),
    ("There are no signs of glaucoma, but please see a doctor.", N),
    # nothing is stated
    ("Glaucoma is a group of diseases that can cause damage to the optic nerve.", "?no_match"),  # LMOD+ Table 8
    ("Clear disc boundaries, normal cup-to-disc ratio", "?no_match"),
    ("The image may show glaucoma.", "?no_match"),
    ("Glaucoma cannot be excluded.", "?no_match"),
    ("Patients with glaucoma have a larger cup.", "?no_match"),
    ("A retina with drusen.", "?no_match"),
    ("The patient should be screened for glaucoma.", "?no_match"),
    ("The image shows a normal tension headache.", "?no_match"),
    ("Cannot", "?no_match"),
    ("Note the notch.", "?no_match"),
    ("Now, nothing notable.", "?no_match"),
    ("", "?empty"),
    ("  \n ", "?empty"),
    ("...", "?empty"),
]


@tabled(("text", "wanted"), GLAUCOMA_REPLIES)
def test_glaucoma_replies(text: str, wanted: str) -> None:
    assert outcome(text, POLAR) == wanted


C, D, GL, H = FOUR
FOUR_WAY_REPLIES = [
    ("DISEASE: glaucoma; Explanations: large cup", GL),
    ("DISEASE: cataract; Explanations: The image is hazy, no glaucoma.", C),
    ("DISEASE: diabetic retinopathy; Explanations: haemorrhages", D),
    ("DISEASE: normal; Explanations: no signs of glaucoma or cataract", H),
    ("DISEASE: <normal>; Explanations: <clear vessels>", H),
    ("DISEASE: Diabetic_Retinopathy; Explanations: x", D),
    ("DISEASE: Diabetic-Retinopathy", D),
    ("Disease: DR; Explanations: microaneurysms", D),
    ("DISEASE: NPDR", D),
    ("**DISEASE:** Cataract\n**Explanations:** hazy", C),
    ("DISEASE: Cataracts", C),
    ("disease=glaucoma", GL),
    ('{"DISEASE": "cataract", "Explanations": "hazy"}', C),
    ("DISEASE: Healthy; Explanations: -", H),
    ("DISEASE: The image shows glaucoma; Explanations: -", GL),
    ("DISEASE: glaucoma\nExplanations: not a normal disc, no cataract.", GL),
    ("Explanations: hazy view\nDISEASE: cataract", C),
    ("DISEASE: cataract, diabetic retinopathy, glaucoma, normal", "?ambiguous"),
    ("DISEASE: cataract or glaucoma", "?ambiguous"),
    ("DISEASE: glaucoma\nDISEASE: cataract", "?ambiguous"),
    ("cataract, diabetic retinopathy, glaucoma, normal", "?ambiguous"),
    ("DISEASE: macular degeneration; Explanations: drusen, otherwise normal fundus", "?no_match"),
    ("DISEASE: <disease_name>; Explanations: <EXPLANATIONS>", "?no_match"),
    ("DISEASE: hypertensive retinopathy; Explanations: narrowing", "?no_match"),
    ("DISEASE: abnormal; Explanations: something", "?no_match"),
    ("DISEASE: unknown", "?refused"),
    ("cataract", C),
    ("Normal", H),
    ("normal.", H),
    ("Glaucoma.", GL),
    ("It is cataract.", C),
    ("The disease is diabetic retinopathy.", D),
    ("The most likely diagnosis is glaucoma.", GL),
    ("This is a normal fundus.", H),
    ("The fundus appears normal.", H),
    ("The eye is healthy.", H),
    ("The image shows no abnormalities.", H),
    ("There are no signs of disease.", H),
    ("This fundus image is normal, with no signs of glaucoma, cataract, or diabetic retinopathy.", H),
    ("The image shows cataract rather than glaucoma.", C),
    ("The image shows cataract, not glaucoma.", C),
    ("This is not cataract but glaucoma.", GL),
    ("The vessels show microaneurysms, typical of diabetic retinopathy.", D),
    ("The image shows characteristic features of **diabetic retinopathy**, including microaneurysms.", D),  # figure 7
    ("Dr. Smith says this is glaucoma.", GL),
    ("The diagnosis is normal tension glaucoma.", GL),
    ("Cataract: No; Diabetic retinopathy: No; Glaucoma: Yes; Normal: No", GL),
    ("Cataract: No\nDiabetic retinopathy: Yes\nGlaucoma: No\nNormal: No", D),
    ("The image shows glaucoma and cataract.", "?ambiguous"),
    ("The image shows an abnormal optic disc.", "?no_match"),
    ("The optic disc appears normal.", "?no_match"),
    ("The image shows a normal cup-to-disc ratio.", "?no_match"),
    ("The image is not normal.", "?no_match"),
    ("No abnormalities in the macula.", "?no_match"),
    ("There is retinopathy.", "?no_match"),
    ("It could be glaucoma or cataract; please consult an ophthalmologist.", "?refused"),
    ("The options are cataract, diabetic retinopathy, glaucoma, normal.", "?no_match"),
    ("Not cataract.", "?no_match"),
    ("I'm sorry, I can't provide a diagnosis.", "?refused"),  # MedEvalKit scores it right
    ("Please consult an eye doctor.", "?refused"),  # MedEvalKit scores it right
    ("B or C", "?no_match"),  # MedEvalKit scores it right
    ("疾病：白内障；解释：混浊", C),
    ("DISEASE：糖尿病视网膜病变；Explanations：出血", D),
    ("诊断：正常", H),
    ("眼底正常。", H),
    ("未见明显异常", H),
    ("该患者患有白内障，未见青光眼。", C),
    ("未见白内障、青光眼，诊断为糖尿病视网膜病变。", D),
    ("视盘正常", "?no_match"),
    ("黄斑区正常，未见出血", "?no_match"),
    ("不正常", "?no_match"),
    ("最可能的诊断是青光眼", GL),
    ("糖网", D),
    ("非常明显的白内障表现", C),
    ("白内障或青光眼", "?ambiguous"),
]


@tabled(("text", "wanted"), FOUR_WAY_REPLIES)
def test_four_way_replies(text: str, wanted: str) -> None:
    assert outcome(text, FOUR) == wanted


TRUTH_REPLIES = [
    ("AMD TRUE; Explanations: drusen", "TRUE"),
    ("AMD FALSE; Explanations: none", "FALSE"),
    ("AMD <TRUE>; Explanations: <drusen>", "TRUE"),
    ("AMD: FALSE", "FALSE"),
    ("AMD: YES; Explanations: x", "TRUE"),
    ("AMD: NO", "FALSE"),
    ("TRUE", "TRUE"),
    ("False.", "FALSE"),
    ("AMD <TRUE/FALSE>; Explanations: <EXPLANATIONS>", "?ambiguous"),
    ("TRUE/FALSE", "?ambiguous"),
    ("TRUE or FALSE", "?ambiguous"),
    ("The statement is not clear.", "?no_match"),
    ("The statement is not true.", "?no_match"),
    ("AMD is not TRUE; Explanations: x", "?no_match"),
    ("There is no AMD.", "?no_match"),
    ("对", "TRUE"),
    ("错", "FALSE"),
    ("正确", "TRUE"),
    ("不正确的区域", "?no_match"),
]


@tabled(("text", "wanted"), TRUTH_REPLIES)
def test_true_or_false(text: str, wanted: str) -> None:
    assert outcome(text, TRUTH) == wanted


@tabled(
    ("text", "wanted"),
    [
        ("Yes, diabetic retinopathy is present in this image", "yes"),  # MedEvalKit: "retinopathy" holds "no"
        ("Yes, the optic disc looks abnormal", "yes"),  # MedEvalKit: "abnormal" holds "no"... and "normal"
        ("I cannot tell from this image", "?refused"),  # MedEvalKit: "cannot" is a no
        ("I am not able to provide a diagnosis", "?refused"),  # MedEvalKit: "not" is a no
        ("No, the optic disc looks normal", "no"),
        ("yes", "yes"),
        ("no", "no"),
        ("Nope, nothing", "no"),
        ("Binocular notch, no melanoma", "?no_match"),
        ("Yes or no", "?ambiguous"),
        ("No signs of retinopathy are present", "?no_match"),  # the question is not known: is it asked for health?
    ],
)
def test_yes_or_no(text: str, wanted: str) -> None:
    assert outcome(text, YES_NO) == wanted


def test_choices_keep_the_prompts_spelling() -> None:
    assert parse_choice("Disease: CATARACT", ("Cataract", "Normal")) == "Cataract"
    assert parse_choice("no amd", ("AMD TRUE", "AMD FALSE")) == "AMD FALSE"
    assert parse_choice("Sex: FEMALE; Explanations: male pattern is absent", ("MALE", "FEMALE")) == "FEMALE"


def test_unknown_words_are_choices_too() -> None:
    assert parse_choice("Diagnosis: keratoconus", ("keratoconus", "pterygium")) == "keratoconus"
