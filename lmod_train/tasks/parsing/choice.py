"""Parse one of the prompt's choices, first in the slots of a reply, then in its prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.bare_choice import (
    LABELLED,
    LONGEST_BARE,
    contains_only_choices,
    is_choice_with_reason,
    is_conclusion,
    is_isolated,
    is_option_with_reason,
    value_follows,
)
from lmod_train.tasks.parsing.clean import clean, resolve_pronoun, without_losses
from lmod_train.tasks.parsing.concepts import Concept, concepts_of, spelled
from lmod_train.tasks.parsing.cues import CONCLUSION, after, final_statement, last, split_explanation
from lmod_train.tasks.parsing.forms import any_condition, correct_spelling, pattern_of
from lmod_train.tasks.parsing.groups import EMPTY, TICKED, Slot
from lmod_train.tasks.parsing.keys import is_probability, role_of
from lmod_train.tasks.parsing.reading import IGNORED, UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.refusal import is_refusal
from lmod_train.tasks.parsing.slots import Kind, Separator, Value, kinds_of, no_answer, slot_after, value_at
from lmod_train.tasks.parsing.stance import (
    LONGEST_CLAUSE,
    Stance,
    clause_spans,
    denies,
    describes_whole_eye,
    hedges,
    is_earned,
    stance,
)


def parse_choice(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one choice that the text states, in the prompt's spelling.

    Args:
        text: A reply without thinking (see `read`).
        choices: The prompt's choices. A pair such as GLAUCOMA / NON-GLAUCOMA or TRUE / FALSE is read as yes and no.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (nothing is stated, or something that is no choice), or
        ``ambiguous`` (two different choices are stated, or the prompt's options are only repeated).

    Example:
        >>> parse_choice("No signs of glaucoma.", ("GLAUCOMA", "NON-GLAUCOMA"))
        'NON-GLAUCOMA'
        >>> parse_choice("GLAUCOMA / NON-GLAUCOMA", ("GLAUCOMA", "NON-GLAUCOMA")).reason
        'ambiguous'
    """
    return answer_in(text, lambda slot: read_slot(slot, choices), lambda prose: choice_in_prose(prose, choices))


_LIGHT = compiled("choice.light", 0)
_DENIED_NAME = compiled("choice.denied_name")
_OR_NOT = re.compile(
    r"[(\[]?\s?(?:有|阳性|存在|可见|是)\s?/\s?(?:无|阴性|不存在|未见|否)\s?[)\]]?|(?<![a-z])(?:or|and|/)\s?(?:not|no|absent|negative)(?![a-z])|有无|有没有",
    re.IGNORECASE,
)


def read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the choice that a slot states, or why it states none; None for a slot about something else.

    Args:
        slot: One of `lmod_train.tasks.parsing.structure.decode`.
        choices: The prompt's choices.
    """
    concepts = concepts_of(tuple(choices))
    for concept in concepts:
        denied = _names(slot.name, concept)
        if denied is not None and not (slot.role and role_of(slot.name)):
            return _of_named(slot, concept, denied, concepts, choices)
    if slot.name and not slot.role:
        return None
    if slot.name and not role_of(slot.name):
        return _of_value(slot, concepts, choices) if _is_question(slot.name) else None
    if slot.role in ("subject", "diagnosis") and len(concepts) == 1 and _is_left_open(slot, choices):
        return None if slot.layout == "line" or slot.role == "subject" else UNKNOWN
    return _of_value(slot, concepts, choices)


def _is_question(name: str) -> bool:
    """Return whether a name is a question that names no condition, as "Is the condition present?"."""
    return "?" in name and not any_condition().search(name)


def _is_left_open(slot: Slot, choices: Sequence[str]) -> bool:
    """Return whether nothing is said of the name in a slot: the question's own name, or a name with a probability."""
    if any(is_probability(key) for key in slot.extra):
        return True
    spelled = slot.layout != "line" and slot.value.strip() in choices  # "condition": "NON-GLAUCOMA"
    return slot.role == "subject" and not spelled


def _names(name: str, concept: Concept) -> bool | None:
    """Return whether a key or question denies the concept that it names; None if it is about something else."""
    if not name or concept.mention is None:
        return None
    mention = concept.mention.search(name)
    if mention is None:
        return None
    rest = concept.mention.sub(" ", name)
    if _LIGHT_WORDS.sub("", rest).strip(" \t\n?.:,()[]<>\"'*/-_|#0123456789？"):
        return None
    return (_DENIED_NAME.search(_OR_NOT.sub(" ", rest)) is not None) != bool(mention["non"])


