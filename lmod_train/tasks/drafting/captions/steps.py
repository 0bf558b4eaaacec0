"""The steps from replies to the questions that people review, in the order of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmod_train.core.types import Prediction, Record, Unparsed
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import Half, lettered, worded
from lmod_train.tasks.captioned.prompts import OPTIONS, STATEMENT, filled
from lmod_train.tasks.captioned.reading import compared, read_pairs
from lmod_train.tasks.captioning import CaptionRewriting
from lmod_train.tasks.drafting.captions.checks import faulty
from lmod_train.tasks.drafting.captions.item import Item, Left, without
from lmod_train.tasks.drafting.captions.keywords import filtered
from lmod_train.tasks.drafting.captions.positions import permuted, swapped_by_model, to_swap
from lmod_train.tasks.drafting.captions.statements import Reading, altered, original, surplus, to_alter

FALSE, SWAP = "false", "swap"
"""Ends of the names of requests: to make a statement false, to swap two options (``swap-en``, ``swap-zh``)."""

Positions = Literal["seed", "model"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is done with the questions that a model wrote.

    Attributes:
        keywords: Phrases of the filter; empty filters nothing.
        reading: Reading of "21.2 % of the True".
        positions: Who moves the right options: a seeded permutation, or the model.
        seed: Seed of all draws.
    """

    keywords: tuple[str, ...] = ()
    reading: Reading = "points_of_all"
    positions: Positions = "seed"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Drafts:
    """Questions, and what was left out.

    Attributes:
        items: Questions, by caption, kind and number.
        left: What was left out, by step.
        keywords: Keyword -> number of questions that contain it.
    """

    items: tuple[Item, ...]
    left: tuple[Left, ...]
    keywords: Mapping[str, int]


def written(predictions: Sequence[Prediction], captions: Mapping[str, Caption]) -> Drafts:
    """Return the questions in the replies of `CaptionQuestions`, and what of the replies cannot be used.

    Args:
        predictions: One for each caption and kind.
        captions: Key -> caption; replies about others are ignored.
    """
    items: list[Item] = []
    left: list[Left] = []
    for one in sorted((p for p in predictions if p.record.key in captions), key=lambda p: p.record.id):
        key, kind = one.record.key, one.record.chain_step
        name, answer = f"{key}/{kind}", one.answer
        if isinstance(answer, Unparsed) and answer.reason in ("failed", "refused", "truncated"):
            left.append(Left(name, "read", answer.reason, answer.detail))
            continue
        found = read_pairs(one.reply.reply, kind)
        image = captions[key].image
        items += [Item(key, image, number, pair) for number, pair in enumerate(found.pairs, 1)]
        left += [Left(name, "read", unread.reason, unread.detail) for unread in found.unread]
    return Drafts(tuple(items), tuple(left), {})


def prepared(drafts: Drafts, settings: Settings) -> Drafts:
    """Return the questions that pass the checks and the filter and occur once."""
    left = faulty(drafts.items)
    items = without(drafts.items, left)
    hits, counts = filtered(items, settings.keywords)
    items = without(items, hits)
    twice = duplicates(items)
    return Drafts(tuple(without(items, twice)), (*drafts.left, *left, *hits, *twice), counts)


def requests(drafts: Drafts, captions: Mapping[str, Caption], settings: Settings) -> list[Record]:
    """Return what a model is asked to alter: statements to make false, and options to swap if a model does that."""
    task, found = CaptionRewriting(), []
    for item in to_alter(drafts.items, settings.reading, settings.seed):
        words = filled(STATEMENT, caption=captions[item.caption].text, question=original(item.pair))
        found.append(task.record(captions[item.caption], f"{item.kind}/{item.number}/{FALSE}", words))
    places = to_swap(drafts.items, settings.seed) if settings.positions == "model" else {}
    for item in (item for item in drafts.items if item.id in places):
        for language, half in item.pair.halves.items():
            options = lettered(half.options, language)
            texts = {"correct_answer": options[half.right], "change_answer": options[places[item.id]]}
            words = filled(OPTIONS, question=worded(half, language), **texts)
            step = f"{item.kind}/{item.number}/{SWAP}-{language}"
            found.append(task.record(captions[item.caption], step, words))
    return sorted(found, key=lambda r: r.id)


