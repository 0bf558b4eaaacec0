"""OphthalWeChat: statements to judge, single-choice and open questions about an image, in Chinese and English."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.closed import closed_scores
from lmod_train.scoring.items import items_of
from lmod_train.scoring.language_pairs import LANGUAGES, other_language_scores
from lmod_train.scoring.text import open_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.forms import Form, divided, text_of
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.refusal import read_open
from lmod_train.tasks.parsing.verdict import parse_verdict
from lmod_train.tasks.parsing.visible import strip_thinking
from lmod_train.tasks.prompt import PRINTED, prompt
from lmod_train.tasks.single_choice import Stated, checked
from lmod_train.tasks.wordings import Wordings

BINARY: Mapping[str, str] = PRINTED["binary_question"]
"""Language -> OphthalWeChat, Supplementary Table 4, prompts A and B, verbatim."""

SINGLE_CHOICE: Mapping[str, str] = PRINTED["single_choice_question"]
"""Language -> prompts C and D of that table; the options are part of the question."""

OPEN: Mapping[str, str] = PRINTED["open_question"]
"""Language -> prompts E and F of that table."""

TRUE_FALSE: Mapping[str, tuple[str, str]] = {"zh": ("对", "错"), "en": ("True", "False")}
"""Language -> the two answers of a statement, the one for a true statement first."""


BOTH = "+".join(LANGUAGES)
"""Both languages as one setting."""


class _Bilingual(Task, ABC):
    """Ready questions of one kind in Chinese and English, each in the paper's prompt of its language.

    Of a question and its translation, the variants are ``<number>-zh`` and ``<number>-en``; all other parts of the ids
    of their records are equal.
    """

    choices: tuple[str, ...] = ()
    templates: ClassVar[Mapping[str, str]]

    def __init__(self, language: str = BOTH) -> None:
        if language not in (BOTH, *LANGUAGES):
            raise BadArgument("language", language, f"one of {', '.join(LANGUAGES)}", "leave it out for both")
        self.language = language

    @property
    def wordings(self) -> Wordings:  # type: ignore[override]  # an attribute would count in `settings`
        """The paper's prompts, without paraphrases."""
        return tuple((template,) for template in self.templates.values())

    def ready_questions(self, sample: Sample) -> Iterator[Question]:
        """Yield the questions that come with a sample, of this kind and in the languages of the task."""
        languages = self.language.split("+")
        yield from (q for q in sample.asked if q.task == self.name and q.language in languages)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield each ready question of this kind in the prompt of its language."""
        yield from map(self._worded, self.ready_questions(sample))

    def _worded(self, question: Question) -> Question:
        """Return a question in the prompt of its language; one in the words of the prompt stays as it is."""
        template = self.templates[question.language]
        words = _words(question)
        if words.startswith(template.partition("{question}")[0]):
            return question
        return replace(question, messages=prompt(template.replace("{question}", words)))

    def in_form(self, sample: Sample, question: Question, form: Form) -> Question | None:
        """Return a question in another form; ``other_language`` has it in its own language in the prompt of the other.

        An open question then has the answer of its translation, and there is none where the sample lacks that.

        Raises:
            BadArgument: The task has no such form.
        """
        if form != "other_language":
            return super().in_form(sample, question, form)
        (other,) = {*LANGUAGES} - {question.language}
        words = self.templates[other].replace("{question}", bare_question(_words(question)))
        return self._answered_in(other, sample, replace(question, messages=prompt(words)))

    @abstractmethod
    def _answered_in(self, language: str, sample: Sample, question: Question) -> Question | None:
        """Return a question with its choices and answer in another language; None if that is not known."""

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, the account, the baselines and the share of replies in another language, over all
        questions and each subset.
        """
        items = items_of(predictions, self.truth)
        return [*closed_scores(self.name, items), *other_language_scores(self.name, items, texts_of(predictions))]


def _words(question: Question) -> str:
    return "\n".join(part.text for part in question.messages[-1].parts if part.type == "text")


def texts_of(predictions: Sequence[Prediction]) -> dict[str, str]:
    """Return record id -> text of the reply without thinking."""
    return {p.record.id: strip_thinking(p.reply.reply)[0] for p in predictions}


def bare_question(text: str) -> str:
    """Return a question without the words of its prompt; a text that is not in one of the prompts as it is.

    Example:
        >>> bare_question(OPEN["en"].replace("{question}", "What is it?")), bare_question("What is it?")
        ('What is it?', 'What is it?')
    """
    for template in (t for several in (BINARY, SINGLE_CHOICE, OPEN) for t in several.values()):
        before, _, after = template.partition("{question}")
        if text.startswith(before) and text.endswith(after):
            return text[len(before) : len(text) - len(after)]
    return text


