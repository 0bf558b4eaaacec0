"""A question in English with its Chinese translation, as a model wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

BINARY, SINGLE_CHOICE, OPEN = "binary_question", "single_choice_question", "open_question"
KINDS = (BINARY, SINGLE_CHOICE, OPEN)
"""Kinds of question: names of the tasks of `lmod_train.tasks.bilingual`."""

TRUE_FALSE = {"en": ("True", "False"), "zh": ("对", "错")}
"""Language -> the two answers of a statement."""

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