_SUBJECT = compiled("choice.subject")
_SHARE = re.compile(r"\W{0,4}(?:[0-9]{1,3}(?:\.[0-9]{1,4})?\s?%|0?\.[0-9]{1,4})\W{0,4}")
_NO_VALUE = re.compile(r"\W{0,4}(?:[a-z]{0,2}|[0-9]{1,9}(?:[./][0-9]{1,9})?\s?%?|[TFYN]/[TFYN])\W{0,4}")
_LIGHT_WORDS = re.compile(rf"(?<![a-z])(?:{_LIGHT.pattern})(?![a-z])", re.IGNORECASE)


def _of_named(
    slot: Slot, concept: Concept, denied: bool, concepts: Sequence[Concept], choices: Sequence[str]
) -> Claim | None:
    """Return the choice that a slot with the name of a concept states."""
    value = clean(slot.value)
    if slot.value == EMPTY:
        return concept.denied if len(concepts) == 1 and not denied else None
    kinds: Sequence[Kind] = ("yes",) if slot.value == TICKED else kinds_of(value)
    if not kinds and slot.layout == "line":  # the prose grammar reads a name with a sentence behind it
        return IGNORED if _SHARE.fullmatch(value) else UNKNOWN if _NO_VALUE.fullmatch(value) else None
    if not kinds and (found := value_at(_SUBJECT.sub("", value), 0)) is not None:
        kinds = found[0]  # "No, the rim is intact", "The finding is absent."
    if kinds == ("no",) and concept.mention and concept.is_kind(concept.mention.search(slot.name)):  # type: ignore[arg-type]
        return None  # no branch vein occlusion: another one may be there
    if kinds:
        claims = _claims_of(kinds, concept, denied, concepts)
        if len(claims) > 1:
            return Unparsed("ambiguous", value[:80])
        return claims[0] if claims else IGNORED if kinds == ("no",) else UNKNOWN
    if not re.search(r"[^\W\d]{3}|[\u4e00-\u9fff]", value):
        return UNKNOWN  # a number
    stated = choice_in_prose(value, choices, in_slot=True)
    if denied or isinstance(stated, Unparsed):
        return UNKNOWN
    return stated


def _claims_of(kinds: Sequence[Kind], concept: Concept, denied: bool, concepts: Sequence[Concept]) -> list[Claim]:
    exclusive = {concept.asserted, *(other.asserted for other in concepts)} - {concept.asserted}
    against = concept.denied or (exclusive.pop() if len(concepts) == len(exclusive) + 1 == 2 else None)
    claims: list[Claim] = []
    for kind in kinds:
        if kind in ("refused", "open"):
            claims.append(no_answer(kind))
        elif kind == "yes" or not denied:  # the double negation of "non-glaucoma: no" is left unread
            stated = concept.asserted if (kind == "yes") != denied else against
            claims += [stated] if stated else []
    return claims


def _of_value(slot: Slot, concepts: Sequence[Concept], choices: Sequence[str]) -> Claim | None:
    """Return the choice that the value of a slot states whose name announces an answer."""
    if slot.value == EMPTY:
        return None
    value = clean(slot.value)
    if slot.value.startswith("?"):
        return Unparsed("no_match", "open")
    kinds: Sequence[Kind] = ("yes",) if slot.value == TICKED else kinds_of(value)
    if kinds and (len(concepts) == 1 or not {"yes", "no"} & set(kinds)):
        claims = _claims_of(kinds, concepts[0], False, concepts)
        return claims[0] if len(claims) == 1 else Unparsed("ambiguous", value[:80])
    stated = choice_in_prose(value, choices, in_slot=len(clause_spans(value)) == 1)
    if isinstance(stated, str) or stated.reason == "ambiguous":
        return stated
    if is_refusal(value):
        return Unparsed("refused", value[:80])
    found = value_at(value, 0)
    if found is not None and set(found[0]) <= {"refused", "open"}:
        return Unparsed("refused" if "refused" in found[0] else "no_match", "no answer in its slot")
    return None if slot.layout == "line" and len(value.split()) > 6 else UNKNOWN


