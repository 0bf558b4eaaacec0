"""Metrics of open answers by rules: shared words, containment and BLEU-1.

All of them compare words and not meaning. BLEU-1, token F1 and containment do not see the order of words (two halves of
a sentence swapped give the same score) and hardly see a negation, which is one word: "no macular hole" contains
"macular hole".
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.closed import BY_LANGUAGE
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import STATUS_SHARES, status_counts
from lmod_train.scoring.subset_names import subsets_of

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_ARTICLES = {"a", "an", "the"}
_MARKS = set(string.punctuation)
_WIDE = re.compile(r"([぀-ヿ㐀-䶿一-鿿가-힣豈-﫿])")
"""Letters of scripts written without blanks; each counts as a word of its own."""
BLIND = """BLEU-1, token F1 and containment compare words: they do not see the order of words, and a negation is one
word among others. None of them measures whether an answer is right."""
"""What readers of these metrics must know."""


def open_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of open answers by rules, over all items and each subset; ``language`` is always a subset.

    ``exact_match`` is the share of answers with the words of the reference, ``containment`` of those that contain its
    words in their order without others between, ``token_f1`` the mean F1 of shared words (`token_f1`); a missing answer
    counts 0, and is excluded in the metrics that end in ``_answered``. ``bleu1_corpus`` is BLEU of single words over
    all items, in subsets of one language (the words of two languages are counted by different tokenisers);
    ``bleu1_sentence_mean`` is the mean over items; both are fractions of 1, a missing answer is an empty text, and the
    signature of sacrebleu is in the scores' ``settings``. ``share_<status>`` are the shares of the reply statuses.

    Args:
        task: Name of the task.
        items: One per record id, truths and answers as texts; an empty sequence gives no scores.

    Example:
        >>> items = [Item(i, "answered", a, t, language="zh", group=i) for i, a, t in [("a", "视盘苍白", "视盘苍白"),
        ...          ("b", "黄斑裂孔", "黄斑前膜")]]
        >>> scores = {s.metric: s for s in open_scores("open_question", items) if s.subset == "all"}
        >>> scores["exact_match"].value, scores["bleu1_corpus"].value, scores["bleu1_sentence_mean"].value
        (0.5, 0.75, 0.75)
        >>> scores["bleu1_corpus"].settings
        'zh: sacrebleu nrefs:1|case:mixed|eff:yes|tok:zh|smooth:none|version:...|ngram:1'
    """
    place = {item.id: k for k, item in enumerate(items)}
    every = word_columns(items) | bleu_columns(items)
    scores: list[Score] = []
    for subset, members in subsets_of(items, BY_LANGUAGE).items():
        rows, groups = [place[item.id] for item in members], [item.group for item in members]
        columns = {name: column[rows] for name, column in every.items()}
        scores += compute_scores(task, subset, columns, groups, OPEN_MEASURES)
        scores += bleu_scores(task, subset, columns, groups, sorted({item.language for item in members}))
        scores += compute_scores(task, subset, columns, groups, STATUS_SHARES)
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


def contains(reply: str, reference: str) -> bool:
    """Return whether the words of the reference occur in the reply, in their order and without others between.

    A reference without words is contained in a reply without words only.

    Example:
        >>> contains("It is a macular hole.", "the macular hole"), contains("hole of the macula", "macular hole")
        (True, False)
        >>> contains("no macular hole", "macular hole"), contains("anything", "?")
        (True, False)
    """
    ours, theirs = words_of(reply), words_of(reference)
    if not theirs:
        return not ours
    return any(ours[at : at + len(theirs)] == theirs for at in range(len(ours) - len(theirs) + 1))


