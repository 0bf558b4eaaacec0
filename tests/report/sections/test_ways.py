from lmod_train.report.sections.ways import Ways
from tests.report.shown import shown


def test_runs_that_asked_once_have_no_table(three):
    assert shown(Ways(), three[0]) == ""