Claims = tuple[bool | Unparsed, ...]
"""The claims about one mention: asserted (True), denied (False), or the reason why its slot holds no answer."""
MOST_MENTIONS = 64
"""Names in one clause that are looked at, the first and the last half of them; a clause with more is a list."""
_POLAR_LAST = re.compile(
    rf"(?P<either>{pattern_of([*entry('answers.yes'), *entry('answers.no')])}\s{{0,3}}(?:/|or(?![a-z])|或)\s{{0,3}})?"
    rf"(?:(?P<yes>{pattern_of(entry('answers.yes'))})|(?P<no>{pattern_of(entry('answers.no'))}))\W{{0,9}}$"
)
_OPENERS = re.compile(r"[\s\"'(\[{:=<-]{0,9}")
_ASKED = re.compile(r"\?[\s\"'*-]{0,6}$")  # an answer behind a question answers that question only
_UNHEALTHY = compiled("choice_in_prose.unhealthy")
_ABSTAINS = re.compile(r"[.;]?\n\s{0,3}(?:I(?![a-z])|我)")
_JOINED = re.compile(r"(?<![a-z])(?:or|nor|and|versus|vs)(?![a-z])|[/,;或与和及]", re.IGNORECASE)
_BETWEEN = compiled("choice_in_prose.between")
_OVER = re.compile(r"(?<=[a-z])\s(?:over|rather than|instead of)\snon-?\s?[a-z]{4,20}", re.IGNORECASE)
_DECORATED = compiled("choice_in_prose.decorated", 0)
_NOR = re.compile(r"(?<![a-z])nor(?![a-z])", re.IGNORECASE)
_RESTRICTED = compiled("choice_in_prose.restricted")
_EXCEPT = compiled("choice_in_prose.except")
_DENYING_WORD = re.compile(r"(?<![a-z])not(?![a-z])|n't|不|非", re.IGNORECASE)
_NON = re.compile(r"(?<![a-z])non(?=[a-z]{5})", re.IGNORECASE)


def choice_in_prose(text: str, choices: Sequence[str], in_slot: bool = False) -> str | Unparsed:
    """Return the one choice that prose states (see `parse_choice`).

    Args:
        text: Cleaned text.
        choices: The prompt's choices.
        in_slot: Whether it is the value of a slot of the answer: then a bare name is a statement.
    """
    if not text.strip():
        return Unparsed("empty")
    concepts = concepts_of(tuple(choices))
    text = _OVER.sub("", _BETWEEN.sub("", _DECORATED.sub(_undecorated, text)))
    text = without_losses(_UNHEALTHY.sub("\n", _NON.sub("non-", text)))
    if len(concepts) == 1 and (mention := concepts[0].mention) is not None:
        text = resolve_pronoun(text, mention)
    final = final_statement(text)
    if final is not None:
        answer = _verdict(final, concepts, final=True)
        if not (isinstance(answer, Unparsed) and answer.reason == "no_match"):
            return answer
    answer = _verdict(text, concepts, final=in_slot)
    if isinstance(answer, Unparsed) and answer.reason == "no_match" and not is_refusal(text):
        return _verdict(correct_spelling(text, spelled(tuple(choices))), concepts)
    if final is None or isinstance(answer, str) or answer.reason != "ambiguous":
        return answer
    later = _verdict(final, concepts)  # a correction that gives its reason first
    return later if isinstance(later, str) else answer


def _undecorated(mark: re.Match[str]) -> str:
    """Return a tick or cross in front of an answer; nothing for one in front of any other words."""
    return mark[0] if value_at(mark.string, mark.end()) else ""


