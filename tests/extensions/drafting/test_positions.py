"""Letters of right options: balanced by a seed or by a model, and checked either way."""

from __future__ import annotations

from lmod_train.extensions.drafting.caption_steps import Item, letters, permuted, swapped, swapped_by_model, to_swap
from lmod_train.extensions.drafting.captions import worded
from tests.extensions.drafting.example import single_choice, statement
from tests.tabled import tabled


def planted(count: int) -> list[Item]:
    """Return questions with the letters of the paper: mostly A and B."""
    return [statement(), *(single_choice(n, right=(n % 7) % 3) for n in range(count))]


@tabled("count", [1, 4, 103])
def test_letters_are_equal_within_one_and_the_right_option_stays_right(count: int):
    before = planted(count)
    after = permuted(before, seed=1)
    assert max(letters(after).values()) - min(letters(after).values()) <= 1
    assert after[0] == before[0]
    for old, new in zip(before[1:], after[1:], strict=True):
        assert (new.pair.en.answer, new.pair.zh.answer) == (old.pair.en.answer, old.pair.zh.answer)
        assert {*new.pair.en.options} == {*old.pair.en.options}
        translated = dict(zip(old.pair.en.options, old.pair.zh.options, strict=True))
        assert [translated[option] for option in new.pair.en.options] == [*new.pair.zh.options]
    assert permuted(before, seed=1) == after
    assert count < 100 or permuted(before, seed=2) != after


def swaps(items: list[Item], places: dict[str, int]) -> dict[tuple[str, str], str]:
    """Return the replies of a model that makes no mistake."""
    chosen = [(item, of, half) for item in items if item.id in places for of, half in item.pair.halves.items()]
    return {(item.id, of): worded(swapped(half, places[item.id]), of) for item, of, half in chosen}


def test_a_model_that_swaps_rightly_balances_the_letters():
    items = planted(40)
    places = to_swap(items)
    after, left = swapped_by_model(items, places, swaps(items, places))
    assert not left
    assert set(letters(after).values()) == {10}
    assert [item.pair.zh.answer for item in after[1:]] == [item.pair.zh.answer for item in items[1:]]


def test_a_swap_with_any_other_word_is_left_out():
    items = planted(8)
    places = to_swap(items)
    good = swaps(items, places)
    first, *_ = places
    for reply in (
        "", "I swapped them.", good[first, "en"].replace("drusen", "choroiditis"),
        good[first, "en"].replace("A:", "B:"),
        good[first, "en"].replace("Which", "What"), worded(next(i for i in items if i.id == first).pair.en, "en"),
    ):  # fmt: skip
        after, left = swapped_by_model(items, places, good | {(first, "en"): reply})
        assert [(one.id, one.reason) for one in left] == [(first, "not_swapped")]
        assert len(after) == len(items) - 1
    assert not swapped_by_model(items, places, good | {(first, "en"): good[first, "en"].replace(" B", "\n(B)")})[1]