def balanced(drafts: Drafts, settings: Settings, predictions: Sequence[Prediction]) -> Drafts:
    """Return the questions with as many True as False statements, or the share that follows, and balanced letters.

    Args:
        drafts: As `prepared` returns them.
        settings: As they were for `requests`.
        predictions: Of the replies to these.
    """
    replies = {f"{p.record.key}/{p.record.chain_step}": p.answer for p in predictions if isinstance(p.answer, str)}
    chosen = to_alter(drafts.items, settings.reading, settings.seed)
    items, left = altered(drafts.items, {item.id: str(replies.get(f"{item.id}/{FALSE}", "")) for item in chosen})
    bad = faulty([item for item in items if item.altered])
    hits, counts = filtered([item for item in items if item.altered], settings.keywords)
    items = without(items, [*bad, *hits])
    if settings.reading == "points_of_all":
        more = surplus(items, settings.seed)
        items, left = without(items, more), [*left, *more]
    wrong: list[Left] = []
    if settings.positions == "seed":
        items = permuted(items, settings.seed)
    else:
        swaps = {(i.id, of): str(replies.get(f"{i.id}/{SWAP}-{of}", "")) for i in items for of in ("en", "zh")}
        items, wrong = swapped_by_model(items, to_swap(drafts.items, settings.seed), swaps)
    twice = Counter(drafts.keywords) + Counter(counts)
    return Drafts(tuple(items), (*drafts.left, *left, *bad, *hits, *wrong), dict(twice.most_common()))


def counts_of(drafts: Drafts) -> list[tuple[str, str, int]]:
    """Return step, reason and number of everything that was left out, in the order of the steps."""
    counted = Counter((one.step, one.reason) for one in drafts.left)
    order = list(dict.fromkeys(one.step for one in drafts.left))
    return sorted(((*name, n) for name, n in counted.items()), key=lambda row: (order.index(row[0]), -row[2], row[1]))


STEP = "duplicate"
ALIKE = 0.8
"""Share of common runs of three letters from which two texts are near duplicates; ours."""


def duplicates(items: Sequence[Item], alike: float = ALIKE) -> list[Left]:
    """Return the questions that repeat an earlier one about the same image, and those that contradict one.

    A question is a near duplicate if question and options of both languages share most runs of three letters with
    those of an earlier one and the answers are the same; of several the first stays. Equal questions with different
    answers are all left out, as it is not known which is right.

    Args:
        items: In any order; the earlier one is the first of them.
        alike: Least share of common runs, above 0, up to 1.
    """
    left: dict[str, Left] = {}
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((item.image, item.kind), []).append(item)
    for group in groups.values():
        for place, item in enumerate(group):
            for earlier in group[:place]:
                for one, other in _found(earlier, item, alike):
                    left.setdefault(one.id, Left(one.id, STEP, other[0], other[1]))
    return [left[item.id] for item in items if item.id in left]


def _found(earlier: Item, item: Item, alike: float) -> list[tuple[Item, tuple[str, str]]]:
    same_answer = _answers(earlier) == _answers(item)
    if not same_answer and _asked(earlier) == _asked(item):
        return [(one, ("two_answers", f"as {other.id}")) for one, other in ((earlier, item), (item, earlier))]
    if same_answer and all(likeness(a, b) >= alike for a, b in zip(_asked(earlier), _asked(item), strict=True)):
        return [(item, ("near_duplicate", f"of {earlier.id}"))]
    return []


def _asked(item: Item) -> tuple[str, str]:
    """Return question and options of both languages; the order of the options does not matter."""
    return _words(item.pair.en), _words(item.pair.zh)


def _words(half: Half) -> str:
    return " ".join([compared(half.question), *sorted(map(compared, half.options))])


def _answers(item: Item) -> tuple[str, str]:
    return compared(item.pair.en.answer), compared(item.pair.zh.answer)


def likeness(one: str, other: str) -> float:
    """Return the number of common runs of three letters by that of all, in [0, 1].

    Example:
        >>> likeness("disc is pale", "disc is pale"), round(likeness("disc is pale", "disc is pallid"), 2)
        (1.0, 0.69)
    """
    ours, theirs = _runs(one), _runs(other)
    return len(ours & theirs) / len(ours | theirs)


def _runs(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(max(len(text) - 2, 1))}
