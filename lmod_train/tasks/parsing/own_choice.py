"""Parse the answer to a question of one's own: one of its choices, yes or no, or several choices.

Mentions of choices are signs before anything else is read (`words_of`), and the rules for options read the signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, last, split_explanation
from lmod_train.tasks.parsing.forms import spellings, term_of
from lmod_train.tasks.parsing.groups import EMPTY, TICKED, UNSAID, Slot
from lmod_train.tasks.parsing.keys import role_of
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.option import option_in_prose, read_slot
from lmod_train.tasks.parsing.option_signs import OF_TEXT, TEXT, in_full, index_of, unsigned
from lmod_train.tasks.parsing.reading import Claim, answer_in
from lmod_train.tasks.parsing.slots import kinds_of
from lmod_train.tasks.parsing.stage import parse_stage
from lmod_train.tasks.parsing.stance import describes_whole_eye, mentions_in
from lmod_train.tasks.parsing.structure import decode

_SIGN = re.compile(TEXT)
Synonyms = tuple[tuple[str, tuple[str, ...]], ...]
"""Choice -> further words by which replies name it."""


@dataclass(frozen=True)
class Words:
    """The words of a question's choices.

    Attributes:
        numbers: Spelling, as `spelled` returns it -> index of its choice.
        strong: Pattern of the spellings that name a choice wherever they occur.
        weak: Pattern of spellings that are words or numbers of any text ("no", "1", "A"); they count in the place of an
            answer only.
        whole: Pattern of words for a normal eye, which count where they are said of the whole eye.
        negative: Index of a choice -> that of its negation ("DR", "no DR").
        folded: The choices as replies are compared with them, if words that two of them share may be left out once.
    """

    choices: tuple[str, ...]
    numbers: dict[str, int]
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    whole: re.Pattern[str]
    negative: dict[int, int]
    folded: tuple[str, ...]

    def opened(self, text: str, keys: Iterable[str]) -> str:
        """Return a reply, with its markup, with signs and with English names of its fields."""
        text = _EXPLAINED.sub(r"\g<before>Explanation\g<after>", unsigned(folded(text)))
        text = field_named(keys, self.numbers).sub(r"\g<before>Answer\g<after>", text)
        return self.strong.sub(self._sign, in_full(text, self.folded) if self.folded else text)

    def marked(self, text: str, choices: Sequence[str]) -> str:
        """Return cleaned text with signs, and with the English words for negations of other languages."""
        text = self.whole.sub(self._of_whole_eye, self.strong.sub(self._sign, folded(text)))
        before = ""
        while before != text:  # each one beside another: "1, 2, 3"
            before, text = text, self.weak.sub(self._sign, text)
        text = _NEGATED_BEHIND.sub(r" not \g<sign>", _SAID_NO.sub(r" not \g<sign>", text))
        for pattern, english in _ENGLISH:
            text = pattern.sub(english, text)
        return text

    def run_of_answers(self, text: str) -> str:
        """Return the line of the answer with lines of bare choices behind it, with signs; empty without one."""
        run = _RUN.search(self.marked(text, ()))
        return run[0] if run else ""

    def in_slot(self, slot: Slot) -> Slot:
        """Return a slot whose value is a sign if it is a choice and nothing else, also "unknown" or "0"."""
        value = slot.value.strip(" \t\n*_\"'<>.,;`")
        number = index_of(value) if _SIGN.fullmatch(value) else self.numbers.get(spelled(folded(value)))
        if number is None:
            return slot
        other = slot.role == "" and slot.layout == "object" and not re.search(TEXT, self.marked(slot.name, ()))
        other = other and term_of(slot.name) is None
        alone = other and not kinds_of(slot.value)  # {"disc edge": "thin"}: a key in other words than the question's
        return replace(
            slot, name="" if alone else slot.name, value=chr(OF_TEXT + number), role="answer" if alone else slot.role
        )

    def denied_by(self, slot: Slot) -> str | None:
        """Return the other one of a pair such as "DR" and "no DR" where a field denies it: {"DR": false}."""
        named = re.fullmatch(rf"\W{{0,9}}(?P<sign>{TEXT})\W{{0,9}}", self.marked(slot.name, ()))
        if len(self.choices) != 2 or not named or _said_of(slot) != ("no",):
            return None
        other = self.negative.get(index_of(named["sign"]))
        return None if other is None else self.choices[other]

    def denied_in(self, text: str) -> str | None:
        """Return the negation of the choices that the text denies, None if it denies none with one."""
        denied = (index_of(m[0]) for m, said in mentions_in(self.marked(text, ()), _SIGN) if said == "denied")
        found = {self.negative[number] for number in denied if number in self.negative}
        return self.choices[found.pop()] if len(found) == 1 else None

    def _sign(self, found: re.Match[str]) -> str:
        own = spelled(found[0])
        number = self.numbers.get(own, self.numbers.get(own.removesuffix("s")))
        return found[0] if number is None else chr(OF_TEXT + number)

    def _of_whole_eye(self, found: re.Match[str]) -> str:
        text = found.string
        start = max((text.rfind(sign, 0, found.start()) + 1 for sign in ".;\n!?"), default=0)
        ends = [at for sign in ".;\n!?" if (at := text.find(sign, found.end())) >= 0]
        clause = text[start : min(ends, default=len(text))]
        whole = describes_whole_eye(clause, found.start() - start, found.end() - start)
        return self._sign(found) if whole else found[0]


@lru_cache(maxsize=256)
def words_of(choices: tuple[str, ...], synonyms: Synonyms = ()) -> Words:
    """Return the words of the choices."""
    own = _own_forms(choices, synonyms)
    numbers = {spelled(form): i for i, forms in enumerate(own) for form in forms}
    negative, further = _by_vocabulary(choices, numbers)
    for i, form in further:
        numbers.setdefault(spelled(form), i)
    for i, form in _numbered(choices):
        numbers.setdefault(spelled(form), i)
    forms = {*(form for forms in own for form in forms), *(form for _, form in further)}
    normal = {form for form in forms if _means_normal(choices[numbers[spelled(form)]])}
    weak = {form for form in forms - normal if _is_weak(form)}
    text = tuple(folded(choice) for choice in choices)
    joined = any(in_full(one, text) != one for one in text)
    return Words(
        choices,
        numbers,
        re.compile(_any(forms - normal - weak)),
        _in_slot({*weak, *(form for _, form in _numbered(choices))}),
        re.compile(_any(normal)),
        negative,
        () if joined else text,
    )


def _own_forms(choices: Sequence[str], synonyms: Synonyms) -> list[list[str]]:
    """Return the spellings of each choice: its own, that without brackets behind it, and the synonyms of the user."""
    given = dict(synonyms)
    own = [[choice, *given.get(choice, ())] for choice in choices]
    taken = {spelled(form) for forms in own for form in forms}
    shorter = [_IN_BRACKETS.sub("", choice) for choice in choices]
    for i, form in enumerate(shorter):
        if form.strip() and spelled(form) not in taken and [*map(spelled, shorter)].count(spelled(form)) == 1:
            own[i].append(form)
    return own


def _by_vocabulary(choices: Sequence[str], own: dict[str, int]) -> tuple[dict[int, int], list[tuple[int, str]]]:
    """Return index of a choice -> that of its negation, and the spellings of the vocabulary with their index."""
    bare = [_NEGATION.sub("", folded(choice)) for choice in choices]
    negated = [one != folded(choice) for one, choice in zip(bare, choices, strict=True)]
    terms = [term_of(one) for one in bare]
    kinds = [
        term is not None and spelled(one) in map(spelled, term.kinds) for term, one in zip(terms, bare, strict=True)
    ]
    negative = {
        i: j
        for j, one in enumerate(bare)
        if negated[j]
        for i in range(len(choices))
        if not negated[i]
        and (own.get(spelled(one)) == i or (terms[j] is not None and terms[j] == terms[i] and not kinds[i] | kinds[j]))
    }
    forms = []
    for i, term in enumerate(terms):
        same = [j for j, other in enumerate(terms) if other is not None and other == term and j != i]
        if term is None or kinds[i] or any(kinds[j] or negated[j] == negated[i] for j in same):
            continue
        if negated[i]:
            forms += [(i, f"no {form}") for form in spellings(term)[: -len(term.kinds) or None] if form.isascii()]
        else:
            forms += [(i, form) for form in spellings(term)]
    return negative, [(i, form) for i, form in forms if spelled(form) not in own]


def _means_normal(choice: str) -> bool:
    term = term_of(choice)
    return term is not None and term.name == "normal"


def _numbered(choices: Sequence[str]) -> list[tuple[int, str]]:
    """Return the number of each choice if they are a scale, "Grade 1", "Grade 2"; empty otherwise."""
    found = [_LEVEL.fullmatch(folded(choice)) for choice in choices]
    whole = [one for one in found if one]
    if len(whole) < len(found) or len({one["head"].casefold() for one in whole}) > 1:
        return []
    return [(i, one["number"]) for i, one in enumerate(whole)]


def _is_weak(form: str) -> bool:
    """Return whether a spelling is a word or number that any reply may contain."""
    word = spelled(form)
    plain = re.fullmatch(r"[\d.,+/ -]+|[^\W\d][+-]?", word) or re.fullmatch("[a-z]{2,3}", form)
    return bool(
        plain
        or kinds_of(form)
        or role_of(form) not in ("", "denied")
        or word in (*entry("answers.yes"), *entry("answers.no"))
    )


def folded(text: str) -> str:
    """Return a text with plain Latin letters: ae for ä, ss for ß, e for é; all other signs as `normalise` returns them.

    Example:
        >>> folded("Gefäß"), folded("rétinopathie"), folded("青光眼")
        ('Gefaess', 'retinopathie', '青光眼')
    """
    text = unicodedata.normalize("NFC", normalise(text)).translate(_UMLAUTS)
    return "".join(map(_bare_letter, text)) if not text.isascii() else text


_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ẞ": "SS", "æ": "ae", "ø": "o"}
)


@lru_cache(maxsize=4096)
def _bare_letter(letter: str) -> str:
    first = unicodedata.normalize("NFD", letter)[0]
    return first if first.isascii() and first.isalpha() else letter


def spelled(text: str) -> str:
    """Return a text as choices are compared: without case, accents, and differences of blanks and hyphens.

    Example:
        >>> spelled("Cotton-wool  Spots."), spelled("A-"), spelled("Ödem")
        ('cotton wool spots', 'a-', 'oedem')
    """
    return " ".join(filter(None, re.split(_BLANK, folded(text).casefold()))).rstrip(" .")


_BLANK = r"[\s_]{1,9}|(?<=[^\W_])[\s_]?-[\s_]?(?=[^\W_])"
_IN_BRACKETS = re.compile(r"\s?\([^()]{1,40}\)$")
_NEGATION = compiled("own_words.negation")
_LEVEL = re.compile(r"(?P<head>[^\W\d][^\d]{0,30}?\s)(?P<number>[0-9]{1,3})")
_LATIN = "[A-Za-z0-9]"


def _any(forms: Iterable[str]) -> str:
    """Return a pattern of any spelling as whole words, the longest first; one that matches nothing for none."""
    texts = {spelled(form): folded(form) for form in sorted(forms)}
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    return "|".join(_form(text, texts[text]) for text in ordered if text) or "(?!)"


def _form(text: str, written: str) -> str:
    words = (rf"(?:{_BLANK})").join(map(re.escape, text.split()))
    if written.isascii() and written.isupper() and written.isalpha() and len(written) <= 5:
        words = f"(?:{re.escape(written)}|{re.escape(written.lower())})"  # not "Dr. Li"
    else:
        plural = "s?" if len(text) > 4 and re.search("[a-z]$", text) and not text.endswith("s") else ""
        words = f"(?i:{words}{plural})"
    start = rf"(?<!{_LATIN})(?<!{_LATIN}-)(?<!\bnon\s)" if re.match(_LATIN, text) else "(?<![非不])"
    return start + words + (rf"(?!{_LATIN}|-{_LATIN}|[.,][0-9]|\+)" if re.search(f"{_LATIN}$", text) else "")


_TICKS = phrases("own_words.ticks")
_OR = r"(?:[,;/|]|(?<=\s)(?:or|and|oder|und|ou|et|o|y|e)(?=\s)|[或和、])"
_BEFORE = phrases("own_words.before")


def _in_slot(forms: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the spellings where an answer stands: behind a sign, alone, or beside another choice."""
    own = _any(forms)
    behind = rf"(?=\s?(?:\Z|[\n,.;:!)\]\"'|>{_TICKS}]|{_OR}\s?(?:{TEXT}|{own})(?![^\W_])))"
    return re.compile(rf"(?:{_BEFORE}|(?<![\s\S]))(?:{own}){behind}")


