"""Read the questions that a model wrote in both languages, and name what of a reply cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_uppercase
from typing import Literal

from lmod_train.core.types import Unparsed
from lmod_train.tasks.captioned.pair import BINARY, SINGLE_CHOICE, TRUE_FALSE, BilingualQuestion, Half
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.repetition import split_repetition
from lmod_train.tasks.parsing.thinking import strip_thinking

LONGEST = 20_000
"""Characters up to which a reply is read; longer ones are loops."""
COUNT = 4
"""Number of options of a single-choice question."""

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_LETTER = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=\s))[(（]?([A-ZＡ-Ｚ])(?:\s?[)）]?\s?[:：]|[)）.．、])\s?")
_HEAD = re.compile(r"[\s,，;；]*(?:question'?s?\s)?(?:choices?|options?|选项)\s?[:：]?\s*\Z", re.IGNORECASE)
_JUDGED = re.compile(r"[\s\"'(\[]{0,4}(true|false|对|错误?|正确|不正确|不对)(?![a-z])", re.IGNORECASE)
_TRUE = ("true", "对", "正确")
_SAYS = {True: re.compile(r"(?<![a-z])true(?![a-z])|(?<!不)(?:对|正确)", re.IGNORECASE),
         False: re.compile(r"(?<![a-z])false(?![a-z])|错|不正确|不对", re.IGNORECASE)}  # fmt: skip
_TEMPLATE = re.compile(
    r"generated (?:english|chinese) (?:question|answer)|option content|the correct option\s?\(|"
    r"生成的(?:中文|英文)(?:问题|答案)|选项内容|正确选项\s?[(（]", re.IGNORECASE,
)  # fmt: skip
_EDGES = " \t,，;；:：|"


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a reply that cannot be used.

    Attributes:
        reason: ``empty``, ``repetition``, ``no_pair`` (of the whole reply); ``no_question``, ``no_answer``,
            ``template`` (a phrase of the prompt), ``unclear_answer``, ``options``, ``equal_options``,
            ``no_translation``, ``unclear_order``.
        detail: Where and what; may quote the reply, and is untrusted.
    """

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a reply contains.

    Attributes:
        pairs: Questions in both languages, in their order.
        unread: What cannot be used.
    """

    pairs: tuple[BilingualQuestion, ...]
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    half: Half
    language: str
    number: int


def read_pairs(reply: str, kind: str) -> Written:
    r"""Return the questions in both languages in a reply, and a reason for each part that is none; never guesses.

    Marks are read in half and full width, in bold, numbered, on one line or several, and with the colon that the
    template has between the Chinese question and its answer. The words of a question, not its mark, are its language. A
    question and its translation follow each other; of several questions in one language followed by several in the
    other, only those that state equal numbers are joined.

    Args:
        reply: Text of a model; never raises.
        kind: Name of the task of the questions.

    Example:
        >>> found = read_pairs("Question: The disc is pale, Answer: True. 问：视盘苍白：答：对。", "binary_question")
        >>> found.pairs[0].zh.question, found.pairs[0].zh.answer
        ('视盘苍白', '对')
        >>> read_pairs("Q: Which eye?, A: left.", "open_question").unread[0].reason
        'no_translation'
    """
    text = strip_thinking(reply)[0].strip()
    if not any(c.isalnum() for c in text):
        return Written((), (Unread("empty", text[:80]),))
    if len(text) > LONGEST or split_repetition(text)[1]:
        return Written((), (Unread("repetition", text[:80]),))
    unread: list[Unread] = []
    halves = [*_halves(fields_of(text, lettered=kind == SINGLE_CHOICE), kind, unread)]
    pairs = tuple(BilingualQuestion(kind, en, zh) for en, zh in _joined(halves, unread))
    if not pairs and not unread:
        unread.append(Unread("no_pair", text[:80]))
    return Written(pairs, tuple(unread))


def _halves(fields: Sequence[Field], kind: str, unread: list[Unread]) -> Iterator[_Found]:
    """Yield each question with its answer; add those without one, and those that cannot be read, to `unread`."""
    asked: Field | None = None
    for field in fields:
        if field.role == "question":
            if asked is not None:
                unread.append(Unread("no_answer", asked.text[:80]))
            asked = field
        elif asked is None:
            unread.append(Unread("no_question", field.text[:80]))
        else:
            language = language_of(asked.text)
            half = _half(asked.text, field.text, kind, language)
            if isinstance(half, Unread):
                unread.append(half)
            else:
                yield _Found(half, language, asked.number)
            asked = None
    if asked is not None:
        unread.append(Unread("no_answer", asked.text[:80]))


def language_of(text: str) -> str:
    """Return ``zh`` if a text has at least as many Chinese characters as Latin words, otherwise ``en``.

    Example:
        >>> language_of("OCT 显示 CNV"), language_of("The sign is called 视盘苍白 in Chinese writing")
        ('zh', 'en')
    """
    chinese = len(_CHINESE.findall(text))
    return "zh" if chinese and chinese >= len(_LATIN.findall(text)) else "en"


def _half(question: str, answer: str, kind: str, language: str) -> Half | Unread:
    if _TEMPLATE.search(question) or _TEMPLATE.search(answer):
        return Unread("template", f"{question[:60]} {answer[:40]}")
    if not any(map(str.isalnum, question)) or not any(map(str.isalnum, answer)):
        return Unread("no_answer" if any(map(str.isalnum, question)) else "no_question", f"{question} {answer}"[:80])
    if kind == BINARY:
        return _statement(question, answer, language)
    if kind == SINGLE_CHOICE:
        return _single_choice(question, answer)
    return Half(question, (), answer.rstrip(".。"))


def _statement(question: str, answer: str, language: str) -> Half | Unread:
    plain = normalise(answer)
    judged = _JUDGED.match(plain)
    if judged is None:
        return Unread("unclear_answer", f"neither True nor False: {answer[:60]}")
    is_true = judged[1].casefold() in _TRUE
    if _SAYS[not is_true].search(plain[judged.end() :]):
        return Unread("unclear_answer", f"True and False: {answer[:60]}")
    options = TRUE_FALSE[language]
    return Half(question, options, options[not is_true])


def _single_choice(question: str, answer: str) -> Half | Unread:
    stem, options = divided(question)
    if len(options) != COUNT or not all(any(map(str.isalnum, o)) for o in options) or not stem:
        return Unread("options", f"{len(options)} options instead of {COUNT}: {question[:60]}")
    if len({compared(option) for option in options}) < COUNT:
        return Unread("equal_options", "; ".join(options)[:80])
    chosen = parse_option(normalise(answer), options)
    if isinstance(chosen, Unparsed):
        return Unread("unclear_answer", f"{chosen.reason}: {answer[:60]}")
    return Half(stem, options, str(chosen))


def divided(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without the options at its end, and their texts in the order of their letters from A.

    There are none if the letters behind the last A are not in order.

    Example:
        >>> divided("Which? Choice: A: cup, B: rim"), divided("哪个？选项：Ａ：视杯；（Ｂ）盘沿")
        (('Which?', ('cup', 'rim')), ('哪个？', ('视杯', '盘沿')))
        >>> divided("Vitamin A: which? A: low C: high")
        ('Vitamin A: which? A: low C: high', ())
    """
    marks = [(normalise(mark[1]), mark) for mark in _LETTER.finditer(text)]
    starts = [n for n, (letter, _) in enumerate(marks) if letter == "A"]
    listed = marks[starts[-1] :] if starts else []
    if len(listed) < 2 or "".join(letter for letter, _ in listed) != ascii_uppercase[: len(listed)]:
        return text, ()
    ends = [mark.start() for _, mark in listed[1:]] + [len(text)]
    options = (text[mark.end() : end].strip(_EDGES) for (_, mark), end in zip(listed, ends, strict=True))
    return _HEAD.sub("", text[: listed[0][1].start()]).strip(_EDGES), tuple(options)


