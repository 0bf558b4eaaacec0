"""Decide whether a clause asserts or denies a mention, or does neither.

After NegEx (Chapman et al. 2001): cue words and their reach within one clause. A mention that is neither asserted nor
denied is no statement: "glaucoma is a group of diseases", "to determine whether it is glaucoma".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.tasks.parsing.cues import last
from lmod_train.tasks.parsing.forms import any_condition

_NAME = any_condition().pattern
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


Stance = Literal["asserted", "denied"]

LONGEST_CLAUSE = 2000
"""Longest clause, in characters, with a stance; a longer one is a loop or a list and no sentence."""
WINDOW = 160
"""Characters of context on each side of a mention; bounded, so that parsing is linear in the length of the reply."""


_BREAK = re.compile(r"[!?;。！？；\n]|\s\|\s|\.(?![0-9])|" + phrases("discourse.contrasts"), re.IGNORECASE)
_DENIAL = re.compile(phrases("negation.denials"), re.IGNORECASE)
_DOUBLED = re.compile(phrases("negation.double_negations"), re.IGNORECASE)
_THAT = re.compile(r"(?<![a-z])that(?![a-z])[^,]{0,80}$", re.IGNORECASE)
_HEDGE = re.compile(phrases("hedging.hedges"), re.IGNORECASE)
_CONDITIONAL = re.compile(phrases("hedging.conditionals"), re.IGNORECASE)
_ASSERTION = re.compile(phrases("assertion.assertions"), re.IGNORECASE)
_DENIED_SUSPICION = compiled("stance.denied_suspicion")
_HEADING = compiled("stance.heading")
_FIELD = re.compile(r"[,:;|({\[]")
_SCOPE_END = re.compile(phrases("negation.scope_ends") + r"|(?<!following)(?<!\sof):", re.IGNORECASE)
_LIST = re.compile(entry("negation.list_words"), re.IGNORECASE)
_LINK = phrases("stance.link")
_HEDGED_AFTER = re.compile(
    r"[\s\"'\]):]{0,6}(?:" + phrases("hedging.hedged_after").replace(r" )(?![a-z])", r" )") + ")", re.IGNORECASE
)
_DENIED_AFTER = re.compile(_LINK + "(?:" + phrases("negation.denied_after") + ")", re.IGNORECASE)
_ASSERTED_AFTER = re.compile(_LINK + "(?:" + phrases("assertion.asserted_after") + ")", re.IGNORECASE)
_PART = re.compile(rf"(?<![a-z])(?:{entry('eye_parts.eye_parts')})(?![a-z])", re.IGNORECASE)
_CHOSEN = compiled("stance.chosen")
_NOT_WHOLE = compiled("stance.not_whole")
_OF_PART = compiled("stance.of_part")


def clause_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each of the `clauses` in the text.

    Example:
        >>> clause_spans("No. But yes")
        [(0, 2), (8, 11)]
    """
    edges = [0, *(edge for m in _BREAK.finditer(text) for edge in m.span()), len(text)]
    return [span for span in (_stripped(text, *pair) for pair in zip(edges[::2], edges[1::2], strict=True)) if span]


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without surrounding blanks, None for a span without words."""
    part = text[start:end]
    if not any(c.isalnum() for c in part):
        return None
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def clauses(text: str) -> list[str]:
    """Return the clauses of the text; a negation does not reach beyond its own.

    Example:
        >>> clauses("No cataract, ratio 0.7. But glaucoma; yes")
        ['No cataract, ratio 0.7', 'glaucoma', 'yes']
    """
    return [text[start:end] for start, end in clause_spans(text)]


def statements(text: str) -> list[str]:
    """Return the `clauses` that are not questions.

    Example:
        >>> statements("Is it glaucoma? It is normal.")
        ['It is normal']
    """
    spans = clause_spans(text)
    return [text[start:end] for start, end in spans if not text[end : end + 4].lstrip(" \"')").startswith("?")]


_NEGATOR = re.compile(phrases("negation.negators"), re.IGNORECASE)
_NEUTRAL = re.compile(phrases("negation.neutral"), re.IGNORECASE)
_NEITHER = re.compile(r"(?<![a-z])neither(?P<one>[^.;:]{1,80}?)\snor(?![a-z])", re.IGNORECASE)
_REACH_END = compiled("stance.reach_end")


_NEGATED_BEHIND = compiled("stance.negated_behind")
_CALLED_FALSE = compiled("stance.called_false")
_NOT_EARNED = compiled("stance.not_earned")
_OF_SOMETHING_ELSE = compiled("stance.of_something_else")


_WRONG_AFTER = compiled("stance.wrong_after")
_CHANCE, _SCORED = compiled("stance.chance"), compiled("stance.scored")
_RATIO = re.compile("ratio|c/?d|杯盘比", re.IGNORECASE)


def is_scored(name: str, after: str) -> bool:
    """Return whether a number of its own stands behind a name; a ratio has a number that is no share.

    Example:
        >>> is_scored("scar", " (3%)"), is_scored("scar", ": 0.97"), is_scored("large cup-to-disc ratio", " of 0.8")
        (True, True, False)
    """
    found = _SCORED.match(after)
    return found is not None and ("%" in found[0] or _RATIO.search(name) is None)


def is_earned(before: str) -> bool:
    """Return whether the words directly before the name of a disease can assert it.

    Example:
        >>> is_earned("evidence of "), is_earned("different from "), is_earned("as is common in ")
        (True, False, False)
    """
    return _NOT_EARNED.search(before) is None


def negators_before(before: str) -> int:
    """Return how many negating words stand before a mention, within reach of it and outside idioms.

    Example:
        >>> [negators_before(text) for text in ("I cannot agree that this is ", "no haze, this is ", "no doubt ")]
        [1, 0, 0]
    """
    before = _NEITHER.sub(r"not\g<one> ", _NEUTRAL.sub(" ", before))
    end = last(_REACH_END, before)
    return len(_NEGATOR.findall(before, end.end() if end else 0))


def stance(clause: str, start: int, end: int, bare: bool = False) -> Stance | None:
    """Return whether the clause asserts or denies ``clause[start:end]``, None for neither.

    Args:
        clause: One of `clauses`.
        start: First character of the mention.
        end: One past its last character.
        bare: Whether a mention without an asserting verb counts as asserted, as in a format that asks for one word.

    A negation before the mention that the rules have not accounted for leaves it open, and so does a second one.

    Example:
        >>> def of(clause, word="glaucoma"):
        ...     at = clause.index(word)
        ...     return stance(clause, at, at + len(word))
        >>> of("there are no signs of cataract or glaucoma"), of("consistent with glaucoma")
        ('denied', 'asserted')
        >>> of("I cannot tell whether it is glaucoma"), of("glaucoma cannot be excluded")
        (None, None)
    """
    if len(clause) > LONGEST_CLAUSE:
        return None
    before, after = clause[max(0, start - WINDOW) : start], clause[end : end + WINDOW]
    if _CHANCE.search(before) or is_scored(clause[start:end], after):
        return None
    found = _stance(clause, start, before, after, bare)
    if found is not None and start_of_denied_absence(before, after) is None:
        if found == "asserted" and _CALLED_FALSE.match(after):
            return "denied"
        if found == "asserted" and _NEGATED_BEHIND.match(after):
            return None
        if found == "denied" and _OF_SOMETHING_ELSE.search(before):
            return None
        accounted = found == "denied" and (_reach(before, after) == "reaches" or not _DENIED_AFTER.match(after))
        if negators_before(before) > accounted:
            return None  # in doubt nothing is asserted, and nothing denied
    return found


def mentions_in(text: str, mention: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Stance]]:
    """Yield each mention that a statement of the text asserts or denies, a bare name as asserted, and which of the two.

    Example:
        >>> [(m[0], said) for m, said in mentions_in("No scar. Is it AMD? Drusen.", re.compile("(?i)scar|amd|drusen"))]
        [('scar', 'denied'), ('Drusen', 'asserted')]
    """
    for clause in statements(text):
        for found in mention.finditer(clause):
            said = stance(clause, found.start(), found.end(), bare=True)
            if said is not None:
                yield found, said


def _stance(clause: str, start: int, before: str, after: str, bare: bool) -> Stance | None:
    if _HEDGED_AFTER.match(after) or is_generic(before, after):
        return None
    if (at := start_of_denied_absence(before, after)) is not None:
        return None if hedges(before[:at]) or contains_negation(before[:at]) else "asserted"
    if start <= WINDOW and not after.strip(" .\"')") and _HEADING.fullmatch(before):
        return "asserted"
    if hedges(before):
        return "denied" if _DENIED_SUSPICION.search(before) and not _DENIED_AFTER.match(after) else None
    if _DENIED_AFTER.match(after):
        doubled = _THAT.search(before) or _WRONG_AFTER.match(after)
        return None if doubled and denies(before) else "denied"
    reach = _reach(before, after)
    if reach != "none":
        return "denied" if reach == "reaches" else None
    if bare or _ASSERTION.search(before) or _ASSERTED_AFTER.match(after):
        return "asserted"
    return None


def describes_whole_eye(clause: str, start: int, end: int) -> bool:
    """Return whether an adjective ("normal") describes the whole eye or image and not a part of it.

    Example:
        >>> describes_whole_eye("a normal fundus", 2, 8), describes_whole_eye("a normal cup-to-disc ratio", 2, 8)
        (True, False)
        >>> describes_whole_eye("the optic disc appears normal", 23, 29)
        False
    """
    before, after = clause[max(0, start - WINDOW) : start], clause[end : end + WINDOW]
    chosen = last(_CHOSEN, before)
    before = before[chosen.end() :] if chosen else before
    return not (_PART.search(before) or _NOT_WHOLE.match(after) or _OF_PART.match(after))


def hedges(before: str) -> bool:
    """Return whether the text before a mention hedges it; the reach of a hedge ends at a later assertion.

    Example:
        >>> hedges("suspicious for "), hedges("to rule out cataract, it shows ")
        (True, False)
    """
    hedge = last(_HEDGE, before)
    if hedge is None or _CONDITIONAL.search(before):
        return hedge is not None
    between = before[hedge.end() :]
    return not ("," in between and _ASSERTION.search(between[between.rindex(",") :]))


def denies(before: str) -> bool:
    """Return whether the text before a name, within its own field, denies it.

    Example:
        >>> denies("no signs of "), denies("no cataract, ")
        (True, False)
    """
    own = _FIELD.split(before)[-1]
    return _reach(own, "") == "reaches"


def contains_negation(text: str) -> bool:
    """Return whether the text contains a negation."""
    return _DENIAL.search(text) is not None


_EXCEPTION = compiled("stance.exception")


def _reach(before: str, after: str) -> Literal["reaches", "none", "unclear"]:
    """Return whether the last negation before a mention reaches it.

    It reaches over the commas of a list ("no cataract, glaucoma or edema") and ends at a comma that opens a new
    statement ("no haze, which suggests"). Over any other comma, and for a double negation, it is unclear.
    """
    denial = last(_DENIAL, before)
    if denial is None:
        return "none"
    between = before[denial.end() :]
    if _EXCEPTION.search(between):
        return "unclear"  # "no abnormality other than"
    if _SCOPE_END.search(between):
        return "none"
    if any("," not in before[m.end() :] for m in _DOUBLED.finditer(before)):
        return "unclear"
    if "," not in between:
        return "reaches"
    if _ASSERTION.search(between[between.index(",") :]):
        return "none"
    return "reaches" if _LIST.search(between) or _LIST.search(after[:60]) else "unclear"


_ABSENT = compiled("stance.absent")
_TAIL = compiled("stance.tail")
_AFTER = compiled("stance.after")


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
