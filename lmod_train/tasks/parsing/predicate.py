"""Rewrite statements about a structure as statements about the condition ("the macula is normal")."""

from __future__ import annotations

import re
from functools import lru_cache

from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.core.vocabulary.findings import Finding
from lmod_train.tasks.parsing.forms import forms_of, pattern_of
from lmod_train.tasks.parsing.generic import is_generic_about_part
from lmod_train.tasks.parsing.slots import slot_after
from lmod_train.tasks.parsing.stance import WINDOW, clauses

_TOGETHER = phrases("predicate.together")
_LINK = phrases("predicate.link")
_CALLED = compiled("predicate.called")
_NOT_A = re.compile(r"(?:(?<![a-z])(?:not|hardly|anything but|far from)|n't)\s(?:an?|the)\s$", re.IGNORECASE)
_OR_OTHER = re.compile(r"\s?(?:/|(?:n?or|versus|vs)\s|或者?|还是)\s?(?:ab)?(?:normal|正常|异常)", re.IGNORECASE)
_NOT_ANY = r"(?<![a-z])(?:not|never|cannot|hardly|without|\w{1,7}n't)"
_NOT_THE = re.compile(r"(?:(?<![a-z])not|n't)\s$", re.IGNORECASE)


def as_condition(text: str, finding: Finding) -> str:
    """Return the text with statements about the finding's structure rewritten as "no X" and "X is present".

    Negations invert a statement ("the macula is not normal", "I would not call the macula abnormal"), and so do
    contrasts ("it is not the macula that is abnormal but the vessels").

    Example:
        >>> from lmod_train.core.vocabulary.findings import FINDINGS
        >>> (macula,) = (f for f in FINDINGS if f.condition == "abnormal macula")
        >>> as_condition("The macula is normal.", macula), as_condition("The macula is not normal.", macula)
        ('no abnormal macula.', 'abnormal macula is present.')
        >>> as_condition("异常的不是黄斑,而是视盘", macula)
        'no abnormal macula,而是视盘'
    """
    if not finding.structure:
        return text
    present, absent = f"{finding.condition} is present", f"no {finding.condition}"

    def predicate(m: re.Match[str]) -> str:
        if _own(finding.condition).fullmatch(m[0]) and slot_after(m.string, m.end()):
            return m[0]  # the name of the condition with its answer behind it
        before = _clause_before(m)
        if is_generic_about_part(before, "") or _OR_OTHER.match(m.string, m.end()):
            return m[0]
        apart = _odd(_CALLED.search(before), m["that"] and _NOT_THE.search(before))
        asserted = (m["adjective"] is not None) != _odd(m["not"], apart)
        return "; " * apart + (present if asserted else absent)  # "; ": the negation before must not apply twice

    def attribute(m: re.Match[str]) -> str:
        before = _clause_before(m)
        if is_generic_about_part(before, m.string[m.end() : m.end() + WINDOW]):
            return m[0]
        return f"; {present}" if _odd(_CALLED.search(before), _NOT_A.search(before)) else absent

    text = _headed(finding).sub(lambda m: f"{m['open']}{absent if _odd(m['no'], m['normal']) else present}", text)
    text = _increased(finding).sub(
        lambda m: m[0] if _own(finding.condition).fullmatch(m[0]) else finding.condition, text
    )
    text = _anything(finding).sub(lambda m: present if m["some"] else absent, text)
    text = _shows(finding).sub(lambda m: absent if m["no"] else present, text)
    text = _unlike_other(finding).sub(lambda m: f"; {absent if m['adjective'] else present}", text)
    for pattern, words in zip(_contrasts(finding), (present, absent), strict=True):
        text = pattern.sub(words, text)
    return _attribute(finding).sub(attribute, _predicate(finding).sub(predicate, text))


def renamed(name: str, finding: Finding) -> str:
    """Return a key with another name of the condition replaced by its own: "Increased C/D ratio".

    Example:
        >>> from lmod_train.core.vocabulary.findings import FINDINGS
        >>> (ratio,) = (f for f in FINDINGS if f.condition == "increased cup-to-disc ratio")
        >>> renamed("Enlarged CDR", ratio)
        'increased cup-to-disc ratio'
    """
    return _increased(finding).sub(finding.condition, name) if finding.structure else name


def _clause_before(m: re.Match[str]) -> str:
    """Return the text before a match within its clause."""
    return clauses(m.string[max(0, m.start() - WINDOW) : m.start()] + "x")[-1][:-1]


def _odd(*negations: object) -> bool:
    """Return whether an odd number of negations apply."""
    return sum(map(bool, negations)) % 2 == 1


