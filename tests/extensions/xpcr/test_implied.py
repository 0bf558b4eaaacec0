"""What an earlier answer implies, by hand; and that true answers never imply a wrong one alone."""

from itertools import product

from lmod_train.extensions.xpcr.stages import STAGE_NAMES, Posed
from lmod_train.extensions.xpcr.tasks import IMPLIED, implied_options, poses
from tests.extensions.xpcr.samples import cupped, flagged, sample, scan
from tests.tabled import tabled

GASS = tuple(f"Gass stage {n}" for n in range(1, 5))
ICDR = tuple(f"ICDR grade {n}" for n in range(5))
SDRG = tuple(f"SDRG grade {n}" for n in range(5))
CUPS = tuple(f"cup grade {n}" for n in range(4))
NEXT = (
    "observe, routine screening", "review at a short interval", "refer to an eye specialist",
    "treat the disease actively", "emergency: within 24 hours",
)  # fmt: skip
ILL, WELL = "diabetic retinopathy but without myopic fundus", "myopic fundus but without diabetic retinopathy"
SWOLLEN, DRY = (
    "diabetic retinopathy, as well as a risk of macular edema",
    ("diabetic retinopathy but without a risk of macular edema"),
)


@tabled(
    ("answer", "options", "implied"),
    [
        ("impending hole only", GASS, GASS[:1]),
        ("full-thickness hole", GASS, GASS[1:]),
        ("macula with no hole", GASS, ()),
        ("lamellar hole alone", GASS, ()),
        (ILL, ICDR, ICDR[1:]),
        (WELL, ICDR, ICDR[:1]),
        (f"neither {'diabetic retinopathy'} nor myopic fundus", SDRG, SDRG[:1]),
        ("diabetic retinopathy, as well as myopic fundus", SDRG, SDRG[1:]),
        ("glaucoma present", CUPS, ()),
        ("something else", ICDR, ()),
        ("impending hole only", ("early", "late"), ()),
    ],
)
def test_a_diagnosis_implies_grades_of_its_disease(answer, options, implied):
    assert implied_options("SG", {"LC": "drusen", "DD": answer}, options) == implied
    assert implied_options("sg", {"DR": answer}, options) == implied


@tabled(
    ("diagnosis", "severity", "implied"),
    [
        ("full-thickness hole", "Gass stage 1", NEXT[1:2]),
        ("impending hole only", "Gass stage 3", NEXT[3:4]),
        (WELL, "ICDR grade 0", NEXT[:1]),
        (ILL, "ICDR grade 1", NEXT[1:3]),  # whether there is edema is not said
        (DRY, "ICDR grade 1", NEXT[1:2]),
        (SWOLLEN, "ICDR grade 1", NEXT[2:3]),
        (SWOLLEN, "ICDR grade 0", ()),  # no such row
        (ILL, "ICDR grade 4", NEXT[3:4]),
        ("without glaucoma", "cup grade 0", NEXT[:1]),
        ("glaucoma present", "cup grade 0", NEXT[3:4]),
        (None, "cup grade 1", (NEXT[1], NEXT[3])),
        (None, "Gass stage 2", NEXT[3:4]),
        ("glaucoma present", None, NEXT[3:4]),
        ("without glaucoma", None, NEXT[:3]),
        (WELL, None, NEXT[:1]),
        ("impending hole only", None, NEXT[1:2]),
        ("macula with no hole", None, ()),
        ("macula with no hole", "Gass stage 2", ()),
        (ILL, "SDRG grade 2", ()),
        (None, None, ()),
    ],
)
def test_a_severity_implies_the_decisions_of_the_table(diagnosis, severity, implied):
    stated = {stage: text for stage, text in (("DD", diagnosis), ("SG", severity)) if text}
    assert implied_options("CD", {"IQA": "good", **stated}, NEXT) == implied


def test_other_stages_and_other_steps_imply_nothing():
    assert set(IMPLIED) == {"SG", "CD"}
    assert not any(implied_options(step, {"DD": ILL}, (*ICDR, *NEXT)) for step in ("IQA", "AL", "LC", "DD", "1", ""))


CASES = [
    *(scan(stage=stage) for stage in "1234"),
    *(
        flagged(grade, key=f"k{i}", macular_edema=edema)
        for grade, i, edema in product("01234", range(6), ("yes", "no"))
    ),
    *(cupped(ratio, glaucoma) for ratio, glaucoma in product((0.3, 0.6, 0.7, 0.9), ("yes", "no"))),
    *(
        sample(labels={"icdr": grade, "macular_edema_risk": risk}, boxes=[("optic disc", 9, 20, 29, 50)])
        for grade, risk in product("01234", "012")
    ),
]


def test_true_answers_imply_the_truth():
    seen = 0
    for case in CASES:
        asked = {stage: one for stage, one in poses(case).items() if isinstance(one, Posed)}
        for stage in {"SG", "CD"} & asked.keys():
            earlier = STAGE_NAMES[: STAGE_NAMES.index(stage)]
            stated = {name: asked[name].truth for name in earlier if name in asked}
            implied = implied_options(stage, stated, asked[stage].options)
            assert not implied or asked[stage].truth in implied, (stage, stated)
            seen += bool(implied)
    assert seen > 100
