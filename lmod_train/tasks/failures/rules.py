"""The rules that find failures in a reply, each with its evidence."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache

from lmod_train.core.types import Prediction, Unparsed
from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.tasks.failures.case import LONGEST, AskedReply, Rule, Span
from lmod_train.tasks.failures.contradiction import contradiction
from lmod_train.tasks.failures.form import template
from lmod_train.tasks.failures.loop import loop
from lmod_train.tasks.failures.textbook import generic
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.forms import forms_of, pattern_of, plain, term_of
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.refusal import declines
from lmod_train.tasks.parsing.regions import parse_regions
from lmod_train.tasks.parsing.stance import contains_negation
from lmod_train.tasks.parsing.visible import split_repetition

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure found in a reply.

    Attributes:
        rule: Name of the rule.
        start: First character of the evidence in the reply.
        end: One past its last character.
    """

    rule: str
    start: int
    end: int


def failures_of(prediction: Prediction) -> list[Failure]:
    """Return the failures that the rules find in a reply, at most one a rule, in the order of `RULES`.

    Only the first `LONGEST` characters are read. A reply that failed (no reply at all) has none. Never raises: a rule
    that fails on a reply is logged and finds nothing.

    Example:
        >>> from lmod_train.core.types import Message, Part, Record, Reply
        >>> record = Record(id="a", task="glaucoma", task_class="", task_version=1, source="", key="", modality="CFP",
        ...     image=(), image_plain=(), image_sha256=(), split="test", group="", language="en",
        ...     messages=(Message("user", (Part("text", "Glaucoma? Give justifications."),)),),
        ...     choices=("GLAUCOMA", "NON-GLAUCOMA"), answer="GLAUCOMA")
        >>> failures_of(Prediction(record, Reply("a", "NON-GLAUCOMA"), "NON-GLAUCOMA"))
        [Failure(rule='unexplained', start=0, end=12)]
    """
    case = AskedReply(prediction)
    if case.reason == "failed":
        return []
    found = ((name, _applied(name, rule, case)) for name, rule in RULES.items())
    return [Failure(name, *span) for name, span in found if span is not None]


def finds(rule: str, prediction: Prediction) -> bool:
    """Return whether one rule finds a failure in a reply, without applying the others."""
    return _applied(rule, RULES[rule], AskedReply(prediction)) is not None


def _applied(name: str, rule: Rule, case: AskedReply) -> tuple[int, int] | None:
    try:
        return case.of(rule)
    except Exception:
        _LOG.exception("The rule %s failed on the reply to %s; it finds nothing there.", name, case.record.id)
        return None


_OTHER = re.compile("|".join(entry("explaining.refusals_other")), re.IGNORECASE)

_NO_TYPE = re.compile(rf"(?:{phrases('answers.slot_refused')})\W*", re.IGNORECASE)


def abstention(case: AskedReply) -> Span | None:
    """Return the span of a reply that declines, doubts or refers to a doctor instead of answering.

    A reply with an answer is no abstention, whatever else it says.
    """
    if case.answered or case.reason == "failed":
        return None
    refused = case.reason == "refused" or declines(case.text, case.record.choices)
    declined = refused or _OTHER.search(case.text) or _without_types(case)
    return case.stripped(0, len(case.text)) if declined else None


def _without_types(case: AskedReply) -> bool:
    """Return whether every numbered region is called unknown."""
    if not case.record.regions:
        return False
    found = parse_regions(case.text, (*case.record.choices, *_UNKNOWN))
    return (not isinstance(found, dict) and _NO_TYPE.search(case.text) is not None) or (
        isinstance(found, dict) and all(_NO_TYPE.fullmatch(structure) for structure in found.values())
    )


_UNKNOWN = ("unknown", "n/a")


_QUESTION = re.compile(phrases("flips.questions"), re.IGNORECASE)


def negation_flip(case: AskedReply) -> Span | None:
    """Return the span of the negation that the reply has and the expected answer has not, or else of the whole reply.

    Both must name the same in the same words and order; what denies it differs ("no haemorrhage", "haemorrhage"). Only
    open answers: a question with options has an answer of its own for either case.
    """
    record = case.record
    expected = in_place(record.answer[:LONGEST])
    if record.choices or record.regions or not isinstance(case.answer, str):
        return None
    if _QUESTION.search(case.text) or _QUESTION.search(expected):
        return None
    ours, theirs = polarity(case.text, expected), polarity(expected, case.text)
    same = ours.words == theirs.words and any(c.isalnum() for c in case.text)
    differ = ours.denied != theirs.denied if ours.words else ours.bare != theirs.bare
    return (ours.cue or case.stripped(0, len(case.text))) if same and differ else None


