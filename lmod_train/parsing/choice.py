"""Read one word out of the prompt's choices.

A choice is a claim: of a concept, asserted or denied. GLAUCOMA and NON-GLAUCOMA are two claims of one concept, TRUE and
FALSE two claims of whatever the prompt asked, cataract and normal claims of their own. A reply is read where it is most
deliberate first: an explicit final answer or correction, the requested format, a conclusion, then free text. There the
claims of every clause must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmod_train.parsing.cues import CONCLUSION, EXPLANATION, VERDICT, after, last, settled
from lmod_train.parsing.forms import forms_of, pattern_of, plain, term_of
from lmod_train.parsing.stance import clauses, of_the_whole, stance
from lmod_train.types import Unparsed
from lmod_train.vocabulary import phrases as said

_POLAR = rf"(?P<yes>{pattern_of(said.YES)})|(?P<no>{pattern_of(said.NO)})"
_POLAR_FIRST = re.compile(rf"[\s\"'(\[{{:=-]*(?:{_POLAR})(?P<rest>.*)", re.DOTALL)
_POLAR_LABEL = re.compile(rf"[\s\"'\])}}]*[:=\-–—(\[<]*\s*(?:{_POLAR})(?P<rest>.*)", re.DOTALL)
_AFTER_NO = re.compile(r"\s*(?:$|[,:/)\]}\"'\-–—]|(?:the|there|it|this|i|we|or)(?![a-z]))", re.IGNORECASE)
_ALTERNATIVE = re.compile(rf"\s*(?:/|or(?![a-z])|\||或)\s*(?:{_POLAR})", re.IGNORECASE)
_POLAR_LAST = re.compile(rf"(?P<either>{pattern_of([*said.YES, *said.NO])}\s*(?:/|or(?![a-z])|或)\s*)?(?:{_POLAR})\W*$")
_LABELLED = re.compile(
    rf"(?:[^:=\n]{{1,60}}[:=]|(?:(?!(?i:not?|isn't)\s)[\w()\-]{{1,20}}\s){{1,3}})\W*(?:{_POLAR})\W*"
)  # "AMD: FALSE", "AMD TRUE"; not "There is no AMD", and not "is not true"
_DENYING_WORD = re.compile(r"(?<![a-z])not(?![a-z])|n't|不|非", re.IGNORECASE)
_FILLER = re.compile(
    r"(?<![a-z])(?:the|an?|is|it|its|it's|this|that|of|for|eye|eyes|fundus|image|photograph|patient|answer|diagnosis|disease|"
    r"class|label|result|clearly|definitely|therefore|so|i|would|say|stage|retina|or|and|in|my|non|not|no)(?![a-z])"
    r"|[^\w]|[0-9_]|眼底?|的|或|和|、|是|为|诊断|答案|结果|该|图像|未见|无|非|没有",
    re.IGNORECASE,
)
_NON = re.compile(r"(?<![a-z])non(?=[a-z]{5})", re.IGNORECASE)
_DENYING = re.compile(
    r"(?:non|not|no)[\s\-_]+(?P<concept>.+)|(?P<concept2>.+?)[\s\-_]+(?:false|no|absent|negative)", re.IGNORECASE
)
_AFFIRMING = re.compile(r"(?P<concept>.+?)[\s\-_]+(?:true|yes|present|positive)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Concept:
    """What choices make claims of; `asserted` and `denied` are the choices, None where there is no such choice."""

    asserted: str | None
    denied: str | None
    mention: re.Pattern[str] | None
    adjective: bool


def parse_choice(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one choice that the text states, in the prompt's own spelling.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The prompt's own words. A pair such as GLAUCOMA / NON-GLAUCOMA or TRUE / FALSE is read as yes and no.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (nothing is stated, or something that is no choice), or
        ``ambiguous`` (two different choices are stated, also when the prompt's options are merely repeated).

    Example:
        >>> parse_choice("No signs of glaucoma.", ("GLAUCOMA", "NON-GLAUCOMA"))
        'NON-GLAUCOMA'
        >>> parse_choice("GLAUCOMA / NON-GLAUCOMA", ("GLAUCOMA", "NON-GLAUCOMA")).reason
        'ambiguous'
    """
    if not text.strip():
        return Unparsed("empty")
    concepts = _concepts(tuple(choices))
    text = _NON.sub("non-", text)
    spoken = settled(text)
    if spoken is not None:
        final = _verdict(spoken, concepts, final=True)
        if not (isinstance(final, Unparsed) and final.reason == "no_match"):
            return final
    return _verdict(text, concepts)


@lru_cache(maxsize=256)
def _concepts(choices: tuple[str, ...]) -> tuple[_Concept, ...]:
    """Return the concepts behind the choices; one without a mention is the prompt's own question (TRUE / FALSE)."""
    claims: dict[str | None, dict[bool, str]] = {}
    spelled: dict[str | None, str] = {}
    for choice in choices:
        concept, asserted = _claim_of(choice)
        key = None if concept is None else plain((term_of(concept) or _Bare(concept)).name)
        claims.setdefault(key, {})[asserted] = choice
        spelled.setdefault(key, concept or "")
    made = []
    for key, by_stance in claims.items():
        pattern = None
        if key is not None:
            pattern = re.compile(r"(?P<non>(?i:(?<![a-z])non)[\s\-_]{1,2})?" + pattern_of(forms_of(spelled[key])))
        made.append(_Concept(by_stance.get(True), by_stance.get(False), pattern, key == "normal"))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Bare:
    """Stands for the row of a word that the vocabulary does not have."""

    name: str


