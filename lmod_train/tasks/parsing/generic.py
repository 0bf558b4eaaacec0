"""Detect generic statements about a disease: "in glaucoma the cup enlarges" is no statement about this eye."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.tasks.parsing.forms import forms_of, pattern_of

_NAME = pattern_of(form for term in CONDITIONS if term.name != "normal" for form in forms_of(term.name))
_OPENS = phrases("generic.opens")
_KIND = phrases("generic.kind")
_SUBJECT_NOUN = phrases("generic.subject_noun")
_HAS = phrases("generic.has")
_IN = compiled("generic.in")
_IN_NAMED = compiled("generic.in_named", 0, name=_NAME)
_WOULD = compiled("generic.would")
_ARTICLE = re.compile(r"^\W{0,4}(?:an?|the|any|every)\s$", re.IGNORECASE)
_AT_START = re.compile(rf"{_OPENS}{_KIND}$", re.IGNORECASE)
_INDEFINITE = re.compile(rf"{_OPENS}(?:an?|any|every|each)\s{_KIND}(?P<has>{_HAS})?{_KIND}$", re.IGNORECASE)
_AMONG = re.compile(rf"(?<![a-z])(?:in|among|than|between)\s{_KIND}$", re.IGNORECASE)
_SEEN = r"(?!(?:is|are|was|were|can be|has been)\s(?:\w{1,12}ly\s|not\s)?"
_SEEN += r"(?:seen|present|visible|shown|noted|evident|observed|found|here|depicted))"
_VERB = rf"\s{_SEEN}(?:{phrases('generic.generic_verbs')})(?![a-z])"
_DOES_SO = re.compile(_VERB, re.IGNORECASE)
_SUBJECT_DOES = re.compile(rf"\s{_SUBJECT_NOUN}{_VERB}", re.IGNORECASE)
_SUBJECTS = re.compile(rf"\s{_SUBJECT_NOUN}s(?![a-z])", re.IGNORECASE)
_SUBJECTS_DO = re.compile(rf"\s{_SUBJECT_NOUN}s\s{_SEEN}[a-z]{{2}}", re.IGNORECASE)
_SEVERAL = re.compile(r"\s(?:patients|people|persons|individuals|subjects)(?=\s[a-z])", re.IGNORECASE)
_DOES = re.compile(r"\s(?:shows?|makes?|presents?\swith|features)(?![a-z])", re.IGNORECASE)
_HABIT = re.compile(rf"\s{{1,3}}(?:{phrases('generic.habituals')})", re.IGNORECASE)
_ZH_IN = re.compile(r"(?<![存现龄])在(?:正常|健康|典型|早期|晚期)?$")
_ZH_IS = re.compile("(?:是|为)$")
_ZH_SIGN = re.compile("的(?:典型|常见|早期|主要|重要)(?:体征|表现|征象|特征|标志)")  # "an enlarged cup is a sign of"
_ZH_AMONG = re.compile(r"(?:患者|病人|者|眼)?(?:中|里|时|的情况)")
_ZH_AFTER = re.compile("|".join(entry("generic.generic_after.zh")))
_ZH_THIS = re.compile(r"(?:是|为|属于|来自|系|显示|符合)(?:一?[名位例张幅个])?(?:患有?|没?有|无)?$")


def is_generic(before: str, after: str) -> bool:
    """Return whether the clause makes a generic statement about the name between `before` and `after`.

    Example:
        >>> is_generic("In ", ", the cup enlarges"), is_generic("In this eye, ", " is seen")
        (True, False)
        >>> is_generic("A ", " disc shows a thin rim"), is_generic("A ", " disc is seen here")
        (True, False)
    """
    if _IN.search(before) or _WOULD.search(before) or _IN_NAMED.search(before) or _HABIT.match(after):
        return True
    if _AT_START.search(before) and (_DOES.match(after) or _SUBJECTS_DO.match(after)):
        return True
    if _AT_START.search(before) and _SEVERAL.match(after):
        return True
    one = _INDEFINITE.search(before)
    if (one and (_DOES_SO if one["has"] else _SUBJECT_DOES).match(after)) or (
        _AMONG.search(before) and _SUBJECTS.match(after)
    ):
        return True
    if _ZH_IS.search(before) and _ZH_SIGN.match(after):
        return True
    if _ZH_IN.search(before) and _ZH_AMONG.match(after):
        return True
    return _ZH_AFTER.match(after) is not None and _ZH_THIS.search(before) is None


def is_generic_about_part(before: str, after: str) -> bool:
    """Return whether the clause makes a generic statement about the part of the eye between `before` and `after`.

    Example:
        >>> is_generic_about_part("A ", " is darker than the retina"), is_generic_about_part("A ", " is seen")
        (True, False)
    """
    if _IN_NAMED.search(before):
        return True
    return _ARTICLE.search(before) is not None and _DOES_SO.match(after) is not None
