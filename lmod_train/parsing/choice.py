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

from lmod_train.parsing.forms import forms_of, pattern_of, plain, term_of
from lmod_train.parsing.stance import clauses, of_the_whole, stance
from lmod_train.types import Unparsed
from lmod_train.vocabulary import phrases as said

_LEAD = r"(?:^|[\n.;。；,!?])\s*[-•*(\[{\"']*\s*"


def _labels(words: Sequence[str]) -> str:
    return "|".join(w.replace(" ", r"\s{1,3}") for w in words)


_FINAL = re.compile(
    rf"(?<![a-z])(?:{_labels(said.FINAL_EN)})(?![a-z])|{'|'.join(said.FINAL_ZH)}"
    rf"|{_LEAD}(?:(?:{_labels(said.CORRECTIONS_EN)})(?![a-z])|{'|'.join(said.CORRECTIONS_ZH)})",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    rf"{_LEAD}(?:(?:{_labels(said.CONCLUSIONS_EN)})(?![a-z])|{'|'.join(said.CONCLUSIONS_ZH)})", re.IGNORECASE
)
_EXPLANATION = re.compile(rf"(?<![a-z])(?:{_labels(said.EXPLANATION_LABELS)})[\"']?\s{{0,3}}[:=]", re.IGNORECASE)
_FIELD = re.compile(
    rf"{_LEAD}(?:(?:the|my)\s)?(?:{_labels(said.VERDICT_LABELS)})[\"']?\s{{0,3}}[:=]\s{{0,3}}"
    r"(?P<value>[^\n;。]{0,400}?)(?=[\n;。]|\.(?:\s|$)|$)",
    re.IGNORECASE,
)
_POLAR = rf"(?P<yes>{pattern_of(said.YES)})|(?P<no>{pattern_of(said.NO)})"
_POLAR_FIRST = re.compile(rf"[\s\"'(\[{{:=-]*(?:{_POLAR})(?P<rest>.*)", re.DOTALL)
_POLAR_LABEL = re.compile(rf"[\s\"'\])}}]*[:=\-–—(\[<]*\s*(?:{_POLAR})(?P<rest>.*)", re.DOTALL)
_AFTER_NO = re.compile(r"\s*(?:$|[,:/)\]}\"'\-–—]|(?:the|there|it|this|i|we|or)(?![a-z]))", re.IGNORECASE)
_FILLER = re.compile(
    r"(?<![a-z])(?:the|an?|is|it|its|it's|this|that|of|for|eye|eyes|fundus|image|photograph|patient|answer|diagnosis|disease|"
    r"class|label|result|clearly|definitely|therefore|so|i|would|say|stage|retina|or|and|in|my|non|not|no)(?![a-z])"
    r"|[^\w]|[0-9_]|眼底?|的|是|为|诊断|答案|结果|该|图像|未见|无|非|没有",
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
    last = None
    for last in _FINAL.finditer(text):
        pass
    if last is not None:
        final = _verdict(_after_cue(text, last.end()), concepts, final=True)
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


def _after_cue(text: str, at: int) -> str:
    """Return what follows a cue such as "final answer", its linking words taken off."""
    return re.sub(
        r"^[\s:=\-,]*(?:(?:is|should be|would be|that|it is|it's)(?![a-z])[\s:=\-,]*)?(?:是|为)?",
        "",
        text[at:],
        flags=re.I,
    )


def _verdict(text: str, concepts: Sequence[_Concept], final: bool = False) -> str | Unparsed:
    """Read the requested format, then a conclusion, then free text; `final` text states its first clause."""
    explained = _EXPLANATION.search(text)
    head = text[: explained.start()] if explained else text
    fields = [m["value"] for m in _FIELD.finditer(head) if re.search(r"\w", m["value"])]
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
    last = None
    for last in _CONCLUSION.finditer(text):
        pass
    if last is not None:
        stated = list(_free_claims(_after_cue(text, last.end()), concepts))
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
    """Return whether a clause says a choice and nothing else."""
    if len(clause) > 200:
        return False
    for concept in concepts:
        if concept.mention is not None:
            clause = concept.mention.sub(" ", clause)
    return _FILLER.sub("", re.sub(_POLAR, " ", clause)) == ""


def _claims(clause: str, concepts: Sequence[_Concept], bare: bool) -> Iterator[str]:
    """Yield the choices that a clause states; with `bare` a plain mention is a statement."""
    mentions = [(m, c) for c in concepts if c.mention is not None for m in c.mention.finditer(clause)]
    spans = {(m.start(), m.end()) for m, _ in mentions}
    for mention, concept in mentions:
        start, end = mention.span()
        if any(s <= start and end <= e and (s, e) != (start, end) for s, e in spans if e - s > end - start):
            continue  # "normal" inside "normal tension glaucoma"
        asserted = _asserted(clause, mention, concept, bare)
        choice = None if asserted is None else concept.asserted if asserted else concept.denied
        if choice is not None:
            yield choice
    if any(c.asserted and c.denied for c in concepts) and len(concepts) == 1:
        yield from _polar_claims(clause, concepts[0], bare)


def _asserted(clause: str, mention: re.Match[str], concept: _Concept, bare: bool) -> bool | None:
    start, end = mention.span()
    if concept.adjective and not of_the_whole(clause, start, end):
        return None
    labelled = _POLAR_LABEL.match(clause, end)
    if labelled and (labelled["yes"] or _AFTER_NO.match(labelled["rest"])):
        if mention["non"]:
            return False if labelled["yes"] else None  # a doubled negation is not untangled
        if re.match(r"\s*(?:/|or\b|\|)", labelled["rest"]):
            return None
        return bool(labelled["yes"])
    said_of = stance(clause, start, end, bare)
    if mention["non"]:
        return False if said_of == "asserted" or (said_of is None and bare) else None
    return None if said_of is None else said_of == "asserted"


def _polar_claims(clause: str, concept: _Concept, bare: bool) -> Iterator[str]:
    """Yield what a leading yes or no states; of a question without a concept also one that closes a short clause."""
    first = _POLAR_FIRST.match(clause)
    if first and (first["yes"] or _AFTER_NO.match(first["rest"])):
        yield (concept.asserted if first["yes"] else concept.denied) or ""
        other = re.match(r"\s*(?:/|or\b|\|)\s*(?:" + _POLAR + ")", first["rest"], re.IGNORECASE)
        if other:
            yield (concept.asserted if other["yes"] else concept.denied) or ""
    elif concept.mention is None and bare and len(clause) <= 120:
        last = re.search(rf"(?:(?P<twice>{pattern_of([*said.YES, *said.NO])})\s*(?:/|or)\s*)?(?:{_POLAR})\W*$", clause)
        if last and not last["twice"]:
            yield (concept.asserted if last["yes"] else concept.denied) or ""
        elif last:
            yield from filter(None, (concept.asserted, concept.denied))
