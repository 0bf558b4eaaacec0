"""Read a reply: the steps around every parser, in order, and those within each: structure first, then prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lmod_train.core.types import Answer, Parser, Reply, Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL, after, last, split_explanation
from lmod_train.tasks.parsing.groups import UNSAID, Slot
from lmod_train.tasks.parsing.keys import role_of
from lmod_train.tasks.parsing.refusal import declines
from lmod_train.tasks.parsing.stance import clauses
from lmod_train.tasks.parsing.structure import PLACE, decode, is_requested
from lmod_train.tasks.parsing.visible import visible_text

_MARKS = frozenset(entry("characters.marks")["yes"] + entry("characters.marks")["no"])
"""Ticks and crosses, which answer without a word."""


def read(reply: Reply, parser: Parser, choices: Sequence[str]) -> Answer | Unparsed:
    """Return the answer of a reply, or the reason why it has none. Never raises, never guesses.

    Thinking and everything from the first loop on are removed, and the middle of a very long reply (see
    `lmod_train.tasks.parsing.visible`). Objects, tags, tables, check boxes and fields are read first, what is left as
    prose (see `answer_in`). A readable answer counts however the reply ended and whatever surrounds it: "I cannot
    diagnose, but this is most likely glaucoma" is an answer, and so is a reply cut off in its explanation. Without an
    answer, the first of these reasons holds: ``failed`` (no reply), ``truncated`` or ``empty`` (no text),
    ``out_of_range``, ``repetition``, ``refused`` (an abstention, also "consult an ophthalmologist"; two answers
    followed by an abstention are ``ambiguous``), ``truncated`` (cut off, or a thinking block never closed), and the
    parser's own reason. Text that a service withheld (``content_filter``) is ``refused`` unless a readable answer
    precedes it; a reply that it declined (``refusal``) is always ``refused``.

    Args:
        reply: The whole reply with its finish reason.
        parser: The parser of the kind of answer.
        choices: The prompt's choices.

    Example:
        >>> from lmod_train.tasks.parsing.choice import parse_choice
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
    answer = parser(visible.written, choices)
    if not isinstance(answer, Unparsed) or answer.reason == "out_of_range":
        return answer
    if visible.looped:
        return Unparsed("repetition", text[len(visible.sound) :][:80])
    if withheld:
        return Unparsed("refused", text[:80])
    if declines(text, choices) and (answer.reason != "ambiguous" or declines("".join(clauses(text)[:1]), choices)):
        return Unparsed("refused", text[:80])
    return Unparsed("truncated", text[:80]) if cut else answer


Claim = str | Unparsed
"""What a slot says: a choice, or why it says none."""

IGNORED = Unparsed("no_match", "denied")
"""Claim of a slot that only says what the answer is not; it is taken out of the prose and says nothing."""
UNKNOWN = Unparsed("no_match", "an unknown value")
"""Claim of a slot whose value is neither an answer nor an abstention; it gives way to any other claim."""


