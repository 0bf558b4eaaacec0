"""Cues of a final answer, a correction, a conclusion and an explanation, shared by the parsers."""

from __future__ import annotations

import re
from collections import deque

from lmod_train.core.vocabulary import compiled, phrases

_LEAD = r"(?:^|[\n.;。；,!?|(（]|\s-\s)\s{0,9}[-•*(\[{\"']{0,3}\s{0,9}"


def last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the last match in the text, None without a match.

    Example:
        >>> last(re.compile("[0-9]"), "1 or 2")[0]
        '2'
    """
    matches = deque(pattern.finditer(text), maxlen=1)
    return matches[0] if matches else None


FINAL = re.compile(phrases("discourse.final"), re.IGNORECASE)
CORRECTION = re.compile(f"{_LEAD}(?:{phrases('discourse.corrections')})", re.IGNORECASE)
CONCLUSION = re.compile(f"{_LEAD}(?:{phrases('discourse.conclusions')})", re.IGNORECASE)
_LABEL = phrases("cues.label")
EXPLANATION = re.compile(rf"{_LABEL}[\"']?\s{{0,3}}[:=]|(?<=\n){_LABEL}\s-\s", re.IGNORECASE)
_AGAIN = compiled("cues.again")
_LEAD_IN = re.compile(r"\n[\s\"'(\[{*•-]{0,6}(?:[0-9]{1,2}[.)]\s?)?$")
_LINK = compiled("cues.link")


def final_statement(text: str) -> str | None:
    """Return the text behind the last cue of a final answer or correction, without linking words; None without a cue.

    Example:
        >>> final_statement("GLAUCOMA. Correction: it is NON-GLAUCOMA"), final_statement("GLAUCOMA")
        ('NON-GLAUCOMA', None)
    """
    cues = [cue for cue in (last(FINAL, text), last(CORRECTION, text)) if cue is not None]
    return after(text, max(cue.end() for cue in cues)) if cues else None


def split_explanation(text: str) -> tuple[str, bool]:
    r"""Return the text before the explanation, without its bullet, and whether there is an explanation.

    The head of each later line or sentence with an explanation is appended, as it is a further answer.

    Example:
        >>> split_explanation("GLAUCOMA\n- Explanation: no haemorrhage"), split_explanation("GLAUCOMA")
        (('GLAUCOMA', True), ('GLAUCOMA', False))
        >>> split_explanation("TRUE; Explanation: yellow dots. FALSE; Explanation: reflections.")
        ('TRUE; \nFALSE; ', True)
    """
    explained = EXPLANATION.search(text)
    if explained is None:
        return text, False
    again = (m["head"] for m in _AGAIN.finditer(text, explained.end()))
    return "\n".join([_LEAD_IN.sub("", text[: explained.start()]), *again]), True


def after(text: str, at: int) -> str:
    """Return the text from `at` on, without the words that link a cue to its statement."""
    link = _LINK.match(text, at)
    return text[link.end() if link else at :]
