"""Mark the options that a reply mentions, by letter or by text, with one sign each.

A sign is a letter of its own (of the Yi script, which no option is written in), so that the text of an option, with the
commas, negations and full stops within it, is one word for the rules that read the reply.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.tasks.parsing.normalise import normalise

OF_LETTER, OF_TEXT = 0xA000, 0xA040
LETTER, TEXT = "[\ua000-\ua019]", "[\ua040-\ua440]"
"""Patterns of the sign of an option's letter, and of its text."""
OTHERS = "\ua440"
"""Sign of options that a reply leaves open: "grade 2 or worse"."""
MOST_OPTIONS = ord(OTHERS) - OF_TEXT
"""Options that have a sign each; without letters there may be as many."""

_TAKEN = dict.fromkeys((*range(OF_LETTER, OF_LETTER + len(LETTERS)), *range(OF_TEXT, ord(OTHERS) + 1)), " ")
_CAPITAL = compiled("option_signs.capital", 0)
_SMALL_ALONE = re.compile(r"(?P<before>\W{0,6})(?P<letter>[a-z])(?P<after>\W{0,6})")
_SMALL = compiled("option_signs.small")
_OPTION = re.compile(r"(?P<before>(?<![a-z])option\s[\"'(]?)(?P<letter>[a-z])(?P<after>(?![a-z0-9'-]))", re.IGNORECASE)
_SEVERAL = compiled("option_signs.several", 0)
_RATIO = compiled("option_signs.ratio")
_NO_LETTER_BEFORE = re.compile(rf"(?:{any_of(entry('options.before_no_letter'))})[.\s]{{1,2}}$", re.IGNORECASE)
_NO_LETTER_AFTER = re.compile(rf"[.\s]{{1,2}}(?:{any_of(entry('options.after_no_letter'))})", re.IGNORECASE)
_CUE = re.compile(any_of(("option", "options", "choice", "letter"), ("选项?",)) + r"\W{0,4}$", re.IGNORECASE)
_MIDDLE = re.compile(r"[a-z,] [\"'(\[]{0,2}$")
_AS_WORD = re.compile(rf"\s(?:{TEXT}|[\"']?[a-z]|[0-9]{{1,3}}(?:-[a-z]|\s(?:years?|months?|weeks?)))")
_AS_LETTER = re.compile(rf"\s(?:{any_of(entry('options.after_letter_a'))})")
_ENDED = re.compile(r"[\"')\]]{0,3}\s?(?:$|[.):;,\n])")
_OPENED = re.compile(r"(?:^|[\n:;(\[\"'])\s{0,2}$")
_COMPARED = re.compile(rf"(?:(?<![a-z])than\s(?:option\s)?|比(?:选项)?){LETTER}", re.IGNORECASE)  # "likelier than A"
_IN_BRACKETS = re.compile(r"\([^()]{1,40}\)$")
_IN_SLOT = r"(?:(?<=[\n:;.=]\s)|(?<=[\n:;.=])|(?<=\A)|(?<=\bis\s))(?:{})(?=\s?(?:\Z|[\n,.;:!)]))"


def mark(text: str, choices: Sequence[str]) -> str:
    """Return the text with each mention of an option replaced by its sign.

    Args:
        text: A cleaned reply (see `lmod_train.tasks.parsing.clean`).
        choices: Texts of the options in the order of their letters.

    Example:
        >>> [hex(ord(sign)) for sign in mark("B: rim", ("cup", "rim")) if sign > "z"]
        ['0xa001', '0xa041']
        >>> mark("A rim is seen by vitamin A", ("x", "y")).isascii()
        True
    """
    text = _OPTION.sub(_upper, unsigned(text))
    text = in_full(text, choices)
    for pattern, numbers in _texts(tuple(choices)):
        text = _with_signs(text, pattern, numbers)
    text = _RATIO.sub("ratio", text)
    text = _SEVERAL.sub(_apart, text)
    alone = _SMALL_ALONE.fullmatch(text)
    text = _upper(alone) if alone else _SMALL.sub(_upper, text)
    return _COMPARED.sub(" ", _CAPITAL.sub(_sign_of, text))


def unsigned(text: str) -> str:
    """Return a text without the letters that are used as signs."""
    return text.translate(_TAKEN)


