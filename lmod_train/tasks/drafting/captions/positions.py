"""Balance the letters of the right options, in the same way in both languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase

from lmod_train.core.shuffling import shuffle_key
from lmod_train.tasks.captioned.pair import SINGLE_CHOICE, Half, worded
from lmod_train.tasks.captioned.reading import COUNT, compared, divided
from lmod_train.tasks.drafting.captions.item import Item, Left

STEP = "balance"


def places_of(items: Sequence[Item], seed: int = 0) -> dict[str, int]:
    """Return id -> index of the right option of each single-choice question: each index equally often within one."""
    single = sorted((i for i in items if i.kind == SINGLE_CHOICE), key=lambda i: shuffle_key(seed, "letter", i.id))
    return {item.id: number % COUNT for number, item in enumerate(single)}


def permuted(items: Sequence[Item], seed: int = 0) -> list[Item]:
    """Return the items with the options of single-choice questions in a seeded order that balances their letters.

    Raises:
        ValueError: An order has changed options or answer; this does not occur.
    """
    places = places_of(items, seed)
    return [_checked(item, _permuted(item, places[item.id], seed)) if item.id in places else item for item in items]


def _permuted(item: Item, place: int, seed: int) -> Item:
    order = sorted(range(COUNT), key=lambda n: shuffle_key(seed, "order", item.id, n))
    order.remove(item.pair.en.right)
    order.insert(place, item.pair.en.right)
    return replace(item, pair=item.pair.changed(lambda half: reordered(half, order)))


def reordered(half: Half, order: Sequence[int]) -> Half:
    """Return a question with its options in another order.

    Example:
        >>> reordered(Half("Which?", ("cup", "rim"), "rim"), (1, 0)).right
        0
    """
    return replace(half, options=tuple(half.options[n] for n in order))


def swapped(half: Half, place: int) -> Half:
    """Return a question whose right option has changed places with another.

    Args:
        half: A single-choice question.
        place: Index of the other.
    """
    order = [*range(len(half.options))]
    order[half.right], order[place] = place, half.right
    return reordered(half, order)


def _checked(before: Item, after: Item) -> Item:
    """Return an item with reordered options.

    Raises:
        ValueError: The options are not the same ones, or the answer is another.
    """
    for old, new in zip((before.pair.en, before.pair.zh), (after.pair.en, after.pair.zh), strict=True):
        if Counter(old.options) != Counter(new.options) or (old.question, old.answer) != (new.question, new.answer):
            raise ValueError(f"{before.id}: the order of the options has changed its content")
    if after.pair.en.right != after.pair.zh.right:
        raise ValueError(f"{before.id}: the right letters of both languages differ")
    return after


def to_swap(items: Sequence[Item], seed: int = 0) -> dict[str, int]:
    """Return id -> index for the right option, of the questions whose right option stands elsewhere."""
    places = places_of(items, seed)
    return {item.id: places[item.id] for item in items if item.id in places and item.pair.en.right != places[item.id]}


def swapped_by_model(
    items: Sequence[Item], places: Mapping[str, int], replies: Mapping[tuple[str, str], str]
) -> tuple[list[Item], list[Left]]:
    """Return the items with the options that a model has swapped, and those that are left out.

    A swap has one right result, so a reply with any other words is not used.

    Args:
        items: All questions, in order.
        places: Id -> index that the right option shall have.
        replies: Id and language -> reply of the model; missing for none.
    """
    kept: list[Item] = []
    left: list[Left] = []
    for item in items:
        place = places.get(item.id)
        wrong = [] if place is None else [
            of for of, half in item.pair.halves.items()
            if _words(replies.get((item.id, of), "")) != _words(worded(swapped(half, place), of))
        ]  # fmt: skip
        if wrong:
            left.append(
                Left(item.id, STEP, "not_swapped", f"{', '.join(wrong)}: {replies.get((item.id, wrong[0]), '')[:80]}")
            )
        else:
            kept.append(item if place is None else _checked(item, _swapped(item, place)))
    return kept, left


def _swapped(item: Item, place: int) -> Item:
    return replace(item, pair=item.pair.changed(lambda half: swapped(half, place)))


def _words(text: str) -> tuple[str, ...]:
    """Return question and options of a text as they are compared."""
    stem, options = divided(" ".join(text.split()))
    return (compared(stem), *map(compared, options))


def letters(items: Sequence[Item]) -> dict[str, int]:
    """Return letter -> number of single-choice questions whose right option has it."""
    counts = Counter(ascii_uppercase[item.pair.en.right] for item in items if item.kind == SINGLE_CHOICE)
    return {letter: counts[letter] for letter in ascii_uppercase[:COUNT]}
