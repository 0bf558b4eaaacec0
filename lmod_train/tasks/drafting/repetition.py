"""Check that a draft does not repeat itself."""

from __future__ import annotations

import re
from collections import Counter

from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.parsing.repetition import split_repetition

_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n+")
FEWEST = 4
"""Words from which a sentence that occurs twice counts."""


def repetitions(one: Drafted) -> list[str]:
    """Return loops of words, and sentences of the long answer that occur twice.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> repetitions(drafted(answer="The disc is pale and small. The disc is pale and small."))
        ['twice: the disc is pale and small']
    """
    text = f"{one.draft.question}\n{one.draft.answer}"
    looped = ["words in a loop"] if split_repetition(text)[1] else []
    sentences = (re.sub(r"^[^:]{1,40}:\s", "", s).strip(" .;!?").casefold() for s in _SENTENCE.split(one.draft.answer))
    counted = Counter(s for s in sentences if len(s.split()) >= FEWEST)
    return looped + [f"twice: {sentence[:80]}" for sentence, n in counted.items() if n > 1]
