"""Parse one of the prompt's choices.

A choice is a claim about a concept, asserted or denied. GLAUCOMA and NON-GLAUCOMA are the two claims about one concept,
TRUE and FALSE the two claims about the prompt's question, cataract and normal claims about separate concepts. The parts
of a reply are read in this order, and the first that states a claim decides: an explicit final answer or correction,
the requested format, a conclusion, free text. Within a part the claims of all clauses must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from lmod_train.parsing.bare_choice import (
    LABELLED,
    LONGEST_BARE,
    contains_only_choices,
    is_choice_with_reason,
    is_conclusion,
    is_isolated,
    is_option_with_reason,
    value_follows,
)
from lmod_train.parsing.clean import clean
from lmod_train.parsing.cues import CONCLUSION, after, final_statement, last, split_explanation
from lmod_train.parsing.forms import forms_of, pattern_of, plain, term_of
from lmod_train.parsing.loss import without_losses
from lmod_train.parsing.normalise import normalise
from lmod_train.parsing.pronoun import resolve_pronoun
from lmod_train.parsing.reading import UNKNOWN, Claim, answer_in
from lmod_train.parsing.refusal import is_refusal
from lmod_train.parsing.respelling import correct_spelling
from lmod_train.parsing.slots import Kind, Separator, Value, kinds_of, slot_after, value_at
from lmod_train.parsing.stance import (
    LONGEST_CLAUSE,
    Stance,
    clause_spans,
    denies,
    describes_whole_eye,
    hedges,
    is_earned,
    stance,
)
from lmod_train.parsing.structure import EMPTY, TICKED, Slot, is_probability, role_of
from lmod_train.types import Unparsed
from lmod_train.vocabulary import answers
from lmod_train.vocabulary.conditions import CONDITIONS

Claims = tuple[bool | Unparsed, ...]
"""The claims about one mention: asserted (True), denied (False), or the reason why its slot holds no answer."""
MOST_MENTIONS = 64
"""Names in one clause that are looked at, the first and the last half of them; a clause with more is a list."""
_POLAR_LAST = re.compile(
    rf"(?P<either>{pattern_of([*answers.YES, *answers.NO])}\s{{0,3}}(?:/|or(?![a-z])|或)\s{{0,3}})?"
    rf"(?:(?P<yes>{pattern_of(answers.YES)})|(?P<no>{pattern_of(answers.NO)}))\W{{0,9}}$"
)
_OPENERS = re.compile(r"[\s\"'(\[{:=<-]{0,9}")
_ASKED = re.compile(r"\?[\s\"'*-]{0,6}$")  # an answer behind a question answers that question only
_UNHEALTHY = re.compile(
    r"(?:^|(?<=[\n.;]))\s?(?:(?:it is |it's |this is )?(?:not|hardly|far from)\s(?:an?\s)?(?:normal|healthy)"
    r"(?:\s(?:eye|fundus|image|retina))?|不正常|不健康|(?:并非|不是)(?:正常|健康)(?:眼底?)?)\s?(?:[:,]|-\s)",
    re.IGNORECASE,
)  # "Not normal: glaucoma."
_ABSTAINS = re.compile(r"[.;]?\n\s{0,3}(?:I(?![a-z])|我)")
_JOINED = re.compile(r"(?<![a-z])(?:or|nor|and|versus|vs)(?![a-z])|[/,;或与和及]", re.IGNORECASE)
_BETWEEN = re.compile(
    r"(?<![a-z])between [^,.;\n]{1,60}? and [^,.;\n]{1,60},\s?(?=(?:i|my|the|it)(?![a-z]))", re.IGNORECASE
)
_NOR = re.compile(r"(?<![a-z])nor(?![a-z])", re.IGNORECASE)
_DENYING_WORD = re.compile(r"(?<![a-z])not(?![a-z])|n't|不|非", re.IGNORECASE)
_NON = re.compile(r"(?<![a-z])non(?=[a-z]{5})", re.IGNORECASE)
_DENYING = re.compile(
    r"(?:non|not|no)[\s\-_]+(?P<concept>.+)|(?P<concept2>.+?)[\s\-_]+(?:false|no|absent|negative)", re.IGNORECASE
)
_AFFIRMING = re.compile(r"(?P<concept>.+?)[\s\-_]+(?:true|yes|present|positive)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Concept:
    """A concept with the choices that assert and deny it; None where there is no such choice."""

    asserted: str | None
    denied: str | None
    mention: re.Pattern[str] | None
    kind: re.Pattern[str] | None
    adjective: bool

    @property
    def is_sex(self) -> bool:
        """Whether it is a sex, which sentences name in other words than a disease: "from a male patient"."""
        return (
            self.mention is not None
            and self.mention.fullmatch("male" if self.asserted == "MALE" else "female") is not None
        )

    def is_kind(self, mention: re.Match[str]) -> bool:
        """Return whether a mention names a subtype only: denying it does not deny the concept."""
        return self.kind is not None and self.kind.fullmatch(mention[0]) is not None


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
    if not text.strip():
        return Unparsed("empty")
    return answer_in(text, lambda slot: read_slot(slot, choices), lambda prose: choice_in_prose(prose, choices))


def choice_in_prose(text: str, choices: Sequence[str], in_slot: bool = False) -> str | Unparsed:
    """Return the one choice that prose states (see `parse_choice`).

    Args:
        text: Cleaned text.
        choices: The prompt's choices.
        in_slot: Whether it is the value of a slot of the answer: then a bare name is a statement.
    """
    if not text.strip():
        return Unparsed("empty")
    concepts = _concepts(tuple(choices))
    text = _BETWEEN.sub("", text)
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
        return _verdict(correct_spelling(text, _spelled(tuple(choices))), concepts)
    if final is None or isinstance(answer, str) or answer.reason != "ambiguous":
        return answer
    later = _verdict(final, concepts)  # a correction that gives its reason first
    return later if isinstance(later, str) else answer


def mentions_choice(text: str, choices: Sequence[str]) -> bool:
    """Return whether a text mentions a choice at all; True for choices such as TRUE / FALSE, which need no mention.

    Example:
        >>> [mentions_choice(text, ("GLAUCOMA", "NON-GLAUCOMA")) for text in ("the cup is large", "no glaucoma")]
        [False, True]
    """
    return any(concept.mention is None or concept.mention.search(text) for concept in _concepts(tuple(choices)))


@lru_cache(maxsize=256)
def _spelled(choices: tuple[str, ...]) -> dict[str, str]:
    """Return lower-case spelling -> choice."""
    return {plain(form): choice for choice in choices for form in forms_of(choice)}


@lru_cache(maxsize=256)
def _concepts(choices: tuple[str, ...]) -> tuple[_Concept, ...]:
    """Return the concepts of the choices; that of TRUE / FALSE is the prompt's question and has no `mention`."""
    claims: dict[str | None, dict[bool, str]] = {}
    spelled: dict[str | None, str] = {}
    for choice in choices:
        concept, asserted = _claim_of(choice)
        key = None if concept is None else plain((term_of(concept) or _Bare(concept)).name)
        claims.setdefault(key, {})[asserted] = choice
        spelled.setdefault(key, concept or "")
    return tuple(_concept(spelled[key] if key else None, by_stance) for key, by_stance in claims.items())


