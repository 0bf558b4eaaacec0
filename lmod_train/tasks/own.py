"""A question of one's own about a column of a table, without code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.core.types import Answer, Parser, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.grading import grading_scores
from lmod_train.scoring.items import items_of
from lmod_train.scoring.numbers import number_scores, several_scores
from lmod_train.scoring.text import open_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.clean import unmasked
from lmod_train.tasks.parsing.number import number_of, parse_number
from lmod_train.tasks.parsing.option_signs import MOST_OPTIONS
from lmod_train.tasks.parsing.own_choice import (
    SEPARATOR,
    Synonyms,
    asked_in,
    parse_own,
    parse_several,
    parse_yes_no,
    quantity_in,
    spelled,
)
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.refusal import read_open
from lmod_train.tasks.prompt import PRINTED, prompt
from lmod_train.tasks.wordings import Wordings

Kind = Literal["choice", "yes_no", "grade", "number", "several", "open"]

FORMATS: Mapping[str, Mapping[Kind, str]] = PRINTED["own"]
"""Language -> kind -> what follows the question's words; ours. Every other language takes the English sentences."""

YES_NO = {"en": ("yes", "no"), "zh": ("是", "否")}
NONE = {"en": "none", "zh": "无"}
"""Language -> the reply that none of several choices applies."""
ANSWER = {"en": "Answer: ", "zh": "答案: "}


