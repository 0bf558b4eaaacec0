"""The ways in which each question of an evaluation is asked: wordings, orders of options, examples, repeats."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count as numbers
from itertools import islice, permutations
from math import factorial
from typing import Any, Literal

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import LETTERS, lettered, options_in
from lmod_train.core.reference_replies import letter_form, replies_of
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Message, Part, Record, own_part
from lmod_train.scoring.items import images_of
from lmod_train.scoring.ways import FACTORS, PLAIN, asked_id, question_of, values_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.filled import unfilled
from lmod_train.tasks.wordings import count_wordings, reworded

MOST_ORDERS = 120
"""Maximum number of orders of one question: those of five options."""

_NAME = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)  # the parser of arguments reads a default from its `__dict__`
class Ways:
    """Ways in which each evaluated question is asked; by default once, as curated.

    Every combination is asked. Training, and the validation in `fit`, are not affected. A question has fewer wordings
    or orders if its task has no more.

    Attributes:
        wordings: Number of wordings of a prompt: the published one and its paraphrases; ``all`` for all that its task
            has.
        orders: Number of orders of the options that a prompt lists: its own, the reverse, then drawn ones; ``all`` for
            every permutation, of at most five options.
        system_prompts: Name -> text of a system message before the question, each asked; ``none: ""`` asks without one.
        shots: Number of answered training questions that precede the question, with their images.
        repeats: Number of times that the same is asked, for decoding that samples.
        seed: Seed of the drawn orders and of the examples.
    """

    wordings: int | Literal["all"] = 1
    orders: int | Literal["all"] = 1
    system_prompts: dict[str, str] | None = None
    shots: int = 0
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers, and the names of the system messages, which are a part of record ids."""
        for name, least in (("wordings", 1), ("orders", 1), ("shots", 0), ("repeats", 1)):
            value = getattr(self, name)
            if value != "all" and value < least:
                cure = f"leave data.asking.{name} out to ask as curated"
                raise BadArgument(f"data.asking.{name}", value, f"a number from {least}", cure)
        for name, text in (self.system_prompts or {}).items():
            if not _NAME.fullmatch(name) or (name == PLAIN["system"]) != (not text):
                expected = "names of letters, digits and dashes, each with a text; `none` alone has an empty one"
                raise BadArgument("data.asking.system_prompts", {name: text}, expected, "e.g. `expert: You are a ...`")

    @property
    def factors(self) -> tuple[str, ...]:
        """Factors that its records state, in the order of `FACTORS`."""
        stated = (self.wordings != 1, self.orders != 1, bool(self.system_prompts), self.shots > 0, self.repeats > 1)
        return tuple(factor for factor, is_stated in zip(FACTORS, stated, strict=True) if is_stated)


AS_CURATED = Ways()


def is_greedy(settings: Mapping[str, Any]) -> bool:
    """Return whether a responder's settings (`Identity.settings`) state that equal questions have equal replies.

    Example:
        >>> is_greedy({"decoding": '{"do_sample": false}'}), is_greedy({"temperature": 0.0}), is_greedy({})
        (True, True, False)
    """
    try:
        decoding = json.loads(str(settings.get("decoding", "{}")))
    except ValueError:
        decoding = {}
    return settings.get("temperature") == 0 or (isinstance(decoding, dict) and decoding.get("do_sample") is False)


def in_every_way(
    records: Sequence[Record], tasks: Mapping[str, Task], ways: Ways, training: Iterable[Record]
) -> list[Record]:
    """Return a record for each way of asking each question, in the order of the questions.

    Of a way, only messages, images, id and tags differ from the curated record: choices, answer and regions stay, so
    that replies are parsed and likelihoods computed as before. Of options listed with letters, another order gives each
    text another letter: then the reference reply is its new letter, and replies are read by the letters of the prompt.
    The curated record itself is among them, with its id, unless it has a system message or examples in every way.

    Args:
        records: The questions, as curated.
        tasks: Name -> task of the records.
        ways: The ways.
        training: The training split, from which examples are drawn.

    Raises:
        BadArgument: A way cannot be asked: there are too few examples, too many orders, the record has a system message
            or a tag of its own with the name of a factor; or nothing of what was requested exists for any question.
    """
    if not ways.factors:
        return list(records)
    examples = Examples(training, ways.seed) if ways.shots else None
    asked = [way for record in records for way in _ways_of(record, tasks[record.task], ways, examples)]
    for factor, number in (("wording", ways.wordings), ("order", ways.orders)):
        if records and number != 1 and len(values_of(((r.id, r.tags) for r in asked), factor)) < 2:
            cure = "leave it out, or add paraphrases to the task (`Task.wordings`)"
            found = f"tasks of which a prompt has another {factor}; of {', '.join(sorted(tasks))} none has"
            raise BadArgument(f"data.asking.{factor}s", number, found, cure)
    return asked


