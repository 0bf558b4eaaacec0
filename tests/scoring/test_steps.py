import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.scoring.chain_steps import STEPS, chains_of, drawn_id, incomplete_chains
from tests.scoring.chains import chain_items, random_items, step_item, truth_table


def test_counts_of_each_step():
    items = random_items(0, several=True)
    chains, table = chains_of(items), truth_table(items)
    assert [name[0] for name in chains.names] == sorted(table)
    for name, asked, right in zip(chains.names, chains.asked, chains.right, strict=True):
        assert asked.tolist() == [len(table[name[0]][s]) for s in STEPS]
        assert right.tolist() == [sum(table[name[0]][s]) for s in STEPS]


def test_chains_do_not_depend_on_the_order_of_the_items():
    items = random_items(1, several=True)
    one, other = chains_of(items), chains_of(items[::-1])
    assert one.names == other.names and one.groups == other.groups
    for name in ("asked", "right", "drawn", "chance"):
        assert (getattr(one, name) == getattr(other, name)).all()


def test_incomplete_chains_are_listed_with_their_missing_steps():
    items = [*chain_items("a", [True] * 6), *chain_items("b", [True] * 4)]
    assert {name[0]: missing for name, missing in incomplete_chains(items).items()} == {"b": ("SG", "CD")}


def test_the_draw_depends_on_the_seed_alone():
    ids = [f"q{i}" for i in range(9)]
    assert {drawn_id(ids, seed) for seed in range(60)} == set(ids)
    assert drawn_id(ids) == drawn_id(reversed(ids))


def test_an_unknown_step_is_an_error_that_names_the_record():
    with pytest.raises(BadArgument, match=r"chain_step of a/PF/0.*'PF'.*IQA"):
        chains_of([step_item("a", "PF", True)])


def test_items_without_a_chain_are_in_none():
    assert chains_of([step_item("", "IQA", True)]).names == ()


def test_steps_are_the_stages_of_the_task():
    assert STEPS == STAGE_NAMES
