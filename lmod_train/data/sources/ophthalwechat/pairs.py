"""The questions of one image: doubles and contradictions left out, and each question joined with its translation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.types import Message, Part, Question
from lmod_train.data.sources.ophthalwechat.questions import Asked
from lmod_train.data.sources.ophthalwechat.words import shown
from lmod_train.data.sources.spellings import folded

LANGUAGES = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Placed:
    """A question with its place in a workbook.

    Attributes:
        asked: The question.
        place: Workbook, sheet and row, in words.
        pair: Name that the question shares with its translation; empty if none is stated.
    """

    asked: Asked
    place: str
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A question that is left out, or that is kept without its translation: its place, the reason and the detail."""

    place: str
    reason: str
    detail: str


def questions_of(found: Sequence[Placed], tags: Mapping[str, str], problems: list[Problem]) -> tuple[Question, ...]:
    """Return the questions of an image, numbered by kind in the order of the workbook.

    A question and its translation have one number. Of two equal questions with one answer the first is kept; with two
    answers, neither.

    Args:
        found: Every question of the image, in order.
        tags: Tags of each question, besides its language.
        problems: Gets an entry for each question that is left out or lacks its translation.
    """
    kept = _without_doubles(found, problems)
    numbers: Counter[str] = Counter()
    asked: list[Question] = []
    for together in _pairs(kept, problems):
        numbers[together[0].asked.task] += 1
        asked += [_question(one.asked, numbers[one.asked.task], tags) for one in together]
    return tuple(asked)


def _question(asked: Asked, number: int, tags: Mapping[str, str]) -> Question:
    return Question(
        task=asked.task,
        messages=(Message("user", (Part("image"), Part("text", asked.words))),),
        choices=asked.choices,
        answer=asked.answer,
        language=asked.language,
        variant=f"{number}-{asked.language}",
        tags={**tags, "language": asked.language},
    )


def _without_doubles(found: Sequence[Placed], problems: list[Problem]) -> list[Placed]:
    same: defaultdict[tuple[object, ...], list[Placed]] = defaultdict(list)
    for one in found:
        asked = one.asked
        options = frozenset(asked.choices) if asked.task == "single_choice_question" else frozenset()
        same[asked.task, asked.language, _compared(asked.stem), options].append(one)
    out: set[str] = set()
    for several in same.values():
        answers = {_compared(one.asked.answer) for one in several}
        for one in several if len(answers) > 1 else several[1:]:
            out.add(one.place)
            first = next(other.place for other in several if other is not one)
            reason = "two answers" if len(answers) > 1 else "same question twice"
            problems.append(Problem(one.place, reason, f"{shown(one.asked.stem)}, as in {first}"))
    return [one for one in found if one.place not in out]


def _compared(text: str) -> str:
    """Return the letters and digits of a text in half width and lower case, which two equal questions share."""
    return "".join(c for c in folded(text) if c.isalnum())


def _pairs(kept: Sequence[Placed], problems: list[Problem]) -> Iterator[list[Placed]]:
    """Yield each question with its translation, in the order of the first of them; alone if it has none."""
    together: defaultdict[tuple[str, str], list[Placed]] = defaultdict(list)
    for one in kept:
        together[one.asked.task, one.pair or f"\0{one.place}"].append(one)
    for (_, pair), several in together.items():
        if pair.startswith("\0"):
            yield several
            continue
        reason, detail = _unpaired(several)
        if reason:
            problems.append(Problem(several[0].place, reason, f"pair {shown(pair)}: {detail}"))
        yield from [several] if not reason else ([one] for one in several)


def _unpaired(several: Sequence[Placed]) -> tuple[str, str]:
    """Return reason and detail why questions of one name are no question with its translation; empty if they are."""
    languages = [one.asked.language for one in several]
    if len(several) == 1:
        (missing,) = {*LANGUAGES} - {*languages}
        return "one language missing", f"only {languages[0]}, no {missing}; the question is kept alone"
    if sorted(languages) != sorted(LANGUAGES):
        places = ", ".join(one.place for one in several[1:4])
        return "pair twice", f"{len(several)} questions ({', '.join(languages)}), also {places}; each is kept alone"
    if len({one.asked.place for one in several}) > 1:
        answers = " and ".join(shown(one.asked.answer) for one in several)
        return "two answers in a pair", f"{answers}; both questions are kept, each alone"
    return "", ""


def in_order(found: Iterable[Placed]) -> list[Placed]:
    """Return questions paired by their order: the third Chinese with the third English one of a kind.

    Kinds with different numbers of both languages are not paired, nor questions that state a pair.
    """
    several = list(found)
    counts = Counter((one.asked.task, one.asked.language) for one in several)
    numbers: Counter[tuple[str, str]] = Counter()
    paired = []
    for one in several:
        task, language = one.asked.task, one.asked.language
        numbers[task, language] += 1
        equal = len({counts[task, other] for other in LANGUAGES}) == 1
        name = one.pair or (f"#{numbers[task, language]}" if equal else "")
        paired.append(Placed(one.asked, one.place, name))
    return paired