def _concept(name: str | None, by_stance: Mapping[bool, str]) -> _Concept:
    if name is None:
        return _Concept(by_stance.get(True), by_stance.get(False), None, None, False)
    term = term_of(name)
    mention = re.compile(r"(?P<non>(?i:(?<![a-z])non)[\s\-_]{1,2}(?!(?i:proliferative)))?" + pattern_of(forms_of(name)))
    kind = re.compile(pattern_of(term.kinds)) if term and term.kinds else None
    adjective = plain(term.name if term else name) == "normal"
    return _Concept(by_stance.get(True), by_stance.get(False), mention, kind, adjective)


_LIGHT = re.compile(
    r"does|do|is|are|the|this|that|these|patient(?:'s)?|eye|image|photo(?:graph)?|fundus|has|have|had|having|shows?|display"
    r"|contains?|with|suffer(?:s|ing)? from|present|presence|of|any|signs?|evidence|features?|there|diagnos(?:is"
    r"|ed)|diseases?"
    r"|status|visible|seen|found|in|it|an?|on|retinal?|condition|detected|detection|finding|answer|result|exists?|here|for"
    r"|no|not|non|without|absent|absence|free|lacks?|negative|positive|true|you|see|can|asked|what|q|question|whether|if"
    r"|would|say|think|class|label|image-level|given|affected|by|or|to|be|identified|observed|shown"
    r"|是否|存在|有无|有没有|有|无|未见|没有|患者|患有|患|该|此|图像|图片|图中|眼底|的|诊断|情况|结果|吗|是|可见|显示|中|为|征象|表现|不存在|病变|疾病|呢|阳性|阴性"
)  # words of a key or question around the name that is asked about
_DENIED_NAME = re.compile(
    r"(?<![a-z])(?:no|not|non|without|absent|absence|free|lacks?|negative)(?![a-z])|(?<!有)无(?!法)|(?<!有)没有|未见|不存在|阴性",
    re.IGNORECASE,
)
_OR_NOT = re.compile(r"(?<![a-z])(?:or|and|/)\s?(?:not|no|absent|negative)(?![a-z])|有无|有没有", re.IGNORECASE)
_NO_PREFIX = re.compile(r"[\s\"'(\[{<*-]{0,6}")