class Own(Task):
    """One question a sample that has a label of yours, e.g. a column of a table.

    Replies are read by the words of the question: the longest choice that occurs counts, a denied one does not, and two
    different ones are ambiguous. Synonyms of the vocabulary count where no other choice means the same concept.

    Args:
        name: What records and scores call the question: letters, digits and underscores.
        words: The question, in any language.
        kind: ``choice``, one of `choices`; ``yes_no``; ``grade``, one of `choices` with the least first; ``number``, a
            decimal number; ``several``, any of `choices`, or none; ``open``, free text. ``choice`` is scored by
            accuracies, macro F1 and kappa, beside chance and majority; ``yes_no`` by sensitivity and specificity too;
            ``grade`` by quadratic kappa and mean absolute error too; ``number`` by exact match and mean absolute error,
            beside that of the median; ``several`` by exact match, micro and macro F1, beside the most frequent set;
            ``open`` by exact match, containment, token F1 and BLEU-1.
        choices: What the labels may be, word for word; of ``choice``, ``grade`` and ``several`` alone.
        label: Name of the label that is the truth; empty for ``table/<name>``. Labels of ``yes_no`` are yes or no;
            those of ``several`` are choices joined by ``; ``, empty for none of them. A sample without the label, or
            with another word, is not asked.
        unit: Of a number, for example mmHg.
        language: ISO 639-1 code of the question. The format of the reply is stated in Chinese for ``zh``, else in
            English.
        synonyms: Choice -> further words by which a reply may name it.
        paraphrases: Other wordings of the question, asked with `data.asking.wordings`.
        sources: Names of the sources to ask about; None asks about every sample with the label.

    Raises:
        BadArgument: An argument does not fit the kind, or two choices cannot be told apart in a reply.

    Example:
        >>> rim = Own("rim", "How is the rim?", "choice", choices=["thin", "thin with a notch", "intact"])
        >>> [rim.parse(Reply("a", text)) for text in ("Answer: thin with a notch", "It is intact, not thin.")]
        ['thin with a notch', 'intact']
        >>> rim.parse(Reply("a", "thin, thin with a notch, intact")).reason
        'ambiguous'
    """

    name = "own"
    version = 2

    def __init__(
        self,
        name: str,
        words: str,
        kind: Kind,
        choices: list[str] | None = None,
        label: str = "",
        unit: str = "",
        language: str = "en",
        synonyms: dict[str, list[str]] | None = None,
        paraphrases: list[str] | None = None,
        sources: list[str] | None = None,
    ) -> None:
        self.name, self.words, self.kind, self.label = name, words, kind, label
        self.unit, self.language, self.sources = unit, language, sources
        self.synonyms = {choice: list(forms) for choice, forms in (synonyms or {}).items()}
        self.paraphrases = list(paraphrases or [])
        self._check_words()
        self.choices = self._checked_choices(list(choices or []))
        self._check_synonyms()
        if kind in ("choice", "yes_no", "grade"):
            self.wordings: Wordings = (tuple(map(self._asked, (words, *self.paraphrases))),)
        self._check_that_choices_are_read()

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield one question where the sample has the label with a value that can be asked.

        A sample without an image of its own is shown with all of its shared images.
        """
        label = sample.labels.get(self.label or f"table/{self.name}")
        answer = None if label is None or not self.asks_of(sample) else self._reply_of(label)
        if answer is None:
            return
        closed = self.kind in ("choice", "yes_no", "grade")
        yield Question(
            self.name,
            prompt(self._asked(self.words), 1 if sample.image else max(1, len(sample.shared_images))),
            self.choices if closed else (),
            f"{self._lead}{answer}",
            self.language,
            stratum=answer if closed else "",
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The choices; none of a question that several of them answer."""
        return () if self.kind == "several" else self.choices

    def listed(self, record: Record) -> Sequence[str]:
        """Return the choices as the prompt lists them; none of grades, whose order says which is more."""
        return () if self.kind == "grade" else record.choices

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the answer in the reply, or why there is none (see `lmod_train.tasks.parsing.own_choice`).

        A choice is returned as the question spells it, a number as one, several choices joined by ``; ``. What a reply
        repeats of the question is not read.
        """
        if self.kind == "open":
            return read_open(reply)
        return read(reply, self._parser(), self.choices)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the scores of the kind, over all items and each subset, with the baselines and the account.

        Those of `classification_scores` for choices and yes or no, `grading_scores` for grades, `number_scores`,
        `several_scores` and `open_scores`.
        """
        items = items_of(predictions, self._truth)
        if self.kind == "grade":
            return grading_scores(self.name, items, self.choices)
        if self.kind == "number":
            return number_scores(self.name, items)
        if self.kind == "several":
            return several_scores(self.name, items, self.choices, SEPARATOR)
        if self.kind == "open":
            return open_scores(self.name, items)
        return classification_scores(self.name, items, self.choices, self.choices[0] if self.kind == "yes_no" else None)

    def _asked(self, words: str) -> str:
        """Return the words of a prompt: the question, the choices and the format of the reply."""
        text = FORMATS.get(self.language, FORMATS["en"])[self.kind]
        unit = f" in {self.unit}" if text.isascii() else f"（单位：{self.unit}）"
        text = text.replace("{unit}", unit if self.unit else "", 1).replace(
            "{unit}", f" {self.unit}" if self.unit else ""
        )
        return f"{words} {text.replace('{choices}', self._list)}"

    @property
    def _list(self) -> str:
        """The choices as the prompt lists them, with a separator that none of them contains."""
        if self.kind == "yes_no":
            return "/".join(self.choices) if self.language == "zh" else " or ".join(self.choices)
        free = [sign for sign in (", ", "; ", "\n") if not any(sign.strip(" ") in choice for choice in self.choices)]
        return f"\n{text}\n" if "\n" in (text := free[0].join(self.choices)) else text

    @property
    def _lead(self) -> str:
        return "" if self.kind == "open" else ANSWER.get(self.language, ANSWER["en"])

    def _reply_of(self, label: str) -> str | None:
        """Return the reference reply to a label without its lead, None if it is no answer to this question."""
        if self.kind == "yes_no":
            return self.choices[label == "no"] if label in ("yes", "no") else None
        if self.kind == "number":
            number = number_of(label.strip().removesuffix(self.unit))
            return None if number is None else f"{number} {self.unit}".strip()
        if self.kind == "several":
            chosen = [choice for choice in label.split(SEPARATOR) if choice]
            known = set(chosen) <= set(self.choices) and len(set(chosen)) == len(chosen)
            ordered = SEPARATOR.join(choice for choice in self.choices if choice in chosen)
            return (ordered or NONE.get(self.language, NONE["en"])) if known else None
        if self.kind == "open":
            return label.strip() or None
        return label if label in self.choices else None

    def _truth(self, prediction: Prediction) -> Answer | Unparsed:
        """Return the truth as the reference reply states it, word for word."""
        record = prediction.record
        stated = record.answer.removeprefix(self._lead)
        if self.kind == "number":
            number = number_of(stated.removesuffix(self.unit))
            return Unparsed("no_match", stated[:80]) if number is None else float(number)
        if self.kind == "several":
            return "" if stated == NONE.get(self.language, NONE["en"]) else stated
        return stated

    def _parser(self) -> Parser:
        """Return the parser of the kind, for replies without what they repeat of the question."""
        keys = (self.name, self.label.rpartition("/")[2], *quantity_in(self.words))
        if self.kind == "number":
            own: Parser = lambda text, _: parse_number(text, self.unit, keys)  # noqa: E731
        else:
            kind = {"yes_no": parse_yes_no, "several": parse_several}.get(self.kind, parse_own)
            own = lambda text, _: kind(text, self.choices, self._forms, keys)  # noqa: E731

        def parser(text: str, choices: Sequence[str]) -> Answer | Unparsed:
            left = self._without_question(text)
            if not re.search(r"[^\W_]", left):
                return Unparsed("no_match", "the question")
            behind = self._listed_choices().sub("\n", left) if self.choices and self.kind != "yes_no" else left
            answer = own(behind, choices) if behind != left else None
            if isinstance(answer, str) or (answer is not None and self.kind == "several"):
                return answer
            return own(left, choices)

        return parser

    def _without_question(self, text: str) -> str:
        """Return a reply without the prompt, its second part or the question, where it repeats them word for word."""
        for words in (self.words, *self.paraphrases):
            for repeated in (self._asked(words), self._asked(words).removeprefix(words).strip(), words):
                text = text.replace(unmasked(repeated), "\n") if len(repeated) >= _SHORTEST else text
        return text

    def _listed_choices(self) -> re.Pattern[str]:
        """Return a pattern of the list of choices as the prompt has it: a reply may repeat it and answer behind it.

        Of several choices, the list alone is an answer, and only one that is called the options is a repetition.
        """
        own = re.escape(unmasked(self._list.strip()))
        called = r"(?i:options?|choices?|选项)(?:\sare)?\W{1,3}" if self.kind == "several" else "(?<![A-Za-z0-9])"
        return re.compile(rf"{called}{own}(?![A-Za-z0-9])")

    @property
    def _forms(self) -> Synonyms:
        forms = {choice: tuple(forms) for choice, forms in self.synonyms.items()}
        if self.kind == "yes_no" and (asked := asked_in(self.words)):
            forms[self.choices[0]] = tuple(dict.fromkeys((*forms.get(self.choices[0], ()), *asked)))
        return tuple(forms.items())

    def _check_words(self) -> None:
        if not re.fullmatch("[A-Za-z0-9_]+", self.name):
            cure = "name the question by one word, as files and scores are"
            raise BadArgument("name", self.name, "letters, digits and underscores", cure)
        check_one_of("kind", self.kind, get_args(Kind), "see docs/extend.md")
        for words in (self.words, *self.paraphrases):
            if not words.strip() or words != words.strip():
                raise BadArgument("words", words, "a question without surrounding blanks", "ask it in words")
        places = re.compile("<[^<>]+>")
        for words in self.paraphrases:
            if unknown := set(places.findall(words)) - set(places.findall(self.words)):
                raise BadArgument("paraphrases", words, f"no {unknown.pop()}", "leave it out, or add it to `words`")
        if self.unit and self.kind != "number":
            raise BadArgument("unit", self.unit, f"none for kind {self.kind}", "leave it out, or set `kind: number`")
        if self.unit != self.unit.strip() or parse_number(f"1.5 {self.unit}", self.unit) != 1.5:
            raise BadArgument("unit", self.unit, "a unit without a number in it", "write it in another way")

    def _checked_choices(self, choices: list[str]) -> tuple[str, ...]:
        """Return the choices of the kind; raises an error where they are not to be told apart."""
        if self.kind in ("yes_no", "number", "open"):
            own = list(YES_NO.get(self.language, YES_NO["en"])) if self.kind == "yes_no" else []
            if choices not in ([], own):
                raise BadArgument("choices", choices, f"none for kind {self.kind}", "leave them out")
            return tuple(own)
        least = 1 if self.kind == "several" else 2
        if not least <= len(choices) <= MOST_OPTIONS:
            raise BadArgument("choices", choices, f"{least} to {MOST_OPTIONS} texts for kind {self.kind}", "list them")
        for choice in choices:
            if not _is_plain(choice, self.kind):
                expected = "a line with a letter or digit, without surrounding blanks or ' / '"
                expected += ", without ';' and not 'none'" if self.kind == "several" else ""
                raise BadArgument("choices", choice, expected, "write the choice, and the labels, in another way")
        _refuse_same(choices, "choices", "that differ in more than case, accents, blanks and hyphens")
        return tuple(choices)

    def _check_synonyms(self) -> None:
        if unknown := [choice for choice in self.synonyms if choice not in self.choices]:
            raise BadArgument("synonyms", unknown[0], f"one of {', '.join(self.choices)}", "name a choice")
        forms = [form for forms in self.synonyms.values() for form in forms]
        if empty := [form for form in forms if not re.search(r"[^\W_]", form)]:
            raise BadArgument("synonyms", empty[0], "words with a letter or digit", "leave it out")
        _refuse_same([*self.choices, *forms], "synonyms", "that are words of one choice alone, each named once")

    def _check_that_choices_are_read(self) -> None:
        for choice in self.choices:
            found = self.parse(Reply("", f"{self._lead}{choice}"))
            if found != choice:
                expected = f"words that a reply can state; 'Answer: {choice}' is read as " + (
                    found.reason if isinstance(found, Unparsed) else repr(found)
                )
                raise BadArgument("choices", choice, expected, "write the choice, and the labels, in another way")


_SHORTEST = 8
"""Characters of a question from which on it is recognised in a reply."""


def _is_plain(choice: str, kind: Kind) -> bool:
    line = choice.splitlines() == [choice] and choice == choice.strip() and re.search(r"[^\W_]", choice)
    several = kind != "several" or (";" not in choice and spelled(choice) not in NONE.values())
    return bool(line) and " / " not in choice and several


def _refuse_same(texts: Sequence[str], argument: str, expected: str) -> None:
    known: dict[str, str] = {}
    for text in texts:
        if (other := known.setdefault(spelled(text), text)) is not text or texts.count(text) > 1:
            raise BadArgument(argument, [other, text], f"texts {expected}", "rename one, or leave it out")
