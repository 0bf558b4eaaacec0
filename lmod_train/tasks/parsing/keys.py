"""Decide what a key announces: an answer, what is asked about, an explanation, or nothing known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.forms import any_condition, plain, term_of
from lmod_train.tasks.parsing.lists import Polarity, is_sentence, polarity_of
from lmod_train.tasks.parsing.option_signs import TEXT
from lmod_train.tasks.parsing.reply_layouts import CellKind, short_label
from lmod_train.tasks.parsing.slots import TRUTH_WORDS, kinds_of

Role = Literal["id", "subject", "diagnosis", "answer", "type", "denied", "extra", ""]
"""What a key announces: the number of a region, what is asked about, a diagnosis, an answer, a type or label, what is
denied, something that is never an answer; or nothing known, as the name of a disease does."""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_KEY, _WORDS_OF_A_HEADING = 60, 4


@lru_cache(maxsize=4096)
def role_of(key: str) -> Role:
    """Return what a key announces.

    Example:
        >>> [role_of(key) for key in ("isPresent", "final_answer", "Condition", "结论", "Confidence (%)", "Drusen")]
        ['answer', 'answer', 'subject', 'answer', 'extra', '']
    """
    if len(key) > _LONGEST_KEY:
        return ""
    word = plain(re.sub(r"\s?\([^()]{0,20}\)?$", "", CAMEL.sub(" ", key))).strip(" .?!*#\"'()")
    if word in TRUTH_WORDS:  # "True: ..." is an answer with its reason
        return ""
    for role, pattern in _ROLES.items():
        if pattern.fullmatch(word):
            return role
    word = re.sub(r"^\w+ is (?=not$)", "", word)  # "answer is not"
    short = len(word.split()) <= _WORDS_OF_A_HEADING and not is_sentence(word) and not any_condition().search(key)
    return _OF_POLARITY.get(polarity_of(word), "") if short and kinds_of(word) in ((), ("no",)) else ""


def is_probability(key: str) -> bool:
    """Return whether a key announces a probability, which is neither an answer nor a confidence in one.

    Example:
        >>> is_probability("probability"), is_probability("confidence")
        (True, False)
    """
    return _PROBABILITY.fullmatch(plain(CAMEL.sub(" ", key))) is not None


def is_number(key: str) -> bool:
    """Return whether a key announces a probability or a confidence.

    Example:
        >>> is_number("probability"), is_number("confidence (%)"), is_number("explanation")
        (True, True, False)
    """
    return is_probability(key) or is_confidence(key) or _SCORE.search(plain(key)) is not None


def is_confidence(key: str) -> bool:
    """Return whether a key announces a confidence."""
    return _CONFIDENCE.search(plain(key)) is not None


_CONFIDENCE = re.compile("confiden|certainty|置信|把握|可信|确信|信心")
_SCORE = re.compile("probabilit|likelihood|score|概率|评分|得分")


def _keys(english: Sequence[str], chinese: Sequence[str]) -> re.Pattern[str]:
    own = rf"{entry('labels.before.en')}(?:{'|'.join(english)}){entry('labels.behind.en')}(?: ?\([^()]{{0,20}}\))?"
    return re.compile(rf"{own}|{entry('labels.before.zh')}(?:{'|'.join(chinese)}){entry('labels.behind.zh')}")


_PROBABILITY = _keys(entry("labels.probabilities.en"), entry("labels.probabilities.zh"))
_ROLES: dict[Role, re.Pattern[str]] = {
    "extra": _keys(entry("labels.extras.en"), entry("labels.extras.zh")),
    "id": _keys(entry("labels.ids.en"), entry("labels.ids.zh")),
    "subject": _keys(entry("labels.subjects.en"), entry("labels.subjects.zh")),
    "diagnosis": _keys(entry("labels.diagnoses.en"), entry("labels.diagnoses.zh")),
    "answer": _keys(entry("labels.answers.en"), entry("labels.answers.zh")),
    "type": _keys(entry("labels.types.en"), entry("labels.types.zh")),
}
_OF_POLARITY: dict[Polarity, Role] = {"denied": "denied", "open": "extra"}
NEUTRAL = compiled("keys.neutral", 0)
OWN_NAMES = compiled("keys.own_names", 0)


def is_known(name: str) -> bool:
    """Return whether the name of a tag is known: a key, or the name of something that is asked about."""
    word = plain(name)
    return role_of(name) != "" or OWN_NAMES.fullmatch(word) is not None or is_name(word)


@lru_cache(maxsize=4096)
def kind_of(word: str) -> CellKind:
    """Return what a word of a table or line is."""
    bare = plain(word).strip(" .?!*#\"'()")
    if kinds_of(bare) and role_of(word) not in ("", "denied"):
        return "either"
    if is_heading(word):
        return "heading"
    if bare in TRUTH_WORDS or (kinds_of(bare) and role_of(word) == "") or re.fullmatch("[0-9]{1,3}", bare):
        return "word"
    if role_of(word):
        return "word" if kinds_of(bare) and role_of(word) == "denied" else "key"
    return "name" if is_name(bare) or re.fullmatch("[a-h]|male|female", bare) else ""


@lru_cache(maxsize=4096)
def is_name(word: str) -> bool:
    """Return whether a word, in the form of `plain`, names a condition, structure or sex, or is an option's sign."""
    return re.fullmatch(TEXT, word) is not None or term_of(re.sub(r"^(?:non |非)", "", word)) is not None


def is_closed(label: str) -> bool:
    """Return whether a label is an answer or a name and nothing else, so that a tick beside it answers."""
    word = plain(short_label(label))
    return bool(kinds_of(word)) or is_name(word) or re.fullmatch("[a-h]|[0-9]", word) is not None


def is_heading(text: str) -> bool:
    """Return whether a word is the key of an answer."""
    return role_of(text) in ("answer", "diagnosis") or OWN_NAMES.fullmatch(plain(text)) is not None
