from lmod_train.report.sections.provenance import Provenance
from tests.report.shown import shown


def test_every_run_has_a_row(three):
    lines = shown(Provenance(), three[0]).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ["base (untuned)", "base (tuned)", "cnn"]
    assert all("test 72" in line for line in lines)
