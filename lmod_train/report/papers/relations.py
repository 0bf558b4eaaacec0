"""Comparison of a score measured here with a printed one that was obtained in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lmod_train.report.papers.printed import Printed
from lmod_train.report.papers.protocols import Protocol
from lmod_train.report.papers.states import State, state_of

Relation = Literal["same", "different within interval", "different", "cannot be told", "refused"]
RELATIONS: tuple[Relation, ...] = ("same", "different within interval", "different", "cannot be told", "refused")


@dataclass(frozen=True, slots=True)
class Measured:
    """A score measured here, and how it was obtained.

    Attributes:
        value: The score; None if it is not defined.
        low: Lower bound of its 95 % interval, None without one.
        high: Upper bound.
        n: Number of items asked.
        split: Split of the items; ``all`` for all splits.
        balanced: Whether the classes were balanced; None if not recorded.
        protocol: Protocol of the curated folder; empty if not recorded.
        changed: What else differs from the printed model or question, e.g. trained weights; empty if nothing.
        words: Digests of the templates of the questions, with an empty text for other questions.
        sources: Source -> number of items.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    split: str
    balanced: bool | None
    protocol: str
    changed: str = ""
    words: frozenset[str] = frozenset()
    sources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a comparison.

    Attributes:
        relation: ``same`` if both are equal in the printed digits, rounded or cut off; ``different within interval`` if
            the printed number lies in the interval of the measured one, within its rounding; otherwise ``different``.
            ``refused`` if the two were obtained in different ways, ``cannot be told`` if that or the interval is not
            known.
        why: Reasons of the last two relations; empty for the others.
        remark: What a reader of the relation must know about the printed number.
    """

    relation: Relation
    why: str
    remark: str


def compare(cell: Printed, protocol: Protocol, measured: Measured) -> Found:
    """Return how a measured score compares with a printed one.

    Args:
        cell: The printed number.
        protocol: How it was obtained.
        measured: The score measured here, in the metric that `protocol` names.
    """
    state = state_of(cell)
    remark = "; ".join(filter(None, (_caution(state), protocol.note, _place(protocol, measured))))
    if differing := "; ".join(_differences(state, protocol, measured)):
        return Found("refused", differing, remark)
    if unknown := "; ".join(_unknown(cell, protocol, measured)):
        return Found("cannot be told", unknown, remark)
    return Found(_relation(cell, measured), "", remark)


def _caution(state: State) -> str:
    return f"the printed cell is inconsistent in its source: {state.why}" if state.name == "source inconsistent" else ""


def _place(protocol: Protocol, measured: Measured) -> str:
    """Return where the words that were asked are printed, if the paper prints several."""
    places = sorted({place for words in measured.words if (place := protocol.words.get(words))})
    return f"asked here in the words of {' and '.join(places)}" if places else ""


def _differences(state: State, protocol: Protocol, measured: Measured) -> Iterator[str]:
    if state.name in ("other protocol", "not comparable"):
        yield f"definition ({state.why})"
    if measured.changed:
        yield measured.changed
    if protocol.words and not measured.words <= protocol.words.keys():
        yield "words (asked in other words)"
    others = ", ".join(_other_counts(protocol.sources, measured.sources)) if protocol.sources else ""
    if others or (protocol.n is not None and protocol.n != measured.n):
        yield f"n ({protocol.n:,} in the paper, {measured.n:,} here{': ' if others else ''}{others})"
    if protocol.split != measured.split:
        yield f"split ({protocol.split} in the paper, {measured.split} here)"
    if None not in (protocol.balanced, measured.balanced) and protocol.balanced != measured.balanced:
        yield f"balance ({_words(protocol.balanced)} in the paper, {_words(measured.balanced)} here)"
    if protocol.names and measured.protocol and measured.protocol not in protocol.names:
        yield f"protocol ({protocol.names[0]} in the paper, {measured.protocol} here)"


def _other_counts(printed: Mapping[str, int], here: Mapping[str, int]) -> Iterator[str]:
    """Yield the sources that have another number of images than printed, and by how many."""
    for source in dict.fromkeys((*printed, *here)):
        more = here.get(source, 0) - printed.get(source, 0)
        if more:
            yield f"{source} {abs(more):,} {'more' if more > 0 else 'fewer'}"


def _words(balanced: bool | None) -> str:
    return "balanced" if balanced else "not balanced"


def _unknown(cell: Printed, protocol: Protocol, measured: Measured) -> Iterator[str]:
    if protocol.n is None:
        yield "n is not printed"
    if protocol.unknown:
        yield protocol.unknown
    if measured.balanced is None or not measured.protocol:
        yield "balance or protocol of the curated folder is not recorded"
    if measured.value is None or cell.number is None:
        yield "one of the two has no value"
    elif not cell.equals(measured.value) and (measured.low is None or measured.high is None):
        yield "the score here has no interval"


def _relation(cell: Printed, measured: Measured) -> Relation:
    number = cell.number
    assert number is not None and measured.value is not None
    if cell.equals(measured.value):
        return "same"
    assert measured.low is not None and measured.high is not None
    inside = measured.low - cell.rounding <= number <= measured.high + cell.rounding
    return "different within interval" if inside else "different"
