"""Recognise refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from lmod_train.core.types import Reply, Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.tasks.parsing.clean import clean, unmasked
from lmod_train.tasks.parsing.cues import EXPLANATION
from lmod_train.tasks.parsing.keys import role_of
from lmod_train.tasks.parsing.normalise import in_place, normalise
from lmod_train.tasks.parsing.stance import clauses
from lmod_train.tasks.parsing.structure import PLACE, decode
from lmod_train.tasks.parsing.visible import split_repetition, strip_thinking

_REFUSAL = re.compile(phrases("refusals.refusals"), re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Return whether the text declines to answer, or refers the patient to a doctor.

    The text may contain an answer all the same; look for one first.

    Example:
        >>> is_refusal("I'm sorry, I can't provide a medical diagnosis."), is_refusal("建议咨询眼科医生")
        (True, True)
        >>> is_refusal("The cup cannot be larger than the disc.")
        False
    """
    return _REFUSAL.search(text) is not None


def declines(text: str, choices: Iterable[str]) -> bool:
    """Return whether a text declines to answer in words that none of the choices has.

    Where a choice is "refer to an eye specialist", such a referral is no refusal.

    Example:
        >>> choices = ("observe", "refer to an eye specialist")
        >>> declines("He should be referred to a specialist", choices), declines("I cannot tell. See a doctor", choices)
        (False, True)
    """
    if not is_refusal(text):
        return False
    texts = [normalise(choice) for choice in choices]
    return any(p.search(text) and not any(map(p.search, texts)) for p in _phrases())


@cache
def _phrases() -> list[re.Pattern[str]]:
    english = (re.compile(any_of([phrase]), re.IGNORECASE) for phrase in entry("refusals.refusals.en"))
    return [*english, *map(re.compile, entry("refusals.refusals.zh"))]


_APOLOGY = re.compile(rf"\W{{0,9}}(?:{phrases('refusals.apologies')})[\s,.!:，。！]{{0,4}}", re.IGNORECASE)
_COURTESY = re.compile(rf"\W{{0,9}}(?:{phrases('refusals.courtesies')})", re.IGNORECASE)
_BARE = re.compile(phrases("refusals.bare"), re.IGNORECASE)
_HIDDEN, _LABEL = compiled("open_answer.hidden"), compiled("open_answer.label")
_SHORT = 24
"""Letters beside "unknown" up to which it is the answer; a Chinese character counts as four."""
_LONGEST = 2000
"""Characters of an answer above which it is none that only declines."""


def read_words(reply: Reply) -> str | Unparsed:
    """Return the text of a reply without thinking and surrounding blanks, or why there is none.

    ``failed`` (no reply at all), ``refused`` (declined or withheld by the service), ``empty``, ``repetition`` (the
    words fell into a loop), ``truncated`` (cut off within a thought, before any answer). A reply that was cut off after
    its answer began counts as far as it goes.

    Example:
        >>> read_words(Reply("a", "<think>hm</think> Pale disc. ")), read_words(Reply("a", "...")).reason
        ('Pale disc.', 'empty')
    """
    if reply.finish_reason == "error" or reply.error:
        return Unparsed("failed", reply.error)
    withheld = reply.finish_reason == "content_filter"
    if reply.finish_reason == "refusal" or (withheld and not reply.reply.strip()):
        return Unparsed("refused", reply.reply[:80])
    answer, closed = strip_thinking(reply.reply)
    answer = answer.strip()
    if not any(c.isalnum() for c in answer):
        return Unparsed("empty" if closed else "truncated", answer[:80])
    sound, looped = split_repetition(answer)
    return Unparsed("repetition", answer[len(sound) : len(sound) + 80]) if looped else answer


def read_open(reply: Reply) -> str | Unparsed:
    """Return the answer to an open question, or why there is none (see `read_words`); ``refused`` if it only declines.

    A reply declines if each of its sentences does, apart from apologies and courtesies. One that doubts and answers all
    the same, or answers and refers to a doctor, is an answer, with all its words.

    Example:
        >>> read_open(Reply("a", "Macular hole. Please see a doctor."))
        'Macular hole. Please see a doctor.'
        >>> read_open(Reply("a", "抱歉，我无法判断。如有其他问题，请告诉我。")).reason
        'refused'
    """
    answer = read_words(reply)
    if isinstance(answer, Unparsed):
        return answer
    answer = without_label(answer)
    return Unparsed("refused", answer[:80]) if len(answer) <= _LONGEST and _only_declines(answer) else answer


def without_label(answer: str) -> str:
    r"""Return an answer in words without its label, tag, box or object, and without an explanation behind it.

    Example:
        >>> without_label("**Answer:** Macular hole"), without_label('{"answer": "Macular hole", "confidence": 0.9}')
        ('Macular hole', 'Macular hole')
        >>> without_label("The answer lies in the fovea."), without_label("答案：黄斑裂孔。\n理由：中心凹缺损")
        ('The answer lies in the fovea.', '黄斑裂孔。')
    """
    if len(answer) > _LONGEST:
        return answer
    decoded = decode(unmasked(answer))
    own = (slot for slot in decoded.slots if not slot.name or role_of(slot.name))
    stated = [slot.value for slot in own if slot.role == "answer" and slot.layout in ("object", "tag") and slot.value]
    if len(stated) == 1 and not re.search(r"\w", clean(decoded.prose().replace(PLACE, ""))):
        return stated[0].strip()
    label = _LABEL.match(answer)
    if label is None:
        return answer
    explained = EXPLANATION.search(in_place(answer), label.end())
    words = label["tagged"] or label["boxed"] or answer[label.end() : explained.start() if explained else len(answer)]
    return words.strip(" \n*_-;；") or answer


def _only_declines(answer: str) -> bool:
    own = _APOLOGY.sub("", answer, count=1)
    sentences = [clause for clause in clauses(own) if not _COURTESY.match(clause)]
    return is_refusal(answer) and all(map(_declines, sentences))


def _declines(sentence: str) -> bool:
    """Return whether a sentence declines; neither "unknown" within a finding nor a hidden part of the eye does."""
    rest = _BARE.sub("", sentence)
    length = sum(4 if "\u4e00" <= c <= "\u9fff" else 1 for c in rest if c.isalnum())
    return is_refusal(sentence if length <= _SHORT else rest) and not _HIDDEN.search(sentence)
