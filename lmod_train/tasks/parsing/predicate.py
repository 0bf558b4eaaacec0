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

    text = _said("headed", finding).sub(lambda m: f"{m['open']}{absent if _odd(m['no'], m['normal']) else present}", text)
    text = _said("increased", finding).sub(
        lambda m: m[0] if _own(finding.condition).fullmatch(m[0]) else finding.condition, text
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


@lru_cache(maxsize=64)
def _own(condition: str) -> re.Pattern[str]:
    return re.compile(pattern_of(forms_of(condition)))


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