def field_named(keys: Iterable[str], but: Collection[str] = ()) -> re.Pattern[str]:
    """Return a pattern of the names of fields that announce an answer, in five languages, with some further names.

    Args:
        keys: Further names; a blank in one may be an underscore.
        but: Words that are none of these names, as they are choices.
    """
    own = (re.escape(spelled(key)).replace(r"\ ", "[ _]") for key in keys if key)
    names = {*entry("other_languages.answers"), *own} - set(but)
    return _field("|".join(sorted(names, key=lambda name: (-len(name), name))))


def _field(names: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<before>(?:^|[\n;{{,|.])[\s\"'*#>-]{{0,6}})(?:(?:die|das|der|la|le|el|a|o)\s)?(?:{names})"
        rf"(?P<after>[\"'*]{{0,4}}\s{{0,3}}[:=|])",
        re.IGNORECASE,
    )


_EXPLAINED = _field("|".join(entry("other_languages.explanations")))
_ENGLISH = tuple(
    (re.compile(rf"(?<![^\W_])(?:{found})(?![^\W_])", re.I), e) for found, e in entry("other_languages.english")
)
_SAID_NO = compiled("own_words.said_no")
_NEGATED_BEHIND = compiled("own_words.negated_behind")
_RUN = compiled("own_words.run")


SEPARATOR = "; "
"""Between the choices of an answer with several."""


def parse_own(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the one choice that the text states, in the question's spelling.

    Args:
        text: A reply without thinking (see `lmod_train.tasks.parsing.reading.read`).
        choices: Those of the question, which differ in more than case, accents, blanks and hyphens.
        synonyms: Further words of the choices.
        keys: Names of the question, which announce an answer: "Rim status: thin".

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (none is stated, or some are only denied) or
        ``ambiguous`` (two are stated, or "grade 2 or worse").

    Example:
        >>> three = ("DR", "PDR", "no DR")
        >>> [parse_own(text, three) for text in ("DR", "It is PDR, not DR.", "There are no signs of DR.")]
        ['DR', 'PDR', 'no DR']
        >>> parse_own("Diagnose: Glaukom, nicht gesund", ("Glaukom", "gesund"))
        'Glaukom'
        >>> [parse_own(text, three).reason for text in ("not PDR", "DR or PDR", "")]
        ['no_match', 'ambiguous', 'empty']
    """
    if not text.strip():
        return Unparsed("empty")
    words = words_of(choices, synonyms)
    opened = words.opened(text, keys)
    if all(choice.isdecimal() and choice == str(int(choice)) and len(choice) < 3 for choice in choices):
        level = parse_stage(opened, choices)
        if isinstance(level, str) or level.reason != "no_match":
            return level

    if len(set(re.findall(TEXT, words.run_of_answers(opened)))) > 1:
        return Unparsed("ambiguous", "several choices in a row")

    def slot(found: Slot) -> Claim | None:
        return words.denied_by(found) or read_slot(words.in_slot(found), choices, words.marked)

    def prose(found: str) -> Claim:
        stated = option_in_prose(found, choices, words.marked)
        nothing = isinstance(stated, Unparsed) and stated.reason == "no_match"
        return (words.denied_in(found) or stated) if nothing else stated

    return answer_in(opened, slot, prose)


def parse_several(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the choices that the text states, in the order of the question, joined by `SEPARATOR`.

    Args:
        text: A reply without thinking.
        choices: Those of the question.
        synonyms: Further words of the choices.
        keys: Names of the question.

    Returns:
        The choices, an empty text if it states that none applies or denies each; or `Unparsed` with ``empty``,
        ``no_match`` or ``ambiguous`` (one is both stated and denied, or one is stated beside "none").

    Example:
        >>> two = ("drusen", "Blutung")
        >>> [parse_several(text, two) for text in ("Blutung, Drusen", "drusen but no Blutung", "Answer: none")]
        ['drusen; Blutung', 'drusen', '']
    """
    if not text.strip():
        return Unparsed("empty")
    words = words_of(choices, synonyms)
    stated: dict[int | None, set[bool]] = defaultdict(set)  # None stands for "none of them"
    for number, holds in _stated_in(words, words.opened(text, (*keys, *entry("other_languages.lists")))):
        stated[number].add(holds)
    yes = sorted(number for number, found in stated.items() if number is not None and True in found)
    if any(len(found) > 1 for found in stated.values()) or (yes and None in stated):
        return Unparsed("ambiguous", " and ".join(choices[number] for number in yes[:4]))
    if yes:
        return SEPARATOR.join(choices[number] for number in yes)
    if None in stated or len(stated) == len(choices):
        return ""
    return Unparsed("no_match", text.strip()[:80])


def parse_yes_no(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the choice for yes or for no that the text states.

    Args:
        text: A reply without thinking.
        choices: Two: the word for yes, and that for no.
        synonyms: Further words of the choices, as the name of what is asked: then "no signs of it" is a no.
        keys: Names of the question.

    Returns:
        The choice, or `Unparsed` as in `parse_own`.

    Example:
        >>> own = (("yes", ("notch",)),)
        >>> [parse_yes_no(text, ("yes", "no"), own) for text in ("Antwort: ja", "No.", "A notch is seen.", "no notch")]
        ['yes', 'no', 'yes', 'no']
        >>> parse_yes_no("no notch", ("yes", "no")).reason
        'no_match'
    """
    yes = [form for choice, forms in synonyms if choice == choices[0] for form in forms]
    asked = set(map(spelled, (*keys, *yes)))
    slots = [slot for slot in decode(folded(text)).slots if spelled(slot.name) in asked and slot.value != UNSAID]
    kinds = {kind for slot in slots for kind in _said_of(slot)}
    if kinds and kinds <= {"yes", "no"}:
        return choices[kinds == {"no"}] if len(kinds) == 1 else Unparsed("ambiguous", "yes and no")
    opened = field_named(keys).sub(r"\g<before>Answer\g<after>", folded(text))
    if sorted(re.findall(r"\w+", opened.casefold())) == sorted(choices):
        return Unparsed("ambiguous", "both choices")  # "yes no"
    stated = parse_choice(_POLAR.sub(lambda m: m["before"] + ("yes" if m["yes"] else "no"), opened), choices)
    if not synonyms or not (isinstance(stated, str) or stated.reason == "no_match"):
        return stated
    own = dict(zip(choices, (_ASKED, f"no {_ASKED}"), strict=True))
    named = parse_own(text, tuple(own.values()), tuple((own[choice], forms) for choice, forms in synonyms), keys)
    if isinstance(named, Unparsed):
        return stated if named.reason == "no_match" or isinstance(stated, str) else named
    said = next(choice for choice, word in own.items() if word == named)
    return Unparsed("ambiguous", f"{stated} and {said}") if isinstance(stated, str) and said != stated else said


def _said_of(slot: Slot) -> Sequence[str]:
    return ("yes",) if slot.value == TICKED else ("no",) if slot.value == EMPTY else kinds_of(clean(slot.value))


def asked_in(words: str) -> tuple[str, ...]:
    """Return what a question with the answers yes and no asks for, if its words tell.

    Example:
        >>> asked_in("Is there a notch?"), asked_in("有出血吗？"), asked_in("How is the rim?")
        (('notch',), ('出血',), ())
    """
    return _asked(_POLAR_QUESTION, words)


def quantity_in(words: str) -> tuple[str, ...]:
    """Return what any other question asks for: by this name a field may announce the answer.

    Example:
        >>> quantity_in("What is the cup-to-disc ratio?"), quantity_in("眼压是多少？"), quantity_in("Describe it.")
        (('cup-to-disc ratio',), ('眼压',), ())
    """
    return _asked(_QUANTITY, words)


def _asked(pattern: re.Pattern[str], words: str) -> tuple[str, ...]:
    found = pattern.fullmatch(folded(words).strip())
    return (found[found.lastgroup or 0],) if found else ()


_POLAR_QUESTION, _QUANTITY = compiled("own_words.asked"), compiled("own_words.quantity")
_ASKED = "\ua470"
"""Stands for what is asked; of the Yi script, and no option's sign."""
_POLAR = compiled("own_choice.polar")


def _stated_in(words: Words, text: str) -> Iterator[tuple[int | None, bool]]:
    """Yield each stated choice and whether it holds: of structures, else of the answer's line, else of the prose."""
    decoded = decode(text)
    said = (slot for slot in decoded.slots if slot.value != UNSAID and (slot.layout != "line" or _said_of(slot)))
    whole = [words.in_slot(slot) for slot in said]
    found = [one for slot in whole for one in _of_slot(words, slot)]
    if not any(holds for _, holds in found):
        prose, _ = split_explanation(clean(decoded.prose()))
        final, line = final_statement(prose), last(_LINE, prose)
        stated = list(_of_prose(words, line["value"] if line else final or prose))
        found += stated or list(_of_prose(words, prose))
    yield from found


_LINE = compiled("own_choice.line", re.IGNORECASE | re.MULTILINE)


def _of_slot(words: Words, slot: Slot) -> Iterator[tuple[int | None, bool]]:
    kinds = _said_of(slot)
    named = re.fullmatch(rf"\W{{0,9}}(?P<sign>{TEXT})\W{{0,9}}", words.marked(slot.name, ()))
    if named and not (slot.role and role_of(slot.name)) and kinds in (("yes",), ("no",)):
        yield index_of(named["sign"]), kinds == ("yes",)
    elif slot.role or slot.layout == "box":
        yield from _of_prose(words, clean(slot.value))


def _of_prose(words: Words, text: str) -> Iterator[tuple[int | None, bool]]:
    marked = words.marked(text, ())
    if _NONE.fullmatch(marked):
        yield None, True
    for mention, said in mentions_in(marked, _SIGN):
        yield index_of(mention[0]), said == "asserted"


_NONE = compiled("own_choice.none")
