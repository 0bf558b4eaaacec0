"""Whether a sentence asserts, denies or only speaks of what it mentions.

After NegEx: cue words and how far they reach, within one clause. A mention that is neither asserted nor denied is not
a statement: "glaucoma is a group of diseases", "to determine whether it is glaucoma".
"""

from __future__ import annotations

import re
from typing import Literal

from lmod_train.parsing.cues import any_of, last
from lmod_train.vocabulary import phrases as said

Stance = Literal["asserted", "denied"]

WINDOW = 160
"""Characters looked at on each side of a mention; keeps the work linear in the reply's length."""


_BREAK = re.compile(r"[!?;。！？；\n]|\.(?![0-9])|" + any_of(said.CONTRASTS_EN, said.CONTRASTS_ZH), re.IGNORECASE)
_DENIAL = re.compile(any_of(said.DENIALS_EN, said.DENIALS_ZH), re.IGNORECASE)
_HEDGE = re.compile(any_of(said.HEDGES_EN, said.HEDGES_ZH), re.IGNORECASE)
_ASSERTION = re.compile(any_of(said.ASSERTIONS_EN, said.ASSERTIONS_ZH), re.IGNORECASE)
_SCOPE_END = re.compile(any_of(said.SCOPE_ENDS_EN), re.IGNORECASE)
_LIST = re.compile(said.LIST_WORDS, re.IGNORECASE)
_LINK = (
    r"[\s\"'\])}]*(?:\([^()]{0,40}\)\s*)?(?:[:=\-–—>]{1,3}\s*)?"
    r"(?:(?:is|are|was|were|has|have|been|be|can|could|appears?|seems?|looks?|to|also|clearly|"
    r"definitely|considered|deemed|most|very|highly|quite|a|an)\s+){0,4}"
)
_HEDGED_AFTER = re.compile(
    r"[\s\"'\]):]*(?:" + any_of(said.HEDGED_AFTER_EN, said.HEDGED_AFTER_ZH).replace(r" )(?![a-z])", r" )") + ")",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(_LINK + "(?:" + any_of(said.DENIED_AFTER_EN, said.DENIED_AFTER_ZH) + ")", re.IGNORECASE)
_ASSERTED_AFTER = re.compile(
    _LINK + "(?:" + any_of(said.ASSERTED_AFTER_EN, said.ASSERTED_AFTER_ZH) + ")", re.IGNORECASE
)
_PART = re.compile(rf"(?<![a-z])(?:{said.PARTS})(?![a-z])", re.IGNORECASE)
_NOT_WHOLE = re.compile(rf"\s+(?!(?:{said.WHOLES})(?![a-z]))[a-z]|-[a-z]", re.IGNORECASE)
_OF_PART = re.compile(r"\s+(?:in|of|on|within|at|for)\s+(?:\w+\s+){0,4}?" + f"(?:{said.PARTS})(?![a-z])", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """Return the stretches of text within which a negation can reach.

    Example:
        >>> clauses("No cataract, ratio 0.7. But glaucoma; yes")
        ['No cataract, ratio 0.7', 'glaucoma', 'yes']
    """
    parts = (part.strip() for part in _BREAK.split(text))
    return [part for part in parts if re.search(r"\w", part)]


def stance(clause: str, start: int, end: int, bare: bool = False) -> Stance | None:
    """Return what the clause says of ``clause[start:end]``: asserted, denied, or None for neither.

    Args:
        clause: One of `clauses`.
        start: First character of the mention.
        end: One past its last character.
        bare: Whether a plain mention, without a verb that asserts it, counts as asserted: true where the format asks
            for a word and nothing else.

    Example:
        >>> def of(clause, word="glaucoma"):
        ...     at = clause.index(word)
        ...     return stance(clause, at, at + len(word))
        >>> of("there are no signs of cataract or glaucoma"), of("consistent with glaucoma")
        ('denied', 'asserted')
        >>> of("I cannot tell whether it is glaucoma"), of("glaucoma cannot be excluded")
        (None, None)
    """
    before, after = clause[max(0, start - WINDOW) : start], clause[end : end + WINDOW]
    if _HEDGED_AFTER.match(after) or _hedged(before):
        return None
    if _DENIED_AFTER.match(after):
        return "denied"
    reach = _reach(before, after)
    if reach != "none":
        return "denied" if reach == "reaches" else None
    if bare or _ASSERTION.search(before) or _ASSERTED_AFTER.match(after):
        return "asserted"
    return None


def of_the_whole(clause: str, start: int, end: int) -> bool:
    """Return whether an adjective ("normal") is said of the eye or the image and not of one part of it.

    Example:
        >>> of_the_whole("a normal fundus", 2, 8), of_the_whole("a normal cup-to-disc ratio", 2, 8)
        (True, False)
        >>> of_the_whole("the optic disc appears normal", 23, 29)
        False
    """
    before, after = clause[max(0, start - WINDOW) : start], clause[end : end + WINDOW]
    return not (_PART.search(before) or _NOT_WHOLE.match(after) or _OF_PART.match(after))


def _hedged(before: str) -> bool:
    """Return whether what precedes only speaks of the mention; a hedge does not reach behind a later assertion."""
    hedge = last(_HEDGE, before)
    if hedge is None:
        return False
    between = before[hedge.end() :]
    return not ("," in between and _ASSERTION.search(between[between.rindex(",") :]))


def _reach(before: str, after: str) -> Literal["reaches", "none", "unclear"]:
    """Return whether the last negation before a mention reaches it.

    Over a comma it reaches only inside a list ("no cataract, glaucoma or edema"); before a comma that opens a new
    statement ("no haze, which suggests") it ends. A comma that is neither leaves it unclear.
    """
    denial = last(_DENIAL, before)
    if denial is None:
        return "none"
    between = before[denial.end() :]
    if _SCOPE_END.search(between):
        return "none"
    if "," not in between:
        return "reaches"
    if _ASSERTION.search(between[between.index(",") :]):
        return "none"
    return "reaches" if _LIST.search(between) or _LIST.search(after[:60]) else "unclear"
