"""Single-choice questions: how options, answer and confidence are asked for, and where the right option stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmod_train.lettering import LETTERS, lettered, options_in
from lmod_train.tasks.prompt import prompt
from lmod_train.types import Message, Part, Question

CONFIDENCE = "Please rate your confidence from 0 to 100%"
"""X-PCR, supplement, section 4.2, word for word."""


def single_choice(question: str, options: Sequence[str], *, confidence: bool) -> tuple[Message, ...]:
    r"""Return the user's turn: image, question, lettered options, and the form of the reply.

    Args:
        question: In words.
        options: Texts in the order of their letters.
        confidence: Whether a confidence is asked for.

    Example:
        >>> print(single_choice("Which?", ["disc", "macula"], confidence=True)[0].parts[1].text)
        Which?
        A. disc
        B. macula
        Answer with the letter of one option.
        Please rate your confidence from 0 to 100%
        Reply in this format: Answer: <LETTER>; Confidence: <0-100>%
    """
    return prompt(_words(question, options, confidence))


def _words(question: str, options: Sequence[str], confidence: bool) -> str:
    lines = [question, lettered(options), "Answer with the letter of one option."]
    lines += [CONFIDENCE] if confidence else []
    stated = "; Confidence: <0-100>%" if confidence else ""
    return "\n".join([*lines, f"Reply in this format: Answer: <LETTER>{stated}"])


def worded(question: Question, *, confidence: bool) -> Question:
    r"""Return a question that comes with its sample as a single-choice question, images first, then the words.

    One whose answer is not the text of an option has its form already, and stays as it is.

    Args:
        question: Its choices are the options' texts, its last message the question without options.
        confidence: Whether a confidence is asked for.

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
    text = Part("text", _words(words, question.choices, confidence))
    messages = (*question.messages[:-1], replace(turn, parts=(*images, text)))
    return replace(question, messages=messages, answer=reply_for(question.choices, question.answer))


def reply_for(options: Sequence[str], truth: str) -> str:
    """Return the reference reply: the letter of the right option.

    Example:
        >>> reply_for(["disc", "macula"], "macula")
        'Answer: B'
    """
    return f"Answer: {LETTERS[list(options).index(truth)]}"


def with_truth_at(question: Question, place: int) -> Question:
    """Return a question of lettered options with its right option moved to a place; the others keep their order.

    Args:
        question: Its choices are the options in the order of their letters, its answer ends with the letter.
        place: From 0, below the number of options.
    """
    old = list(options_in(question.messages).values())
    truth = old[LETTERS.index(question.answer[-1])]
    new = [option for option in old if option != truth]
    new.insert(place, truth)

    def rewritten(message: Message) -> Message:
        parts = (replace(p, text=p.text.replace(lettered(old), lettered(new))) for p in message.parts)
        return replace(message, parts=tuple(parts))

    messages = (*question.messages[:-1], rewritten(question.messages[-1]))
    return replace(question, messages=messages, choices=tuple(new), answer=reply_for(new, truth))