def _ways_of(record: Record, task: Task, ways: Ways, examples: Examples | None) -> Iterator[Record]:
    """Yield the record of each way of one question."""
    if taken := sorted(set(record.tags) & set(FACTORS)):
        raise BadArgument(f"tags of {record.id}", taken, f"other names than {', '.join(FACTORS)}", "rename the tag")
    drawn = examples.draw(record, ways.shots) if examples else []
    for wording in range(_number(ways.wordings, count_wordings(record, task.wordings))):
        for order in range(_orders(record, task, wording, ways)):

            def as_asked(one: Record, wording: int = wording, order: int = order) -> Record:
                other = reworded(one, task.wordings, wording)
                return reordered(other, task.listed(one), order, ways.seed) if order else other

            asked = as_asked(record)
            asked = with_examples(asked, drawn, as_asked) if drawn else asked
            for name, text in (ways.system_prompts or {PLAIN["system"]: ""}).items():
                for repeat in range(1, ways.repeats + 1):
                    values = (str(wording), str(order), name, str(ways.shots), str(repeat))
                    yield _named(_with_system(asked, text), ways, dict(zip(FACTORS, values, strict=True)))


def _number(wanted: int | Literal["all"], there: int) -> int:
    return there if wanted == "all" else min(wanted, there)


def _orders(record: Record, task: Task, wording: int, ways: Ways) -> int:
    if ways.orders == 1:
        return 1
    options = task.listed(record)
    there = count_orders(reworded(record, task.wordings, wording), options)
    number = _number(ways.orders, there)
    if number > MOST_ORDERS:
        expected = f"at most {MOST_ORDERS} orders; {record.id} lists {len(options)} options"
        raise BadArgument("data.asking.orders", ways.orders, expected, "name a number, e.g. `--data.asking.orders 4`")
    return number


def _with_system(record: Record, text: str) -> Record:
    if not text:
        return record
    if any(m.role == "system" for m in record.messages):
        cure = "leave out data.asking.system_prompts, or the task"
        raise BadArgument(f"messages of {record.id}", "a system message", "none of its own", cure)
    return replace(record, messages=(Message("system", (Part("text", text),)), *record.messages))


def _named(record: Record, ways: Ways, way: Mapping[str, str]) -> Record:
    stated = {factor: way[factor] for factor in ways.factors}
    return replace(record, id=asked_id(record.id, way), tags={**record.tags, **stated})


def summary(records: Sequence[Record]) -> list[str]:
    """Return a line for each task with the number of its questions and ways; empty if all are asked as curated.

    Example:
        >>> from dataclasses import fields
        >>> blank = {f.name: () for f in fields(Record)} | {"task": "glaucoma"}
        >>> ways = {"a": {"wording": "0"}, "a/wording-1": {"wording": "1"}}
        >>> summary([Record(**blank | {"id": id, "tags": tags}) for id, tags in ways.items()])
        ['glaucoma: 1 question, 2 records (2 of wording)']
    """
    lines = []
    for task in dict.fromkeys(r.task for r in records):
        own = [(r.id, r.tags) for r in records if r.task == task]
        asked = Counter(question_of(id, tags) for id, tags in own)
        counts = {factor: len(values_of(own, factor)) for factor in FACTORS}
        stated = [f"{n} of {factor}" for factor, n in counts.items() if n]
        if stated:
            counted = f"{_plural(len(asked), 'question')}, {_plural(len(own), 'record')}"
            lines.append(f"{task}: {counted} ({', '.join(stated)})")
    return lines


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


# Other orders of the options in a prompt; the choices of the record and their meaning stay the same.
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


