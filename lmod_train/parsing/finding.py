"""Read whether a patient has one condition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lmod_train.parsing.choice import parse_choice
from lmod_train.parsing.cues import EXPLANATION, any_of, settled
from lmod_train.parsing.forms import forms_of, pattern_of
from lmod_train.parsing.stance import clauses, stance
from lmod_train.types import Unparsed
from lmod_train.vocabulary import phrases as said
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.findings import NORMAL, Finding

_BE = r"\s?(?:is|are|was|were|appears?|looks?|seems?)?(?: clearly| slightly| markedly| moderately)?(?: to be)?\s?"
_LOGICAL = re.compile(r"(?<![a-z])(?:true|false|yes)(?![a-z])", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w-])(?:TRUE|FALSE|[Tt]rue(?=\W*$|[,:)])|[Ff]alse(?=\W*$|[,:)]))(?![\w-])"
)  # not "a true scar"
_BARE_FIRST = re.compile(r"\W*(?:true|false)\W*[;.,\n；。，]", re.IGNORECASE)
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
    named = parse_choice(_as_condition(text, finding), tuple(claims))
    explained = EXPLANATION.search(text)
    head = text[: explained.start()] if explained else text
    if isinstance(named, str):
        against = _bare(head, finding.condition, choices) - {claims[named]}
        if not against and (behind := _behind(head, finding, claims)) is not None:
            against = {behind} - {claims[named]}
        return Unparsed("ambiguous", f"{claims[named]} and {against.pop()}") if against else claims[named]
    if named.reason != "no_match":
        return Unparsed(named.reason, named.detail)
    hedged = _own(finding.condition).search(head) and not _LOGICAL.search(head)  # "AMD may be present"
    if hedged or _other(finding.condition).search(head):
        return Unparsed("no_match", head.strip()[:80])
    return parse_choice(text, (yes, no))


def _bare(head: str, condition: str, choices: Sequence[str]) -> set[str]:
    """Return the choices that TRUE and FALSE before the explanations say; of a correction, what it says last."""
    corrected = settled(head)
    spoken = _other(condition).sub("", head if corrected is None else corrected)
    yes, no = choices
    return {
        yes if m[0].casefold() == "true" else no
        for clause in clauses(spoken)
        for part in re.split("[,，]", clause)  # "no drusen, TRUE": the no does not reach it
        for m in _BARE.finditer(part)
        if stance(part, m.start(), m.end(), bare=True) == "asserted"
    }


def _behind(head: str, finding: Finding, claims: Mapping[str, str]) -> str | None:
    """Return what is said of the condition behind a TRUE or FALSE that comes first; None where nothing is."""
    first = _BARE_FIRST.match(head)
    if first is None or settled(head) is not None:
        return None
    named = parse_choice(_as_condition(head[first.end() :], finding), tuple(claims))
    return claims[named] if isinstance(named, str) else None


@lru_cache(maxsize=64)
def _own(condition: str) -> re.Pattern[str]:
    return re.compile(pattern_of(forms_of(condition)))


@lru_cache(maxsize=64)
def _other(condition: str) -> re.Pattern[str]:
    """Return a pattern of an answer that is given to any other condition."""
    own = set(forms_of(condition))
    forms = [form for term in CONDITIONS for form in forms_of(term.name) if form not in own and term.name != "normal"]
    return re.compile(pattern_of(forms) + "(?i:" + _ANSWER + ")")


def _as_condition(text: str, finding: Finding) -> str:
    """Write what is said of a structure as said of the condition: "the macula is normal" as "no abnormal macula"."""
    if not finding.structure:
        return text
    structure = rf"(?<![a-z])(?:the\s)?(?:{finding.structure})(?![a-z])"
    for words, said_of in ((NORMAL, f"no {finding.condition}"), (finding.adjective, f"{finding.condition} is present")):
        several = words.split("|")
        adjective = any_of([w for w in several if w.isascii()], [w for w in several if not w.isascii()])
        text = re.sub(rf"{structure}{_BE}(?:{adjective})", said_of, text, flags=re.IGNORECASE)
    attribute = "|".join(NORMAL.split("|")[:4])  # "a normal macula"; the others follow their noun
    before = rf"(?<![a-z])(?:{attribute})\s(?:{finding.structure})(?![a-z])"
    return re.sub(before, f"no {finding.condition}", text, flags=re.IGNORECASE)
