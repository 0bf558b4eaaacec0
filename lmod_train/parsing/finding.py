"""Read whether a patient has one condition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lmod_train.parsing.choice import parse_choice
from lmod_train.parsing.cues import settled, split_explanation
from lmod_train.parsing.forms import forms_of, pattern_of
from lmod_train.parsing.stance import WINDOW, clauses, denies_ahead, stance, statements
from lmod_train.parsing.structure import as_condition
from lmod_train.types import Unparsed
from lmod_train.vocabulary import answers as said
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.findings import SIGNS, Finding

_LOGICAL = re.compile(r"(?<![a-z])(?:true|false|yes)(?![a-z])", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w-])(?:TRUE|FALSE|[Tt]rue(?=\W{0,9}$|[,:)])|[Ff]alse(?=\W{0,9}$|[,:)]))(?![\w-])"
)  # not "a true scar"
_OTHER_LABEL = re.compile(
    r"^\W{0,9}(?!(?i:answer|verdict|diagnosis|result|label)\b)[^\W\d][^:=\n]{0,60}[:=][^:=]{0,9}$"
)
_LABEL = re.compile(
    r"(?:^|[\n;,{|])[\s\"'*(\[-]{0,6}(?P<label>[^\W\d][\w \-()/]{0,60})[\"']?\s{0,3}[:=]\s{0,3}[\"'(\[]{0,2}"
    r"(?:true|false)(?![a-z])",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"answer|verdict|diagnosis|result|label|output|prediction|statement|response|decision|image|patient|question"
    r"|conclusion|class|condition|disease|presence|present|decision|judge?ment|assessment|reading|call|choice|opinion"
    r"|答|判断|判定|结论|结果|诊断|选择",
    re.IGNORECASE,
)
_BARE_FIRST = re.compile(r"\W{0,9}(?:true|false)\W{0,9}[;.,\n]", re.IGNORECASE)
_EITHER = r"(?:\s?/\s?|,?\s(?:or|versus|vs\.?)\s(?:an?\s)?|或者?|还是)"
_HAS = (
    r"(?:(?:patient|subject|person|he|she|eye)\s(?:likely |probably |clearly |definitely |also )?"
    r"(?:has|have|suffers from|is diagnosed with|shows|presents with)\s(?:an?\s|signs of\s)?|患者(?:患)?有)"
)
"""The words of the question, "this patient has": the answer to it is of what they name."""
_ANSWER = rf"\W{{0,4}}(?:is |are |was |were |: ?)?(?:{pattern_of([*said.YES[:4], *said.NO[:4]])})"


def parse_finding(text: str, choices: Sequence[str], finding: Finding) -> str | Unparsed:
    """Return the choice for "has it" or "has it not", as the text states it of one condition.

    The condition may be named by any synonym ("no signs of drusen", 未见出血), or the answer stand alone ("TRUE; ...",
    "No, ..."). An answer behind the name of another condition is no answer ("GLAUCOMA TRUE" where AMD was asked). Where
    what is said of the condition and a TRUE or FALSE beside it differ ("no drusen; TRUE"), neither is taken.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The prompt's words for yes and no, e.g. ``("TRUE", "FALSE")``.
        finding: What was asked.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` or ``ambiguous``.

    Example:
        >>> from lmod_train.vocabulary.findings import FINDINGS
        >>> amd = FINDINGS[1]
        >>> parse_finding("AMD FALSE; Explanations: no drusen", ("TRUE", "FALSE"), amd)
        'FALSE'
        >>> parse_finding("The patient has age-related macular degeneration.", ("TRUE", "FALSE"), amd)
        'TRUE'
    """
    if not text.strip():
        return Unparsed("empty")
    yes, no = choices
    claims = {f"{finding.condition} yes": yes, f"{finding.condition} no": no}
    named = _named(text, finding, claims)
    head, _ = split_explanation(text)
    if isinstance(named, str) and (corrected := settled(text)) is not None and settled(head) is None:
        head, _ = split_explanation(corrected)  # a correction behind the explanations counts, not what it corrects
    own = _own(finding.condition).search(head)
    if isinstance(named, str):
        if claims[named] == yes and not own and _has_another(finding.condition).search(head):
            return Unparsed("no_match", head.strip()[:80])  # "The patient has AMD. TRUE" where drusen was asked
        against = _bare(head, finding.condition, choices) - {claims[named]}
        if not against and (behind := _behind(head, finding, claims)) is not None:
            against = {behind} - {claims[named]}
        return Unparsed("ambiguous", f"{claims[named]} and {against.pop()}") if against else claims[named]
    if named.reason != "no_match":
        return Unparsed(named.reason, named.detail)
    hedged = own and not _LOGICAL.search(head)  # "AMD may be present"
    if hedged or _other(finding.condition).search(head) or _of_another(head, finding):
        return Unparsed("no_match", head.strip()[:80])
    return parse_choice(text, (yes, no))


def _named(text: str, finding: Finding, claims: Mapping[str, str]) -> str | Unparsed:
    """Return the claim that is made of the condition by its name or, where it has one, of its structure."""
    return parse_choice(as_condition(_alternatives_left_open(text, finding.condition), finding), tuple(claims))


def _bare(head: str, condition: str, choices: Sequence[str]) -> set[str]:
    """Return the choices that TRUE and FALSE before the explanations say; of a correction, what it says last."""
    corrected = settled(head)
    spoken = _other(condition).sub("", head if corrected is None else corrected)
    yes, no = choices
    return {
        yes if m[0].casefold() == "true" else no
        for clause in statements(spoken)
        for part in re.split("[,，]", clause)  # "no drusen, TRUE": the no does not reach it
        for m in _BARE.finditer(part)
        if not _OTHER_LABEL.search(_own(condition).sub(" ", part[: m.start()]))
        if stance(part, m.start(), m.end(), bare=True) == "asserted"
    }


def _of_another(head: str, finding: Finding) -> bool:
    """Return whether a line answers under a label of something else ("Exudates: TRUE")."""
    structure = re.compile(finding.structure or "(?!)", re.IGNORECASE)
    own = (_own(finding.condition), structure, _GENERAL)
    return any(not any(named.search(m["label"]) for named in own) for m in _LABEL.finditer(head))


def _behind(head: str, finding: Finding, claims: Mapping[str, str]) -> str | None:
    """Return what is said of the condition behind a TRUE or FALSE that comes first; None where nothing is."""
    first = _BARE_FIRST.match(head)
    if first is None or settled(head) is not None:
        return None
    named = _named(head[first.end() :], finding, claims)
    return claims[named] if isinstance(named, str) else None


@lru_cache(maxsize=64)
def _own(condition: str) -> re.Pattern[str]:
    return re.compile(pattern_of(forms_of(condition)))


@lru_cache(maxsize=64)
def _other(condition: str) -> re.Pattern[str]:
    """Return a pattern of an answer that is given to any other condition."""
    return re.compile(pattern_of(_others(condition)) + "(?i:" + _ANSWER + ")")


def _others(condition: str) -> list[str]:
    """Return all names of other conditions."""
    own = set(forms_of(condition))
    return [form for term in CONDITIONS for form in forms_of(term.name) if form not in own and term.name != "normal"]


@lru_cache(maxsize=64)
def _has_another(condition: str) -> re.Pattern[str]:
    """Return a pattern of "the patient has" another condition, of a disease not those that are signs."""
    signs = {form for name in SIGNS - {condition} for form in forms_of(name)} if condition not in SIGNS else set()
    return re.compile(f"(?i:{_HAS})" + pattern_of(form for form in _others(condition) if form not in signs))


@lru_cache(maxsize=64)
def _either(condition: str) -> re.Pattern[str]:
    """Return a pattern of the condition and another one as alternatives."""
    own, other = pattern_of(forms_of(condition)), pattern_of(_others(condition))
    return re.compile(f"{own}{_EITHER}{other}|{other}{_EITHER}{own}")


def _alternatives_left_open(text: str, condition: str) -> str:
    """Write "X or Y" as "possible X or Y", for it says neither; denied, it denies both and stays."""

    def opened(m: re.Match[str]) -> str:
        ahead = clauses(text[max(0, m.start() - WINDOW) : m.start()] + "x")
        behind = clauses("x" + text[m.end() : m.end() + WINDOW])
        denied = any(denies_ahead(part) for part in (*ahead[-1:], *behind[:1]))
        return m[0] if denied else f"possible {m[0]}"

    return _either(condition).sub(opened, text)
