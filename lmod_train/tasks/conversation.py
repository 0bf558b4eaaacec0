"""Free conversation about an image: imported turns, asked and answered in their own words, and those of yes and no."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmod_train.core.option_letters import divided
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.closed import closed_scores
from lmod_train.scoring.items import items_of
from lmod_train.scoring.status import STATUS_SHARES, scores_by_subset
from lmod_train.scoring.text import EXACT_MATCH, EXACT_MATCH_ANSWERED, TOKEN_F1, TOKEN_F1_ANSWERED, word_columns
from lmod_train.tasks.base import Task
from lmod_train.tasks.own import YES_NO
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.own_choice import parse_yes_no
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.refusal import read_words


class Conversation(Task):
    """One question a human turn of an imported conversation; earlier turns come with it, answered as they were.

    It asks the ready questions of its name and language that come with a sample, as in a file of conversations. A reply
    is taken word for word and compared with the reference, so the figures measure how alike the words are, not whether
    what they say is right.

    Args:
        language: ISO 639-1 code of the conversations it asks.

    Example:
        >>> Conversation().parse(Reply("a", " Pale disc. "))
        'Pale disc.'
    """

    name = "conversation"
    version = 2
    choices = ()

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield the sample's conversation, one question a human turn."""
        yield from self.ready_questions(sample)

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the text of the reply, without thinking and surrounding blanks, or why there is none.

        See `lmod_train.tasks.parsing.refusal.read_words`.
        """
        return read_words(reply)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return ``token_f1`` and ``exact_match`` over all records (no answer counts 0), both again over the answered
        ones (``_answered``), and the account; each with n and a 95 % interval that resamples whole images.
        """
        items = items_of(predictions, lambda p: p.record.answer)
        return scores_by_subset(self.name, items, word_columns, _MEASURES)


_MEASURES = (TOKEN_F1, EXACT_MATCH, EXACT_MATCH_ANSWERED, TOKEN_F1_ANSWERED, *STATUS_SHARES)


class YesNoConversation(Conversation):
    """The questions of imported conversations whose whole answer is yes or no; the others are those of `Conversation`.

    Prompt and reference reply are the file's words. What a reply says beside yes or no does not count.

    Args:
        language: ISO 639-1 code of the conversations it asks.
    """

    name = "yes_no_conversation"
    version = 2

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return yes or no in the words of the record's choices, or why the reply states neither."""
        choices = record.choices if record else YES_NO["en"]
        return read(reply, lambda text, _: parse_yes_no(text, choices), choices)

    def listed(self, record: Record) -> Sequence[str]:
        """Return no choices, as the prompt is the file's."""
        return ()

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return accuracies, chance, majority and the account, over all questions and each subset."""
        truths = items_of(predictions, self.truth)
        return closed_scores(self.name, truths)


class ChoiceConversation(YesNoConversation):
    """The questions of imported conversations whose words list options with letters, of which the answer names one.

    Prompt and reference reply are the file's words; the choices are the texts of the options.

    Args:
        language: ISO 639-1 code of the conversations it asks.
    """

    name = "choice_conversation"
    version = 1

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the text of the chosen option, or why there is none (see `lmod_train.tasks.parsing.option`)."""
        choices = record.choices if record else ()
        return read(reply, parse_option, choices)


TURNS = (Conversation, YesNoConversation, ChoiceConversation)
"""The tasks that ask the turns of imported conversations."""


def kind_of(words: str, answer: str) -> tuple[str, tuple[str, ...]]:
    r"""Return the task that asks a turn, and its choices; no task where the words list options and none is the answer.

    Args:
        words: Of the turn.
        answer: To it.

    Example:
        >>> kind_of("Which?", "Yes."), kind_of("Which?\nA. disc\nB. cup", "B. cup")
        (('yes_no_conversation', ('yes', 'no')), ('choice_conversation', ('disc', 'cup')))
        >>> kind_of("Which?", "A disc."), kind_of("Which? (A) disc (B) cup", "A rim.")
        (('conversation', ()), ('', ('disc', 'cup')))
    """
    if choices := yes_or_no(answer):
        return YesNoConversation.name, choices
    options = tuple(" ".join(option.split()) for option in divided(words)[1])
    if len(set(options)) < 2:
        return Conversation.name, ()
    is_named = all(options) and isinstance(read(Reply("", answer), parse_option, options), str)
    return (ChoiceConversation.name if is_named else ""), options


def yes_or_no(answer: str) -> tuple[str, ...]:
    """Return the choices of a question whose whole answer is yes or no: one word, in any case, with or without a stop.

    Example:
        >>> yes_or_no("Yes."), yes_or_no("\u5426\u3002"), yes_or_no("Yes, a pale disc."), yes_or_no("None.")
        (('yes', 'no'), ('\u662f', '\u5426'), (), ())
    """
    word = answer.strip().casefold()
    word = word[:-1].rstrip() if word[-1:] in (".", "\u3002") else word
    return next((pair for pair in YES_NO.values() if word in pair), ())
