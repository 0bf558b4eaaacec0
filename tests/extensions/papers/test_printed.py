"""Printed cells are read as printed, in their own unit and digits."""

import pytest

from lmod_train.extensions.papers.printed import PAPERS, Printed, find, printed
from tests.core.artifacts.test_model_facts import PRINTED
from tests.tabled import stored

COLUMNS = "paper,table,model,task,dataset_or_subset,modality,stage_or_class,metric,value,unit,note"
ROWS = stored(__file__, "printed.ROWS")


def cell(value, unit="percent", note=""):
    return Printed("lmod_v1", "Table 3", "LLaVA-Med", value=value, unit=unit, note=note)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_a_paper_is_a_cell(paper):
    assert len(printed(paper)) == ROWS[paper] and {c.paper for c in printed(paper)} == {paper}
    lines = PRINTED.with_name(f"{paper}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == COLUMNS and len(lines) == ROWS[paper] + 1
    places = [
        (c.table, c.model, c.task, c.dataset_or_subset, c.modality, c.stage_or_class, c.metric) for c in printed(paper)
    ]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("paper", PAPERS)
def test_numbers_are_fractions_of_what_is_printed(paper):
    for c in printed(paper):
        if c.number is not None and c.unit in ("fraction", "percent") and "value above 1" not in c.note:
            assert 0 <= c.number <= 1
        if c.value and c.unit in ("fraction", "percent"):
            assert c.as_printed(c.number) == c.value or c.value.startswith(".")


def test_units_digits_and_suspicions():
    assert cell("54.09").number == pytest.approx(0.5409) and cell("0.5409", "fraction").number == 0.5409
    assert cell("54.09").rounding == pytest.approx(0.00005) and cell("54.1").rounding == pytest.approx(0.0005)
    assert cell("54.1").as_printed(0.54051) == "54.1" and cell("0.540", "fraction").as_printed(0.5404) == "0.540"
    assert cell("").number is None and cell("<0.001", "p_value").number is None
    assert cell("", note="printed bold; SUSPECT: equals another").suspicion == "equals another"
    assert cell("", note="printed bold").suspicion == ""


def test_cells_are_found_by_their_fields():
    assert [c.value for c in find("lmod_plus", "Table 3", model="GPT-4o", task="anatomical_recognition")] == [
        "0.5807", "0.5766", "0.5761", "0.9439",
    ]  # fmt: skip
    assert list(find("lmod_plus", "Table 3", model="nobody")) == []


@pytest.mark.parametrize(
    ("value", "equal"),
    [(0.2253, True), (16 / 71, True), (0.22526, True), (0.2254, False), (0.22524, False), (0.0, False)],
)
def test_equality_in_the_printed_digits(value, equal):
    assert cell("22.53").equals(value) == equal
    assert cell("0.00").equals(0.0) and cell("100.00").equals(1.0) and cell("57.00").equals(0.57)
