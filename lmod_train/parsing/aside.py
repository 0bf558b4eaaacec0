"""Take out what is said aside and leaves the sentence as it is: "there is, however, no glaucoma"."""

from __future__ import annotations

import re

from lmod_train.vocabulary.phrases import PARENTHESES_EN

_ASIDE = re.compile(
    rf"(?<=[a-z])(?P<verb>\s(?:is|are|was|were|has|have|had|be|shows?|seems?|appears?|suggests?)),\s"
    rf"(?:{'|'.join(PARENTHESES_EN)}),\s",
    re.IGNORECASE,
)


def without_asides(text: str) -> str:
    """Return the text without the words between commas that only part a verb from its noun.

    "However" opens a new statement elsewhere; here it is in the middle of one.

    Example:
        >>> without_asides("There is, however, glaucoma.")
        'There is glaucoma.'
        >>> without_asides("The cup is large, however, the rim is intact.")
        'The cup is large, however, the rim is intact.'
    """
    return _ASIDE.sub(r"\g<verb> ", text)
