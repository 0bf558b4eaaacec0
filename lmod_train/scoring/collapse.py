"""Signs that a model which writes is collapsing: what its replies to a small fixed probe look like.

The published fine-tuning of LMOD ended in one word said a thousand times and in empty replies (LMOD, figure 13); every
sign here would have shown at the first probe. Shares are of the probe's records, all in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from lmod_train.scoring.items import Item
from lmod_train.types import Reply, Unparsed

NGRAM = 4
LONGEST_WORD = 24
"""Mean characters a word above which a text is taken to have no words."""
LOOPED = 0.5
"""From this share of repeated word four-grams on a reply counts as repetitive; no reference reply comes near."""


@dataclass(frozen=True, slots=True)
class Signs:
    """How the replies to a probe look.

    Attributes:
        n: Records asked; 0 where there was nothing to ask, then every share is 0.
        empty: Replies without a word.
        at_limit: Replies cut off at the token limit.
        repetitive: Replies that say the same again and again, see `repeated`.
        identical: The share of the commonest reply, within each task, averaged over the records.
        identical_truth: The same of the reference answers: what `identical` should be.
        distinct: Distinct replies per record.
        unparsed: Replies in which the task's parser finds no answer.
        right: Mean share of an answer that is right: 0 or 1 for a word, the share of regions for a map.
        right_shuffled: The same of the questions that were asked once more, with another record's picture.
        lost_without_picture: What the answers to these lose when the pictures are exchanged; about 0 for a model that
            does not look, and 0 where no picture could be exchanged.
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

    def figures(self) -> dict[str, float]:
        """Return every share by name."""
        return {name: value for name, value in asdict(self).items() if name != "n"}


@dataclass(frozen=True)
class Limits:
    """From which share on a sign is taken for a collapse (LMOD's run passes all of the first four).

    Attributes:
        empty: Of empty replies.
        repetitive: Of repetitive replies.
        at_limit: Of replies cut off.
        identical: Of the commonest reply, while reference answers differ by more than a fifth from one another; looked
            at in the second half of the run, or where the replies hold no answer.
        unparsed: Of replies without an answer; looked at in the second half of the run, as an untuned model may well
            not know the format yet.
        lost_without_picture: What answers lose when their pictures are exchanged, or less, in the second half of the
            run; -1 never stops, 0 stops a model that answers without looking. A probe of 24 tells no small difference.
    """

    empty: float = 0.5
    repetitive: float = 0.5
    at_limit: float = 0.9
    identical: float = 0.95
    unparsed: float = 0.5
    lost_without_picture: float = -1.0


def repeated(text: str) -> float:
    """Return the share of word four-grams that were said before, 0 for texts below eight words.

    That is seq-rep-4 of Welleck et al. 2020 (Neural Text Generation with Unlikelihood Training, section 6). Text that
    hardly has blanks (a sub-word said again and again, Chinese) is counted by its characters.

    Example:
        >>> repeated("Optic " * 39) > 0.9, repeated("DISEASE" * 9) > 0.8, repeated("Region ID: 1; Type: Optic disc")
        (True, True, 0.0)
    """
    words = text.split()
    said = words if len(text) <= LONGEST_WORD * len(words) else list(text)
    grams = [tuple(said[i : i + NGRAM]) for i in range(len(said) - NGRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if len(said) >= 2 * NGRAM else 0.0


def signs_of(
    items: Sequence[Item], replies: Mapping[str, Reply], tasks: Mapping[str, str], shuffled: Sequence[Item]
) -> Signs:
    """Return how the replies to a probe look.

    Args:
        items: One a record, answers and truths as they are scored.
        replies: Record id -> reply.
        tasks: Record id -> name of the task.
        shuffled: Those of the same records whose pictures could be exchanged, asked with the pictures of others.

    Raises:
        KeyError: An item has no reply or no task.
    """
    if not items:
        return Signs(0, *[0.0] * (len(fields(Signs)) - 1))
    said = {item.id: replies[item.id].reply.strip() for item in items}
    exchanged = {item.id for item in shuffled}
    right_shuffled = _mean(map(_right, shuffled))
    return Signs(
        n=len(items),
        empty=_mean(not text for text in said.values()),
        at_limit=_mean(replies[item.id].finish_reason == "length" for item in items),
        repetitive=_mean(repeated(text) > LOOPED for text in said.values()),
        identical=_commonest((tasks[i], text) for i, text in said.items()),
        identical_truth=_commonest((tasks[item.id], str(item.truth)) for item in items),
        distinct=len(set(said.values())) / len(said),
        unparsed=_mean(isinstance(item.answer, Unparsed) for item in items),
        right=_mean(map(_right, items)),
        right_shuffled=right_shuffled,
        lost_without_picture=_mean(_right(item) for item in items if item.id in exchanged) - right_shuffled,
    )


def tripped(signs: Signs, limits: Limits, *, late: bool) -> list[str]:
    """Say which signs are past their limits, in words; none for an empty probe.

    Args:
        signs: Of one probe.
        limits: What is borne.
        late: Whether the run is in its second half, when replies should have the form that was asked for.

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
        *([("unparsed", "replies hold no answer that can be read")] if late else []),
    ]
    found = [f"{getattr(signs, n):.0%} of {w}" for n, w in watched if getattr(signs, n) >= getattr(limits, n)]
    lost = signs.unparsed >= limits.unparsed  # a slow start may well begin with the commonest answer
    if (late or lost) and signs.identical >= limits.identical and signs.identical_truth <= 0.8:
        found.append(f"{signs.identical:.0%} of replies to a task are the same; {signs.identical_truth:.0%} should be")
    if late and signs.lost_without_picture <= limits.lost_without_picture:
        found.append(f"answers lose {signs.lost_without_picture:.0%} when their pictures are exchanged")
    return found


def histograms(items: Iterable[Item], tasks: Mapping[str, str]) -> dict[str, dict[str, dict[str, int]]]:
    """Return task -> ``answered`` and ``true`` -> word -> how often; ``unparsed`` is a word of the answers.

    A map of regions counts each region's word.
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
        said = item.answer if isinstance(item.answer, Mapping) else {}
        return _mean(said.get(region) == structure for region, structure in item.truth.items())
    return float(item.answer == item.truth)


def _mean(values: Iterable[float]) -> float:
    listed = [float(v) for v in values]
    return sum(listed) / len(listed) if listed else 0.0


def _commonest(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the share of the commonest text of each task, averaged over the records."""
    by_task: dict[str, Counter[str]] = {}
    for task, text in pairs:
        by_task.setdefault(task, Counter())[text] += 1
    return sum(max(c.values()) for c in by_task.values()) / sum(c.total() for c in by_task.values())
