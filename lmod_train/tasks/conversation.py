"""Free conversation about an image: imported turns, asked and answered in their own words."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from lmod_train.parsing.repetition import split_repetition
from lmod_train.parsing.thinking import strip_thinking
from lmod_train.scoring.intervals import Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.status import STATUS_SHARES, STATUSES
from lmod_train.scoring.subsets import subsets_of
from lmod_train.tasks.base import Task
from lmod_train.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed

_ARTICLES = {"a", "an", "the"}
_MARKS = set(string.punctuation)
_WIDE = re.compile(r"([぀-ヿ㐀-䶿一-鿿가-힣豈-﫿])")
"""Letters of scripts written without blanks; each counts as a word of its own."""


class Conversation(Task):
    """One question a human turn of an imported conversation; earlier turns come with it, answered as they were.

    It asks the ready questions of its name and language that come with a sample, as in a file of conversations. A reply
    is taken word for word and compared with the reference, so the figures measure how alike the words are, not whether
    what they say is right.

    Args:
        language: ISO 639-1 code of the conversations it asks.

    Example:
        >>> Conversation().parse(Reply("a", " Pale disc. "))
        'Pale disc.'
    """

    name = "conversation"
    version = 1
    choices = ()

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the sample's conversation, one question a human turn."""
        yield from self.ready_questions(sample)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the text of the reply, without thinking and surrounding blanks, or why there is none.

        ``failed`` (no reply at all), ``refused`` (declined or withheld by the service), ``empty``, ``repetition`` (the
        words fell into a loop), ``truncated`` (cut off within a thought, before any answer). A reply that was
        cut off after its answer began counts as far as it goes.
        """
        if reply.finish_reason == "error" or reply.error:
            return Unparsed("failed", reply.error)
        withheld = reply.finish_reason == "content_filter"
        if reply.finish_reason == "refusal" or (withheld and not reply.reply.strip()):
            return Unparsed("refused", reply.reply[:80])
        answer, closed = strip_thinking(reply.reply)
        answer = answer.strip()
        if not any(c.isalnum() for c in answer):
            return Unparsed("empty" if closed else "truncated", answer[:80])
        sound, looped = split_repetition(answer)
        return Unparsed("repetition", answer[len(sound) : len(sound) + 80]) if looped else answer

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return ``token_f1`` and ``exact_match`` over all records (no answer counts 0), both again over the answered
        ones (``_answered``), and the account; each with n and a 95 % interval that resamples whole images.
        """
        scores: list[Score] = []
        for subset, members in subsets_of(items_of(predictions, lambda p: p.record.answer)).items():
            groups = [item.group for item in members]
            scores += compute_scores(self.name, subset, _columns(members), groups, (*_MEASURES, *STATUS_SHARES))
        return scores


def words_of(text: str) -> list[str]:
    """Return the words of a text as the answers of SQuAD are compared (Rajpurkar et al. 2016, section 6.1).

    Lower case, without punctuation and the articles a, an, the. Each Chinese, Japanese or Korean letter is a word.

    Example:
        >>> words_of("The disc is PALE."), words_of("视盘苍白。")
        (['disc', 'is', 'pale'], ['视', '盘', '苍', '白'])
    """
    plain = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if not _is_mark(c))
    return [w for w in _WIDE.sub(r" \1 ", plain).split() if w not in _ARTICLES]


def _is_mark(letter: str) -> bool:
    return letter in _MARKS or (not letter.isascii() and unicodedata.category(letter).startswith("P"))


def token_f1(reply: str, reference: str) -> float:
    """Return the F1 of shared words, each counted as often as both have it; 1 where neither has a word.

    Example:
        >>> round(token_f1("a pale optic disc", "The optic disc is pale."), 3)
        0.857
        >>> token_f1("", "pale"), token_f1("!", "?")
        (0.0, 1.0)
    """
    ours, theirs = Counter(words_of(reply)), Counter(words_of(reference))
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


def _columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return ones, one 0/1 column a status, and exact match and token F1 of each item; 0 where there is no answer."""
    pairs = [(i.answer, str(i.truth)) for i in items]
    columns = {"items": np.ones(len(items))}
    for status in STATUSES:
        columns[status] = np.array([i.status == status for i in items], dtype=np.float64)
    columns["exact"] = np.array([isinstance(a, str) and words_of(a) == words_of(t) for a, t in pairs], dtype=np.float64)
    columns["f1"] = np.array([token_f1(a, t) if isinstance(a, str) else 0.0 for a, t in pairs], dtype=np.float64)
    return columns


_MEASURES = (
    Measure("token_f1", lambda s: ratio(s["f1"], s["items"]), items_in),
    Measure("exact_match", lambda s: ratio(s["exact"], s["items"]), items_in),
    Measure("exact_match_answered", lambda s: ratio(s["exact"], s["answered"]), lambda c: c["answered"]),
    Measure("token_f1_answered", lambda s: ratio(s["f1"], s["answered"]), lambda c: c["answered"]),
)
