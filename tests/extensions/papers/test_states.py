"""The state of a printed cell follows from its note, the rules and the facts about its model."""

from collections import Counter

import pytest

from lmod_train.extensions.papers.printed import PAPERS, STATES, find, printed, state_of
from tests.tabled import stored


def state(paper, table, **fields):
    (found,) = {state_of(cell) for cell in find(paper, table, **fields)}
    return found


@pytest.mark.parametrize(
    ("paper", "table", "fields", "name", "why"),
    stored(__file__, "states.states"),
)  # fmt: skip
def test_states(paper, table, fields, name, why):
    found = state(paper, table, **fields)
    assert found.name == name and why in found.why


@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_has_a_state_and_a_reason(paper):
    counts = Counter(state_of(cell).name for cell in printed(paper))
    assert counts.keys() <= STATES.keys() and all(state_of(cell).why for cell in printed(paper))
    for cell in printed(paper):
        assert not (cell.value and cell.suspicion) or state_of(cell).name == "source inconsistent"
        assert (state_of(cell).name == "no numbers") == (not cell.value)
