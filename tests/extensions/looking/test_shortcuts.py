from lmod_train.core.artifacts.shortcuts import Shortcut
from lmod_train.extensions.looking.sections import Shortcuts
from lmod_train.report.results import Results
from tests.report.shown import tables


def test_a_classifier_has_its_row_and_none_make_no_table():
    row = Shortcut("glaucoma", "border", "val", "accuracy", 40, 0.6, 0.5, 0.7)
    lines = tables(Shortcuts(), Results((), {}, {}, (row,))).splitlines()
    assert [cell.strip() for cell in lines[-1].split("|")[1:-1]] == [
        "glaucoma", "border", "val", "accuracy", "40", "0.600", "0.500-0.700",
    ]  # fmt: skip
    assert tables(Shortcuts(), Results((), {}, {})) == ""
