import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item, items_of
from tests.scoring.make import prediction


def reference(p):
    return p.record.answer


def test_one_item_per_id_the_last_wins_in_id_order():
    items = items_of([prediction("b", "no"), prediction("a", "yes"), prediction("b", "yes")], reference)
    assert [(i.id, i.answer) for i in items] == [("demo/phantoms/a", "yes"), ("demo/phantoms/b", "yes")]


def test_groups_of_the_same_name_in_two_sources_are_two_groups():
    items = items_of([prediction("1", "no", source="refuge"), prediction("1", "no", source="origa")], reference)
    assert {i.group for i in items} == {"refuge/1", "origa/1"}


def test_without_a_group_the_image_is_the_group():
    (item,) = items_of([prediction("1", "no", group="", image="images/1.jpg")], reference)
    assert item.group == "phantoms/images/1.jpg"


def test_status_and_facts_travel():
    (item,) = items_of([prediction("1", Unparsed("refused"), modality="OCT")], reference)
    facts = (item.status, item.modality, item.source, item.split, item.language)
    assert facts == ("refused", "OCT", "phantoms", "test", "en")


def test_an_empty_region_answer_is_unparsed():
    (item,) = items_of([prediction("1", {})], lambda p: {1: "fovea"})
    assert (item.status, item.answer) == ("unparsed", Unparsed("empty"))


def test_a_reference_that_its_task_cannot_read_is_an_error_that_names_the_record():
    with pytest.raises(BadArgument, match=r"demo/phantoms/1.*'maybe'.*ambiguous"):
        items_of([prediction("1", "no", answer="maybe")], lambda p: Unparsed("ambiguous"))


def test_no_predictions_no_items():
    assert items_of([], reference) == []


def test_an_image_counts_by_its_f1():
    assert item_score(Item("1", "answered", {1: "a", 2: "a"}, {1: "a", 2: "b"})) == 0.5
    assert item_score(Item("1", "unparsed", Unparsed("empty"), {1: "a"})) == 0


def test_words_and_numbers_are_right_or_wrong():
    assert [item_score(Item("1", "answered", answer, 2.0)) for answer in (2.0, 3.0)] == [1, 0]
    assert item_score(Item("1", "refused", Unparsed("refused"), "yes")) == 0
