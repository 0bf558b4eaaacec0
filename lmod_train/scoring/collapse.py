"""Signs of collapse in the replies of a generative model to a small fixed probe.

The published fine-tuning of LMOD ended in one word repeated a thousand times and in empty replies (LMOD, figure 13).
Shares are of the probe's records, in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from lmod_train.core.types import Reply, Score, Unparsed
from lmod_train.scoring.items import Item
from lmod_train.scoring.seeds import mean_item_score

NGRAM = 4
LONGEST_WORD = 24
"""Mean word length, in characters, above which a text is split into characters instead of words."""
LOOPED = 0.5
"""Share of repeated word four-grams from which on a reply is repetitive; reference replies are far below."""


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of collapse in the replies to a probe.

    Attributes:
        n: Number of records; with 0, every share is 0.
        empty: Share of empty replies.
        at_limit: Share of replies cut off at the token limit.
        repetitive: Share of repetitive replies, see `repeated`.
        identical: Share of the most frequent reply within each task, averaged over the records.
        identical_truth: The same for the reference answers: the expected value of `identical`.
        distinct: Number of distinct replies per record.
        unparsed: Share of replies without an answer that the task's parser finds.
        right: Mean correctness: 0 or 1 for a word, the share of correct regions for a map.
        right_shuffled: Mean correctness of the questions asked again with another record's picture.
        lost_without_picture: Loss in correctness of these questions when pictures are exchanged; about 0 for a model
            that ignores the picture, and 0 where no picture could be exchanged.
    """

    n: int
    empty: float
    at_limit: float
    repetitive: float
    identical: float
    identical_truth: float
    distinct: float
    unparsed: float
    right: float
    right_shuffled: float
    lost_without_picture: float

    def shares(self) -> dict[str, float]:
        """Return every share by name."""
        return {name: value for name, value in asdict(self).items() if name != "n"}


@dataclass(frozen=True)
class Limits:
    """Thresholds from which on a sign counts as collapse (LMOD's run exceeds all of the first four).

    Attributes:
        empty: Share of empty replies.
        repetitive: Share of repetitive replies.
        at_limit: Share of replies cut off.
        identical: Share of the most frequent reply, while that of the reference answers is at most 0.8; checked in the
            second half of the run, or when `unparsed` is exceeded.
        unparsed: Share of replies without an answer; checked in the second half of the run, as a model learns the
            format first.
        lost_without_picture: Largest loss from exchanged pictures that counts as collapse, checked in the second half
            of the run; -1 disables the check, 0 stops a model that ignores pictures. A probe of 24 records resolves no
            small differences.
    """

    empty: float = 0.5
    repetitive: float = 0.5
    at_limit: float = 0.9
    identical: float = 0.95
    unparsed: float = 0.5
    lost_without_picture: float = -1.0


