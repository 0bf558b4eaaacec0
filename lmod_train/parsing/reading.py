"""Read a reply: what is common to every parser, in the order in which it must be done."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.parsing.clean import clean
from lmod_train.parsing.refusal import is_refusal
from lmod_train.parsing.repetition import split_repetition
from lmod_train.parsing.stance import clauses
from lmod_train.parsing.thinking import strip_thinking
from lmod_train.types import Answer, Parser, Reply, Unparsed


def read(reply: Reply, parser: Parser, choices: Sequence[str]) -> Answer | Unparsed:
    """Return what a reply answers, or the reason why it answers nothing. Never raises, never guesses.

    Thinking and markup are taken off, and what precedes a loop is kept. A readable answer counts however the reply
    ended and whatever else it says: "I cannot diagnose, but this is most likely glaucoma" is an answer, and so is one
    that was cut off in its explanation. Without one, the first of these holds: ``failed`` (no reply at all),
    ``truncated`` or ``empty`` (nothing was said), ``out_of_range``, ``repetition``, ``refused`` (an abstention, also
    "consult an ophthalmologist", but not where two answers are given first and the doubt comes after: that is
    ``ambiguous``), ``truncated`` (cut off, or a thought never closed), and the parser's own reason. What a service
    withheld (``content_filter``) is ``refused`` unless a readable answer came before; what it declined (``refusal``) is
    ``refused`` whatever its words.

    Args:
        reply: The whole reply, its finish reason included.
        parser: One of this room, for the kind of answer.
        choices: The prompt's own words.

    Example:
        >>> from lmod_train.parsing.choice import parse_choice
        >>> choices = ("GLAUCOMA", "NON-GLAUCOMA")
        >>> read(Reply("a", "<think>hm</think>**GLAUCOMA**; Explanation: ..."), parse_choice, choices)
        'GLAUCOMA'
        >>> read(Reply("a", "Please consult an eye doctor."), parse_choice, choices).reason
        'refused'
    """
    if reply.finish_reason == "error" or reply.error:
        return Unparsed("failed", reply.error)
    if reply.finish_reason == "refusal":
        return Unparsed("refused", reply.reply[:80])
    said, closed = strip_thinking(reply.reply)
    withheld = reply.finish_reason == "content_filter"
    cut = not closed or reply.finish_reason == "length"
    text = clean(said)
    if not any(c.isalnum() for c in text):
        return Unparsed("refused" if withheld else "truncated" if cut else "empty", text[:80])
    sound, looped = split_repetition(text)
    answer = parser(sound, choices)
    if not isinstance(answer, Unparsed) or answer.reason == "out_of_range":
        return answer
    if looped:
        return Unparsed("repetition", text[len(sound) : len(sound) + 80])
    if withheld:
        return Unparsed("refused", text[:80])
    if is_refusal(text) and (answer.reason != "ambiguous" or any(map(is_refusal, clauses(text)[:1]))):
        return Unparsed("refused", text[:80])
    return Unparsed("truncated", text[:80]) if cut else answer
