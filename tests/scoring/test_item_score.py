from lmod_train.core.types import Unparsed
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item


def test_an_image_counts_by_its_f1():
    assert item_score(Item("1", "answered", {1: "a", 2: "a"}, {1: "a", 2: "b"})) == 0.5
    assert item_score(Item("1", "unparsed", Unparsed("empty"), {1: "a"})) == 0


def test_words_and_numbers_are_right_or_wrong():
    assert [item_score(Item("1", "answered", answer, 2.0)) for answer in (2.0, 3.0)] == [1, 0]
    assert item_score(Item("1", "refused", Unparsed("refused"), "yes")) == 0
