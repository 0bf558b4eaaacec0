"""Checks of the options: one right option that states the truth, and no other that states it in other words."""

from __future__ import annotations

import re
from itertools import combinations

from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.meaning import says_all_of, stated, values_in
from lmod_train.tasks.drafts.words import OPTIONS

_MARKED = re.compile(
    r"[(\[*]\s?(?:correct|right|true|answer)\s?(?:answer|option)?\s?[)\]*]|\u2713|\u2714", re.IGNORECASE
)


def one_right(one: Drafted) -> list[str]:
    """Return what is wrong with options and letter: number, equal texts, marks, and whether the right one is true.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> one_right(drafted("DD", truth="glaucoma", options=("Cataract", "Open angle glaucoma", "Normal", "AMD")))
        ['the option A does not state the truth: glaucoma']
    """
    draft = one.draft
    plain = ["".join(c for c in option.casefold() if c.isalnum()) for option in draft.options]
    found = [] if len(plain) == OPTIONS else [f"{len(plain)} options instead of {OPTIONS}"]
    found += ["an empty option"] if not all(plain) else []
    found += ["two equal options"] if len(set(plain)) < len(plain) else []
    found += [f"a mark in the option {o[:60]}" for o in draft.options if _MARKED.search(o)]
    if not draft.right:
        return [*found, f"the letter {draft.letter} is of no option"]
    true = says_all_of(draft.right, one.facts.truth, one.facts.eye)
    found += [] if true else [f"the option {draft.letter} does not state the truth: {one.facts.truth}"]
    return found + (["the question names the truth"] if _named(one) else [])


def _named(one: Drafted) -> bool:
    """Return whether the question states the truth, beyond the structure that it asks about."""
    truth = one.facts.truth
    if truth == one.facts.structure:
        return False
    return says_all_of(one.draft.question, truth, one.facts.eye)


def truth_in_other_words(one: Drafted) -> list[str]:
    """Return the wrong options that state the truth, or a part of it only, in other words.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> options = ("Diabetic retinopathy", "DR", "Cataract", "Glaucoma")
        >>> truth_in_other_words(drafted("DD", truth="diabetic retinopathy", options=options))
        ['DR']
    """
    return [option for option in one.draft.wrong if _same(option, one.facts.truth, one.facts.eye)]


def _same(option: str, truth: str, eye: str) -> bool:
    if says_all_of(option, truth, eye):
        return True
    part = stated(option, eye)  # a part of the truth is true as well
    return (
        any(kind != "compared" for kind, _ in part)
        and part < stated(truth, eye)
        and values_in(option) <= values_in(truth)
    )


def alike(one: Drafted) -> list[str]:
    """Return pairs of wrong options that state the same, so that neither can be right.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> alike(drafted("DD", options=("Glaucoma", "AMD", "Macular degeneration", "Cataract")))
        ['AMD = Macular degeneration']
    """
    eye = one.facts.eye
    return [
        f"{a} = {b}" for a, b in combinations(one.draft.wrong, 2) if says_all_of(a, b, eye) and says_all_of(b, a, eye)
    ]
