"""Decide whether a clause asserts or denies a mention, or does neither.

After NegEx (Chapman et al. 2001): cue words and their reach within one clause. A mention that is neither asserted nor
denied is no statement: "glaucoma is a group of diseases", "to determine whether it is glaucoma".
"""

from __future__ import annotations

import re
from typing import Literal

from lmod_train.core.vocabulary import entry, phrases
from lmod_train.tasks.parsing.cues import last
from lmod_train.tasks.parsing.generic import is_generic

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
_DENIED_SUSPICION = re.compile(
    rf"(?:{phrases('negation.denials')})\s{{0,3}}(?:\w{{1,20}}\s){{0,2}}"
    rf"(?:{phrases('hedging.suspicions')})\s{{0,3}}(?:\w{{1,20}}\s){{0,3}}$",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rf"\W{{0,4}}(?:(?:an?|the|this)\s)?"
    r"(?:(?:fundus\s)?(?:image|photo(?:graph)?|picture|scan)\s(?:of|showing)\s(?:an?\s)?)?"
    rf"(?:(?:right|left|human|adult)\s)?(?:{'|'.join(entry('generic.subjects.en'))})\swith\s"
    r"(?:(?:an?|early|advanced|mild|signs of)\s){0,2}",
    re.IGNORECASE,
)  # "An eye with glaucoma."
_FIELD = re.compile(r"[,:;|({\[]")
_SCOPE_END = re.compile(phrases("negation.scope_ends") + r"|(?<!following)(?<!\sof):", re.IGNORECASE)
_LIST = re.compile(entry("negation.list_words"), re.IGNORECASE)
_LINK = (
    r"(?:,[^,.:\n]{1,60},\s{1,3}(?=(?:is|are|was|were)\s)"  # "drusen, both hard and soft, are noted"
    r"|,\s{0,3}(?=(?:no|not|none|absent|negative|false|"
    r"(?:very |highly |quite )?unlikely|improbable|doubtful|ruled out|excluded|(?:已)?排除|不存在|阴性|"
    r"未见|未发现|无|没有|否)(?:\s{0,3}(?:$|[.;])|"  # "drusen, none."
    r"\s(?:evidence|signs?|features?|indications?|present|seen|detected|visible|found|observed)(?![a-z]))))?"
    r"[\s\"'\])}]{0,6}(?:\([^()]{0,80}\)\s{0,3})?(?:[:=->]{1,3}\s{0,3})?"
    r"(?:(?:is|are|was|were|has|have|been|be|can|could|appears?|seems?|looks?|to|also|clearly|"
    r"therefore|thus|hence|accordingly|definitely|safely|confidently|reasonably|would|considered|deemed|most|very|highly|quite|all|both|a|an)\s{1,3}){0,4}"
)
_HEDGED_AFTER = re.compile(
    r"[\s\"'\]):]{0,6}(?:" + phrases("hedging.hedged_after").replace(r" )(?![a-z])", r" )") + ")",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(_LINK + "(?:" + phrases("negation.denied_after") + ")", re.IGNORECASE)
_ASSERTED_AFTER = re.compile(_LINK + "(?:" + phrases("assertion.asserted_after") + ")", re.IGNORECASE)
_PART = re.compile(rf"(?<![a-z])(?:{entry('eye_parts.eye_parts')})(?![a-z])", re.IGNORECASE)
_CHOSEN = re.compile(
    r",\s?(?:(?:so|hence|thus|therefore|and)\s)?(?:[^,.]{0,40}\s)?I(?:\swould|'d)?"
    r"\s(?:pick|choose|select|answer|opt for|go with|vote for)\s"
    r"|,\s?(?:因此|所以|故)?(?:我)?(?:属于?|考虑为?|诊断为?|判断为|归为|选择)",
    re.IGNORECASE,
)  # the answer follows, and is not about the parts before it
_NOT_WHOLE = re.compile(
    rf"\s{{1,3}}(?!(?:{entry('eye_parts.whole_eye_after')})(?![a-z]))[a-z]|-[a-z]|范围|大小|形态|色泽|值", re.IGNORECASE
)
_OF_PART = re.compile(
    r"\s{1,3}(?:in|of|on|within|at|for)\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?"
    + f"(?:{entry('eye_parts.eye_parts')})(?![a-z])",
    re.IGNORECASE,
)


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
_REACH_END = re.compile(
    rf"[,:;|({{\[、]|{phrases('negation.scope_ends')}|{phrases('negation.reach_ends')}",
    re.IGNORECASE,
)


_NEGATED_BEHIND = re.compile(
    r"[\s\"')\]]{0,3}(?:\w{1,12}\s){0,2}?(?:cannot|(?:can|could|is|was|does|did|has|should|would)(?: not|n't)"
    r"|never)(?!\s(?:only|just|merely|in doubt|in question))(?![a-z])"
    r"|[\s\"')\]]{0,3}(?:的|诊断|征象|表现){0,2}(?:不(?!仅|但|同|规则|均)|未|无法|难以)"
    r"|[^,.;:]{0,40}?(?<![a-z])(?:in (?:neither|no) |nowhere)"
    r"|\W{1,4}(?:no|not|none|false|absent|negative|wrong|incorrect)(?![a-z])(?!\s\w)|-(?:free|like)(?![a-z])",
    re.IGNORECASE,
)  # "a diagnosis of glaucoma cannot ..."
_CALLED_FALSE = re.compile(
    r"\s(?:is|are|was|were) (?:present|seen|there|visible|found)[\"']?\s?(?:here )?(?:is|was|would be) (?:wrong"
    r"|incorrect|false|untrue|mistaken|an error)",
    re.IGNORECASE,
)  # "the claim that drusen are present is false"
_EVIDENCE = (
    r"signs?|evidence|features?|findings?|indicati(?:ons?|ve)|suggestive|suspicion|cases?|diagnos[ie]s|presence|pictures?|appearance"
    r"|patterns?|stages?|forms?|types?|degree|typical|characteristics?|changes?|symptoms?|criteria|extent|amount|number|areas?|spots?"
    r"|patch(?:es)?|clusters?|plenty|lots?|lot|couple|bit|because|image|photo(?:graph)?|picture|example|instance|show(?:s|ing)?|result"
    r"|effects?|consequences?|traces?|hints?|kind|history|stigmata|hallmarks?|proof|indicators?|likelihood|probability|chance|all|some|most"
    r"|any|several|many|none|one|out|top|part|full|and|or|terms|consists|consisting|speaks?|composed|made|suffer(?:s|ing)?|affected|caused"
    r"|explained|rather|instead|more|result(?:s|ing)?|arising|due|label|class|answer|option|choice|favou?r|that|those|other|free|absence|lack(?:ing)?|shortage|dearth|devoid|void|doubt"
)
_NOT_EARNED = re.compile(
    rf"[!~?]\s?$|\(-\)\s?$|(?<![a-z])non\W{{1,4}}$|(?<![a-z])in\s$"
    rf"|(?<![a-z])(?!(?:{_EVIDENCE})\s)[a-z]{{2,20}}\s(?:of|from|by|than)\s(?:(?:an?|the|any)\s)?$"
    r"|(?<![a-z])(?:prone|chance|risk|predisposed)\s(?:of|to|for)\s$|(?<![a-z])(?:everything|anything"
    r"|something)\s(?:but|other than)\s$|误$",
    re.IGNORECASE,
)  # what stands directly before a name without asserting it: "devoid of", "different from", "large in"
_OF_SOMETHING_ELSE = re.compile(
    r"(?<![a-z])(?:no|not|n't)\s(?:\w{1,12}\s){0,3}?(?:information|opinion|cure|idea|comment|data|question|test|treatment|know|all|every|each"
    r"|mention(?:ed)?)\s(?:\w{1,12}\s){0,3}$|没有(?:办法|提到|提及|谈到|涉及|说明|询问)[^,]{0,4}$|未(?:提及|评估|说明|检查|询问)$",
    re.IGNORECASE,
)  # "no information on", "not all"


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
        return None if _THAT.search(before) and denies(before) else "denied"
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


_EXCEPTION = re.compile(
    r"(?<![a-z])(?:other than|apart from|aside from|besides|except(?:ing| for)?|beyond(?! the))(?![a-z])|除(?!外)",
    re.IGNORECASE,
)


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


_WITHOUT = r"(?:without|free\s(?:of|from)|devoid\sof|lacking(?:\sin)?|negative\sfor|spared\s(?:by|from))"
_NOT = r"(?:(?<![a-z])(?:not|never|hardly|by no means|far from|anything but)|n't)"
_BE = r"(?:be|been|quite|entirely|wholly|completely|altogether|totally|fully|truly|really|exactly)"
_ONE = rf"an?\s(?:{'|'.join(entry('generic.subjects.en'))})"
_CALLED = (
    r"(?:said|called|considered|described|regarded|deemed|judged|declared|termed|labell?ed)(?:\s(?:to be|as))?"
    r"(?:\s(?:entirely|completely|truly|fully))?"
)
_THERE_IS = r"(?:that\s)?(?:there\s(?:is|are|was|were)|(?:the|this|it)(?:\s\w{1,12}){0,2}\s(?:has|shows|contains))"
_ABSENT = re.compile(
    rf"(?:{_NOT}\s(?:{_BE}\s){{0,2}}(?:{_ONE}\s)?|(?<![a-z])(?:cannot|can\snot|can't|could\snot)\sbe\s{_CALLED}\s){_WITHOUT}"
    rf"|(?:{phrases('negation.called_wrong')})\s(?:say|claim|conclude|state|think|assume|suggest)\s{_THERE_IS}\sno(?![a-z])"
    rf"|(?:{phrases('negation.called_wrong')})\s(?:{phrases('negation.call_verbs')})\s(?:it|(?:this|the)(?:\s\w{{1,12}}){{1,2}})\s{_WITHOUT}"
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
