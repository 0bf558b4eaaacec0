"""Signs of collapse against counts by hand on known replies."""

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.scoring.collapse import Limits, Signs, histograms, repeated, signs_of, tripped
from lmod_train.scoring.items import Item
from tests.tabled import tabled

YES, NO = "GLAUCOMA", "NON-GLAUCOMA"


def item(i, answer, truth, **fields):
    status = "unparsed" if isinstance(answer, Unparsed) else "answered"
    return Item(f"g/{i}", status, answer, truth, (YES, NO), **fields)


def asked(pairs, texts, shuffled=None, ends=None):
    """Return the signs of one task from (answer, truth) pairs, replies, and pairs with exchanged pictures."""
    items = [item(i, *pair) for i, pair in enumerate(pairs)]
    replies = {
        it.id: Reply(it.id, text, (ends or {}).get(i, "stop"))
        for i, (it, text) in enumerate(zip(items, texts, strict=True))
    }
    others = [item(i, *pair) for i, pair in enumerate(shuffled or pairs)]
    return signs_of(items, replies, dict.fromkeys(replies, "glaucoma"), others)


def test_a_healthy_model():
    signs = asked([(YES, YES), (NO, NO), (YES, NO), (NO, NO)], [YES, NO, YES, NO], [(NO, YES), (NO, NO)])
    assert (signs.n, signs.empty, signs.at_limit, signs.repetitive, signs.unparsed) == (4, 0, 0, 0, 0)
    assert (signs.identical, signs.identical_truth, signs.distinct) == (0.5, 0.75, 0.5)
    assert (signs.right, signs.right_shuffled, signs.lost_without_picture) == (0.75, 0.5, 0.5)
    assert tripped(signs, Limits(), late=True) == []


@tabled(
    ("text", "end", "sign", "words"),
    [
        ("  ", "stop", "empty", "empty"),
        ("Optic " * 39 + "Opt " * 946, "length", "repetitive", "repeat"),
        ("The eye, seen from afar, is one of those", "length", "at_limit", "cut off"),
    ],
)
def test_the_published_symptoms_trip_at_once(text, end, sign, words):
    lost = Unparsed("no_match")
    signs = asked([(lost, YES), (lost, NO)] * 3, [text] * 6, ends=dict.fromkeys(range(6), end))
    assert getattr(signs, sign) == 1 and signs.identical == 1 and signs.identical_truth == 0.5
    messages = tripped(signs, Limits(), late=False)
    assert any(words in s for s in messages) and any("are the same" in s for s in messages), (
        "the replies have no answer"
    )


def test_one_answer_to_everything_trips_unless_the_truth_is_as_uniform():
    one_sided = asked([(NO, YES), (NO, NO)] * 2, [NO] * 4)
    assert len(tripped(one_sided, Limits(), late=True)) == 1
    assert tripped(one_sided, Limits(), late=False) == [], "a slow start"
    assert tripped(asked([(NO, NO)] * 4, [NO] * 4), Limits(), late=True) == []


def test_unparsed_replies_count_in_the_second_half_only():
    lost = Unparsed("no_match")
    signs = asked([(lost, YES), (lost, NO)], ["a large cup", "a small cup"])
    assert signs.unparsed == 1 and tripped(signs, Limits(), late=False) == []
    assert tripped(signs, Limits(), late=True) == ["100% of replies have no readable answer"]


def test_a_model_that_ignores_pictures_trips_if_the_limit_is_set():
    blind = asked([(YES, YES), (NO, YES)] * 2, [YES, NO] * 2)
    assert blind.lost_without_picture == 0 and tripped(blind, Limits(), late=True) == []
    assert tripped(blind, Limits(lost_without_picture=0.0), late=True) == [
        "answers lose 0% when their pictures are exchanged"
    ]
    assert tripped(blind, Limits(lost_without_picture=0.0), late=False) == []


def test_regions_count_by_their_share_and_word_by_word():
    truth, answer = {1: "optic disc", 2: "optic cup"}, {1: "optic disc", 2: "fovea"}
    one = Item("a/1", "answered", answer, truth)
    signs = signs_of([one], {"a/1": Reply("a/1", "x")}, {"a/1": "anatomy"}, [one])
    assert signs.right == 0.5
    unread = Item("a/2", "unparsed", Unparsed("empty"), truth)
    counted = histograms([one, unread], {"a/1": "anatomy", "a/2": "anatomy"})["anatomy"]
    assert counted["answered"] == {"fovea": 1, "optic disc": 1, "unparsed": 1}
    assert counted["true"] == {"optic cup": 2, "optic disc": 2}


def test_the_loss_is_over_the_questions_with_exchanged_pictures():
    """Questions without a picture are answered wrong here, and say nothing about looking."""
    signs = asked([(YES, YES), (NO, NO), (YES, NO), (YES, NO)], [YES, NO, YES, YES], [(YES, YES), (NO, NO)])
    assert (signs.right, signs.right_shuffled, signs.lost_without_picture) == (0.5, 1, 0)
    none = [item(0, YES, YES)]
    alone = signs_of(none, {"g/0": Reply("g/0", YES)}, {"g/0": "g"}, [])
    assert alone.right == 1 and alone.lost_without_picture == 0


def test_identical_is_counted_within_each_task():
    items = [item(0, YES, YES), item(1, YES, NO), Item("f/0", "answered", "normal", "normal")]
    replies = {"g/0": Reply("g/0", YES), "g/1": Reply("g/1", YES), "f/0": Reply("f/0", "normal")}
    signs = signs_of(items, replies, {"g/0": "g", "g/1": "g", "f/0": "f"}, [])
    assert signs.identical == 1 and signs.identical_truth == pytest.approx(2 / 3)


def test_an_empty_probe_trips_nothing():
    signs = signs_of([], {}, {}, [])
    assert signs == Signs(0, *[0.0] * 10) and tripped(signs, Limits(), late=True) == []


def test_repetition_is_the_share_of_repeated_four_grams():
    assert repeated("a b c d a b c d") == pytest.approx(1 / 5)  # abcd bcda cdab dabc abcd
    assert repeated("a a a a a a a") == 0, "too short to tell"
    assert repeated("DISEASE" * 9) > 0.8 and repeated("Pneumonoultramicroscopicsilicovolcanoconiosis") < 0.1
    assert repeated("眼底照片显示视盘边界清楚，杯盘比约为零点三，黄斑中心凹反光可见。") == 0
    many = " ".join(f"Region ID: {i}; Type: {'optic disc' if i % 2 else 'optic cup'}." for i in range(1, 17))
    assert repeated(many) < 0.4