def _claim_of(choice: str) -> tuple[str | None, bool]:
    word = plain(choice)
    if word in said.YES or word in said.NO:
        return None, word in said.YES
    if denying := _DENYING.fullmatch(choice.strip()):
        return denying["concept"] or denying["concept2"], False
    if affirming := _AFFIRMING.fullmatch(choice.strip()):
        return affirming["concept"], True
    return choice, True


def _verdict(text: str, concepts: Sequence[_Concept], final: bool = False) -> str | Unparsed:
    """Read the requested format, then a conclusion, then free text; `final` text states its first clause."""
    explained = EXPLANATION.search(text)
    head = text[: explained.start()] if explained else text
    fields = [m["value"] for m in VERDICT.finditer(head) if re.search(r"\w", m["value"])]
    if fields:
        stated = [c for value in fields for c in _claims(value, concepts, bare=True)]
        if stated or all(len(value.split()) <= 6 for value in fields):
            return _decide(stated, "; ".join(fields))
    parts = clauses(head)
    if explained or final:
        stated = [c for part in (parts if explained else parts[:1]) for c in _claims(part, concepts, bare=True)]
    else:
        stated = list(_claims(parts[0], concepts, bare=True)) if parts and _is_bare(parts[0], concepts) else []
    if stated:
        return _decide(stated, head)
    concluded = last(CONCLUSION, text)
    if concluded is not None:
        stated = list(_free_claims(after(text, concluded.end()), concepts))
    return _decide(stated or list(_free_claims(text, concepts)), text)


def _free_claims(text: str, concepts: Sequence[_Concept]) -> Iterator[str]:
    for part in clauses(text):
        yield from _claims(part, concepts, bare=_is_bare(part, concepts))


def _decide(stated: Sequence[str], where: str) -> str | Unparsed:
    different = list(dict.fromkeys(stated))
    if len(different) == 1:
        return different[0]
    if different:
        return Unparsed("ambiguous", "states " + " and ".join(different[:4]))
    return Unparsed("no_match", where.strip()[:80])


def _is_bare(clause: str, concepts: Sequence[_Concept]) -> bool:
    """Return whether a clause says a choice and nothing else; of TRUE / FALSE also behind a label ("AMD: FALSE")."""
    if len(clause) > 200:
        return False
    for concept in concepts:
        if concept.mention is None and _LABELLED.fullmatch(clause):
            return True
        if concept.mention is not None:
            clause = concept.mention.sub(" ", clause)
    return _FILLER.sub("", re.sub(_POLAR, " ", clause)) == ""


def _claims(clause: str, concepts: Sequence[_Concept], bare: bool) -> Iterator[str]:
    """Yield the choices that a clause states; with `bare` a plain mention is a statement."""
    mentions = [(m, c) for c in concepts if c.mention is not None for m in c.mention.finditer(clause)]
    longest = 0
    for mention, concept in sorted(mentions, key=lambda found: (found[0].start(), -found[0].end())):
        if mention.end() <= longest:
            continue  # "normal" inside "normal tension glaucoma"
        longest = mention.end()
        stated = _stances(clause, mention, concept, bare)
        yield from filter(None, (concept.asserted if asserted else concept.denied for asserted in stated))
    if len(concepts) == 1 and concepts[0].asserted and concepts[0].denied:
        stated = _polar_stances(clause, concepts[0], bare)
        yield from filter(None, (concepts[0].asserted if asserted else concepts[0].denied for asserted in stated))


def _stances(clause: str, mention: re.Match[str], concept: _Concept, bare: bool) -> tuple[bool, ...]:
    """Return whether a mention is asserted (True) or denied (False); both for "yes / no", nothing for neither."""
    start, end = mention.span()
    if concept.adjective and not of_the_whole(clause, start, end):
        return ()
    labelled = _POLAR_LABEL.match(clause, end)
    if labelled and _answers(labelled):
        if _ALTERNATIVE.match(labelled["rest"]):
            return (True, False)
        if mention["non"]:
            return (False,) if labelled["yes"] else ()  # a doubled negation is not untangled
        return (bool(labelled["yes"]),)
    said_of = stance(clause, start, end, bare or bool(mention["non"]))
    if mention["non"]:
        return (False,) if said_of == "asserted" else ()
    return () if said_of is None else (said_of == "asserted",)


def _polar_stances(clause: str, concept: _Concept, bare: bool) -> tuple[bool, ...]:
    """Return what a leading yes or no states; of a question without a concept also one that ends a short clause."""
    first = _POLAR_FIRST.match(clause)
    if first and _answers(first):
        return (True, False) if _ALTERNATIVE.match(first["rest"]) else (bool(first["yes"]),)
    if concept.mention is None and bare and len(clause) <= 120:
        end = _POLAR_LAST.search(clause)
        if end and not _DENYING_WORD.search(clause, 0, end.start()):
            return (True, False) if end["either"] else (bool(end["yes"]),)
    return ()


def _answers(polar: re.Match[str]) -> bool:
    """Return whether a yes or no stands as a word of its own: "No, ..." does, "No signs of ..." and 是否 do not."""
    yes = polar["yes"]
    return bool(yes and yes.isascii()) or _AFTER_NO.match(polar["rest"]) is not None
