"""Find denied absences, which assert: "not free of glaucoma", "wrong to say there is no glaucoma"."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import generic, negation
from lmod_train.tasks.parsing.cues import any_of, last

_WITHOUT = r"(?:without|free\s(?:of|from)|devoid\sof|lacking(?:\sin)?|negative\sfor|spared\s(?:by|from))"
_NOT = r"(?:(?<![a-z])(?:not|never|hardly|by no means|far from|anything but)|n't)"
_BE = r"(?:be|been|quite|entirely|wholly|completely|altogether|totally|fully|truly|really|exactly)"
_ONE = rf"an?\s(?:{'|'.join(generic.SUBJECTS_EN)})"
_CALLED = (
    r"(?:said|called|considered|described|regarded|deemed|judged|declared|termed|labell?ed)(?:\s(?:to be|as))?"
    r"(?:\s(?:entirely|completely|truly|fully))?"
)
_THERE_IS = r"(?:that\s)?(?:there\s(?:is|are|was|were)|(?:the|this|it)(?:\s\w{1,12}){0,2}\s(?:has|shows|contains))"
_ABSENT = re.compile(
    rf"(?:{_NOT}\s(?:{_BE}\s){{0,2}}(?:{_ONE}\s)?|(?<![a-z])(?:cannot|can\snot|can't|could\snot)\sbe\s{_CALLED}\s){_WITHOUT}"
    rf"|(?:{any_of(negation.CALLED_WRONG_EN)})\s(?:say|claim|conclude|state|think|assume|suggest)\s{_THERE_IS}\sno(?![a-z])"
    rf"|(?:{any_of(negation.CALLED_WRONG_EN)})\s(?:{any_of(negation.CALL_VERBS_EN)})\s(?:it|(?:this|the)(?:\s\w{{1,12}}){{1,2}})\s{_WITHOUT}"
    rf"|{_NOT}\s(?:true|correct|the\scase|right)\s(?:that\s)?{_THERE_IS}\sno(?![a-z])"
    r"|(?<![a-z])no\s(?:(?:absence|lack|shortage|dearth)\sof"
    r"|(?:reason|cause|grounds)\s(?:to|for)\sdoubt(?:ing)?(?:\s(?:that\s)?(?:this|it|there)\sis)?)"
    r"|(?:并非|并不是|不是)(?:完全|真的)?(?:没有|无|未见|不存在)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:\s(?:any|the|signs?|evidence|features?|of|an?|some|\w{1,12}ly|\w{1,12}al)){0,5}\s?", re.IGNORECASE
)
_AFTER = re.compile(
    r"\s?(?:(?:is|are|was|were)\s(?:(?:certainly\s)?(?:not|never)|by\sno\smeans|hardly|far\sfrom)|(?:is|are|was|were)n't)\s"
    r"(?:absent|lacking|missing)(?![a-z])|并(?:非|不是)(?:不存在|没有|阴性)(?=\s?(?:$|[,.;。]))",
    re.IGNORECASE,
)


def start_of_denied_absence(before: str, after: str) -> int | None:
    """Return the start of a denied absence of the name between `before` and `after`, None without one.

    Example:
        >>> start_of_denied_absence("The eye is not free of ", ""), start_of_denied_absence("", " is not absent")
        (11, 0)
        >>> start_of_denied_absence("The eye is free of ", ""), start_of_denied_absence("does not rule out ", "")
        (None, None)
    """
    if _AFTER.match(after):
        return len(before)
    found = last(_ABSENT, before)
    if found is None or not _TAIL.fullmatch(before, found.end()):
        return None
    return found.start()