_TOKEN = compiled("rules.token_pattern")

_LATIN = re.compile(r"[a-z]+", re.IGNORECASE)

_ENDING = re.compile(r"(?<=[a-z]{3})(?:ed|es|e|(?<![sui])s)$")

_LEAST = 4
"""Letters behind ``un`` from which on it can be a prefix."""


@dataclass(slots=True)
class Polarity:
    """The words of an answer, without those that deny, assert or only frame.

    Attributes:
        words: The words, spelled alike where British and American English differ, without endings.
        denied: Of each, whether it is denied.
        bare: Whether the last denial holds, not counting words: the polarity of "no" and 未见 by themselves.
        cue: Where the first denial is.
    """

    words: list[str] = field(default_factory=list)
    denied: list[bool] = field(default_factory=list)
    bare: bool = False
    cue: tuple[int, int] | None = None


def polarity(text: str, other: str = "") -> Polarity:
    """Return the words of an answer and which of them are denied.

    A denial reaches to the next contrast, sentence or asserting word, and from behind ("edema is absent", "edema is not
    seen at the fovea") back to the last comma. Two denials in a row are none. Linear in the length of the texts.

    Args:
        text: The answer.
        other: An answer that it is compared with: "un" before one of its words is a denial.

    Example:
        >>> polarity("No macular hole, but edema").words, polarity("No macular hole, but edema").denied
        (['macular', 'hol', 'edema'], [True, True, False])
        >>> polarity("并非没有出血").denied, polarity("unchanged", "no change").denied
        ([False, False], [True])
    """
    reader = _Reader({_root(word) for word in _LATIN.findall(other)})
    for m in _TOKEN.finditer(text):
        reader.take(str(m.lastgroup), m)
    reader.close()
    return reader.found


class _Reader:
    """Reads tokens from left to right; `denies` is whether a denial reaches here, `open` whether it has met no word."""

    def __init__(self, roots: Collection[str]) -> None:
        self.found, self.roots = Polarity(), roots
        self.denies = self.open = False
        self.first = 0

    def take(self, kind: str, token: re.Match[str]) -> None:
        if kind in ("denial", "absence"):
            self.deny(token.span(), behind=kind == "absence")
        elif kind == "word":
            self.add(token.group().casefold())
        elif kind == "assertion":
            self.denies = self.denies and self.open
        elif kind in ("comma", "contrast"):
            self.close(whole=kind == "contrast")

    def deny(self, span: tuple[int, int], behind: bool) -> None:
        self.denies = not (self.open and self.denies)
        if behind:
            self.found.denied[self.first :] = [self.denies] * (len(self.found.denied) - self.first)
        self.open, self.found.bare = True, self.denies
        self.found.cue = self.found.cue or span

    def add(self, word: str) -> None:
        root = _root(word)
        inside = word.startswith("un") and len(word) >= _LEAST + 2 and _root(word[2:]) in self.roots
        self.found.words.append(_root(word[2:]) if inside else root)
        self.found.denied.append(self.denies != inside)
        self.open = False

    def close(self, whole: bool = True) -> None:
        """End a part: a denial behind its last word denies the part."""
        if self.open:
            self.found.denied[self.first :] = [self.denies] * (len(self.found.denied) - self.first)
        self.denies = self.denies and not (whole or self.open)
        self.open, self.first = False, len(self.found.words)


def _root(word: str) -> str:
    return _ENDING.sub("", word.casefold().replace("ae", "e").replace("oe", "e"))


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")

_HAN = re.compile(r"[\u4e00-\u9fff]")

_FILLER_HAN = re.compile(entry("explaining.fillers.zh"))

_MARKUP = compiled("rules.markup")


