"""Parse whether a patient has one condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import SIGNS, Finding
from lmod_train.tasks.parsing.choice import choice_in_prose, read_slot
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import forms_of, mention_of, pattern_of
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.reading import Claim, answer_in
from lmod_train.tasks.parsing.slots import slot_after
from lmod_train.tasks.parsing.stance import (
    WINDOW,
    clauses,
    contains_negation,
    is_generic_about_part,
    is_scored,
    stance,
    statements,
)

_LOGICAL = re.compile(r"(?<![a-z])(?:true|false|yes)(?![a-z])", re.IGNORECASE)
_BARE = compiled("finding.bare", 0)
_NUMBERED = phrases("finding.numbered")
_OTHER_LABEL = compiled("finding.other_label", 0)
_LONGEST_LABEL = 200
"""Number of characters that hold every match of `_OTHER_LABEL`, so that a long text is not searched at each word."""
_LABEL = re.compile(
    rf"(?:^|[\n;,{{|。])[\s\"'*(\[-]{{0,6}}{_NUMBERED}(?P<label>[^\W\d][\w \-()/]{{0,60}})"
    rf"[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"'(\[]{{0,2}}(?:{pattern_of([*entry('answers.yes'), *entry('answers.no')])})"
    r"(?=\s{0,3}(?:$|[\"'.;,\n)}。]))",
    re.IGNORECASE,
)
_GENERAL = compiled("finding.general")
_BARE_FIRST = re.compile(r"\W{0,9}(?:true|false)\W{0,9}[;.,\n]", re.IGNORECASE)
_EITHER = r"(?:\s?/\s?|,?\s(?:or|versus|vs\.?)\s(?:an?\s)?|或者?|还是)"
_HAS = phrases("finding.has")
"""The wording of the question, "this patient has"."""
_ANSWER = (
    rf"\W{{0,4}}(?:is |are |was |were |: ?)?(?:{pattern_of([*entry('answers.yes')[:4], *entry('answers.no')[:4]])})"
)


def parse_finding(text: str, choices: Sequence[str], finding: Finding) -> str | Unparsed:
    """Return the choice, yes or no, that the text states about one condition.

    The condition may be named by any synonym ("no signs of drusen", 未见出血), or the answer be bare ("TRUE; ...", "No,
    ..."). An answer behind the name of another condition is no answer ("GLAUCOMA TRUE" where AMD was asked). A
    statement about the condition that contradicts a TRUE or FALSE beside it ("no drusen; TRUE") is ambiguous.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The prompt's words for yes and no, e.g. ``("TRUE", "FALSE")``.
        finding: The condition asked about.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` or ``ambiguous``.

    Example:
        >>> from lmod_train.core.vocabulary.findings import FINDINGS
        >>> amd = FINDINGS[1]
        >>> parse_finding("AMD FALSE; Explanations: no drusen", ("TRUE", "FALSE"), amd)
        'FALSE'
        >>> parse_finding("The patient has age-related macular degeneration.", ("TRUE", "FALSE"), amd)
        'TRUE'
    """
    return answer_in(
        text, lambda slot: _read_slot(slot, choices, finding), lambda prose: _in_prose(prose, choices, finding)
    )


def _read_slot(slot: Slot, choices: Sequence[str], finding: Finding) -> Claim | None:
    """Return the choice that a slot states about the condition; None for one about something else."""
    claims = _claims(finding, choices)
    if finding.structure and re.fullmatch(f"(?:the )?(?:{finding.structure})", slot.name.strip(), re.IGNORECASE):
        stated = _named(f"{slot.name} is {clean(slot.value)}", finding, claims)
        return claims[stated] if isinstance(stated, str) else None
    name, value = renamed(slot.name, finding), as_condition(clean(slot.value), finding)
    claim = read_slot(replace(slot, name=name, value=value), tuple(claims))
    if isinstance(claim, str):
        return claims[claim]
    return claim


def _claims(finding: Finding, choices: Sequence[str]) -> dict[str, str]:
    """Return what is claimed of the condition -> choice."""
    yes, no = choices
    return {f"{finding.condition} yes": yes, f"{finding.condition} no": no}


def _in_prose(text: str, choices: Sequence[str], finding: Finding) -> str | Unparsed:
    """Return the choice that prose states about the condition."""
    yes, no = choices
    claims = _claims(finding, choices)
    named = _named(text, finding, claims)
    head, _ = split_explanation(text)
    if isinstance(named, str) and (corrected := final_statement(text)) is not None and final_statement(head) is None:
        head, _ = split_explanation(corrected)  # a correction behind the explanation replaces the text before it
    own = mention_of(finding.condition).search(head)
    if isinstance(named, str):
        if claims[named] == yes and not own and _has_another(finding.condition).search(head):
            return Unparsed("no_match", head.strip()[:80])  # "The patient has AMD. TRUE" where drusen was asked
        contradicting = _bare(head, finding.condition, choices) - {claims[named]}
        if not contradicting and (behind := _behind(head, finding, claims)) is not None:
            contradicting = {behind} - {claims[named]}
        if contradicting:
            return Unparsed("ambiguous", f"{claims[named]} and {contradicting.pop()}")
        return claims[named]
    if named.reason != "no_match":
        return Unparsed(named.reason, named.detail)
    hedged = own and not _LOGICAL.search(head)  # "AMD may be present"
    if hedged or _other(finding.condition).search(head) or _of_another(head, finding):
        return Unparsed("no_match", head.strip()[:80])
    general = choice_in_prose(text, (yes, no))
    stated = _stated_last(head, finding.condition, choices)
    return stated if stated and isinstance(general, Unparsed) and general.reason == "no_match" else general


def _named(text: str, finding: Finding, claims: Mapping[str, str]) -> str | Unparsed:
    """Return the claim about the condition, by its name or by its structure."""
    return choice_in_prose(as_condition(_alternatives_left_open(text, finding.condition), finding), tuple(claims))


def _bare(head: str, condition: str, choices: Sequence[str]) -> set[str]:
    """Return the choices stated by bare TRUE and FALSE in the head; in a corrected head, by the correction only."""
    corrected = final_statement(head)
    text = _other(condition).sub("", head if corrected is None else corrected)
    yes, no = choices
    return {
        yes if m[0].casefold() == "true" else no
        for clause in statements(text)
        for part in re.split("[,，]", clause)  # "no drusen, TRUE": "no" does not reach TRUE
        for m, before in _with_text_before(part, mention_of(condition))
        if not _OTHER_LABEL.search(before)
        if stance(part, m.start(), m.end(), bare=True) == "asserted"
    }


def _with_text_before(part: str, own: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each bare TRUE or FALSE with the end of the text before it, in which the condition's names are blanks."""
    before, end = "", 0
    for word in _BARE.finditer(part):
        before = (before + own.sub(" ", part[end : word.start()]))[-_LONGEST_LABEL:]
        end = word.start()
        yield word, before


_LAST_WORD = compiled("finding.last_word")


def _stated_last(head: str, condition: str, choices: Sequence[str]) -> str | None:
    """Return the choice behind a word that chooses it: "I'd answer TRUE.", "deposits are seen, so FALSE"."""
    chosen = [m for m in _LAST_WORD.finditer(head) if not contains_negation(head[max(0, m.start() - 40) : m.start()])]
    found = {m["word"] for m in chosen}
    stated = _bare(head, condition, choices)
    return stated.pop() if len(found) == len(stated) == 1 else None


def _of_another(head: str, finding: Finding) -> bool:
    """Return whether an answer has the label of something else ("Exudates: TRUE")."""
    structure = re.compile(finding.structure or "(?!)", re.IGNORECASE)
    own = (mention_of(finding.condition), structure, _GENERAL)
    return any(not any(named.search(m["label"]) for named in own) for m in _LABEL.finditer(head))


def _behind(head: str, finding: Finding, claims: Mapping[str, str]) -> str | None:
    """Return the choice stated about the condition behind a leading TRUE or FALSE, None without one."""
    first = _BARE_FIRST.match(head)
    if first is None or final_statement(head) is not None:
        return None
    named = _named(head[first.end() :], finding, claims)
    return claims[named] if isinstance(named, str) else None


@lru_cache(maxsize=64)
def _other(condition: str) -> re.Pattern[str]:
    """Return a pattern of an answer about any other condition."""
    return re.compile(pattern_of(_others(condition)) + "(?i:" + _ANSWER + ")")


def _others(condition: str) -> list[str]:
    """Return the names of all other conditions but "normal"."""
    own = set(forms_of(condition))
    return [form for term in CONDITIONS for form in forms_of(term.name) if form not in own and term.name != "normal"]


@lru_cache(maxsize=64)
def _has_another(condition: str) -> re.Pattern[str]:
    """Return a pattern of "the patient has" another condition; for a disease, other than a sign."""
    signs = {form for name in SIGNS - {condition} for form in forms_of(name)} if condition not in SIGNS else set()
    return re.compile(f"(?i:{_HAS})" + pattern_of(form for form in _others(condition) if form not in signs))


@lru_cache(maxsize=64)
def _either(condition: str) -> re.Pattern[str]:
    """Return a pattern of the condition and another one as alternatives."""
    own, other = pattern_of(forms_of(condition)), pattern_of(_others(condition))
    return re.compile(f"{own}{_EITHER}{other}|{other}{_EITHER}{own}")


def _alternatives_left_open(text: str, condition: str) -> str:
    """Return the text with "X or Y" as "possible X or Y", which asserts neither; a denied one denies both and stays."""

    def opened(m: re.Match[str]) -> str:
        ahead = clauses(text[max(0, m.start() - WINDOW) : m.start()] + "x")
        behind = clauses("x" + text[m.end() : m.end() + WINDOW])
        denied = any(contains_negation(part) for part in (*ahead[-1:], *behind[:1]))
        return m[0] if denied else f"possible {m[0]}"

    return _either(condition).sub(opened, text)


_ANSWERED = re.compile(r"\W{0,4}(?:TRUE|FALSE)(?![A-Za-z])")
_CALLED = compiled("predicate.called")
_NOT_A = compiled("predicate.not_a")
_OR_OTHER = compiled("predicate.or_other")
_NOT_THE = compiled("predicate.not_the")


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
        after = m.string[m.end() : m.end() + WINDOW]
        if mention_of(finding.condition).fullmatch(m[0]) and (slot_after(m.string, m.end()) or is_scored(m[0], after)):
            return m[0]  # the name of the condition with its answer behind it, or with a number
        if m["adjective"] and not m["not"] and len(m[0].split()) == 2 and _ANSWERED.match(after):
            return finding.condition  # "MACULA ABNORMAL FALSE"
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

    text = _said("pronoun", finding).sub(r"\g<part>\g<between>\g<part>", text)
    text = _said("headed", finding).sub(
        lambda m: f"{m['open']}{absent if _odd(m['no'], m['normal']) else present}", text
    )
    text = _said("increased", finding).sub(
        lambda m: m[0] if mention_of(finding.condition).fullmatch(m[0]) else finding.condition, text
    )
    text = _said("anything", finding).sub(lambda m: present if m["some"] else absent, text)
    text = _said("shows", finding).sub(lambda m: absent if m["no"] else present, text)
    text = _said("unlike_other", finding).sub(lambda m: f"; {absent if m['adjective'] else present}", text)
    text = _said("contrast_present", finding).sub(present, text)
    text = _said("contrast_absent", finding).sub(absent, text)
    return _said("attribute", finding).sub(attribute, _said("predicate", finding).sub(predicate, text))


def renamed(name: str, finding: Finding) -> str:
    """Return a key with another name of the condition replaced by its own: "Increased C/D ratio".

    Example:
        >>> from lmod_train.core.vocabulary.findings import FINDINGS
        >>> (ratio,) = (f for f in FINDINGS if f.condition == "increased cup-to-disc ratio")
        >>> renamed("Enlarged CDR", ratio)
        'increased cup-to-disc ratio'
    """
    return _said("increased", finding).sub(finding.condition, name) if finding.structure else name


def _clause_before(m: re.Match[str]) -> str:
    """Return the text before a match within its clause."""
    return clauses(m.string[max(0, m.start() - WINDOW) : m.start()] + "x")[-1][:-1]


def _odd(*negations: object) -> bool:
    """Return whether an odd number of negations apply."""
    return sum(map(bool, negations)) % 2 == 1


@lru_cache(maxsize=512)
def _said(name: str, finding: Finding) -> re.Pattern[str]:
    """Return a pattern of statements about the finding's structure, an entry of `predicate.toml`."""
    normal = entry("findings.normal")
    noun = "abnormality" if "abnormal" in finding.adjective else "nothing"
    return compiled(
        f"predicate.{name}",
        part=finding.structure,
        adjective=_any(finding.adjective),
        normal=_any(normal),
        attributes="|".join(normal.split("|")[:4]),
        noun=entry(f"predicate.{noun}"),
    )


def _any(words: str) -> str:
    several = words.split("|")
    return any_of([w for w in several if w.isascii()], [w for w in several if not w.isascii()])