def compared(text: str) -> str:
    """Return the letters and digits of a text in one width and case, which two equal texts share."""
    return "".join(c for c in normalise(text).casefold() if c.isalnum())


def _joined(found: Sequence[_Found], unread: list[Unread]) -> Iterator[tuple[Half, Half]]:
    """Yield English and Chinese half of each question; add halves without a translation to `unread`.

    English comes first, as in the prompt, unless the first question is Chinese and the last one English.
    """
    first = "zh" if found and (found[0].language, found[-1].language) == ("zh", "en") else "en"
    runs = [[*run] for _, run in groupby(found, key=lambda one: one.language)]
    if runs and runs[0][0].language != first:
        unread += [Unread("no_translation", one.half.question[:80]) for one in runs.pop(0)]
    for place in range(0, len(runs), 2):
        run, after = runs[place], runs[place + 1] if place + 1 < len(runs) else []
        if len(run) > 1 and len(after) > 1:
            yield from _by_number(run, after, unread)
        else:
            unread += [Unread("no_translation", one.half.question[:80]) for one in (*run[:-1], *after[1:])]
            yield from _by_place(run[-1], after[0] if after else None, unread)


def _by_place(one: _Found, other: _Found | None, unread: list[Unread]) -> Iterator[tuple[Half, Half]]:
    """Yield two questions that follow each other as one, unless their numbers differ."""
    if other is not None and (one.number == other.number or not (one.number and other.number)):
        yield _in_order(one, other)
    else:
        unread += [Unread("no_translation", each.half.question[:80]) for each in (one, other) if each]


def _by_number(run: Sequence[_Found], after: Sequence[_Found], unread: list[Unread]) -> Iterator[tuple[Half, Half]]:
    """Yield the questions of two runs that have the same number, if each number is stated once in a run."""
    numbered = [{one.number: one for one in several if one.number} for several in (run, after)]
    if any(len(by) < len(several) for by, several in zip(numbered, (run, after), strict=True)):
        unread += [Unread("unclear_order", one.half.question[:80]) for one in (*run, *after)]
        return
    for number in dict.fromkeys([*numbered[0], *numbered[1]]):
        both = [by[number] for by in numbered if number in by]
        if len(both) == 2:
            yield _in_order(both[0], both[1])
        else:
            unread.append(Unread("no_translation", both[0].half.question[:80]))