def _with_signs(text: str, pattern: re.Pattern[str], numbers: Mapping[str, int]) -> str:
    def sign(found: re.Match[str]) -> str:
        number = numbers.get(plain(found[0]))  # none for a dotless i, which matches i in any case
        return found[0] if number is None else chr(OF_TEXT + number)

    return pattern.sub(sign, text)


def index_of(sign: str) -> int:
    """Return the index of the option of a sign.

    Example:
        >>> index_of(chr(OF_LETTER + 2)), index_of(chr(OF_TEXT + 2))
        (2, 2)
    """
    return ord(sign) - (OF_TEXT if ord(sign) >= OF_TEXT else OF_LETTER)


def _upper(found: re.Match[str]) -> str:
    return found["before"] + found["letter"].upper() + found["after"]


def _apart(found: re.Match[str]) -> str:
    """Return letters in a row, if they rise as those of options do, with signs between them."""
    letters = found["letters"]
    return found["before"] + ("/".join(letters) if list(letters) == sorted(set(letters)) else letters)


def _sign_of(found: re.Match[str]) -> str:
    """Return the sign of a capital letter, or the letter where it is a word or a part of a name."""
    before, after = found.string[max(0, found.start() - 40) : found.start()], found.string[found.end() :][:40]
    named = _NO_LETTER_BEFORE.search(before) or _NO_LETTER_AFTER.match(after)
    word = _is_word(found["letter"], before, after) and not _CUE.search(before)
    return found[0] if named or word else chr(OF_LETTER + LETTERS.index(found["letter"]))


def _is_word(letter: str, before: str, after: str) -> bool:
    """Return whether a capital letter is the article "A" or the pronoun "I"."""
    if letter == "I":
        return not (_ENDED.match(after) and _OPENED.search(before))
    if letter != "A" or not _AS_WORD.match(after) or _AS_LETTER.match(after):
        return False
    return not _MIDDLE.search(before)


@lru_cache(maxsize=1024)
def _texts(choices: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], dict[str, int]], ...]:
    """Return patterns of the options' texts, and text -> index of each; short texts count in an answer's place only."""
    spelled: dict[str, list[int]] = defaultdict(list)
    for i, choice in enumerate(choices):
        spelled[plain(normalise(choice))].append(i)
    for i, choice in enumerate(choices):  # "polypoidal vasculopathy" of "Polypoidal vasculopathy (PCV)"
        if (shorter := plain(_IN_BRACKETS.sub("", normalise(choice)))) not in spelled:
            spelled[shorter].append(i)
    numbers = {text: own[0] for text, own in spelled.items() if text and len(own) == 1}
    short = {
        text
        for text in numbers
        if text in (*entry("answers.yes"), *entry("answers.no")) or re.fullmatch(r"[\d.]+|[a-z]{2,3}", text)
    }
    long = [text for text in numbers if text not in short and not re.fullmatch("[a-z]", text)]
    found = []
    if long:
        found.append((re.compile(_words(long), re.IGNORECASE), numbers))
    if short:
        found.append((re.compile(_IN_SLOT.format(_words(short)), re.IGNORECASE), numbers))
    return tuple(found)


def _words(texts: Iterable[str]) -> str:
    """Return a pattern of any text as whole words, the longest first."""
    forms = [r"[\s\-_]{1,3}".join(map(re.escape, t.split())) for t in sorted(texts, key=lambda t: (-len(t), t))]
    latin = "[A-Za-z0-9\u00c0-\u024f]"
    return rf"(?<!{latin})(?<!{latin}-)(?<!\bnon\s)(?<!非)(?:{'|'.join(forms)})(?!{latin}|-{latin}|[.,][0-9])"


_JOIN = r"\s?(?:/|,|-|\bto\b|\bor\b|\band\b|,\s(?:or|and))\s?(?:the\s)?"
_OR = rf"(?:\s?[(,]?\s?(?:[/~&-]|{phrases('options.second')})){{1,4}}\s?(?:the\s|an?\s)?"
_ENDED_SHORT = r"(?=\s?(?:\Z|[\n.,;:!?)\]/。-]|(?:or|and)\b))(?![.,][0-9])"
_NUMBERED = compiled("option_signs.numbered", 0)


