"""Balance statements over True and False: which are altered to be false, and what a model's alteration must be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from lmod_train.core.shuffling import shuffle_key
from lmod_train.tasks.captioned.pair import BINARY, TRUE_FALSE, BilingualQuestion, Half
from lmod_train.tasks.captioned.reading import Unread, compared, language_of, read_statement
from lmod_train.tasks.drafting.captions.item import Item, Left

Reading = Literal["points_of_all", "share_of_true"]
"""Reading of "21.2 % of the True" (OphthalWeChat): 21.2 points of all statements, by which 71.2 % True become 50 %; or
21.2 % of those that are True, by which they become 56.1 %."""

SHARE = 0.212
STEP = "balance"


def is_true(item: Item) -> bool:
    """Return whether the answer of a statement is True."""
    return item.pair.en.answer == TRUE_FALSE["en"][0]


def to_alter(items: Sequence[Item], reading: Reading, seed: int = 0) -> list[Item]:
    """Return the True statements that are to be made false, by a seeded shuffle.

    Args:
        items: Questions; those of other kinds are ignored.
        reading: ``points_of_all``: as many as make half of all statements False, none if that many are already;
            ``share_of_true``: 21.2 % of the True ones, rounded.
        seed: Seed of the shuffle.
    """
    binary = [item for item in items if item.kind == BINARY]
    true = sorted((item for item in binary if is_true(item)), key=lambda item: shuffle_key(seed, "alter", item.id))
    surplus = (2 * len(true) - len(binary)) // 2
    count = surplus if reading == "points_of_all" else math.floor(SHARE * len(true) + 0.5)
    return true[: max(count, 0)]


def original(pair: BilingualQuestion) -> str:
    """Return both halves of a statement as they are sent to be altered, in the form of the reply."""
    return f"Question: {pair.en.question}\n问：{pair.zh.question}"


def altered(items: Sequence[Item], replies: Mapping[str, str]) -> tuple[list[Item], list[Left]]:
    """Return the items with the altered statements in place of the originals, and those that are left out.

    A statement is left out if its reply is missing, cannot be read, or leaves a half as it was. Whether an altered
    statement is false is not known before people have read it.

    Args:
        items: All questions, in order.
        replies: Id of each statement to alter -> reply of the model; empty text for none.
    """
    found = {item.id: _altered(item, replies[item.id]) for item in items if item.id in replies}
    left = [one for one in found.values() if isinstance(one, Left)]
    kept = [one for item in items if not isinstance(one := found.get(item.id, item), Left)]
    return kept, left


def _altered(item: Item, reply: str) -> Item | Left:
    read = read_statement(reply)
    if isinstance(read, Unread):
        return Left(item.id, STEP, "not_altered", f"{read.reason}: {read.detail}")
    for before, after, language in zip((item.pair.en, item.pair.zh), read, ("en", "zh"), strict=True):
        if compared(before.question) == compared(after) or language_of(after) != language:
            return Left(item.id, STEP, "not_altered", f"{language}: {after[:80]}")
    en, zh = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][1]) for text, of in zip(read, ("en", "zh"), strict=True))
    return replace(item, pair=replace(item.pair, en=en, zh=zh), altered=True)


def surplus(items: Sequence[Item], seed: int = 0) -> list[Left]:
    """Return the statements beyond equal numbers of True and False, by a seeded shuffle; all are of one answer."""
    binary = [item for item in items if item.kind == BINARY]
    true = [item for item in binary if is_true(item)]
    false = [item for item in binary if not is_true(item)]
    more, fewer = max((true, false), key=len), min((true, false), key=len)
    ordered = sorted(more, key=lambda item: shuffle_key(seed, "surplus", item.id))
    return [Left(item.id, STEP, "surplus", item.pair.en.answer) for item in ordered[: len(more) - len(fewer)]]


def share_true(items: Sequence[Item]) -> float | None:
    """Return the share of True among the statements; None without statements."""
    binary = [item for item in items if item.kind == BINARY]
    return sum(map(is_true, binary)) / len(binary) if binary else None