class BinaryQuestion(_Bilingual):
    """A statement about an image, to be judged as true or false (对 or 错).

    Args:
        language: ``zh``, ``en``, or ``zh+en`` for the questions of both.

    References:
        OphthalWeChat, arXiv 2505.19624, Supplementary Table 4, prompts A and B.

    Example:
        >>> question = Question("binary_question", prompt("视盘苍白"), ("对", "错"), "对", "zh")
        >>> (asked,) = BinaryQuestion().ask(Sample("s", "1", "CFP", None, "1", "", asked=(question,)))
        >>> asked.messages[0].parts[1].text[-9:]
        '文本: 视盘苍白。'
    """

    name = "binary_question"
    version = 3
    choices = (*TRUE_FALSE["en"], *TRUE_FALSE["zh"])
    templates = BINARY

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return one of the record's two choices, or why there is none; the reply decides, never the statement."""
        return read(reply, parse_verdict, record.choices)

    def _answered_in(self, language: str, sample: Sample, question: Question) -> Question | None:
        place = question.choices.index(question.answer)
        return replace(question, choices=TRUE_FALSE[language], answer=TRUE_FALSE[language][place])


class SingleChoiceQuestion(_Bilingual):
    """A question with four options A to D about an image.

    The options are a part of the question's words, as its source has them; `choices` are their texts in the order of
    the letters, and the reference reply is a letter alone.

    Args:
        language: ``zh``, ``en``, or ``zh+en`` for the questions of both.
        stated: What the reference reply states: the ``letter`` of an option, as in the paper; or its ``text``, to tune
            models that are too small to look a letter up in the prompt. Prompt and parsing are the same.

    Raises:
        BadArgument: `stated` is neither of the two, or `language` is unknown.

    References:
        OphthalWeChat, arXiv 2505.19624, Supplementary Table 4, prompts C and D.
    """

    name = "single_choice_question"
    version = 3
    templates = SINGLE_CHOICE

    def __init__(self, language: str = BOTH, stated: Stated = "letter") -> None:
        super().__init__(language)
        self.stated = checked(stated)

    def _worded(self, question: Question) -> Question:
        """Return a question in the prompt of its language, its answer as the letter or the text of the option."""
        named = question.answer in question.choices
        answer = question.answer if named else text_of(question.answer, question.choices)
        if self.stated == "letter" and answer in question.choices:
            answer = LETTERS[question.choices.index(answer)]
        return replace(super()._worded(question), answer=answer)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing`)."""
        return read(reply, parse_option, record.choices)

    def in_form(self, sample: Sample, question: Question, form: Form) -> Question | None:
        """Return the question in its prompt with its options alone, or in that of an open question without them."""
        if form == "other_language":
            return super().in_form(sample, question, form)
        stem, listed = divided(bare_question(_words(question)), question.choices)
        if not listed:
            return None
        if form == "options":
            words = self.templates[question.language].replace("{question}", listed)
            return replace(question, messages=prompt(words))
        words = OPEN[question.language].replace("{question}", stem)
        return replace(question, messages=prompt(words), answer=text_of(question.answer, question.choices))

    def _answered_in(self, language: str, sample: Sample, question: Question) -> Question | None:
        return question


class OpenQuestion(_Bilingual):
    """A question about an image, to be answered in free text.

    Args:
        language: ``zh``, ``en``, or ``zh+en`` for the questions of both.

    References:
        OphthalWeChat, arXiv 2505.19624, Supplementary Table 4, prompts E and F.
    """

    name = "open_question"
    version = 2
    templates = OPEN

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of the reply, or why there is none; ``refused`` if it only declines (see `read_open`)."""
        return read_open(reply)

    def _answered_in(self, language: str, sample: Sample, question: Question) -> Question | None:
        variant = question.variant.removesuffix(question.language) + language
        translation = next((q for q in sample.asked if (q.task, q.variant) == (self.name, variant)), None)
        return replace(question, answer=translation.answer) if translation else None

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return how alike the words of replies and reference answers are, the account and the share of replies in
        another language, over all questions and each subset.
        """
        items = items_of(predictions, self.truth)
        return [*open_scores(self.name, items), *other_language_scores(self.name, items, texts_of(predictions))]
