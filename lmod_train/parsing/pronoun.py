"""Resolve the pronoun in "no evidence of it" to the name before it; the phrase can only deny."""

from __future__ import annotations

import re

_SIGNS = r"(?:\w{1,12}\s)?(?:evidence|signs?|traces?|indications?|features?|hint)"
_NONE = (
    rf"(?:none|(?:no|little|scant|hardly\sany|without(?:\sany)?|(?:not|cannot|\w{{1,7}}n't)\s(?:\w{{1,8}}\s){{0,2}}any)"
    rf"\s{_SIGNS})"
)
_OF_IT = re.compile(rf"(?<![a-z])(?P<none>{_NONE}\sof\s)(?:it|that|this)(?=\s?(?:$|[.,:;!\n]))", re.IGNORECASE)


def resolve_pronoun(text: str, mention: re.Pattern[str]) -> str:
    """Return the text with the pronoun replaced by the name, if the name precedes it.

    Args:
        text: A reply without thinking and markup.
        mention: Pattern of the one disease asked about.

    Example:
        >>> resolve_pronoun("AMD was suspected; there is no evidence of it.", re.compile("AMD"))
        'AMD was suspected; there is no evidence of AMD.'
        >>> resolve_pronoun("There is no evidence of it.", re.compile("AMD"))
        'There is no evidence of it.'
    """
    named = mention.search(text)
    if named is None:
        return text
    head, tail = text[: named.end()], text[named.end() :]
    return head + _OF_IT.sub(lambda m: m["none"] + named[0], tail)
