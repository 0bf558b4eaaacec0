"""Single-choice questions: how options, answer and confidence are asked for, and where the right option stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

from lmod_train.core.errors import check_one_of
from lmod_train.core.option_letters import LETTERS, lettered, options_in
from lmod_train.core.types import Message, Part, Question
from lmod_train.tasks.prompt import PRINTED, prompt

CONFIDENCE = "Please rate your confidence from 0 to 100%"
"""X-PCR, supplement, section 4.2, word for word."""

WORDS: Mapping[str, Mapping[str, str]] = PRINTED["single_choice"]
"""Language -> what follows the options; ours. The form itself is the same in both, as one parser reads it."""

Stated = Literal["letter", "text"]
"""What the reply states: the ``letter`` of an option, as in the paper; or its ``text``, for models that are too small
to look a letter up in the prompt."""


def checked(stated: str) -> Stated:
    """Return what the reply states, as given.

    Raises:
        BadArgument: It is neither ``letter`` nor ``text``.
    """
    check_one_of("stated", stated, get_args(Stated), "leave it out for letter")
    return cast(Stated, stated)


def single_choice(
    question: str, options: Sequence[str], *, confidence: bool, stated: Stated = "letter"
) -> tuple[Message, ...]:
    r"""Return the user's turn: image, question, lettered options, and the form of the reply.

    Args:
        question: In words.
        options: Texts in the order of their letters.
        confidence: Whether a confidence is asked for.
        stated: What the reply states.

    Example:
        >>> print(single_choice("Which?", ["disc", "macula"], confidence=True)[0].parts[1].text)
        Which?
        A. disc
        B. macula
        Answer with the letter of one option.
        Please rate your confidence from 0 to 100%
        Reply in this format: Answer: <LETTER>; Confidence: <0-100>%
    """
    return prompt(_words(question, options, confidence, stated))


def _words(question: str, options: Sequence[str], confidence: bool, stated: Stated, language: str = "en") -> str:
    words = WORDS.get(language, WORDS["en"])
    lines = [question, lettered(options), words[stated]]
    lines += [CONFIDENCE] if confidence else []
    sure = "; Confidence: <0-100>%" if confidence else ""
    return "\n".join([*lines, f"{words['form']}Answer: <{stated.upper()}>{sure}"])


def without_form(text: str) -> str:
    """Return the words of a single-choice question without what stands behind its options; other words as they are.

    Example:
        >>> asked = single_choice("Which?", ["disc", "macula"], confidence=True)[0].parts[1].text
        >>> without_form(asked).splitlines(), without_form("Which?")
        (['Which?', 'A. disc', 'B. macula'], 'Which?')
    """
    ends = (text.find(f"\n{words[stated]}\n") for words in WORDS.values() for stated in get_args(Stated))
    return text[: min((end for end in ends if end >= 0), default=len(text))]


def worded(question: Question, *, confidence: bool, stated: Stated = "letter") -> Question:
    r"""Return a question that comes with its sample as a single-choice question, images first, then the words.

    One whose answer is not the text of an option has its form already, and stays as it is.

    Args:
        question: Its choices are the options' texts, its last message the question without options.
        confidence: Whether a confidence is asked for.
        stated: What the reply states.

    Example:
        >>> ready = Question("chain", prompt("Which?"), ("disc", "macula"), "macula")
        >>> asked = worded(ready, confidence=False)
        >>> asked.answer, asked.messages == single_choice("Which?", ready.choices, confidence=False)
        ('Answer: B', True)
    """
    if question.answer not in question.choices:
        return question
    turn = question.messages[-1]
    words = "\n".join(part.text for part in turn.parts if part.type == "text")
    images = tuple(part for part in turn.parts if part.type == "image")
    text = Part("text", _words(words, question.choices, confidence, stated, question.language))
    messages = (*question.messages[:-1], replace(turn, parts=(*images, text)))
    return replace(question, messages=messages, answer=reply_for(question.choices, question.answer, stated))


def reply_for(options: Sequence[str], truth: str, stated: Stated = "letter") -> str:
    """Return the reference reply: the letter of the right option, or its text.

    Example:
        >>> reply_for(["disc", "macula"], "macula"), reply_for(["disc", "macula"], "macula", "text")
        ('Answer: B', 'Answer: macula')
    """
    return f"Answer: {truth if stated == 'text' else LETTERS[list(options).index(truth)]}"


def with_truth_at(question: Question, place: int) -> Question:
    """Return a question of lettered options with its right option moved to a place; the others keep their order.

    Args:
        question: Its choices are the options in the order of their letters; its answer states letter or text of one.
        place: From 0, below the number of options.
    """
    old = list(options_in(question.messages).values())
    given = question.answer.removeprefix("Answer: ")
    stated: Stated = "text" if given in old else "letter"
    truth = given if stated == "text" else old[LETTERS.index(given)]
    new = [option for option in old if option != truth]
    new.insert(place, truth)

    def rewritten(message: Message) -> Message:
        parts = (replace(p, text=p.text.replace(lettered(old), lettered(new))) for p in message.parts)
        return replace(message, parts=tuple(parts))

    messages = (*question.messages[:-1], rewritten(question.messages[-1]))
    return replace(question, messages=messages, choices=tuple(new), answer=reply_for(new, truth, stated))
