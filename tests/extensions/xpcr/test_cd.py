from lmod_train.extensions.xpcr.stages import CLASSES, Missing, impact_of, pose_cd
from tests.extensions.xpcr.samples import cupped, flagged, sample, scan
from tests.tabled import tabled


@tabled(
    ("asked", "truth", "impact"),
    [
        (flagged("0"), "observe, routine screening", 1),
        (flagged("1"), "review at a short interval", 2),
        (flagged("4"), "treat the disease actively", 5),
        (flagged("1", macular_edema="yes"), "refer to an eye specialist", 4),
        (scan(stage="1"), "review at a short interval", 2),
        (scan(stage="3"), "treat the disease actively", 4),
        (cupped(0.4, glaucoma="no"), "observe, routine screening", 1),
        (cupped(0.9), "treat the disease actively", 5),
    ],
)
def test_the_decision_is_that_of_the_table(asked, truth, impact):
    posed = pose_cd(asked)
    assert (posed.truth, posed.options, posed.level, impact_of(asked)) == (truth, CLASSES, "S", impact)


def test_the_words_of_a_question_do_not_depend_on_the_diagnosis():
    assert pose_cd(cupped(0.4)).question == pose_cd(cupped(0.4, glaucoma="no")).question
    assert len({pose_cd(flagged(grade)).question for grade in "01234"}) == 1


def test_no_case_no_decision():
    assert pose_cd(sample()) == Missing("no graded diagnosis") and impact_of(sample()) is None
