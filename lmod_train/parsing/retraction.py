"""Remove first thoughts that a reply retracts: "I first thought of glaucoma, but the rim is intact"."""

from __future__ import annotations

import re

_THINKS = (
    r"(?:wrote|thought|said|put|answered|believed|assumed|read|took|had|called|leaned|considered|suspected|noted"
    r"|marked|guessed|judged|chose|picked|graded|labell?ed|classified|estimated)"
)
_THOUGHT = r"[^\n;.!?]{1,120}?"
_END = r"(?=[,.]{0,3}\s(?:but|however|yet|though)(?![a-z])|\s-\s|[;\n!?]|\.(?:\s|$)|$)"
_EARLIER = r"(?:at first|first|initially|originally|previously)"
_ENGLISH = re.compile(
    rf"(?<![a-z])(?:(?:i|we)\s(?:had\s)?{_EARLIER}\s{_THINKS}|{_EARLIER},?\s(?:i|we)\s{_THINKS}"
    rf"|my\s(?:first|initial|original)\s(?:idea|impression|thought|guess|answer|reading|instinct|diagnosis)\swas)\s"
    rf"{_THOUGHT}{_END}",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"我?(?:最初|起初|一开始|开始时|原本|本来|原先|先前|初看)我?(?:时)?,?我?(?:误)?(?:认为|以为|判断|觉得|考虑|判定|写|答|怀疑|想)"
    r"[^\n;。!?,]{1,60}?(?=,?(?:但|不过|然而|可是|后来)|[,;。!?\n]|$)"
)


_DENIED_LATER = re.compile(
    r"(?:^|(?<=[\n.;!。]))[^\n.;!?。]{1,200}[.;,!]\s{0,3}(?:but |however,? "
    r"|then again,? )?(?:no,? )?(?:actually,? )?(?:it|this|that)\s?"
    r"(?:is not|isn't|was not|wasn't|'s not|does not|doesn't)(?: really| actually)?(?=\s?(?:[.;!\n]|$))"
    r"|(?:^|(?<=[\n;。!]))[^\n;。!?,]{1,60},\s?(?:但|其实|实际上|事实上|现已?|最终|后来|却|可){0,3}(?:并?不是|(?:被)?否定|(?:被)?排除|否认|并非如此)(?:了|的)?(?=[.。;!\n]|$)",
    re.IGNORECASE,
)  # "This is glaucoma. No, it isn't."


def without_retractions(text: str) -> str:
    """Return the text without retracted first thoughts, or "taken back" in place of a thought that is all the text.

    Example:
        >>> without_retractions("I first wrote DRUSEN TRUE, but that was wrong. DRUSEN FALSE")
        ' , but that was wrong. DRUSEN FALSE'
        >>> without_retractions("I initially thought of glaucoma.")
        'taken back.'
    """
    for pattern in (_ENGLISH, _CHINESE, _DENIED_LATER):
        text = pattern.sub(_taken_back, text)
    return text


def _taken_back(thought: re.Match[str]) -> str:
    """Return a blank, or "taken back" if the reply would otherwise be empty."""
    alone = not any(c.isalnum() for c in thought.string[: thought.start()] + thought.string[thought.end() :])
    return "taken back" if alone else " "
