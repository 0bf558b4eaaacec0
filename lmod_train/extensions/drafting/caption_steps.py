"""The steps from replies to the questions that people review, in the order of the paper, each with its checks."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.package_data import package_data, package_table
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Prediction, Record, Unparsed
from lmod_train.data.formats.spreadsheet import Table, cell
from lmod_train.extensions.drafting.captions import (
    AGREES,
    BINARY,
    COUNT,
    DIFFERS,
    KINDS,
    OPEN,
    OPTIONS,
    SINGLE_CHOICE,
    STATEMENT,
    TRUE_FALSE,
    BilingualQuestion,
    Caption,
    CaptionParity,
    CaptionRewriting,
    Half,
    Unread,
    asked,
    compared,
    divided,
    filled,
    language_of,
    lettered,
    read_pairs,
    read_statement,
    worded,
)
from lmod_train.extensions.drafting.checks import steers
from lmod_train.extensions.drafting.review import needed
from lmod_train.tasks.parsing.normalise import normalise

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


# Checks of one written question: both languages agree, and nothing in it steers a model or a program.
CHECKS_STEP = "check"


def faults_of(pair: BilingualQuestion) -> list[tuple[str, str]]:
    """Return reason and detail of everything that the checks find in a question.

    ``marks``: tokens of chat templates, places of images, HTML, links, invisible characters; ``languages_differ``:
    see `parity.differences`; ``other_language``: a half, or its open answer, in the other language; ``answer_named``:
    an open question that contains its answer.
    """
    texts = (*pair.en.texts, *pair.zh.texts)
    found = [("marks", text[:80]) for text in texts if steers(text)]
    found += [("languages_differ", detail) for detail in differences(pair)]
    for language, half in pair.halves.items():
        if language_of(half.question) != language:
            found.append(("other_language", half.question[:80]))
        if pair.kind == OPEN and compared(half.answer) and compared(half.answer) in compared(half.question):
            found.append(("answer_named", half.question[:80]))
    return found


def faulty(items: Sequence[Item]) -> list[Left]:
    """Return the items in which a check finds something, with what it finds first."""
    found = {item.id: faults_of(item.pair) for item in items}
    return [Left(id, CHECKS_STEP, faults[0][0], faults[0][1]) for id, faults in found.items() if faults]


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")

_SIDES: Mapping[str, Mapping[str, str]] = package_data(__file__, "words.yaml")["caption_steps"]["sides"]


def differences(pair: BilingualQuestion) -> list[str]:
    """Return what differs between the halves: the answer, and numbers and sides where both name some.

    A wrong translation without numbers or sides is not found here, but by the people who review both halves.

    Example:
        >>> from lmod_train.extensions.drafting.captions import TRUE_FALSE
        >>> en, zh = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][0])
        ...     for of, text in (("en", "The left disc is pale."), ("zh", "右眼视盘苍白。")))
        >>> differences(BilingualQuestion("binary_question", en, zh))
        ['side: left and right']
    """
    found = []
    if pair.kind != OPEN and pair.en.right != pair.zh.right:
        found.append(f"answer: {pair.en.answer} and {pair.zh.answer}"[:80])
    places = zip(_places(pair.en), _places(pair.zh), strict=False)
    for en, zh in places:
        for name, ours, theirs in (
            ("number", _numbers(en), _numbers(zh)),
            ("side", _sides(en, "en"), _sides(zh, "zh")),
        ):
            if ours and theirs and ours != theirs:
                found.append(f"{name}: {', '.join(sorted(ours))} and {', '.join(sorted(theirs))}")
    return found


def _places(half: Half) -> tuple[str, ...]:
    """Return the texts that are translations of each other: question, and options or the open answer."""
    return (half.question, *(half.options or (half.answer,)))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(normalise(text)))


def _sides(text: str, language: str) -> set[str]:
    plain = normalise(text).casefold()
    return {side for side, pattern in _SIDES[language].items() if re.search(pattern, plain)}


# Whether both languages of a sample of the questions say the same, as a judge has replied.
SHARE = 0.2
"""Share of the questions of each kind that a judge compares by default; ours, twice the share that people review."""

UNPARSED = "unparsed"
"""Outcome of a comparison whose reply is missing or states no verdict."""

FAILED = "failed"
"""Reason of a question whose comparison failed: it was not compared."""

METRICS = {AGREES: "share_judged_agrees", DIFFERS: "share_judged_differs", UNPARSED: "share_unjudged"}
"""Outcome -> metric of its share among the questions that were compared (`CaptionParity.score`)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a judge has replied about one question.

    Attributes:
        outcome: ``agrees``, ``differs`` or ``unparsed``.
        reason: Why there is no verdict; empty if there is one.
        prediction: The judge's reply.
    """

    outcome: str
    reason: str
    prediction: Prediction


def sampled(items: Sequence[Item], share: float = SHARE, seed: int = 0) -> list[Item]:
    """Return a share of the questions of each kind, rounded up, by a seeded shuffle.

    A larger share adds questions to those of a smaller one.

    Args:
        items: Questions.
        share: Above 0, up to 1.
        seed: Seed of the shuffle.
    """
    chosen: set[str] = set()
    for kind in KINDS:
        ordered = sorted((i.id for i in items if i.kind == kind), key=lambda id: shuffle_key(seed, "parity", id))
        chosen |= {*ordered[: needed(share, len(ordered))]}
    return [item for item in items if item.id in chosen]


def comparisons(items: Sequence[Item], captions: Mapping[str, Caption]) -> list[Record]:
    """Return what a judge is asked about questions, in id order."""
    task = CaptionParity()
    return sorted((task.of_pair(captions[i.caption], i.number, i.pair) for i in items), key=lambda r: r.id)


def compared_by(items: Sequence[Item], predictions: Sequence[Prediction]) -> dict[str, Comparison]:
    """Return id of each question that was compared -> outcome; replies about words that have changed do not count.

    Args:
        items: The questions as they are now.
        predictions: Of `CaptionParity`.
    """
    stored = {f"{p.record.key}/{p.record.chain_step}": p for p in predictions}
    known = {item.id: (item, stored[item.id]) for item in items if item.id in stored}
    return {id: _outcome(one) for id, (item, one) in known.items() if one.record.messages == asked(item.pair)}


def _outcome(one: Prediction) -> Comparison:
    if isinstance(one.answer, Unparsed):
        return Comparison(UNPARSED, one.answer.reason, one)
    return Comparison(CaptionParity.outcome(str(one.answer)), "", one)


def differing(found: Mapping[str, Comparison]) -> list[str]:
    """Return the ids of the questions whose languages differ, as the judge has it."""
    return [id for id, one in found.items() if one.outcome == DIFFERS]


def counts(found: Mapping[str, Comparison]) -> dict[str, int]:
    """Return outcome -> number of questions, of all three outcomes; a failed request is none."""
    counted = Counter(one.outcome for one in found.values() if one.reason != FAILED)
    return {outcome: counted[outcome] for outcome in METRICS}


def summary(found: Mapping[str, Comparison], total: int) -> list[str]:
    """Return lines that state how many questions were compared, and the share of each outcome with its interval.

    Args:
        found: Outcomes.
        total: Number of all questions.
    """
    replied = [one.prediction for one in found.values() if one.reason != FAILED]
    if not replied:
        return []
    every = CaptionParity().score(replied)
    scores = {score.metric: score for score in every if score.subset == "all"}
    shown = []
    for outcome, count in counts(found).items():
        score = scores[METRICS[outcome]]
        interval = "" if score.low is None or score.high is None else f" [{score.low:.3f}, {score.high:.3f}]"
        shown.append(f"{outcome} {count}" + ("" if score.value is None else f", {score.value:.3f}{interval}"))
    return [f"languages compared by a judge: {len(replied)} of {total} questions: {'; '.join(shown)}"]


# A written question with its place, and one that a step leaves out.


@dataclass(frozen=True, slots=True)
class Item:
    """A question in both languages that was written from a caption.

    Attributes:
        caption: Key of the caption.
        image: Path of its image.
        number: Place of the question among those of its kind and caption, from 1.
        pair: The question.
        altered: Whether a model has made the statement false.
    """

    caption: str
    image: str
    number: int
    pair: BilingualQuestion
    altered: bool = False

    @property
    def kind(self) -> str:
        """Name of the question's task."""
        return self.pair.kind

    @property
    def id(self) -> str:
        """Name of the question: caption, kind and number."""
        return f"{self.caption}/{self.kind}/{self.number}"

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of both languages."""
        return (*self.pair.en.texts, *self.pair.zh.texts)


@dataclass(frozen=True, slots=True)
class Left:
    """A question that is left out.

    Attributes:
        id: Its name, or that of the caption and kind where no question could be read.
        step: ``read``, ``check``, ``filter``, ``duplicate`` or ``balance``.
        reason: In one word, which is counted.
        detail: What was found; may quote the model, and is untrusted.
    """

    id: str
    step: str
    reason: str
    detail: str = ""


def without(items: Sequence[Item], left: Iterable[Left]) -> list[Item]:
    """Return the items that are not left out."""
    out = {one.id for one in left}
    return [item for item in items if item.id not in out]


# Leave out questions about the patient instead of the image, by keywords in either language.
KEYWORD_TABLE = Table("--keywords", "a CSV file with the column keyword", ("keyword",))
"""Supplementary Table 2 of OphthalWeChat; its English phrases are printed without separators and were split by hand."""

KEYWORDS_STEP = "filter"


def paper_keywords() -> tuple[str, ...]:
    """Return the 65 Chinese and 55 English phrases of Supplementary Table 2, English first."""
    return tuple(row["keyword"] for row in package_table(__file__, "keywords.csv"))


def read_keywords(path: Path) -> tuple[str, ...]:
    """Return the phrases of a user's table of keywords, in any language.

    Raises:
        BadArgument: It cannot be read, or has none.
    """
    found = tuple(word for _, row in KEYWORD_TABLE.read(path) if (word := from_csv(cell(row, "keyword")).strip()))
    if not found:
        raise BadArgument("--keywords", str(path), "a table with at least one keyword", "use `--filter none`")
    return tuple(dict.fromkeys(found))


def keywords_in(text: str, keywords: Sequence[str]) -> list[str]:
    """Return the keywords that a text contains: Chinese ones anywhere, others as whole words.

    Case, width and blanks do not matter.

    Example:
        >>> keywords_in("Which GENDER has the 儿童?", ["gender", "儿童", "end"])
        ['gender', '儿童']
    """
    plain = _plain(text)
    closed = "".join(plain.split())
    return [k for k in keywords if (p := _pattern(k)).search(closed if _is_chinese(k) else plain) and p.pattern]


def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().split())


def _is_chinese(keyword: str) -> bool:
    return re.search(r"[\u3400-\u9fff]", keyword) is not None


@cache
def _pattern(keyword: str) -> re.Pattern[str]:
    if _is_chinese(keyword):
        return re.compile(re.escape("".join(_plain(keyword).split())))
    plain = _plain(keyword)
    return re.compile(rf"(?<![a-z0-9]){re.escape(plain)}(?![a-z0-9])" if plain else "")


def filtered(items: Sequence[Item], keywords: Sequence[str]) -> tuple[list[Left], dict[str, int]]:
    """Return the questions that contain a keyword, in either language, question, options or answer; and counts.

    Args:
        items: Questions.
        keywords: Phrases; empty filters nothing.

    Returns:
        The questions that are left out, and keyword -> number of questions with it; one with two keywords counts twice.
    """
    hits = {item.id: found for item in items if (found := keywords_in("\n".join(item.texts), keywords))}
    left = [Left(id, KEYWORDS_STEP, "keyword", ", ".join(found)) for id, found in hits.items()]
    return left, by_keyword(hits)


def by_keyword(hits: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return keyword -> number of questions, the most frequent first."""
    return dict(Counter(keyword for found in hits.values() for keyword in found).most_common())


