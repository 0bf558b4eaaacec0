"""Tasks by which a model writes questions from captions, alters and compares them, and what is read in its replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase
from typing import Literal
from urllib.parse import quote

from lmod_train.core.option_letters import split_lettered
from lmod_train.core.raw import read_json
from lmod_train.core.types import Answer, Message, Part, Prediction, Record, Reply, Score, Unparsed
from lmod_train.extensions.drafting.judgement import (
    WORDS,
    Request,
    account_scores,
    incomplete,
    judged_scores,
    mark_of,
    without_tokens,
)
from lmod_train.scoring.items import items_of
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.verdict import parse_verdict
from lmod_train.tasks.parsing.visible import split_repetition, strip_thinking

SOURCE = "captions"

AGREES, DIFFERS = "agrees", "differs"
"""Outcomes of a comparison of both languages of a question."""


class _Writing(Request):
    """A request for text to be written, whose content is checked and not scored."""

    choices: tuple[str, ...] = ()
    version = 2

    def record(self, caption: Caption, step: str, words: str, system: str = "") -> Record:
        """Return the record of a request about a caption, as text without an image.

        Args:
            caption: The caption.
            step: Name of the request among those of the caption.
            words: The prompt.
            system: System message; empty for none.
        """
        head = (Message("system", (Part("text", system),)),) if system else ()
        return self.request(
            caption,
            id="/".join([self.name, SOURCE, quote(caption.key), step]),
            source=SOURCE,
            split="test",
            messages=(*head, Message("user", (Part("text", words),))),
            answer="",
            chain_step=step,
        )


# A question in English with its Chinese translation, as a model wrote it.
BINARY, SINGLE_CHOICE, OPEN = "binary_question", "single_choice_question", "open_question"

KINDS = (BINARY, SINGLE_CHOICE, OPEN)
"""Kinds of question: names of the tasks of `lmod_train.tasks.bilingual`."""


class CaptionQuestions(_Writing):
    """All questions of one kind that a model writes from a caption, in English and Chinese.

    The prompts are those of OphthalWeChat, Supplementary Table 1. A reply is *answered* if it contains a question in
    both languages; a reply that was cut off is not used.

    Example:
        >>> task = CaptionQuestions()
        >>> (one, *_) = task.records([Caption("1", "1.jpg", "Drusen.")])
        >>> task.parse(Reply(one.id, "Question: Which?"), one).reason
        'no_match'
    """

    name = "caption_questions"

    def records(self, captions: Iterable[Caption], kinds: Sequence[str] = KINDS) -> list[Record]:
        """Return one record for each caption and kind of question, in id order."""
        system = printed()[SYSTEM]
        found = [self.record(one, kind, generation(kind, one.text), system) for one in captions for kind in kinds]
        return sorted(found, key=lambda r: r.id)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of a reply from which questions can be read, or why there is none."""
        if ended := incomplete(reply):
            return ended
        found = read_pairs(reply.reply, record.chain_step)
        if found.pairs:
            return strip_thinking(reply.reply)[0].strip()
        reason = found.unread[0].reason
        known = {"empty", "repetition"} & {reason}
        return Unparsed("empty" if "empty" in known else "repetition" if known else "no_match", found.unread[0].detail)


