from lmod_train.extensions.xpcr.stages import INSTRUMENTS, LESION_KINDS, RATIOS, Missing, pose_lc
from lmod_train.phantom import instruments
from tests.extensions.xpcr.samples import cupped, flagged, frame, sample, scan
from tests.tabled import tabled


def test_hole_and_cysts_are_what_the_mask_shows():
    assert pose_lc(scan()).truth == "macular hole but without intraretinal cysts"
    assert pose_lc(scan(cysts=True)).truth == "macular hole, as well as intraretinal cysts"
    assert pose_lc(scan(hole=None)).truth == "neither macular hole nor intraretinal cysts"
    assert pose_lc(scan(too_small=("intraretinal cysts",))).truth == "macular hole, as well as intraretinal cysts"


def test_kinds_of_lesions_are_those_of_the_masks():
    labels = dict.fromkeys(LESION_KINDS, "no") | {"microaneurysms": "yes", "hard exudates": "yes"}
    here = {"microaneurysms", "hard exudates"}
    boxes = [(kind, 10, 10, 40, 40) for kind in here]
    asked = [pose_lc(sample(f"k{i}", boxes=boxes, labels=labels)) for i in range(40)]
    assert len({one.question for one in asked}) == 12
    for one in asked:
        named = [kind for kind in LESION_KINDS if kind in one.question]
        affirmed = one.truth.replace("neither", "without").replace(" nor ", " without ").partition("without")[0]
        assert {kind for kind in named if kind in affirmed} == here & set(named)


def test_findings_are_the_flags():
    asked = [pose_lc(flagged(key=f"k{i}", drusen="yes")) for i in range(60)]
    with_drusen = {one.truth for one in asked if "drusen" in one.question}
    assert with_drusen and all("drusen but without" in truth for truth in with_drusen)
    assert all(one.truth.startswith("neither") for one in asked if "drusen" not in one.question)


def test_haemorrhages_of_retinopathy_are_no_denied_hemorrhage():
    asked = [pose_lc(flagged("2", key=f"k{i}")) for i in range(60)]
    missing = [one for one in asked if isinstance(one, Missing)]
    assert missing and set(missing) == {Missing("haemorrhages of retinopathy are not labelled")}
    assert not any("hemorrhage" in one.question for one in asked if not isinstance(one, Missing))
    assert not any(isinstance(pose_lc(flagged("2", key=f"k{i}", hemorrhage="yes")), Missing) for i in range(60))


@tabled(("ratio", "truth"), list(zip((0.2, 0.4, 0.6, 0.8), RATIOS, strict=True)))
def test_classes_of_the_cup(ratio, truth):
    assert (pose_lc(cupped(ratio)).truth, pose_lc(cupped(ratio)).level) == (truth, "A")


def test_instruments_are_those_outlined_in_the_frame():
    here = {"spatula", "gauge", "phacoemulsification tip", "lens injector", "slit knife"}
    asked = [pose_lc(frame(sorted(here), key=f"k{i}")) for i in range(200)]
    assert {name for name in INSTRUMENTS for one in asked if name in one.question} == set(INSTRUMENTS)
    for one in asked:
        first, second = one.question.removesuffix("?").rpartition(": ")[2].split(" or ")
        expected = {
            (False, False): f"neither {first} nor {second}",
            (True, False): f"{first} but without {second}",
            (False, True): f"{second} but without {first}",
            (True, True): f"{first}, as well as {second}",
        }[first in here, second in here]
        assert (one.truth, one.level) == (expected, "S" if {first, second} <= here else "A")
    assert len({one.truth.split(" ")[0] for one in asked}) > 5
    assert pose_lc(sample(modality="SS")) == Missing("no outline in the frame")
    assert set(INSTRUMENTS) == set(instruments.INSTRUMENTS)


def test_no_mask_no_lesion():
    assert pose_lc(cupped(None)) == Missing("no outline of the cup")
    assert pose_lc(sample()) == Missing("no outline or mask of lesions or cup")
    assert len({len(text) for text in RATIOS}) == 1