# Balance the letters of the right options, in the same way in both languages.
POSITIONS_STEP = "balance"


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
            if _words_positions(replies.get((item.id, of), "")) != _words_positions(worded(swapped(half, place), of))
        ]  # fmt: skip
        if wrong:
            detail = f"{', '.join(wrong)}: {replies.get((item.id, wrong[0]), '')[:80]}"
            left.append(Left(item.id, POSITIONS_STEP, "not_swapped", detail))
        else:
            kept.append(item if place is None else _checked(item, _swapped(item, place)))
    return kept, left


def _swapped(item: Item, place: int) -> Item:
    return replace(item, pair=item.pair.changed(lambda half: swapped(half, place)))


def _words_positions(text: str) -> tuple[str, ...]:
    """Return question and options of a text as they are compared."""
    stem, options = divided(" ".join(text.split()))
    return (compared(stem), *map(compared, options))


def letters(items: Sequence[Item]) -> dict[str, int]:
    """Return letter -> number of single-choice questions whose right option has it."""
    counts = Counter(ascii_uppercase[item.pair.en.right] for item in items if item.kind == SINGLE_CHOICE)
    return {letter: counts[letter] for letter in ascii_uppercase[:COUNT]}


# Balance statements over True and False: which are altered to be false, and what a model's alteration must be.
Reading = Literal["points_of_all", "share_of_true"]
"""Reading of "21.2 % of the True" (OphthalWeChat): 21.2 points of all statements, by which 71.2 % True become 50 %; or
21.2 % of those that are True, by which they become 56.1 %."""