def word_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return ones, one 0/1 column a status, and exact match, containment and token F1 of each item.

    The latter are 0 where there is no answer.
    """
    pairs = [(i.answer, str(i.truth)) for i in items]
    columns = status_counts(items)
    columns["exact"] = np.array([isinstance(a, str) and words_of(a) == words_of(t) for a, t in pairs], dtype=np.float64)
    columns["held"] = np.array([isinstance(a, str) and contains(a, t) for a, t in pairs], dtype=np.float64)
    columns["f1"] = np.array([token_f1(a, t) if isinstance(a, str) else 0.0 for a, t in pairs], dtype=np.float64)
    return columns


_COLUMNS = {"token_f1": "f1", "exact_match": "exact", "containment": "held"}
TOKEN_F1, EXACT_MATCH, CONTAINMENT = (share_measure(name, column) for name, column in _COLUMNS.items())
TOKEN_F1_ANSWERED, EXACT_MATCH_ANSWERED, CONTAINMENT_ANSWERED = (
    share_measure(f"{name}_answered", column, "answered") for name, column in _COLUMNS.items()
)
OPEN_MEASURES = (
    EXACT_MATCH, CONTAINMENT, TOKEN_F1, EXACT_MATCH_ANSWERED, CONTAINMENT_ANSWERED, TOKEN_F1_ANSWERED
)  # fmt: skip
"""Measures of `word_columns`, the headline metric first."""


def bleu_scores(
    task: str, subset: str, columns: Columns, groups: Sequence[str], languages: Sequence[str]
) -> list[Score]:
    """Return ``bleu1_corpus``, if the items are in one language, and ``bleu1_sentence_mean`` (see `open_scores`).

    Args:
        task: Name of the task.
        subset: Name of the subset.
        columns: Those of `bleu_columns`.
        groups: Patient of each item.
        languages: ISO 639-1 codes of the items, each once.
    """
    measures = [BLEU1_SENTENCE_MEAN] if len(languages) > 1 else [BLEU1_CORPUS, BLEU1_SENTENCE_MEAN]
    settings = "; ".join(f"{language}: {signature(language)}" for language in languages)
    return [replace(score, settings=settings) for score in compute_scores(task, subset, columns, groups, measures)]


def bleu_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the columns of BLEU-1: ``right`` and ``words`` of the answer, ``reference`` words, and ``bleu``, each
    (items). ``right`` are the answer's words that the reference has too, each at most as often as the reference.
    """
    rows = np.array([_counts(item) for item in items], dtype=np.float64).reshape(-1, 3)
    columns = {name: rows[:, place] for place, name in enumerate(("right", "words", "reference"))}
    return {"items": np.ones(len(items)), **columns, "bleu": _bleu1(columns)}


def _counts(item: Item) -> tuple[int, int, int]:
    answer = item.answer if isinstance(item.answer, str) else ""
    found = bleu1(item.language).sentence_score(answer, [str(item.truth)])
    return found.counts[0], found.totals[0], found.ref_len


def _bleu1(sums: Columns) -> Floats:
    """Return the brevity penalty times the precision of words; 0 without a word in an answer."""
    words, reference = sums["words"], sums["reference"]
    brevity = np.exp(
        np.minimum(0.0, 1 - np.divide(reference, words, out=np.full(words.shape, np.inf), where=words > 0))
    )
    score: Floats = brevity * np.divide(sums["right"], words, out=np.zeros(words.shape), where=words > 0)
    return score


BLEU1_CORPUS = Measure("bleu1_corpus", _bleu1, items_in)
BLEU1_SENTENCE_MEAN = share_measure("bleu1_sentence_mean", "bleu")


@cache
def bleu1(language: str) -> BLEU:
    """Return sacrebleu's BLEU of single words, without smoothing, by the tokeniser of a language.

    ``zh`` splits Chinese characters; ``13a``, for all other languages, is that of the WMT evaluations.
    """
    from sacrebleu.metrics.bleu import BLEU  # here: most commands do not need it

    return BLEU(max_ngram_order=1, smooth_method="none", effective_order=True, tokenize=_tokeniser(language))


def _tokeniser(language: str) -> str:
    return "zh" if language == "zh" else "13a"


@cache
def signature(language: str) -> str:
    """Return how BLEU-1 is computed: the signature of sacrebleu, which leaves out the order of n-grams, and that.

    Example:
        >>> signature("en")
        'sacrebleu nrefs:1|case:mixed|eff:yes|tok:13a|smooth:none|version:...|ngram:1'
    """
    scorer = bleu1(language)
    scorer.sentence_score("", [""])  # the number of references is known from the first text on
    return f"sacrebleu {scorer.get_signature()}|ngram:1"


def similarity_scores(task: str, items: Sequence[Item], values: Mapping[str, float], suffix: str = "") -> list[Score]:
    """Return ``bertscore_f1`` over all items, where a missing answer counts 0, and ``bertscore_f1_answered``.

    Args:
        task: Name of the task.
        items: One per record id, of one language.
        values: Record id -> BERTScore, for each item with an answer; if one is missing, the scores have no value.
        suffix: End of the metrics' names, ``_rescaled`` for scores relative to a baseline.

    Example:
        >>> items = [Item("a", "answered", "x", "x", group="1"), Item("b", "refused", "", "x", group="2")]
        >>> [(s.metric, s.value) for s in similarity_scores("q", items, {"a": 0.5})]
        [('bertscore_f1', 0.25), ('bertscore_f1_answered', 0.5)]
    """
    answered = np.array([item.status == "answered" for item in items], dtype=np.float64)
    complete = all(item.id in values for item in items if item.status == "answered")
    found = np.array([values.get(item.id, 0.0) if complete else np.nan for item in items], dtype=np.float64)
    columns = {"items": np.ones(len(items)), "answered": answered, "similarity": found * answered}
    least = min(-1.0, float(found.min(initial=-1.0))) if complete else -1.0
    among = {f"bertscore_f1{suffix}": "items", f"bertscore_f1{suffix}_answered": "answered"}
    measures = [share_measure(name, "similarity", of, bounds=lambda _: (least, 1.0)) for name, of in among.items()]
    return compute_scores(task, "all", columns, [item.group for item in items], measures)
