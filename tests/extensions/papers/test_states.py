"""The state of a printed cell follows from its note, the rules and the facts about its model."""

from collections import Counter

import pytest

from lmod_train.extensions.papers.printed import PAPERS, STATES, find, printed, state_of


def state(paper, table, **fields):
    (found,) = {state_of(cell) for cell in find(paper, table, **fields)}
    return found


@pytest.mark.parametrize(
    ("paper", "table", "fields", "name", "why"),
    [
        ("lmod_plus", "Table 3", {"model": "LLaVA-1.5-7B", "metric": "f1"}, "reproducible", "the same weights"),
        ("lmod_plus", "Table 3", {"model": "GPT-4o", "metric": "f1"}, "different snapshot", "snapshot not stated"),
        ("ophthalwechat", "Table 1A",
         {"model": "Gemini 2.0 Flash", "dataset_or_subset": "overall", "metric": "accuracy"}, "retired", "replies"),
        ("lmod_plus", "Table 4", {"model": "InternVL-2.5-4B", "modality": "SS", "metric": "recall"},
         "source inconsistent", "equals the HR cell"),
        ("lmod_plus", "Table 3", {"model": "InternVL-2.5-4B", "task": "sex_prediction"},
         "source inconsistent", "exactly 0"),
        ("lmod_plus", "Table 3", {"model": "InternVL-2.5-4B", "task": "binary_diagnosis"}, "reproducible", "weights"),
        ("lmod_v1", "Table 3", {"model": "GPT-4o", "task": "mh_staging"}, "source inconsistent", "58.97"),
        ("lmod_v1", "Table 3", {"model": "GPT-4o", "task": "sex_prediction"}, "different snapshot", "not stated"),
        ("lmod_naacl", "Table 4", {"task": "supervised_baseline", "dataset_or_subset": "mh_staging"}, "other protocol",
         "RETFound"),
        ("lmod_naacl", "Table 7", {"model": "GPT4o"}, "not comparable", "neither the statistical test"),
        ("lmod_plus", "Table 3", {"model": "Med-Flamingo", "metric": "f1"}, "no numbers", "printed '-'"),
        ("xpcr", "Table 4", {"model": "GPT-5", "stage_or_class": "CD"}, "source inconsistent", ""),
    ],
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