STATEMENTS_SHARE = 0.212

STATEMENTS_STEP = "balance"


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
    count = surplus if reading == "points_of_all" else math.floor(STATEMENTS_SHARE * len(true) + 0.5)
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
        return Left(item.id, STATEMENTS_STEP, "not_altered", f"{read.reason}: {read.detail}")
    for before, after, language in zip((item.pair.en, item.pair.zh), read, ("en", "zh"), strict=True):
        if compared(before.question) == compared(after) or language_of(after) != language:
            return Left(item.id, STATEMENTS_STEP, "not_altered", f"{language}: {after[:80]}")
    en, zh = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][1]) for text, of in zip(read, ("en", "zh"), strict=True))
    return replace(item, pair=replace(item.pair, en=en, zh=zh), altered=True)


def surplus(items: Sequence[Item], seed: int = 0) -> list[Left]:
    """Return the statements beyond equal numbers of True and False, by a seeded shuffle; all are of one answer."""
    binary = [item for item in items if item.kind == BINARY]
    true = [item for item in binary if is_true(item)]
    false = [item for item in binary if not is_true(item)]
    more, fewer = max((true, false), key=len), min((true, false), key=len)
    ordered = sorted(more, key=lambda item: shuffle_key(seed, "surplus", item.id))
    return [
        Left(item.id, STATEMENTS_STEP, "surplus", item.pair.en.answer) for item in ordered[: len(more) - len(fewer)]
    ]


def share_true(items: Sequence[Item]) -> float | None:
    """Return the share of True among the statements; None without statements."""
    binary = [item for item in items if item.kind == BINARY]
    return sum(map(is_true, binary)) / len(binary) if binary else None
