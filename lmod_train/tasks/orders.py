"""Other orders of the options in a prompt; the choices of the record and their meaning stay the same.

Of options with letters, one a line, the texts move and the letters stay in place, so that another letter is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count as numbers
from itertools import permutations
from math import factorial

from lmod_train.core.option_letters import LETTERS, lettered, options_in
from lmod_train.core.reference_replies import letter_form, replies_of
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Message, Record

SEPARATORS = (
    *((text, text) for text in (", ", " / ", "/", "; ", "\n")),
    *((", ", last) for last in (" or ", ", or ", " and ", ", and ")),
)
"""What may stand between the options of a prompt, and before the last one."""

_AND = r",? (?:and|or|nor|&) |, | ?[&+/] ?|[和与及或、]"
_PLACES = re.compile(
    r"\b(?:all|none|any|both|neither|either|one|two|some|more than one|other) (?:of )?(?:the |these )?"
    r"(?:above|below|previous|preceding|foregoing|(?:other )?(?:options|choices|answers))\b|^以上|上述",
    re.IGNORECASE,
)
"""Words that mean other options by their place."""

LISTED = 5
"""Maximum number of options whose orders are all listed; of more, orders are drawn one by one."""


def count_orders(record: Record, options: Sequence[str]) -> int:
    """Return the number of orders of a record's options: 1 if its prompt does not list them, or one names others.

    Args:
        record: A record as curated, or in another wording.
        options: Each option as the prompt lists it (`Task.listed`).
    """
    listed = _with_letters(record, options) or any(_lists_in(record, options))
    return factorial(len(options)) if listed and not names_others(options) else 1


def names_others(options: Sequence[str]) -> bool:
    """Return whether an option means others by their place or letters, which another order would change.

    Example:
        >>> [names_others(["cup", "rim", text]) for text in ("Both A and B", "all of the above", "A and Z")]
        [True, True, False]
    """
    letters = f"[{LETTERS[: len(options)]}]"
    pair = re.compile(rf"(?<![A-Za-z]){letters}(?:{_AND}){letters}(?![A-Za-z])")
    alone = re.compile(
        rf"\b(?i:only|just|options?|answers?|choices?) {letters}(?![A-Za-z])|^{letters}(?i: only| alone)\b"
    )
    return any(pattern.search(option) for pattern in (_PLACES, pair, alone) for option in options)


def reordered(record: Record, options: Sequence[str], number: int, seed: int) -> Record:
    """Return a record with another order of the options in its prompt.

    Only its messages change, and with them a reference reply that is the letter of an option.

    Args:
        record: A record as curated, or in another wording.
        options: Each option as the prompt lists it, in the order of the prompt.
        number: Number of the order, see `permutation`.
        seed: Seed of the drawn orders.
    """
    order = permutation(len(options), number, seed)
    if _with_letters(record, options):
        return _relettered(record, [options[i] for i in order])
    changed = {list_: _joined([options[i] for i in order], *marks) for marks, list_ in _lists_in(record, options)}

    def rewritten(text: str) -> str:
        for list_, other in changed.items():
            text = other.join(_whole(list_).split(text))
        return text

    return replace(record, messages=tuple(_rewritten(m, rewritten) for m in record.messages))


def _rewritten(message: Message, rewrite: Callable[[str], str]) -> Message:
    """Return a message with its texts rewritten if it is the user's, else the message."""
    if message.role != "user":
        return message
    return replace(message, parts=tuple(replace(p, text=rewrite(p.text)) for p in message.parts))


def _with_letters(record: Record, options: Sequence[str]) -> bool:
    """Return whether the last user turn lists these options in this order with letters, and no other options."""
    listed = list(options_in(record.messages).values())
    different = len(set(listed)) == len(listed) > 1
    return (
        listed == list(options)
        and different
        and any(lettered(listed) in part.text for part in _last_turn(record).parts)
    )


def _last_turn(record: Record) -> Message:
    return [m for m in record.messages if m.role == "user"][-1]


def _relettered(record: Record, options: Sequence[str]) -> Record:
    """Return a record that lists its options in this order, with the letter of the same text as its reference reply."""
    before, after = lettered(list(options_in(record.messages).values())), lettered(options)
    last = _last_turn(record)
    turned = _rewritten(last, lambda text: after.join(text.rsplit(before, 1)))
    made = replace(record, messages=tuple(turned if m is last else m for m in record.messages))
    if letter_form(record) is None:
        return made
    (choice,) = (choice for choice, reply in replies_of(record).items() if reply == record.answer)
    return replace(made, answer=replies_of(made)[choice])


def _lists_in(record: Record, options: Sequence[str]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield separators and text of each list of all options in the user's words."""
    texts = [p.text for m in record.messages if m.role == "user" for p in m.parts]
    for marks in SEPARATORS if len(options) > 1 else ():
        list_ = _joined(options, *marks)
        if any(_whole(list_).search(text) for text in texts):
            yield marks, list_


@lru_cache(maxsize=1024)
def _whole(list_: str) -> re.Pattern[str]:
    """Return the pattern of a list that no word continues: of normal and cataract, not that in "abnormal, cataract"."""
    letter = "[0-9A-Za-z\u00c0-\u024f]"  # Latin, as Chinese has no blanks between words
    start = f"(?<!{letter})(?<!{letter}-)" if re.match(letter, list_[0]) else ""
    end = f"(?!-?{letter})" if re.match(letter, list_[-1]) else ""
    return re.compile(start + re.escape(list_) + end)


def _joined(options: Sequence[str], separator: str, last: str) -> str:
    return separator.join(options[:-1]) + last + options[-1]


@lru_cache(maxsize=1024)
def permutation(count: int, number: int, seed: int) -> tuple[int, ...]:
    """Return an order of `count` options as indices: 0 is their own, 1 the reverse, the others are drawn.

    Different numbers are different orders, and those of a number do not depend on how many are asked.

    Args:
        count: Number of options, at least 2.
        number: From 0 to the number of permutations - 1.
        seed: Seed of the orders from 2 on.

    Example:
        >>> [permutation(3, number, 0) for number in range(3)]
        [(0, 1, 2), (2, 1, 0), (2, 0, 1)]
    """
    own = tuple(range(count))
    known = [own, own[::-1]]
    drawn = _listed(own, seed) if count <= LISTED else _drawn(own, seed)
    while number >= len(known):
        order = next(drawn)
        known += [] if order in known else [order]
    return known[number]


def _listed(own: tuple[int, ...], seed: int) -> Iterator[tuple[int, ...]]:
    yield from sorted(permutations(own), key=lambda order: shuffle_key(seed, order))


def _drawn(own: tuple[int, ...], seed: int) -> Iterator[tuple[int, ...]]:
    for draw in numbers():
        yield tuple(sorted(own, key=lambda i: shuffle_key(seed, draw, i)))
