from itertools import product

from lmod_train.extensions.xpcr import stages as lc
from lmod_train.extensions.xpcr.stages import STAGE_NAMES, Missing, Posed
from lmod_train.extensions.xpcr.tasks import POSES, poses
from tests.extensions.xpcr.samples import cupped, flagged, frame, lens, sample, scan
from tests.tabled import stored, tabled


def test_every_stage_has_a_row_in_order():
    assert ("IQA", *POSES) == STAGE_NAMES == tuple(poses(sample()))


def test_a_sample_without_annotation_has_no_truth():
    assert all(isinstance(one, Missing) and one.reason for one in poses(sample()).values())


def test_the_truth_is_one_of_the_options():
    for asked in (scan(quality="blurred"), flagged("2", key="k3"), cupped(0.6)):
        posed = [one for one in poses(asked).values() if isinstance(one, Posed)]
        assert len(posed) >= 5 and all(one.options.count(one.truth) == 1 for one in posed)


FLAGS = stored(__file__, "poses.FLAGS")
VARIANTS = {
    "BRSET": [
        flagged(grade, quality=quality, **dict.fromkeys((FLAGS[i], FLAGS[i - 3]), "yes"))
        for grade, i, quality in product("024", range(7), ("Adequate", "Adequate (focus)", "Inadequate (artifacts)"))
    ],
    "OIMHS": [
        scan(hole=(x, 100, x + 20, 160), cysts=cysts, stage=stage, quality=quality)
        for x, cysts, stage, quality in product(
            (120, 170, 220), (False, True), "134", ("no defect noted", "blurred", "signal shield; blurred")
        )
    ],
    "glaucoma": [
        cupped(ratio, label, disc=(x, 60, x + 100, 160))
        for ratio, label, x in product((0.2, 0.4, 0.6, 0.9), ("yes", "no"), (20, 250))
    ],
    "laser scans": [
        cupped(ratio, None, disc=(x, y, x + 100, y + 100), modality="SLO")
        for ratio, x, y in product((0.2, 0.4, 0.6, 0.9), (20, 250), (20, 180))
    ],
    "photographs of the lens": [lens(label, (x, 20, x + 150, 120)) for label, x in product(("yes", "no"), (9, 210))],
    "frames": [
        frame(kinds, (x, 20, x + 90, 110))
        for kinds, x in product(((), lc.INSTRUMENTS[:5], lc.INSTRUMENTS[4:], lc.INSTRUMENTS), (20, 250))
    ],
    "IDRiD": [
        sample(labels={"icdr": grade, "macular_edema_risk": risk}, boxes=[("optic disc", 9, y, 29, y + 30), fovea])
        for grade, risk, y, fovea in product("024", "02", (20, 200), (("fovea", 200, 100, 210, 110),))
    ],
}


@tabled("source", VARIANTS)
def test_question_and_options_do_not_depend_on_the_truth(source):
    """Samples of one key that differ in what is annotated are asked in the same words, where they are asked at all."""
    asked = [poses(one, 0.5) for one in VARIANTS[source]]
    truths = {stage: {a[stage].truth for a in asked if isinstance(a[stage], Posed)} for stage in STAGE_NAMES}
    words = {
        stage: {(a[stage].question, a[stage].options) for a in asked if isinstance(a[stage], Posed)} for stage in truths
    }
    assert all(len(several) <= 1 for several in words.values()), words
    fewer = {"photographs of the lens": 2, "frames": 2, "laser scans": 3}
    assert sum(len(several) > 1 for several in truths.values()) >= fewer.get(source, 4)


def test_a_modality_without_an_annotation_lacks_the_stage():
    """A laser scan has no diagnosis, a photograph of the lens no finding and severity, a frame of surgery neither."""
    cases = {
        "SLO": cupped(0.6, None, modality="SLO"),
        "LP": lens(eye=(9, 9, 99, 99)),
        "SS": frame(pupil=(9, 9, 59, 59)),
    }
    asked = {name: [s for s, one in poses(case, 0.5).items() if isinstance(one, Posed)] for name, case in cases.items()}
    assert asked == {"SLO": ["IQA", "AL", "LC", "SG"], "LP": ["IQA", "AL", "DD"], "SS": ["IQA", "AL", "LC"]}