def read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the choice that a slot states, or why it states none; None for a slot about something else.

    Args:
        slot: One of `lmod_train.parsing.structure.decode`.
        choices: The prompt's choices.
    """
    concepts = _concepts(tuple(choices))
    for concept in concepts:
        denied = _names(slot.name, concept)
        if denied is not None and not (slot.role and role_of(slot.name)):
            return _of_named(slot, concept, denied, concepts, choices)
    if slot.role == "denied":
        named = len(concepts) == 1 and concepts[0].mention is not None and concepts[0].mention.search(slot.value)
        return concepts[0].denied if named and not named["non"] else None
    if slot.name and not slot.role:
        return None
    if slot.name and not role_of(slot.name):
        return _of_value(slot, concepts, choices) if _is_question(slot.name) else None
    if slot.role in ("subject", "diagnosis") and len(concepts) == 1 and _is_left_open(slot, choices):
        return None if slot.layout == "line" or slot.role == "subject" else UNKNOWN
    return _of_value(slot, concepts, choices)


def _is_question(name: str) -> bool:
    """Return whether a name is a question that names no condition, as "Is the condition present?"."""
    return "?" in name and not any(pattern.search(name) for pattern in _any_condition())


@lru_cache(maxsize=1)
def _any_condition() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern_of(forms_of(term.name))) for term in CONDITIONS if term.name != "normal")


def _is_left_open(slot: Slot, choices: Sequence[str]) -> bool:
    """Return whether nothing is said of the name in a slot: the question's own name, or a name with a probability."""
    if any(is_probability(key) for key in slot.extra):
        return True
    spelled = slot.layout != "line" and slot.value.strip() in choices  # "condition": "NON-GLAUCOMA"
    return slot.role == "subject" and not spelled


def _names(name: str, concept: _Concept) -> bool | None:
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