def _verdict(text: str, concepts: Sequence[Concept], final: bool = False) -> str | Unparsed:
    """Return the choice stated in the requested format, else in a conclusion, else in free text.

    With `final`, the first clause counts as the requested format.
    """
    head, explained = split_explanation(text)
    parts = [_Scope(head, *span, concepts, requested=True) for span in clause_spans(head)]
    opening = parts if explained else parts[:1] if final else takewhile(_Scope.is_choice, parts)
    stated = [claim for scope in opening for claim in _claims(scope)]
    if stated:
        return _decide(stated, concepts, head)
    concluded = last(CONCLUSION, text)
    if concluded is not None:
        stated = list(_free_claims(after(text, concluded.end()), concepts))
    return _decide(stated or list(_free_claims(text, concepts)), concepts, text)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A clause of a reply, and whether bare names in it are statements."""

    text: str
    start: int
    end: int
    concepts: Sequence[Concept]
    requested: bool
    """Whether the requested format has a choice here: then a name needs to be alone between commas only."""

    @property
    def mentions(self) -> list[re.Pattern[str] | None]:
        return [concept.mention for concept in self.concepts]

    @property
    def asks(self) -> bool:
        """Whether the clause is a question, which states nothing."""
        return self.text[self.end : self.end + 4].lstrip(" \"')").startswith("?")

    @property
    def is_short(self) -> bool:
        return self.end - self.start <= LONGEST_BARE

    def is_choice(self) -> bool:
        """Return whether the clause contains choices and nothing else, or one choice with its reason."""
        options = (option for c in self.concepts for option in (c.asserted, c.denied) if option)
        opening = self.text[self.start : min(self.end, self.start + 2 * LONGEST_BARE)]
        gives_reason = self.contains_only_choices() or is_choice_with_reason(opening, self.mentions)
        return gives_reason or any(is_option_with_reason(opening, option) for option in options)

    def contains_only_choices(self) -> bool:
        """Return whether the clause contains choices and nothing else."""
        return self.is_short and contains_only_choices(self.text[self.start : self.end], self.mentions)


def _free_claims(text: str, concepts: Sequence[Concept]) -> Iterator[Claim]:
    for start, end in clause_spans(text):
        yield from _claims(_Scope(text, start, end, concepts, requested=False))


def _decide(stated: Sequence[Claim], concepts: Sequence[Concept], where: str) -> str | Unparsed:
    """Return the one stated choice; with a single concept, an abstention beside it makes it ambiguous."""
    different = list(dict.fromkeys(c for c in stated if isinstance(c, str)))
    abstentions = [c for c in stated if isinstance(c, Unparsed)]
    if len(different) == 1 and not (abstentions and len(concepts) == 1):
        return different[0]
    if different:
        return Unparsed("ambiguous", "states " + " and ".join(different[:4]))
    return abstentions[0] if abstentions else Unparsed("no_match", where.strip()[:80])


def _claims(scope: _Scope) -> Iterator[Claim]:
    """Yield the choices that a clause states, and an `Unparsed` for each slot without an answer."""
    concepts = scope.concepts
    can_be_bare = scope.requested or scope.contains_only_choices()
    left_open: re.Match[str] | None = None  # the last mention in the prompt's capitals that says nothing
    denied: re.Match[str] | None = None
    plain_mention: re.Match[str] | None = None
    for mention, concept in _mentions(scope):
        found = _of_mention(scope, mention, concept, can_be_bare)
        if len(concepts) == 1 and concept.denied and mention[0] in (concept.asserted, "青光眼") and not found:
            left_open = mention
        denied = mention if mention["non"] else denied
        plain_mention = mention if len(concepts) == 1 and not mention["non"] else plain_mention
        if denied and not scope.asks:
            joined = left_open and _are_joined(scope.text, left_open, denied)
            if joined or (plain_mention and _NOR.search(scope.text, plain_mention.end(), denied.start())):
                yield Unparsed("ambiguous", "both choices")
        for claim in found:
            choice = claim if isinstance(claim, Unparsed) else concept.asserted if claim else concept.denied
            if choice is not None:
                yield choice
    if len(concepts) == 1 and (yes := concepts[0].asserted) and (no := concepts[0].denied):
        for claim in _of_polar(scope, concepts[0]):
            yield claim if isinstance(claim, Unparsed) else yes if claim else no


def _are_joined(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Return whether two mentions stand beside each other: "GLAUCOMA or NON-GLAUCOMA"."""
    first, second = sorted((one.span(), other.span()))
    return second[0] - first[1] <= 40 and _JOINED.search(text, first[1], second[0]) is not None


