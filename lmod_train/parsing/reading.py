"""Read a reply: the steps around every parser, in order."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.parsing.refusal import declines
from lmod_train.parsing.stance import clauses
from lmod_train.parsing.visible import visible_text
from lmod_train.types import Answer, Parser, Reply, Unparsed
from lmod_train.vocabulary.characters import MARKS

_MARKS = frozenset(MARKS["yes"] + MARKS["no"])
"""Ticks and crosses, which answer without a word."""


def read(reply: Reply, parser: Parser, choices: Sequence[str]) -> Answer | Unparsed:
    """Return the answer of a reply, or the reason why it has none. Never raises, never guesses.

    Thinking, markup and everything from the first loop on are removed, and the middle of a very long reply (see
    `lmod_train.parsing.visible`). A readable answer counts however the reply ended
    and whatever surrounds it: "I cannot diagnose, but this is most likely glaucoma" is an answer, and so is a reply cut
    off in its explanation. Without an answer, the first of these reasons holds: ``failed`` (no reply), ``truncated`` or
    ``empty`` (no text), ``out_of_range``, ``repetition``, ``refused`` (an abstention, also "consult an
    ophthalmologist"; two answers followed by an abstention are ``ambiguous``), ``truncated`` (cut off, or a thinking
    block never closed), and the parser's own reason. Text that a service withheld (``content_filter``) is ``refused``
    unless a readable answer precedes it; a reply that it declined (``refusal``) is always ``refused``.

    Args:
        reply: The whole reply with its finish reason.
        parser: The parser of the kind of answer.
        choices: The prompt's choices.

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
    visible = visible_text(reply.reply)
    withheld = reply.finish_reason == "content_filter"
    cut = not visible.closed or reply.finish_reason == "length"
    text = visible.text
    if not any(c.isalnum() or c in _MARKS for c in text):
        return Unparsed("refused" if withheld else "truncated" if cut else "empty", text[:80])
    answer = parser(visible.sound, choices)
    if not isinstance(answer, Unparsed) or answer.reason == "out_of_range":
        return answer
    if visible.looped:
        return Unparsed("repetition", text[len(visible.sound) :][:80])
    if withheld:
        return Unparsed("refused", text[:80])
    if declines(text, choices) and (answer.reason != "ambiguous" or declines("".join(clauses(text)[:1]), choices)):
        return Unparsed("refused", text[:80])
    return Unparsed("truncated", text[:80]) if cut else answer