class CaptionRewriting(_Writing):
    """A question that a model alters: a statement made false, or two options swapped.

    The prompts are those of OphthalWeChat, Supplementary Tables 3A and 3B. Whether the text is what was asked for is
    checked with the question itself.
    """

    name = "caption_rewriting"

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of a reply, or why there is none."""
        text = strip_thinking(reply.reply)[0].strip()
        return incomplete(reply) or (text if any(map(str.isalnum, text)) else Unparsed("empty", text[:80]))


def asked(pair: BilingualQuestion) -> tuple[Message, ...]:
    """Return the messages that ask whether both halves of a question say the same."""
    return (Message("user", (Part("text", parity_prompt(pair)),)),)


TRUE_FALSE = {"en": ("True", "False"), "zh": ("对", "错")}
"""Language -> the two answers of a statement."""


class CaptionParity(_Writing):
    """Whether both languages of a question say the same, which a judge is asked as a statement in text alone.

    Its prompt is that of this package. A reply is *answered* if it states whether that is true or false.

    Example:
        >>> task = CaptionParity()
        >>> task.parse(Reply("a", "**False**: the side differs.")), task.outcome("False")
        ('False', 'differs')
    """

    name = "caption_parity"
    choices = TRUE_FALSE["en"]

    def of_pair(self, caption: Caption, number: int, pair: BilingualQuestion) -> Record:
        """Return the record of a question.

        Args:
            caption: The caption from which it was written; its text is not shown.
            number: Place of the question among those of its kind and caption.
            pair: Both halves.
        """
        record = self.record(caption, f"{pair.kind}/{number}", "")
        record = replace(record, messages=asked(pair), group=caption.group or caption.image)
        return replace(record, choices=self.choices, answer=self.choices[0], tags={"kind": pair.kind})

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return whether the reply calls the statement True or False, or why it does neither."""
        return read(reply, parse_verdict, self.choices)

    @classmethod
    def outcome(cls, answer: str) -> str:
        """Return ``agrees`` for True, ``differs`` for False."""
        return AGREES if answer == cls.choices[0] else DIFFERS

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the shares of the outcomes over all questions and those of each kind, and those of the statuses."""
        items = items_of(predictions, lambda p: p.record.answer)
        found = {i.id: i.answer if isinstance(i.answer, Unparsed) else self.outcome(str(i.answer)) for i in items}
        judged = judged_scores(self.name, "", items, found, (AGREES, DIFFERS), (AGREES,))
        return [*judged, *account_scores(self.name, items)]


# A caption of an image, of which a model writes questions.


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption with its image. Texts come from a user's table.

    Attributes:
        key: Name of the caption, unique.
        image: Path of the image, relative to the folder of the drafts.
        text: The caption.
        sha256: SHA-256 of the image file.
        group: Patient; the image if none is stated.
        modality: A name of `lmod_train.core.vocabulary.modalities`, or a combination; empty if unknown.
        licence: Licence of the image.
        tags: ``subspecialty`` and ``text_in_image`` where they are stated.
        phantom: Whether the image is drawn.
    """

    key: str
    image: str
    text: str
    sha256: str = ""
    group: str = ""
    modality: str = ""
    licence: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    phantom: bool = False


COLON = {"en": ": ", "zh": "："}
"""Language -> what stands between the letter of an option and its text."""


