from lmod_train.extensions.xpcr import stages as al
from lmod_train.extensions.xpcr.stages import Missing
from tests.extensions.xpcr.samples import cupped, flagged, frame, lens, sample, scan
from tests.tabled import stored, tabled


@tabled(
    ("x", "truth"),
    stored(__file__, "al.the_hole_lies_left_or_right_of_the_middle"),
)
def test_the_hole_lies_left_or_right_of_the_middle(x, truth):
    posed = al.pose_al(scan(hole=(x - 10, 100, x + 10, 160)))
    assert (posed.truth, posed.level, posed.origin) == (truth, "R", "mask")


@tabled("x", [180, 199, 200, 201, 220])
def test_a_hole_on_a_border_is_not_asked_for(x):
    assert al.pose_al(scan(hole=(x - 10, 100, x + 10, 160))) == Missing("too close to a border between two places")


def test_a_scan_beside_the_hole_has_no_place():
    assert al.pose_al(scan(hole=None)) == Missing("no box of a macular hole")


@tabled(
    ("x", "y", "disc", "fovea"),
    stored(__file__, "al.the_disc_in_the_photograph_and_the_fovea_from_the_disc"),
)
def test_the_disc_in_the_photograph_and_the_fovea_from_the_disc(x, y, disc, fovea):
    boxes = [("optic disc", x - 20, y - 20, x + 20, y + 20)]
    assert al.pose_al(sample(boxes=boxes)).truth == disc
    assert al.pose_al(sample(boxes=[*boxes, ("fovea", 190, 150, 210, 170)])).truth == fovea


@tabled(
    ("view", "words", "origin"),
    [
        (
            lambda box: cupped(0.6, None, disc=box, modality="SLO"),
            "laser scan does the centre of the optic disc",
            "mask",
        ),
        (lambda box: frame(pupil=box), "frame does the centre of the pupil", "mask"),
        (lambda box: lens(eye=box), "photograph does the centre of the eye", "box"),
    ],
)
def test_disc_pupil_and_eye_lie_in_a_quarter_of_their_image(view, words, origin):
    for place, box in zip(al.QUADRANTS, [(9, 9, 109, 109), (209, 9, 309, 109), (9, 199, 109, 299)], strict=False):
        posed = al.pose_al(view(box))
        assert (posed.truth, words in posed.question, posed.origin.split(" ")[0]) == (place, True, origin)
    assert al.pose_al(view((150, 9, 250, 109))) == Missing("too close to a border between two places")


def test_of_two_pupils_none_is_asked_for():
    boxes = [("pupil", 9, 9, 59, 59), ("pupil", 209, 9, 259, 59)]
    assert al.pose_al(sample(modality="SS", boxes=boxes)) == Missing("no box of the pupil")


def test_without_a_box_or_on_a_border_there_is_no_place():
    assert al.pose_al(sample()) == Missing("no box of the optic disc")
    assert isinstance(al.pose_al(sample(boxes=[("optic disc", 183, 0, 223, 40)])), Missing)


def test_one_abnormal_structure_is_primary_and_several_are_none():
    assert al.pose_al(flagged()).truth == "none is abnormal"
    assert al.pose_al(flagged(abnormal_macula="yes")).truth == "the macular area"
    assert al.pose_al(flagged(abnormal_vessels="yes")).truth == "vascular network"
    assert al.pose_al(flagged(abnormal_optic_disc="yes")).truth == "optic nerve head"
    several = flagged(abnormal_optic_disc="yes", abnormal_macula="yes")
    assert al.pose_al(several) == Missing("several structures are abnormal")
    unknown = sample(labels={"abnormal macula": "yes"})
    assert al.pose_al(unknown) == Missing("not all structures are labelled")


def test_options_differ_by_one_letter_at_most():
    for options in (al.QUADRANTS, al.DIRECTIONS, al.SHIFTS, al.STRUCTURES):
        assert max(map(len, options)) - min(map(len, options)) <= 1
