"""Check the lengths of question, options and long answer in words."""

from __future__ import annotations

from lmod_train.tasks.drafting.drafted import Drafted

QUESTION, OPTION, ANSWER = (4, 60), (1, 30), (3, 250)
"""Fewest and most words; ours."""
UNLIKE = 3.0
"""Times that the right option may have the words of the longest wrong one, or the reverse, beyond `SHORT` words."""
SHORT = 6
"""Words up to which options are of like length, whatever their ratio."""


def unfit_lengths(one: Drafted) -> list[str]:
    """Return what is too short or too long, and whether the length of the right option gives it away.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> unfit_lengths(drafted(question="Diagnosis?", answer="Primary diagnosis: glaucoma"))
        ['question of 1 words']
    """
    draft = one.draft
    texts = [("question", draft.question, QUESTION), ("answer", draft.answer, ANSWER)]
    texts += [("option", option, OPTION) for option in draft.options]
    unfit = [
        f"{name} of {n} words" for name, text, (low, high) in texts for n in [len(text.split())] if not low <= n <= high
    ]
    return unfit + _unlike(len(draft.right.split()), [len(o.split()) for o in draft.wrong])


def _unlike(right: int, wrong: list[int]) -> list[str]:
    if not right or not wrong:
        return []
    longest, shortest = max(right, *wrong), min(right, *wrong)
    gives_away = right in (longest, shortest) and wrong.count(right) == 0
    other = max(wrong) if right == longest else min(wrong)
    unlike = longest > SHORT and max(right, other) > UNLIKE * min(right, other)
    return [f"right option of {right} words, the others {min(wrong)} to {max(wrong)}"] if gives_away and unlike else []