@dataclass(frozen=True, slots=True)
class Half:
    """A question in one language. All texts are a model's, and untrusted.

    Attributes:
        question: Its words on one line, without options.
        options: Texts of the options in the order of their letters; of a statement True and False; of an open question
            none.
        answer: Text of the right option, or the open answer.
    """

    question: str
    options: tuple[str, ...]
    answer: str

    @property
    def right(self) -> int:
        """Index of the right option; -1 for an open question."""
        return self.options.index(self.answer) if self.answer in self.options else -1

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts."""
        return (self.question, *self.options, self.answer)


@dataclass(frozen=True, slots=True)
class BilingualQuestion:
    """A question in both languages.

    Attributes:
        kind: Name of its task.
        en: The English half.
        zh: The Chinese half.
    """

    kind: str
    en: Half
    zh: Half

    @property
    def halves(self) -> dict[str, Half]:
        """Language -> half."""
        return {"en": self.en, "zh": self.zh}

    def changed(self, change: Callable[[Half], Half]) -> BilingualQuestion:
        """Return the pair with a function applied to both halves."""
        return replace(self, en=change(self.en), zh=change(self.zh))


def worded(half: Half, language: str) -> str:
    """Return a question with its options behind letters on one line, as the paper writes them.

    Example:
        >>> worded(Half("Which?", ("cup", "rim"), "rim"), "en"), worded(Half("哪个？", ("视杯", "盘沿"), "盘沿"), "zh")
        ('Which? A: cup B: rim', '哪个？ A：视杯 B：盘沿')
    """
    return " ".join([half.question, *lettered(half.options, language)])


def lettered(options: Sequence[str], language: str) -> list[str]:
    """Return each option behind its letter."""
    return [f"{letter}{COLON[language]}{text}" for letter, text in zip(ascii_uppercase, options, strict=False)]


# The prompt by which a judge compares both languages of a question.
PARITY = "\n".join(WORDS["parity"])
"""The prompt of this package; the paper states none."""

_PLACE = re.compile(r"\{(mark|en|zh)\}")

_ANSWER = {"en": "Answer: ", "zh": "答案："}


def parity_prompt(pair: BilingualQuestion) -> str:
    """Return the prompt with both halves of a question in their places, each put in once.

    Halves are a model's text, and untrusted: tokens of chat templates and places of images in them become plain words,
    and each stands between lines with a hash of both. Of closed questions the answer is left out, as its letter, or
    True and False, are compared without a judge.
    """
    texts = {language: without_tokens(_text(half, language, pair.kind)) for language, half in pair.halves.items()}
    texts["mark"] = mark_of(texts["en"], texts["zh"])
    return _PLACE.sub(lambda place: texts[place[1]], PARITY)


def _text(half: Half, language: str, kind: str) -> str:
    if kind == OPEN:
        return f"{half.question}\n{_ANSWER[language]}{half.answer}"
    return worded(half, language) if kind == SINGLE_CHOICE else half.question


# The prompts by which OphthalWeChat lets a model write questions from a caption, verbatim.
FILE = Path(__file__).with_name("prompts.json")
"""Supplementary Tables 1, 3A and 3B of OphthalWeChat."""

SYSTEM, STATEMENT, OPTIONS = "system", "statement", "options"
"""Names of the system prompt, of the prompt that makes a statement false, and of the one that swaps two options."""

CAPTION = "\n\nProvided text:\n{caption}"
"""End of a prompt of Supplementary Table 1, ours: the paper does not state where the caption stands."""

_PLACE_PROMPTS = re.compile(r"\{(caption|question|correct_answer|change_answer)\}")


@cache
def printed() -> dict[str, str]:
    """Return name -> text of the prompts: ``system``, the kinds of question, ``statement``, ``options``."""
    rows = read_json(FILE)["prompts"]
    return {name: row["text"] for name, row in rows.items()}


def generation(kind: str, caption: str) -> str:
    """Return the prompt for all questions of one kind from a caption.

    Args:
        kind: ``binary_question``, ``single_choice_question`` or ``open_question``.
        caption: Untrusted: tokens of chat templates and places of images in it become plain words.
    """
    return printed()[kind] + CAPTION.replace("{caption}", without_tokens(caption))


def filled(name: str, **texts: str) -> str:
    r"""Return the prompt ``statement`` or ``options`` with untrusted texts in its places, each put in once.

    Example:
        >>> filled("statement", caption="{question}", question="The disc is pale.")[-63:]
        'greetings.\nCaption: {question} Original text: The disc is pale.'
    """
    return _PLACE_PROMPTS.sub(lambda place: without_tokens(texts[place[1]]), printed()[name])


# Read the questions that a model wrote in both languages, and name what of a reply cannot be used.
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
    for one in fields:
        if one.role == "question":
            if asked is not None:
                unread.append(Unread("no_answer", asked.text[:80]))
            asked = one
        elif asked is None:
            unread.append(Unread("no_question", one.text[:80]))
        else:
            language = language_of(asked.text)
            half = _half(asked.text, one.text, kind, language)
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
    front, options = split_lettered(text, marks, _EDGES)
    return _HEAD.sub("", front).strip(_EDGES) if options else text, tuple(options)


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