def answer_in(text: str, read_slot: Callable[[Slot], Claim | None], prose: Callable[[str], Claim]) -> Claim:
    """Return the answer in a reply: that of its slots, which prose may contradict, else that of its prose.

    The slots must agree; an abstention in one of them contradicts an answer in another. What stands behind the last
    announcement of a final answer or correction replaces what stands before it.

    Args:
        text: A reply without thinking, with its markup.
        read_slot: Returns what a slot says about the question; None if nothing, so that a line stays in the prose.
        prose: The parser of cleaned text (see `lmod_train.tasks.parsing.clean`).

    Returns:
        The answer, or `Unparsed`: ``empty``, ``ambiguous`` for two, else the reason of the slots or of the prose.
    """
    if not text.strip():
        return Unparsed("empty")
    decoded = decode(text)
    claims = [(slot, claim) for slot in decoded.slots if (claim := _claim(slot, text, read_slot, prose)) is not None]
    lines = [slot for slot, _ in claims if slot.layout == "line"]
    claims = [(slot, claim) for slot, claim in claims if claim is not IGNORED]
    rest = clean(decoded.prose(lines))
    if not claims and not rest.strip(f"{PLACE} \n.;,"):
        return Unparsed("no_match", text.strip()[:80])
    cue = max((cue.end() for cue in (last(FINAL, rest), last(CORRECTION, rest)) if cue is not None), default=0)
    if cue:
        before = rest.count(PLACE, 0, cue)
        behind = [claim for slot, claim in claims if decoded.place_of(slot, lines) >= before]
        tail = _unplaced(after(rest, cue))
        if behind:
            return _decided(behind)
        if claims and not any(c.isalnum() for c in tail):
            return Unparsed("no_match", "taken back")  # {...} "That is wrong."
        if (claims or decode(tail).slots) and isinstance(stated := answer_in(tail, read_slot, prose), str):
            return stated
    if not claims:
        stated = prose(_unplaced(rest))
        differs = isinstance(stated, str) and eyes_differ(split_explanation(rest)[0])
        return Unparsed("ambiguous", "the two eyes differ") if differs else stated
    answer = _decided([claim for _, claim in claims])
    if all(is_requested(slot) for slot, _ in claims) and answer is not UNKNOWN:
        return answer
    beside = prose(_unplaced(split_explanation(rest)[0]))
    if answer is UNKNOWN and all(slot.layout != "line" or slot.role == "diagnosis" for slot, _ in claims):
        return beside if isinstance(beside, str) else answer
    if isinstance(beside, str) and beside != answer and answer is not UNKNOWN:
        return Unparsed("ambiguous", f"{answer if isinstance(answer, str) else answer.detail} and {beside}")
    return answer


_EYES = tuple(compiled(f"structure.{eye}") for eye in ("right", "left"))
_DENIED = compiled("structure.healthy")


def eyes_differ(text: str) -> bool:
    """Return whether a text denies of one eye what it says of the other.

    Example:
        >>> [eyes_differ(text) for text in ("OD has drusen; OS has none", "右眼有出血，左眼没有", "Drusen in both")]
        [True, True, False]
    """
    parts = re.split(r"[,;，；。\n]|\.\s|\s(?:and|but|while|whereas)\s", text)
    said = [{_DENIED.search(part) is not None for part in parts if eye.search(part)} for eye in _EYES]
    return all(len(one) == 1 for one in said) and said[0] != said[1]


def _claim(
    slot: Slot, text: str, read_slot: Callable[[Slot], Claim | None], prose: Callable[[str], Claim]
) -> Claim | None:
    """Return what a slot says; a value may be structured itself, ``{"answer": "Stage: 3"}``, or be a sentence."""
    answers = slot.role in ("answer", "diagnosis")
    is_unnamed = not slot.name or bool(role_of(slot.name))
    if answers and is_unnamed and slot.layout != "line" and len(slot.value) < len(text) and decode(slot.value).slots:
        inner = answer_in(slot.value, read_slot, prose)
        if isinstance(inner, str) or inner.reason == "ambiguous":
            return inner
    if slot.value == UNSAID and slot.name and not slot.role:
        return None if read_slot(replace(slot, value="yes")) is None else IGNORED
    claim = read_slot(slot)
    if claim is UNKNOWN and any(eye.fullmatch(slot.name.strip()) for eye in _EYES):
        return Unparsed("no_match", "one of the eyes")
    if claim is UNKNOWN and answers and role_of(slot.name) and isinstance(stated := prose(clean(slot.value)), str):
        return stated
    return claim


def _unplaced(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip() != PLACE)


def _decided(claims: Iterable[Claim]) -> Claim:
    """Return the one answer of the claims; an abstention beside it makes it ambiguous."""
    different = list(dict.fromkeys(claim for claim in claims if claim is not UNKNOWN))
    if not different:
        return UNKNOWN
    if len(different) == 1 or not any(isinstance(claim, str) for claim in different):
        return different[0]
    stated = (claim if isinstance(claim, str) else claim.detail or claim.reason for claim in different[:4])
    return Unparsed("ambiguous", "states " + " and ".join(stated))