@lru_cache(maxsize=64)
def _own(condition: str) -> re.Pattern[str]:
    return re.compile(pattern_of(forms_of(condition)))


@lru_cache(maxsize=64)
def _predicate(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "the macula is (not) normal" and "the macula that is abnormal"."""
    return re.compile(
        rf"{_structure(finding)}(?P<that>\s(?:that|which)(?=\s))?{_LINK}"
        rf"(?:(?P<adjective>{_any(finding.adjective)})|(?:{_any(entry('findings.normal'))}))",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _headed(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "(not) abnormal: the macula", also with other structures beside it."""
    return re.compile(
        rf"(?P<open>^|[\n.;]\s?)(?P<no>not\s)?(?:(?P<normal>normal)|(?:{_any(finding.adjective)}))"
        rf"\s?[:-]\s(?:(?:the\s)?(?:optic\s)?\w{{1,12}}(?:,\s|\sand\s)){{0,3}}{_structure(finding)}(?=\s?(?:$|[.,;\n]|and\s))",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _shows(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "the macula shows (no) abnormality", of "abnormal" only."""
    noun = r"(?:abnormalit(?:y|ies)|changes|lesions?)" if "abnormal" in finding.adjective else r"(?!)"
    return re.compile(
        rf"{_structure(finding)}\s(?:shows?|has|have|displays?|exhibits?)\s(?:(?P<no>no)\s|an?\s)?"
        rf"(?:(?:clear|obvious|visible|significant|marked|definite|apparent|evident|other|any)\s)?{noun}(?![a-z])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _anything(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "nothing", "not anything" or "something abnormal about the macula"."""
    return re.compile(
        rf"(?:(?P<some>(?<![a-z])something)|(?<![a-z])nothing|{_NOT_ANY}\s(?:\w{{1,12}}\s){{0,2}}anything)\s"
        rf"(?:(?:clearly|obviously|particularly|visibly)\s)?(?:{_any(finding.adjective)})\s"
        rf"(?:about|in|with|on|at|of)\s{_structure(finding)}",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _unlike_other(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "(the disc) is normal, the macula is not"."""
    return re.compile(
        rf"(?<=\s)(?:is|are|looks?|appears?)\s(?:(?P<adjective>{_any(finding.adjective)})|normal|healthy)"
        rf"[,;]?(?:\s(?:and|but|while|whereas))?\s{_structure(finding)}\s(?:is|are|does|do)(?:\snot|n't)(?=\s?(?:[.;,\n]|$))",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _increased(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "increased CDR", another name of the condition."""
    return re.compile(rf"(?<![a-z])(?:{_any(finding.adjective)})\s(?:{finding.structure})(?![a-z])", re.IGNORECASE)


@lru_cache(maxsize=64)
def _attribute(finding: Finding) -> re.Pattern[str]:
    """Return a pattern of "normal macula", for the adjectives that can precede their noun."""
    attribute = "|".join(entry("findings.normal").split("|")[:4])
    return re.compile(rf"(?<![a-z])(?:{attribute})\s(?:{finding.structure})(?![a-z])", re.IGNORECASE)


@lru_cache(maxsize=64)
def _contrasts(finding: Finding) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns of contrasts: those that call the structure abnormal, and those that call another so."""
    structure, other = _structure(finding), r"[^,.;!?\n]{1,40}?"
    adjective = _any(finding.adjective)
    chinese = rf"(?:{adjective})的(?:部位|结构|区域|地方)?"
    english = rf"(?:what (?:is|looks) (?:{adjective})|the (?:{adjective}) (?:structure|part|area|region|one)) is "
    present = (
        rf"{chinese}(?:是|为|(?:不是|并非|不在){other},?\s?而(?:是|在)){structure}"
        rf"|{english}(?:not {other},? but )?{structure}"
        rf"|(?<![a-z])not {other} that is (?:{adjective}),? but {structure}"
    )
    absent = (
        rf"{chinese}(?:(?:是|为){other},?\s?(?:而不是|而非|不是|并非)|不是|并非){structure}"
        rf"|{english}(?:{other},? (?:and )?)?not {structure}"
    )
    return re.compile(present, re.IGNORECASE), re.compile(absent, re.IGNORECASE)


def _structure(finding: Finding) -> str:
    return rf"(?<![a-z])(?:the\s)?(?:{finding.structure})(?![a-z])"


def _any(words: str) -> str:
    several = words.split("|")
    return any_of([w for w in several if w.isascii()], [w for w in several if not w.isascii()])