_SUBJECT = re.compile(
    r"(?:the |this |it )?(?:finding |condition |disease |sign |abnormality )?(?:is|was|are|were) (?=absent"
    r"|present|not )",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(r"\W{0,4}(?:[a-z]{0,2}|[0-9]{1,9}(?:[./][0-9]{1,9})?\s?%?|[TFYN]/[TFYN])\W{0,4}")
_LIGHT_WORDS = re.compile(rf"(?<![a-z])(?:{_LIGHT.pattern})(?![a-z])", re.IGNORECASE)


def _of_named(
    slot: Slot, concept: _Concept, denied: bool, concepts: Sequence[_Concept], choices: Sequence[str]
) -> Claim | None:
    """Return the choice that a slot with the name of a concept states."""
    value = clean(slot.value)
    if slot.value == EMPTY:
        return concept.denied if len(concepts) == 1 and not denied else None
    kinds: Sequence[Kind] = ("yes",) if slot.value == TICKED else kinds_of(value)
    if not kinds and slot.layout == "line":  # the prose grammar reads a name with a sentence behind it
        return UNKNOWN if _NO_VALUE.fullmatch(value) else None
    if not kinds and (found := value_at(_SUBJECT.sub("", value), 0)) is not None:
        kinds = found[0]  # "No, the rim is intact", "The finding is absent."
    if kinds == ("no",) and concept.mention and concept.is_kind(concept.mention.search(slot.name)):  # type: ignore[arg-type]
        return None  # no branch vein occlusion: another one may be there
    if kinds:
        claims = _claims_of(kinds, concept, denied, concepts)
        return claims[0] if len(claims) == 1 else Unparsed("ambiguous", value[:80]) if claims else UNKNOWN
    if not re.search(r"[^\W\d]{3}|[\u4e00-\u9fff]", value):
        return Unparsed("no_match", "a number")
    stated = choice_in_prose(value, choices, in_slot=True)
    if denied or isinstance(stated, Unparsed):
        return UNKNOWN
    return stated


def _claims_of(kinds: Sequence[Kind], concept: _Concept, denied: bool, concepts: Sequence[_Concept]) -> list[Claim]:
    exclusive = {concept.asserted, *(other.asserted for other in concepts)} - {concept.asserted}
    against = concept.denied or (exclusive.pop() if len(concepts) == len(exclusive) + 1 == 2 else None)
    claims: list[Claim] = []
    for kind in kinds:
        if kind in ("refused", "open"):
            claims.append(Unparsed("refused" if kind == "refused" else "no_match", kind))
        elif kind == "yes" or not denied:  # the double negation of "non-glaucoma: no" is left unread
            stated = concept.asserted if (kind == "yes") != denied else against
            claims += [stated] if stated else []
    return claims


def _of_value(slot: Slot, concepts: Sequence[_Concept], choices: Sequence[str]) -> Claim | None:
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


@dataclass(frozen=True, slots=True)
class _Bare:
    """A substitute for `Term` for a word that is not in the vocabulary."""

    name: str


def _claim_of(choice: str) -> tuple[str | None, bool]:
    choice = normalise(choice)
    word = plain(choice)
    if word in answers.YES or word in answers.NO:
        return None, word in answers.YES
    if denying := _DENYING.fullmatch(choice.strip()):
        return denying["concept"] or denying["concept2"], False
    if affirming := _AFFIRMING.fullmatch(choice.strip()):
        return affirming["concept"], True
    return choice, True


def _verdict(text: str, concepts: Sequence[_Concept], final: bool = False) -> str | Unparsed:
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
    concepts: Sequence[_Concept]
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
        clause = self.text[self.start : min(self.end, self.start + 2 * LONGEST_BARE)]
        return (
            self.contains_only_choices()
            or self.gives_reason()
            or any(is_option_with_reason(clause, option) for option in options)
        )

    def gives_reason(self) -> bool:
        """Return whether the clause is a choice with its reason."""
        return is_choice_with_reason(
            self.text[self.start : min(self.end, self.start + 2 * LONGEST_BARE)], self.mentions
        )

    def contains_only_choices(self) -> bool:
        """Return whether the clause contains choices and nothing else."""
        return self.is_short and contains_only_choices(self.text[self.start : self.end], self.mentions)


def _free_claims(text: str, concepts: Sequence[_Concept]) -> Iterator[Claim]:
    for start, end in clause_spans(text):
        yield from _claims(_Scope(text, start, end, concepts, requested=False))


def _decide(stated: Sequence[Claim], concepts: Sequence[_Concept], where: str) -> str | Unparsed:
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
        if denied and (
            (left_open and _are_joined(scope.text, left_open, denied))
            or (plain_mention and _NOR.search(scope.text, plain_mention.end(), denied.start()))
        ):
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


def _mentions(scope: _Scope) -> Iterator[tuple[re.Match[str], _Concept]]:
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


def _of_mention(scope: _Scope, mention: re.Match[str], concept: _Concept, can_be_bare: bool) -> Claims:
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
        bare = (
            bare
            or (bool(mention["non"]) and not value_follows(around[beyond:]))
            or is_conclusion(around, at, beyond, concept.adjective)
        )
        found = stance(around, at, beyond, bare) if sentence and not scope.asks else None
        if found == "asserted" and not concept.is_sex and not is_earned(around[:at]):
            found = None
        claims = _of_stance(found, bool(mention["non"]))
    if concept.is_kind(mention):  # "no proliferative retinopathy" does not deny other kinds
        return tuple(claim for claim in claims if claim is not False)
    return claims


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
            claims.append(Unparsed("refused" if kind == "refused" else "no_match", kind))
        elif not denied or separator == "question":
            claims.append((kind == "yes") != denied)
        elif kind == "yes":
            claims.append(False)  # the double negation of "NON-GLAUCOMA: No" is left unread
    return tuple(claims)


def _of_polar(scope: _Scope, concept: _Concept) -> Claims:
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