def repeated(text: str) -> float:
    """Return the share of word four-grams that occurred before in the text, 0 for texts below eight words.

    This is seq-rep-4 of Welleck et al. 2020 (Neural Text Generation with Unlikelihood Training, section 6). Text almost
    without blanks (a repeated sub-word, Chinese) is split into characters.

    Example:
        >>> repeated("Optic " * 39) > 0.9, repeated("DISEASE" * 9) > 0.8, repeated("Region ID: 1; Type: Optic disc")
        (True, True, 0.0)
    """
    words = text.split()
    tokens = words if len(text) <= LONGEST_WORD * len(words) else list(text)
    grams = [tuple(tokens[i : i + NGRAM]) for i in range(len(tokens) - NGRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if len(tokens) >= 2 * NGRAM else 0.0


def signs_of(
    items: Sequence[Item], replies: Mapping[str, Reply], tasks: Mapping[str, str], shuffled: Sequence[Item]
) -> Signs:
    """Return the signs of collapse in the replies to a probe.

    Args:
        items: One per record, as scored.
        replies: Record id -> reply.
        tasks: Record id -> name of the task.
        shuffled: Items of the same records asked with another record's picture, where pictures could be exchanged.

    Raises:
        KeyError: An item has no reply or no task.
    """
    if not items:
        return Signs(0, *[0.0] * (len(fields(Signs)) - 1))
    texts = {item.id: replies[item.id].reply.strip() for item in items}
    exchanged = {item.id for item in shuffled}
    right_shuffled = _mean(map(_right, shuffled))
    return Signs(
        n=len(items),
        empty=_mean(not text for text in texts.values()),
        at_limit=_mean(replies[item.id].finish_reason == "length" for item in items),
        repetitive=_mean(repeated(text) > LOOPED for text in texts.values()),
        identical=_commonest((tasks[i], text) for i, text in texts.items()),
        identical_truth=_commonest((tasks[item.id], str(item.truth)) for item in items),
        distinct=len(set(texts.values())) / len(texts),
        unparsed=_mean(isinstance(item.answer, Unparsed) for item in items),
        right=_mean(map(_right, items)),
        right_shuffled=right_shuffled,
        lost_without_picture=_mean(_right(item) for item in items if item.id in exchanged) - right_shuffled,
    )


def mean_right(task: str, runs: Sequence[Sequence[Item]]) -> Score:
    """Return the mean correctness over runs on the same records, with an interval clustered by patient.

    Args:
        task: Name of the task.
        runs: Items of each run, with the same ids in the same order; without an item, the score has no value.

    Example:
        >>> runs = [[Item(str(i), "answered", "A", "A" if i else "B", group=str(i)) for i in range(20)]] * 2
        >>> (score := mean_right("glaucoma", runs)).value, round(score.low, 2), round(score.high, 2)
        (0.95, 0.75, 1.0)
    """
    return mean_item_score(task, "right", runs, _right)


def tripped(signs: Signs, limits: Limits, *, late: bool) -> list[str]:
    """Return a message for each sign past its limit; empty for an empty probe.

    Args:
        signs: Signs of one probe.
        limits: The thresholds.
        late: Whether the run is in its second half, when replies should have the requested format.

    Example:
        >>> healthy = Signs(8, 0, 0, 0, 0.5, 0.5, 0.25, 0, 1, 0.5, 0.5)
        >>> tripped(healthy, Limits(), late=True)
        []
    """
    if not signs.n:
        return []
    watched = [
        ("empty", "replies are empty"),
        ("repetitive", "replies repeat themselves"),
        ("at_limit", "replies are cut off at the token limit"),
        *([("unparsed", "replies have no readable answer")] if late else []),
    ]
    found = [f"{getattr(signs, n):.0%} of {w}" for n, w in watched if getattr(signs, n) >= getattr(limits, n)]
    lost = signs.unparsed >= limits.unparsed  # a slow start may well begin with the commonest answer
    if (late or lost) and signs.identical >= limits.identical and signs.identical_truth <= 0.8:
        found.append(f"{signs.identical:.0%} of replies to a task are the same; {signs.identical_truth:.0%} should be")
    if late and signs.lost_without_picture <= limits.lost_without_picture:
        found.append(f"answers lose {signs.lost_without_picture:.0%} when their pictures are exchanged")
    return found


def histograms(items: Iterable[Item], tasks: Mapping[str, str]) -> dict[str, dict[str, dict[str, int]]]:
    """Return task -> ``answered`` and ``true`` -> word -> count; a missing answer counts as the word ``unparsed``.

    In a map of regions, each region's word counts.
    """
    counted: dict[str, dict[str, Counter[str]]] = {}
    for item in items:
        task = counted.setdefault(tasks[item.id], {"answered": Counter(), "true": Counter()})
        task["true"].update(_words(item.truth))
        task["answered"].update(["unparsed"] if isinstance(item.answer, Unparsed) else _words(item.answer))
    return {task: {side: dict(sorted(c.items())) for side, c in sides.items()} for task, sides in counted.items()}


def _words(answer: object) -> list[str]:
    return [str(v) for v in answer.values()] if isinstance(answer, Mapping) else [str(answer)]


def _right(item: Item) -> float:
    if isinstance(item.truth, Mapping):
        answer = item.answer if isinstance(item.answer, Mapping) else {}
        return _mean(answer.get(region) == structure for region, structure in item.truth.items())
    return float(item.answer == item.truth)


def _mean(values: Iterable[float]) -> float:
    listed = [float(v) for v in values]
    return sum(listed) / len(listed) if listed else 0.0


def _commonest(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the share of the most frequent text of each task, averaged over the records."""
    by_task: dict[str, Counter[str]] = {}
    for task, text in pairs:
        by_task.setdefault(task, Counter())[text] += 1
    return sum(max(c.values()) for c in by_task.values()) / sum(c.total() for c in by_task.values())