def _in_order(one: _Found, other: _Found) -> tuple[Half, Half]:
    return (one.half, other.half) if one.language == "en" else (other.half, one.half)


def read_statement(reply: str) -> tuple[str, str] | Unread:
    """Return the English and the Chinese words of a statement that a model has altered.

    Example:
        >>> read_statement("Question: The disc is pink. 问：视盘粉红。")
        ('The disc is pink.', '视盘粉红。')
    """
    text = strip_thinking(reply)[0].strip()
    if len(text) > LONGEST or split_repetition(text)[1]:
        return Unread("repetition", text[:80])
    asked = [field.text for field in fields_of(text, lettered=False) if field.role == "question"]
    by_language = {language_of(words): words for words in asked}
    if len(asked) != 2 or len(by_language) != 2 or not all(any(map(str.isalnum, words)) for words in asked):
        return Unread("unclear_statement", text[:80])
    return by_language["en"], by_language["zh"]


_MARK = re.compile(
    r"(?:(?<=[\s,.;:?!)\]|\"'])|(?<=[，。；：？！）】、”’])|\A)"
    r"(?:(?P<question>Question|QUESTION|Statement|问题|问)|(?P<q>Q)|(?P<answer>Answer|ANSWER|答案|回答|答)|(?P<a>A))"
    r"[ \t]?(?:[(（](?:English|Chinese|EN|ZH|CN|中文|英文)[)）])?[ \t]?(?P<number>[0-9]{1,3})?[ \t]?[:：]"
)
_OPENED = re.compile(r"(?:\A|[\n,.;:?!)|，。；：？！）】、])[ \t\"'“”]{0,3}\Z")
_BEFORE = re.compile(r"(?:\A|[\n.。;；!！])[ \t]{0,3}[(（]?(?P<number>[0-9]{1,3})[)）.、．:：]?[ \t]{0,3}\Z")
_NUMBERING = re.compile(
    r"(?:(?<=\n)|(?<=[。！；，])|(?<=[.!;,][ \t]))[ \t]{0,3}[(（]?[0-9]{1,3}[)）.、．:：]?[ \t]{0,3}\Z"
)
_BLOCK = re.compile(
    r"\n[ \t]*(?:\n|[-=_]{3,}|\(?[0-9]{1,3}[.)、)]|(?:Image|BilingualQuestion|Chinese|English|图|中文|英文)\b)"
)
_MARKUP = re.compile(r"\*{1,3}|_{2,3}|`{1,3}|^[ \t]{0,8}(?:#{1,6}[ \t]|[>•\-][ \t])", re.MULTILINE)
_EDGES_OF_FIELDS = " \t\n,，;；:：|"
_BEHIND = 60
"""Characters before a mark in which its numbering is looked for."""


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a reply behind a mark.

    Attributes:
        role: What the mark announces.
        text: Words up to the next mark, without numbering.
        number: Number of the question, e.g. of ``2. Question:`` or ``Q2:``; 0 if none is stated.
    """

    role: Literal["question", "answer"]
    text: str
    number: int = 0


def fields_of(reply: str, lettered: bool) -> list[Field]:
    r"""Return the fields of a reply; text before the first mark belongs to none.

    Args:
        reply: Without thinking.
        lettered: Whether ``A:`` announces an option and not an answer.

    Example:
        >>> found = fields_of("1. Question: Is it pale? Answer: True.\n问：苍白：答：对。", lettered=False)
        >>> [(field.role, field.text, field.number) for field in found]
        [('question', 'Is it pale?', 1), ('answer', 'True.', 0), ('question', '苍白', 0), ('answer', '对。', 0)]
    """
    text = _MARKUP.sub("", reply.replace("\r", ""))
    marks = [mark for mark in _MARK.finditer(text) if _counts(mark, text, lettered)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_field(mark, text, end) for mark, end in zip(marks, ends, strict=False)]


def _counts(mark: re.Match[str], text: str, lettered: bool) -> bool:
    """Return whether a mark announces a field: one letter only does behind punctuation or on a new line."""
    if mark["a"] and lettered:
        return False
    if not (mark["q"] or mark["a"]):
        return True
    before = text[max(0, mark.start() - _BEHIND) : mark.start()]
    return _OPENED.search(before) is not None or _BEFORE.search(before) is not None


def _field(mark: re.Match[str], text: str, end: int) -> Field:
    is_question = bool(mark["question"] or mark["q"])
    numbered = _BEFORE.search(text[max(0, mark.start() - _BEHIND) : mark.start()])
    number = int(mark["number"] or (numbered["number"] if numbered and is_question else 0))
    words = _NUMBERING.sub("", text[mark.end() : end].rstrip(" \t"))
    if not is_question:
        words = _BLOCK.split(words.lstrip(), maxsplit=1)[0]
    return Field("question" if is_question else "answer", " ".join(words.split()).strip(_EDGES_OF_FIELDS), number)