def in_full(text: str, choices: Sequence[str]) -> str:
    """Return the text with options that share their words with another one written in full.

    Args:
        text: A cleaned reply.
        choices: Texts of the options.

    Example:
        >>> in_full("mild to moderate NPDR", ("Mild NPDR", "Moderate NPDR"))
        'mild npdr to moderate NPDR'
        >>> in_full("Moderate NPDR, possibly severe", ("Moderate NPDR", "Severe NPDR"))
        'Moderate npdr or severe npdr'
        >>> in_full("grade 2 (maybe 3)", ("grade 2", "grade 3")), in_full("2至3级", ("2级", "3级"))
        ('grade 2 or grade 3)', '2级 or 3级')
    """
    for pattern, second in _seconds(tuple(choices)):
        text = pattern.sub(second, text)
    for pattern, tail in _firsts(tuple(choices)):
        text = pattern.sub(rf"\g<first> {tail}", text)
    return text


def plain(text: str) -> str:
    """Return a text as the texts of options are compared: lower case, single blanks, no hyphens, no full stop.

    Example:
        >>> plain("Cotton-wool  Spots.")
        'cotton wool spots'
    """
    return " ".join(re.sub(r"[\s\-_]+", " ", text).casefold().split()).strip(" .。")


@lru_cache(maxsize=1024)
def _firsts(choices: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of "mild" in "mild to moderate NPDR", and the words that it shares with the other option."""
    return tuple((_coordinated(own, tail), tail) for tail, own in _heads(choices).items())


@lru_cache(maxsize=1024)
def _seconds(choices: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of "grade 2 or 3" and "moderate NPDR or severe", and how these are written in full."""
    numbered = (_two_numbers(head, tail, own) for (head, tail), own in _numbers(choices).items())
    return (*numbered, *(_two_heads(own, tail) for tail, own in _heads(choices).items()))


def _heads(choices: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the last words that options share -> their first words."""
    heads: dict[str, set[str]] = defaultdict(set)
    words = [plain(normalise(choice)).split() for choice in choices]
    for one, other in combinations(words, 2):
        for count in range(1, min(len(one), len(other))):
            if one[-count:] == other[-count:]:
                heads[" ".join(one[-count:])] |= {" ".join(one[:-count]), " ".join(other[:-count])}
    return heads


def _numbers(choices: tuple[str, ...]) -> dict[tuple[str, str], set[str]]:
    """Return what stands before and behind the number of options -> their numbers, if there are several."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for found in filter(None, (_NUMBERED.fullmatch(plain(normalise(choice))) for choice in choices)):
        if found["head"] or found["tail"]:
            numbers[found["head"], found["tail"]].add(found["number"])
    return {around: own for around, own in numbers.items() if len(own) > 1}


def _two_numbers(head: str, tail: str, numbers: Iterable[str]) -> tuple[re.Pattern[str], str]:
    one = _any(numbers)
    again = rf"(?:{_spelt(head.split()[-1])}\s?)?" if head else ""
    unit = rf"\s?{_spelt(tail)}" if tail else ""
    ended = _ENDED_SHORT if head else ""
    first = rf"(?<![a-z0-9.]){_spelt(head)}\s?(?P<first>{one})(?:{unit})?"
    second = rf"{_OR}{again}(?P<other>{one})(?:{unit}){'?' if head else ''}{ended}"
    in_full = rf"{head}\g<first>{tail} or {head}\g<other>{tail}"
    return re.compile(first + second, re.IGNORECASE), in_full


def _two_heads(heads: Iterable[str], tail: str) -> tuple[re.Pattern[str], str]:
    one = _any(heads)
    first = rf"(?<![a-z])(?P<first>{one})[\s\-_]{{1,3}}{_spelt(tail)}"
    in_full = rf"\g<first> {tail} or \g<other> {tail}"
    return re.compile(rf"{first}{_OR}(?P<other>{one}){_ENDED_SHORT}", re.IGNORECASE), in_full


def _coordinated(heads: Iterable[str], tail: str) -> re.Pattern[str]:
    one = _any(heads)
    more = rf"(?:{_JOIN}{one}){{1,5}}\s{re.escape(tail)}(?![a-z])"
    return re.compile(rf"(?<![a-z])(?P<first>{one})(?={more})", re.IGNORECASE)


def _any(texts: Iterable[str]) -> str:
    return "(?:" + "|".join(map(_spelt, sorted(texts, key=lambda t: (-len(t), t)))) + ")"


def _spelt(text: str) -> str:
    return r"[\s\-_]{1,3}".join(map(re.escape, text.split()))
