from collections import Counter

from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.extensions.xpcr.stages import CLASSES, DRAFT, MANAGEMENT, management_of


def test_rows_are_unique_with_class_reference_year_and_impact():
    assert Counter((row.diagnosis, row.grade) for row in MANAGEMENT).most_common(1)[0][1] == 1
    assert all(row.management in CLASSES and row.impact in range(1, 6) for row in MANAGEMENT)
    assert all(row.reference[-4:].isdigit() for row in MANAGEMENT)
    assert {row.management for row in MANAGEMENT} == set(CLASSES)
    assert "not yet read by a clinician" in DRAFT


def test_every_grade_of_a_scale_has_a_row_and_none_is_less_urgent_than_the_one_before():
    levels = {scale.name: scale.levels for scale in SCALES}
    for disease, words in (
        ("diabetic retinopathy", [f"ICDR {n}" for n in levels["icdr"]]),
        ("macular hole", [f"Gass {n}" for n in levels["macular_hole_stage"]]),
        ("glaucoma", [f"cup {n}" for n in range(4)]),
        ("no glaucoma", [f"cup {n}" for n in range(4)]),
    ):
        rows = [management_of(disease, grade) for grade in words]
        assert all(rows)
        order = [(CLASSES.index(row.management), row.impact) for row in rows]
        assert order == sorted(order)
    assert management_of("diabetic retinopathy", "") is None


def test_no_class_stands_out_by_its_length():
    assert len({len(text) for text in CLASSES}) == 1
