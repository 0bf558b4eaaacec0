"""Rules name cells by patterns of their fields."""

import pytest

from lmod_train.extensions.papers.printed import FIELDS, PAPERS, Printed, first_match, matches, printed, read_table
from tests.tabled import stored

CELL = Printed("lmod_plus", "Table 4", "LLaVA-1.5-7B", "anatomical_recognition", modality="SS", metric="f1")


@pytest.mark.parametrize(
    ("rule", "fits"),
    stored(__file__, "patterns.a_rule_concerns_a_cell_if_all_its_patterns_fit"),
)
def test_a_rule_concerns_a_cell_if_all_its_patterns_fit(rule, fits):
    assert matches(rule, CELL) == fits
    assert (first_match([{"model": "x"}, rule], CELL) == rule) == fits


@pytest.mark.parametrize("table", ["states", "protocols"])
def test_every_rule_is_the_first_to_concern_some_cell(table):
    """A rule that concerns none is misspelt; those of figures whose numbers are not printed are named here."""
    rules = read_table(table)
    assert set(FIELDS) - {"stage_or_class"} <= rules[0].keys()
    used = {id(first_match(rules, cell)) for paper in PAPERS for cell in printed(paper)}
    unused = [r for r in rules if id(r) not in used]
    without_numbers = [r for r in unused if r["table"] == "Figure 5" or r["dataset_or_subset"] in ("ORIGA", "G1020")]
    assert unused == without_numbers