def unexplained(case: AskedReply) -> Span | None:
    """Return the span of the whole reply if it answers and gives no reason, where the prompt asks for one.

    What only says the answer again, in any words of the question, is no reason. A reply that was cut off, fell into a
    loop, contradicts itself or has the prompt's form in place of the reason is not counted here.
    """
    wanted = case.asks_for_reasons and not case.record.regions and (case.answered or case.reason == "out_of_range")
    if not wanted or (case.cut and case.labelled) or case.of(template) or case.of(loop) or case.of(contradiction):
        return None
    text = _MARKUP.sub(" ", TOKEN.sub(" ", case.text))
    text = _subject(case.record.choices).sub(" ", text)
    words = {word for word in _WORD.findall(text.casefold()) if not _HAN.search(word)}
    words -= {*entry("explaining.fillers.en")}
    han = "".join(_HAN.findall(_FILLER_HAN.sub("", text)))
    return None if words or len(han) >= 2 else case.stripped(0, len(case.text))


@lru_cache(maxsize=64)
def _subject(choices: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the choices, the diseases that can be asked about, and the names of the tasks."""
    words = [form for choice in choices for form in forms_of(choice)]
    if {choice.upper() for choice in choices} == {"TRUE", "FALSE"}:
        words += [form for finding in FINDINGS for form in (finding.short, *forms_of(finding.condition))]
    words += [form for scale in SCALES for form in forms_of(scale.disease)]
    words += [form for choice in choices if "glaucoma" in choice.casefold() for form in forms_of("glaucoma")]
    return re.compile(r"(?i:non[- ]?(?=glaucoma))|非(?=青光眼)|" + pattern_of(words), re.IGNORECASE)


_BREAK = re.compile(r"</?br\s?/?>|&nbsp;", re.IGNORECASE)


def empty(case: AskedReply) -> Span | None:
    """Return the span of the whole reply if no letter or digit is left without thinking, markup and special tokens.

    A reply that was cut off while thinking, that a service withheld, or that is a loop of tokens, is not empty.
    """
    if not case.closed or case.reason in ("refused", "truncated") or case.of(loop):
        return None
    text = _BREAK.sub(" ", TOKEN.sub(" ", case.text))
    return None if any(c.isalnum() for c in text) else (0, len(case.reply))


_NO_STRUCTURE = compiled("rules.no_structure")

_SPELLED_ALIKE = 0.75
"""Likeness of two spellings (Ratcliff and Metzener 1988) from which on a word counts as the other misspelt."""

_NOUN = re.compile(r"(?<= )(?:handpiece|instrument|tool|device|probe|tip|region|area|structure|layer)s?$")


def unknown_region(case: AskedReply) -> Span | None:
    """Return the span of the first region id that is not on the image, where the question has numbered regions."""
    drawn = {region.id for region in case.record.regions}
    strange = [number for number in _stated(case) if number not in drawn] if drawn else []
    found = re.search(rf"(?<![0-9.]){strange[0]}(?![0-9])", case.text) if strange else None
    return found.span() if found else None


def foreign_structure(case: AskedReply) -> Span | None:
    """Return the span of the first type of a region that is not among the options of the question."""
    if not case.record.regions:
        return None
    for word in _stated(case).values():
        if not _is_option(word, case.record.choices) and not _NO_STRUCTURE.fullmatch(word):
            return _place_of(word, case)
    return None


@lru_cache(maxsize=4096)  # models repeat the same few words
def _is_option(word: str, choices: tuple[str, ...]) -> bool:
    """Return whether a type is one of the options, or is spelled like one."""
    own = {_bare(form) for choice in choices for form in forms_of(choice)}
    return bool(get_close_matches(_bare(word), own, 1, _SPELLED_ALIKE))


def _bare(word: str) -> str:
    """Return a type for comparison, without the nouns that may follow any of them ("phaco handpiece")."""
    return _NOUN.sub("", plain(word)).strip()


def _stated(case: AskedReply) -> Mapping[int, str]:
    """Return region id -> type as stated, read with the types that other images have as further options."""
    if isinstance(case.answer, Mapping):
        return case.answer
    if not case.record.regions or case.reason in ("failed", "refused", "empty"):
        return {}
    known = {term.name for choice in case.record.choices if (term := term_of(choice))}
    others = [term.name for term in STRUCTURES if term.name not in known]
    foreign = (word for word in entry("structures.foreign") if word not in case.record.choices)
    choices = (*case.record.choices, *others, *foreign)
    found = parse_regions(split_repetition(clean(case.text))[0], choices)
    return {} if isinstance(found, Unparsed) else found


def _place_of(word: str, case: AskedReply) -> Span:
    """Return where the words of a type are; the whole reply if they are a synonym's."""
    found = re.search(re.escape(word), case.text, re.IGNORECASE)
    return found.span() if found else case.stripped(0, len(case.text))


_NUMERALS: dict[str, int] = entry("numerals.numerals")
_WORDS = "|".join(sorted((re.escape(w) for w in _NUMERALS if w.isascii() and len(w) > 1), key=len, reverse=True))
_HAN_NUMERALS = "".join(w for w in _NUMERALS if not w.isascii() and len(w) == 1)

_N = rf"(?:[0-9]{{1,3}}|(?:{_WORDS}|v)(?![a-z]))"

_NO_UNIT = phrases("rules.no_unit")

_LABEL = phrases("rules.label")

_STATED = re.compile(rf"{_LABEL}(?P<n>{_N}){_NO_UNIT}", re.IGNORECASE)

_LIST = compiled("rules.list", n=_N)

_RANGE = compiled("rules.range", n=_N)

_COUNT = compiled("rules.count", n=_N)

_HAN_STAGE = re.compile(rf"(?:第\s?)?(?P<n>[0-9]{{1,2}}|[{_HAN_NUMERALS}])\s?[期级]")

_NEGATIVE = re.compile(r"(?:stage|grade|分期|分级)\s{0,2}[:=]\s{0,2}(?P<n>-\s?[0-9]{1,2})(?![0-9])", re.IGNORECASE)

_SIGNED_OUT = re.compile(r"(?<![A-Za-z0-9])R(?P<n>[0-9])(?![0-9.])")

_GROUP = re.compile(r"(?<!age )(?<![a-z])group\s{1,2}(?P<n>[0-9]{1,2})(?![0-9]|\s?[-~/]\s?[0-9]|s)", re.IGNORECASE)

_BEFORE = 40


def unknown_stage(case: AskedReply) -> Span | None:
    """Return the span of the first stage or group beyond the scale, in the answer or in a description of the scale.

    In a description the lower end does not count, as some authors begin a scale at 0; nor does what is denied ("there
    is no stage 5") or carries a unit.
    """
    choices = case.record.choices
    if choices == tuple(group.label for group in AGE_GROUPS):
        return next((m.span("n") for m in _GROUP.finditer(case.text) if not 1 <= int(m["n"]) <= len(choices)), None)
    if len(choices) < 2 or not all(re.fullmatch("[0-9]{1,3}", choice) for choice in choices):
        return None
    levels = [int(choice) for choice in choices]
    return _of_answer(case, levels) or next(_beyond(case.text, max(levels), len(levels)), None)


def _of_answer(case: AskedReply, levels: list[int]) -> Span | None:
    """Return the span of an answer that is no level: what the parser found, or a negative number."""
    negative = _NEGATIVE.search(case.text)
    if negative:
        return negative.span("n")
    if case.reason != "out_of_range":
        return None
    stated = (m for pattern in (_STATED, _HAN_STAGE, _SIGNED_OUT) for m in pattern.finditer(case.text))
    return next((m.span("n") for m in stated if _value(m["n"]) not in levels), case.stripped(0, len(case.text)))


def _beyond(text: str, highest: int, count: int) -> Iterator[Span]:
    """Yield the spans of numbers beyond the highest level that are not denied."""
    for pattern in (_STATED, _LIST, _RANGE, _COUNT, _HAN_STAGE):
        limit = count if pattern is _COUNT else highest
        for m in pattern.finditer(text):
            value = _value(m["n"])
            if value is not None and value > limit and not _denied(text, m.start()):
                yield m.span("n")


def _denied(text: str, start: int) -> bool:
    before = re.split(r"[.;,\n。；，]", text[max(0, start - _BEFORE) : start])[-1]
    return contains_negation(before)


def _value(word: str) -> int | None:
    folded = word.casefold()
    return _NUMERALS.get(folded, int(folded) if folded.isdecimal() else None)


def special_tokens(case: AskedReply) -> Span | None:
    """Return the span of the first special token."""
    found = TOKEN.search(case.text)
    return found.span() if found else None


# Find tokens of a chat template, of padding or of grounding that are visible in a reply.

TOKEN = compiled("rules.token")
"""A special token; the marks of a boxed answer and of thinking are a format and none."""


RULES: Mapping[str, Rule] = {
    rule.__name__: rule
    for rule in (
        *(empty, loop, special_tokens, template, generic, abstention),
        *(unexplained, contradiction, unknown_region, foreign_structure, unknown_stage, negation_flip),
    )
}
"""Name -> rule, in the order of tables."""
