import pytest

from lmod_train.tasks.stages.iqa import DEFECTS, pose
from lmod_train.tasks.stages.posed import Missing
from tests.tasks.stages.samples import sample


@pytest.mark.parametrize(
    ("quality", "noted"),
    [
        ("Adequate", []),
        ("Adequate (focus)", ["a lack of focus"]),
        ("Inadequate (illumination, artifacts)", ["poor illumination", "visible artifacts"]),
        ("no defect noted", []),
        ("signal shield; blurred", ["a shielded signal", "a blurred scan"]),
    ],
)
def test_each_defect_that_is_asked_for_is_there_if_and_only_if_it_is_noted(quality, noted):
    asked = [pose(sample(f"k{i}", quality=quality)) for i in range(30)]
    named = {word for one in asked for words in DEFECTS for word in words.values() if word in one.question}
    assert len(named) in (3, 4) and set(noted) <= named, "every defect is asked for of some sample"
    for one in asked:
        in_question = [word for word in named if word in one.question]
        affirmed = one.truth.replace("neither", "without").replace(" nor ", " without ").partition("without")[0]
        assert sorted(word for word in in_question if word in affirmed) == sorted(set(noted) & set(in_question))
        assert one.truth in one.options and one.level == "R"


@pytest.mark.parametrize("quality", [None, "", "Inadequate", "Adequate (dust)", "3"])
def test_what_names_no_defect_is_missing(quality):
    assert isinstance(pose(sample(quality=quality)), Missing)
