"""One question of OphthalWeChat's workbook: kind, language, words, options and answer, or why it cannot be asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase

from lmod_train.data.sources.ophthalwechat.tables import Row
from lmod_train.data.sources.ophthalwechat.words import FALSE, TRUE, TYPES, Words, half_width, kind_and_language, shown
from lmod_train.data.sources.row_ids import BadRow
from lmod_train.data.sources.spellings import folded, plain

LETTERS = "ABCD"
"""Letters of the four options."""

CHOICES = {"zh": ("对", "错"), "en": ("True", "False")}
"""Language -> the answers to a statement that is true, and to one that is not."""

_MARK = re.compile(
    r"(?<![A-Za-z0-9\uff21-\uff3a\uff41-\uff5a-])[(\uff08\[\u3010]?\s?([A-Z\uff21-\uff3a])\s?"
    r"[)\uff09\]\u3011]?\s?[:\uff1a.\uff0e\u3001)\uff09\]\u3011]"
)
"""Letter before an option: ``A:``, ``A.``, ``(A)``, ``A、``, and the same in full width."""

_LABEL = re.compile(
    r"^(?:the )?(?:correct )?(?:answer|option|choice|答案|正确答案|选项|选|答)(?: is)?\s?[:=是为]?\s?", re.IGNORECASE
)
_EDGES = " \t\n;,\uff1b\uff0c\u3001\u3002"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it can be asked.

    Attributes:
        task: Task that asks it.
        language: ``zh`` or ``en``.
        stem: What is asked, without the options.
        words: The same with the options.
        choices: The two answers to a statement, or the texts of the four options; none for an open question.
        answer: One of the choices, or the text of an open answer.
    """

    task: str
    language: str
    stem: str
    words: str
    choices: tuple[str, ...]
    answer: str

    @property
    def place(self) -> int:
        """Place of the answer among the choices, the same in both languages; -1 without choices."""
        return self.choices.index(self.answer) if self.choices else -1


def read_question(row: Row, words: Words) -> Asked:
    """Return the question of a row.

    Raises:
        BadRow: It cannot be asked.
    """
    task, language = _kind(row, words)
    text = row.text("question", required=True)
    answer = row.text("answer", required=True)
    if task == "binary_question":
        return Asked(task, language, text, text, CHOICES[language], _judged(answer, CHOICES[language]))
    if task == "open_question":
        return Asked(task, language, text, text, (), answer)
    stem, asked, options = _with_options(text, row, language)
    return Asked(task, language, stem, asked, options, _chosen(answer, options))


def _kind(row: Row, words: Words) -> tuple[str, str]:
    """Return task and language of a row; a language column counts before the language of the kind."""
    stated = row.text("type", required=True)
    task, language = kind_and_language(stated, words)
    if not task:
        raise BadRow("unknown type", f"{shown(stated)}, expected one of {', '.join(TYPES)}; see the option `types`")
    named = row.text("language")
    own = words.languages.get(plain(named), "") if named else language
    if named and not own:
        raise BadRow("unknown language", f"{shown(named)}, expected zh or en; see the option `languages`")
    if not own:
        raise BadRow("no language", f"neither the language nor the type ({shown(stated)}) names one")
    if language and language != own:
        raise BadRow("two languages", f"the type {shown(stated)} is {language}, the language {shown(named)}")
    return task, own


def _judged(answer: str, choices: tuple[str, str]) -> str:
    """Return the choice that an answer to a statement stands for."""
    word = half_width(answer).casefold().strip(_EDGES + ".")
    word = _LABEL.sub("", word)
    if word in TRUE or word in FALSE:
        return choices[word in FALSE]
    raise BadRow("answer is no option", f"{shown(answer)}, expected {choices[0]} or {choices[1]}")


def _with_options(text: str, row: Row, language: str) -> tuple[str, str, tuple[str, ...]]:
    """Return a single-choice question without and with its options, and their texts.

    Raises:
        BadRow: There are not four different options A to D.
    """
    own = [row.text(letter) for letter in LETTERS]
    stem, options = (text, own) if any(own) else divided(text)
    if any(own):
        mark = {"zh": "：", "en": ": "}[language]
        text = " ".join([text, *(f"{letter}{mark}{option}" for letter, option in zip(LETTERS, own, strict=True))])
    texts = tuple(" ".join(option.split()).strip(_EDGES) for option in options)
    if len(texts) != len(LETTERS) or not all(texts):
        found = f"{sum(map(bool, texts))} options in {shown(text[-60:])}"
        raise BadRow("unreadable options", f"{found}, expected four with the letters A to D")
    if len({_compared(option) for option in texts}) < len(texts):
        raise BadRow("two equal options", "; ".join(map(shown, texts)))
    return stem, text, texts


def divided(text: str) -> tuple[str, list[str]]:
    """Return a question without the options at its end, and these in the order of their letters from A.

    There are none if the letters behind the last A are not in order.

    Example:
        >>> divided("Which? A: optic disc B: macula"), divided("哪个？A．视盘；B．黄斑")
        (('Which?', ['optic disc', 'macula']), ('哪个？', ['视盘', '黄斑']))
        >>> divided("Vitamin A: which? A) low B) high"), divided("Which? A: a B: b A: c")
        (('Vitamin A: which?', ['low', 'high']), ('Which? A: a B: b A: c', []))
    """
    marks = [(half_width(found[1]), found) for found in _MARK.finditer(text)]
    starts = [n for n, (letter, _) in enumerate(marks) if letter == "A"]
    listed = marks[starts[-1] :] if starts else []
    if len(listed) < 2 or "".join(letter for letter, _ in listed) != ascii_uppercase[: len(listed)]:
        return text, []
    ends = [found.start() for _, found in listed[1:]] + [len(text)]
    options = [text[found.end() : end].strip(_EDGES) for (_, found), end in zip(listed, ends, strict=True)]
    return text[: listed[0][1].start()].strip(), options


def _chosen(answer: str, options: tuple[str, ...]) -> str:
    """Return the option that an answer names by its letter or its text, or both.

    Raises:
        BadRow: It names none.
    """
    compared = {_compared(option): option for option in options}
    plain_answer = half_width(answer).strip(_EDGES)
    for said in (plain_answer, _LABEL.sub("", plain_answer)):
        if _compared(said) in compared:
            return compared[_compared(said)]
        lettered = re.fullmatch(r"[(\[]?\s?([A-Za-z])\s?[)\]]?[.:、)]?(?:\s?(.+))?", said)
        if lettered and (not lettered[2] or _compared(lettered[2]) in compared):
            return _of_letter(lettered[1].upper(), lettered[2], options, answer)
    raise BadRow("answer is no option", f"{shown(answer)}, expected a letter A to D or the text of an option")


def _of_letter(letter: str, text: str | None, options: tuple[str, ...], answer: str) -> str:
    place = LETTERS.find(letter)
    if place < 0:
        raise BadRow("no such option", f"{shown(answer)}, expected a letter A to D")
    if text and _compared(text) != _compared(options[place]):
        raise BadRow("letter and text differ", f"{shown(answer)}, but {letter} is {shown(options[place])}")
    return options[place]


def _compared(text: str) -> str:
    """Return a text as two are compared: folded, without marks at its ends."""
    return folded(text).strip(_EDGES + ".")
