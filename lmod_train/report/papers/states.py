"""State of a printed result: whether a number measured here can be the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from lmod_train.core.artifacts.model_facts import STATES as OF_MODELS
from lmod_train.report.papers.models import row_facts
from lmod_train.report.papers.patterns import first_match
from lmod_train.report.papers.printed import Printed, read_table

STATES = OF_MODELS | {
    "other protocol": "the number was obtained in another way than any task here scores",
    "not comparable": "the number is no score of a model, or the paper does not state how it was computed",
}
"""State -> its meaning."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a printed result.

    Attributes:
        name: A key of `STATES`.
        why: Reason in a few words.
    """

    name: str
    why: str


@cache
def state_of(cell: Printed) -> State:
    """Return the state of a printed result, by the first of these that applies.

    No number is printed; the cell contradicts another printed number (``SUSPECT`` in its note); the first matching row
    of ``states.csv``; the facts about the model's row in the shipped model configs.

    Example:
        >>> cell = Printed("lmod_plus", "Table 3", "LLaVA-1.5-7B", "sex_prediction", metric="accuracy", value="0.5105")
        >>> state_of(cell).name
        'reproducible'
    """
    if not cell.value:
        return State("no numbers", cell.note or "empty cell")
    if cell.suspicion:
        return State("source inconsistent", cell.suspicion)
    rule = first_match(read_table("states"), cell)
    return State(rule["state"], rule["why"]) if rule else _of_model(cell)


def _of_model(cell: Printed) -> State:
    facts = row_facts().get((cell.paper, cell.model))
    if facts is None:
        return State("not comparable", "no facts about the model are known")
    if facts.state == "source inconsistent":
        return State(facts.otherwise, OF_MODELS[facts.otherwise])
    return State(facts.state, facts.note or OF_MODELS[facts.state])