# Few-shot questions: answered training questions before a question, as earlier turns with their images.
Kind = tuple[object, ...]

Strata = dict[str, list[Record]]


class Examples:
    """Training questions by kind and answer, of which examples are drawn.

    An example is a question of the same task, source, modality, variant, step, language and choices, so that it is
    asked in the same words, and an image goes nowhere that the question's own image may not. Where the prompt lists the
    options by letters, each question has a list of its own: an example, too, is asked with its own.

    Args:
        records: The training split; records whose words lack earlier answers are left out.
        seed: Seed of the draws.
    """

    def __init__(self, records: Iterable[Record], seed: int) -> None:
        self._seed = seed
        self._kinds: dict[Kind, Strata] = {}
        for record in sorted(records, key=lambda r: r.id):
            if not unfilled(record):
                self._kinds.setdefault(_kind(record), {}).setdefault(_stratum(record), []).append(record)

    def draw(self, record: Record, count: int) -> list[Record]:
        """Return different examples for a record, never of its patient or family, nor with one of its images.

        The answers take turns in a drawn order, so that their numbers differ by at most one while there are examples.
        The draw depends on the seed and the record's id only.

        Args:
            record: The question to be asked.
            count: Number of examples.

        Raises:
            BadArgument: There are not so many.
        """
        strata = self._kinds.get(_kind(record), {})
        random = np.random.default_rng(int(shuffle_key(self._seed, record.id)[:16], 16))
        names = list(strata)
        turns = (_from(strata[names[i]], random, record) for i in random.permutation(len(names)))
        found = list(islice(_in_turn(turns), count))
        if len(found) < count:
            expected = f"at most {len(found)}: so many training questions of other patients are like {record.id}"
            cure = "ask with fewer shots, or curate with a larger training split"
            raise BadArgument("data.asking.shots", count, expected, cure)
        return found


def _kind(record: Record) -> Kind:
    place = (record.task, record.source, record.modality, record.phantom)
    choices = () if options_in(record.messages) else record.choices
    return (*place, record.variant, record.chain_step, record.language, choices)


def _stratum(record: Record) -> str:
    """Return the part of the reference reply that is the task's answer."""
    return own_part(record.answer, record.choices)


def _from(records: Sequence[Record], random: np.random.Generator, asked: Record) -> Iterator[Record]:
    """Yield the records of one answer from a drawn place on, those of the asked record's family left out."""
    start = int(random.integers(len(records)))
    ordered = (records[(start + i) % len(records)] for i in range(len(records)))
    return (r for r in ordered if not _related(r, asked))


def _related(one: Record, other: Record) -> bool:
    family = bool(one.group) and (one.source, one.group) == (other.source, other.group)
    shown = set(one.image_sha256 or one.image) & set(other.image_sha256 or other.image)
    return family or bool(shown) or one.id == other.id


def _in_turn(turns: Iterable[Iterator[Record]]) -> Iterator[Record]:
    """Yield one record of each iterator in turn; exhausted ones drop out."""
    while turns:
        left = []
        for turn in turns:
            for record in islice(turn, 1):
                yield record
                left.append(turn)
        turns = left


def with_examples(record: Record, examples: Sequence[Record], as_asked: Callable[[Record], Record]) -> Record:
    """Return a record with answered examples before its question, each with its images.

    The reference replies are the answers of the examples. A record without a group gets its own images as one, as
    those of the examples must not separate it from the same question in another way.

    Args:
        record: The question.
        examples: The examples, in their order.
        as_asked: Returns an example in the same wording and order as the question.
    """
    system = tuple(m for m in record.messages if m.role == "system")
    turns = [turn for example in examples for turn in _turns(as_asked(example))]
    shown = (*examples, record)
    return replace(
        record,
        messages=(*system, *turns, *(m for m in record.messages if m.role != "system")),
        image=tuple(image for r in shown for image in r.image),
        image_plain=tuple(image for r in shown for image in r.image_plain),
        image_sha256=tuple(sha for r in shown for sha in r.image_sha256),
        group=record.group or images_of(record) or record.id,
    )


def _turns(example: Record) -> Iterator[Message]:
    yield from (m for m in example.messages if m.role != "system")
    yield Message("assistant", (Part("text", example.answer),))