def _mentions(scope: _Scope) -> Iterator[tuple[re.Match[str], Concept]]:
    """Yield the mentions of concepts, the longest of overlapping ones: no "normal" in "normal tension glaucoma"."""
    span = scope.start, scope.end
    found = [(m, c) for c in scope.concepts if c.mention is not None for m in c.mention.finditer(scope.text, *span)]
    if len(found) > MOST_MENTIONS:
        found = sorted(found, key=lambda pair: pair[0].start())
        found = found[: MOST_MENTIONS // 2] + found[-MOST_MENTIONS // 2 :]
    longest = scope.start
    for mention, concept in sorted(found, key=lambda pair: (pair[0].start(), -pair[0].end())):
        if mention.end() > longest:
            longest = mention.end()
            yield mention, concept


def _of_mention(scope: _Scope, mention: re.Match[str], concept: Concept, can_be_bare: bool) -> Claims:
    """Return whether a mention is asserted (True) or denied (False); both for "yes / no", empty for neither."""
    first = max(scope.start, mention.start() - LONGEST_BARE)
    around = scope.text[first : min(scope.end, mention.end() + LONGEST_BARE)]
    at, beyond = mention.start() - first, mention.end() - first
    if concept.adjective and not describes_whole_eye(around, at, beyond):
        return ()
    if mention["non"] and concept.kind is not None and concept.kind.fullmatch(mention[0][len(mention["non"]) :]):
        return ()  # "non-neovascular AMD"
    slot = slot_after(scope.text, mention.end())
    claims = _of_slot(*slot, around[:at], bool(mention["non"])) if slot else None
    if len(scope.concepts) > 1 and _ABSTAINS.match(scope.text, mention.end()):
        claims = None  # the next line is an abstention about all names and no value of this one
    if claims is None:
        sentence = scope.end - scope.start <= LONGEST_CLAUSE
        bare = can_be_bare and (
            is_option_with_reason(around[at:], concept.asserted or "", scope.text[scope.end : scope.end + 9])
            or is_isolated(around, at, beyond, scope.mentions)
        )
        bare = bare or (bool(mention["non"]) and not value_follows(around[beyond:]))
        bare = bare or is_conclusion(around, at, beyond, concept.adjective)
        found = stance(around, at, beyond, bare) if sentence and not scope.asks else None
        if found == "asserted" and not concept.is_sex and not is_earned(around[:at]):
            found = None
        claims = _of_stance(found, bool(mention["non"]))
    if claims == (False,) and _names_one_kind(scope.text, mention, around[:at]):
        return ()  # "several dot haemorrhages and no vitreous haemorrhage", "no haemorrhage except one dot haemorrhage"
    if concept.is_kind(mention):  # "no proliferative retinopathy" does not deny other kinds
        return tuple(claim for claim in claims if claim is not False)
    return claims


def _names_one_kind(clause: str, mention: re.Match[str], before: str) -> bool:
    """Return whether a denied name is one kind of what the clause names elsewhere too, or has an exception."""
    if _EXCEPT.match(clause, mention.end()):
        return True
    return bool(_RESTRICTED.search(before)) and len(mention.re.findall(clause)) > 1


def _of_stance(found: Stance | None, non: bool) -> Claims:
    """Return the claim of a stance; none where a "non-" is itself denied."""
    if non:
        return (False,) if found == "asserted" else ()
    return () if found is None else (found == "asserted",)


def _of_slot(separator: Separator, value: Value, before: str, non: bool) -> Claims | None:
    """Return the claims of a slot, inverted for a denied name; None where the context has to decide."""
    kinds, _ = value
    denied = non or denies(before)
    if separator == "weak" and hedges(before):
        return None
    claims: list[bool | Unparsed] = []
    for kind in kinds:
        if kind in ("refused", "open"):
            claims.append(no_answer(kind))
        elif not denied or separator == "question":
            claims.append((kind == "yes") != denied)
        elif kind == "yes":
            claims.append(False)  # the double negation of "NON-GLAUCOMA: No" is left unread
    return tuple(claims)


def _of_polar(scope: _Scope, concept: Concept) -> Claims:
    """Return the claims of a leading yes or no; for TRUE / FALSE also of one that ends a short clause."""
    text, start, end = scope.text, scope.start, scope.end
    if scope.asks:
        return ()
    lead = _OPENERS.match(text, start)
    first = value_at(text, lead.end() if lead else start)
    if first is not None and not _ASKED.search(text, max(0, start - 9), start):
        abstains = {"refused", "open"} & set(first[0])
        return () if abstains and not scope.requested else _of_slot("strong", first, "", non=False) or ()
    if concept.mention is None and scope.is_short and (scope.requested or LABELLED.fullmatch(text, start, end)):
        last_word = _POLAR_LAST.search(text[start:end])
        if last_word and not _DENYING_WORD.search(text, start, start + last_word.start()):
            return (True, False) if last_word["either"] else (bool(last_word["yes"]),)
    return ()
