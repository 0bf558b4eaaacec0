"""Remove parentheses between commas: "there is, however, no glaucoma"."""

from __future__ import annotations

import re

from lmod_train.vocabulary.discourse import PARENTHESES_AFTER_VERB_EN

_PARENTHESIS = re.compile(
    rf"(?<=[a-z])(?P<verb>\s(?:is|are|was|were|has|have|had|be|shows?|seems?|appears?|suggests?|(?:does|do|did|is|are|can|would)(?:\snot|n't))),\s"
    rf"(?:{'|'.join(PARENTHESES_AFTER_VERB_EN)}),\s",
    re.IGNORECASE,
)


_EXAMPLES = re.compile(
    r",\s(?:such as|including|like|for example|for instance|namely)\s[^,.;:\n]{1,100},(?=\s[a-z])", re.IGNORECASE
)


def without_parentheses(text: str) -> str:
    """Return the text without parentheses behind a verb; elsewhere "however" opens a new statement and stays.

    Example:
        >>> without_parentheses("There is, however, glaucoma.")
        'There is glaucoma.'
        >>> without_parentheses("The cup is large, however, the rim is intact.")
        'The cup is large, however, the rim is intact.'
        >>> without_parentheses("Nothing, such as a thin rim or a notch, points to it.")
        'Nothing points to it.'
    """
    return _EXAMPLES.sub("", _PARENTHESIS.sub(r"\g<verb> ", text))
