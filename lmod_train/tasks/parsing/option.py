"""Parse the option of a single-choice question: its letter, or its text.

The parts of a reply are read in this order, and the first that states an option decides: an explicit final answer or
correction, the line of the answer, an opening letter, other fields, then the statements of free text, those that choose
("I pick B", "B is correct") before mere mentions. Within a part all stated options must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, phrases
from lmod_train.tasks.parsing.choice import choice_in_prose
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.confidence import without_confidence
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.groups import EMPTY, TICKED, Slot
from lmod_train.tasks.parsing.keys import role_of
from lmod_train.tasks.parsing.option_signs import LETTER, OTHERS, TEXT, index_of, mark
from lmod_train.tasks.parsing.reading import IGNORED, UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.slots import abstains, kinds_of
from lmod_train.tasks.parsing.stance import clause_spans, stance

_SIGN = f"(?:{LETTER}|{TEXT})"
_MARKS = phrases("option.marks")
_LEAD = rf"{_MARKS}(?:(?:{phrases('options.leads')}){_MARKS}){{0,6}}"
_JOIN = rf"[ \"'()\[\],:/&+、%0-9-]{{0,9}}(?:(?:{phrases('options.joins')})[ \"'(,:/-]{{0,3}}){{0,4}}"
_OWN_TEXT = rf"{LETTER}(?:[\"')\]]{{0,2}}\s?[.):,-]{{0,2}}\s{{0,2}}[\"'(\[]{{0,2}}{TEXT})"
_ONE = f"(?:{_OWN_TEXT}|{_SIGN})"
_GROUP = re.compile(rf"{_ONE}(?:{_JOIN}{_ONE}){{0,25}}", re.IGNORECASE)
_IS_WRONG = r"\s(?:is|isn't|was|wasn't|does|doesn't|seems|appears|cannot|can't)(?![a-z])"
_WHOLE = rf"(?!{_JOIN}{_ONE}(?!{_IS_WRONG}))"  # the group is all of "A, B", and "B" of "B, A is wrong"
_ENDED = r"(?=[\"')\]}]{0,4}\s{0,3}(?:$|[.,;:!()\[\n-]|\||" + phrases("options.reasons") + r"|[0-9]))"
_SLOT = re.compile(rf"{_LEAD}(?P<group>{_GROUP.pattern}){_WHOLE}{_ENDED}", re.IGNORECASE)
_ALONE = re.compile(rf"(?:(?<=\n)|(?<=[.;])){_MARKS}(?P<group>{_GROUP.pattern}){_MARKS}(?=[.;\n]|\Z)", re.IGNORECASE)
_ITEM = compiled("option.item")
_JUDGED = compiled("option.judged")
_STRONG_BEFORE = compiled("option.strong_before")
_STRONG_AFTER = re.compile(rf"[\"')\]]{{0,3}}\s?(?:选?项)?(?:{phrases('options.strong_after')})", re.IGNORECASE)
_WRONG_AFTER = re.compile(rf"[\"')\]]{{0,3}}\s?(?:{phrases('options.wrong_after')})", re.IGNORECASE)
_NOT_CHOSEN = compiled("option.not_chosen")
_STEP = re.compile(rf",\s?(?={phrases('options.steps')})|(?<![^\n.;])\s?(?:no|yes|well),\s", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"\W{0,6}(?:or(?![a-z])|或)", re.IGNORECASE)
_TEXT_SCORED = re.compile(rf"(?:^|\n)[\s*•-]{{0,6}}{TEXT}[^\w\n]{{1,6}}(?:[0-9]{{1,3}}\s?%|[01]?\.[0-9])")
_SCORED = re.compile(
    r"(?:^|[\n,;、])[^\n,;、:(]{1,60}?[-:(\s]{1,4}(?:[0-9]{1,3}(?:\.[0-9]{1,4})?\s?%|[01]?\.[0-9]{1,4}(?![0-9]))"
)
_WITH_NUMBER = re.compile(rf"{_ONE}[^\w\n]{{0,6}}(?:[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?\s?%|[01]?\.[0-9]{{1,4}}(?![0-9]))")
_REACH = 80
"""Characters around a mention in which a word that chooses it is looked for."""
Marker = Callable[[str, Sequence[str]], str]
"""Replaces each mention of an option in cleaned text by its sign (see `lmod_train.tasks.parsing.option_signs`)."""


def parse_option(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one option that the text states, by its letter or by its text.

    Args:
        text: A reply without thinking and markup (see `lmod_train.tasks.parsing.reading.read`).
        choices: Texts of the options in the order of their letters A, B, ...

    Returns:
        The text of the option; or `Unparsed` with ``empty``, ``no_match`` (nothing is stated, or options are only
        denied), ``ambiguous`` (two different options are stated; a letter with the text of another option; answers to
        several questions) or ``out_of_range`` (a letter that no option has).

    Example:
        >>> options = ("optic disc", "macula")
        >>> parse_option("Answer: B; Confidence: 80%", options), parse_option("The optic disc is pale.", options)
        ('macula', 'optic disc')
        >>> [parse_option(text, options).reason for text in ("A or B", "not A", "C", "A. macula", "")]
        ['ambiguous', 'no_match', 'out_of_range', 'ambiguous', 'empty']
    """
    return answer_in(text, lambda slot: read_slot(slot, choices), lambda prose: option_in_prose(prose, choices))


_JUDGED_YES = re.compile(rf"\W{{0,3}}(?:{phrases('options.yes')})\W{{0,3}}", re.IGNORECASE)
_JUDGED_NO = re.compile(rf"\W{{0,3}}(?:{phrases('options.no')}|[0-9.%?]{{1,5}})\W{{0,3}}", re.IGNORECASE)
_LONE_KEY = compiled("option.lone_key", 0)
_LETTER_NAME = re.compile(r"(?:option |choice |选项)?([A-Za-z])[.)]?")


def read_slot(slot: Slot, choices: Sequence[str], marker: Marker = mark) -> Claim | None:
    """Return the option that a slot states; None for a slot about something else.

    Args:
        slot: One of `lmod_train.tasks.parsing.structure.decode`.
        choices: Texts of the options.
        marker: How a text mentions them: with letters, unless another one is given.
    """

    def stated_in(text: str) -> str | Unparsed:
        return option_in_prose(text, choices, marker)

    value = clean(slot.value)
    named = _LETTER_NAME.fullmatch(slot.name.strip())
    kinds = ("yes",) if slot.value == TICKED else kinds_of(value)
    of_name = stated_in(clean(slot.name)) if not named and slot.name and not role_of(slot.name) else UNKNOWN
    of_line = slot.layout == "line" and slot.role not in ("answer", "type")
    own = UNKNOWN if of_line else stated_in(value) if slot.role else UNKNOWN
    if isinstance(own, str) and not kinds:  # {"answer": "B", "disease": "macular hole"}
        return own if not isinstance(of_name, str) or of_name == own else Unparsed("ambiguous", f"{own} and {of_name}")
    if (named or isinstance(of_name, str)) and not (slot.role and role_of(slot.name)):
        if kinds != ("yes",) and _JUDGED_YES.fullmatch(value):
            kinds = ("yes",)
        if slot.layout == "line" and not kinds:
            return None if not _JUDGED_NO.fullmatch(value) else IGNORED
        if slot.value == EMPTY or kinds != ("yes",):
            return IGNORED
        return of_name if isinstance(of_name, str) else stated_in(named[1].upper()) if named else None
    if slot.name and not slot.role and plain(slot.name) != "letter":
        lone = slot.layout == "object" and _LONE_KEY.fullmatch(plain(slot.name))
        return stated_in(value) if lone and re.fullmatch(r"\W{0,3}[A-H]\W{0,3}", value) else None
    stated = stated_in(value)
    if isinstance(stated, str) or stated.reason in ("ambiguous", "out_of_range"):
        return stated
    return abstains(kinds, "option") or (None if slot.layout == "line" else UNKNOWN)


def option_in_prose(text: str, choices: Sequence[str], marker: Marker = mark) -> str | Unparsed:
    """Return the option that prose states (see `parse_option`).

    Args:
        text: Cleaned text.
        choices: Texts of the options.
        marker: How a text mentions them.
    """
    marked = open_limits(marker(without_confidence(text), choices))
    if len(_SCORED.findall(marked)) > 1 or marker is not mark or _TEXT_SCORED.search(marked):
        marked = _WITH_NUMBER.sub("\n", marked)  # "A 41 %, B 8 %": nobody asked for a distribution, nor for a score
    final = final_statement(marked)
    if final is not None and _ALTERNATIVE.match(final):  # "B. No, wait. Or D?"
        return _decide(_numbers(marked), choices, text)
    stated = _verdict(final, final=True) if final is not None else []
    decided = _decide(stated or _verdict(marked), choices, text)
    polar = {kinds_of(choice): choice for choice in choices}
    if isinstance(decided, Unparsed) and decided.reason == "no_match" and polar.keys() == {("yes",), ("no",)}:
        return choice_in_prose(text, (polar["yes",], polar["no",]))  # "否", where the options are Yes and No
    return decided


def _decide(stated: Iterable[int], choices: Sequence[str], text: str) -> str | Unparsed:
    different = list(dict.fromkeys(stated))
    if not different:
        return Unparsed("no_match", text.strip()[:80])
    if len(different) > 1 or different[0] == index_of(OTHERS):
        names = {index_of(OTHERS): "others", **dict(enumerate(choices)), **dict(enumerate(LETTERS))}
        return Unparsed("ambiguous", "states " + " and ".join(names[i] for i in different[:4]))
    (only,) = different
    return choices[only] if only < len(choices) else Unparsed("out_of_range", LETTERS[only])


def _verdict(text: str, final: bool = False) -> list[int]:
    """Return the indices of the options stated by the first part of a text that states any.

    With `final`, the first clause counts as the line of the answer.
    """
    affirmed, text = _of_judged(text)
    head, _ = split_explanation(text)
    stated = affirmed or _of_list(head) or _opening(head, final)
    return stated or list(_of_clauses(text, strong=True)) or list(_of_clauses(text))


def _numbers(group: str) -> list[int]:
    return [index_of(sign) for sign in group if re.fullmatch(_SIGN, sign)]


def _of_judged(text: str) -> tuple[list[int], str]:
    """Return the options that a list of judged options affirms ("A: no, B: yes"), and the text without the list."""
    items = list(_JUDGED.finditer(text))
    if len({item["letter"] for item in items}) < 2:
        return [], text
    return [index_of(item["letter"]) for item in items if item["yes"]], _JUDGED.sub("\n", text)


def _of_list(text: str) -> list[int]:
    """Return the options chosen beside a list of several, as that of the prompt, else all of it; none without one."""
    letters = [item["letter"] for item in _ITEM.finditer(text)]
    if len(set(letters)) < 2:
        return []
    return list(_of_clauses(_ITEM.sub("\n", text), strong=True)) or [index_of(letter) for letter in letters]


def _opening(text: str, final: bool) -> list[int]:
    """Return the options with which a text opens, and those that later clauses choose or that stand alone in them.

    With `final`, only the opening counts; a text without one states what its first clause asserts.
    """
    slot = _SLOT.match(text)
    asks = slot is not None and text[slot.end() :].lstrip(" \"')").startswith("?")
    if slot and not asks and not _WRONG_AFTER.match(text, slot.end("group")):
        later = "" if final else text[slot.end() :]
        alone = "".join(m["group"] for m in _ALONE.finditer(later))
        return [*_numbers(slot["group"] + alone), *_of_clauses(later, strong=True)]
    first = next(_statements(text), "") if final else ""
    return list(_of_clauses(first))


def _of_clauses(text: str, strong: bool = False) -> Iterator[int]:
    """Yield the options that clauses assert; with `strong`, only those that words choose or that stand alone."""
    for clause in _statements(text):
        for group in _GROUP.finditer(clause):
            denied = _WRONG_AFTER.match(clause, group.end()) or _NOT_CHOSEN.search(clause[: group.start()][-24:])
            if denied or (strong and not _is_chosen(clause, group)):
                continue
            if stance(clause, group.start(), group.end(), bare=True) == "asserted":
                yield from _numbers(group[0])


def _statements(text: str) -> Iterator[str]:
    """Yield the clauses that are no questions, also those behind a comma that open a new statement."""
    for start, end in clause_spans(text):
        if not text[end : end + 4].lstrip(" \"')").startswith("?"):
            yield from (part for part in _STEP.split(text[start:end]) if part.strip())


def _is_chosen(clause: str, group: re.Match[str]) -> bool:
    before, after = clause[max(0, group.start() - _REACH) : group.start()], clause[group.end() :][:_REACH]
    alone = not re.search(r"\w", before + after)
    return alone or bool(_STRONG_BEFORE.search(before) or _STRONG_AFTER.match(after))


_GAP = r"\s{0,2}(?:(?:an?|the|option|grade|stage)\s)?[\"'(]?"
_LIMIT = re.compile(rf"(?:{phrases('options.limits')}){_GAP}(?P<sign>{_SIGN})", re.IGNORECASE)
_COMPARED = re.compile(rf"(?:{phrases('options.compared')}){_GAP}(?P<sign>{TEXT})", re.IGNORECASE)
_EARLIER = re.compile(rf"{_SIGN}[^.;:!?。\n]{{0,200}}$")
_END = r"(?=[\"')\]]{0,3}\s?(?:$|[.,;:!?()\n。]|than|because|given|based|且|因))"
_OPEN = re.compile(rf"(?P<sign>{_SIGN})[\"')\]]{{0,2}}\s?[,(]?\s?(?:{phrases('options.open')}){_END}", re.IGNORECASE)


def open_limits(text: str) -> str:
    """Return the text with `OTHERS` beside each option that stands for several; "worse than X" behind an option goes.

    Args:
        text: A reply in which options are signs (see `lmod_train.tasks.parsing.option_signs.mark`).

    Example:
        >>> from lmod_train.tasks.parsing.option_signs import mark
        >>> grades = ("grade 1", "grade 2", "grade 3")
        >>> [OTHERS in open_limits(mark(text, grades)) for text in ("at least grade 2", "grade 2 or worse", "grade 2")]
        [True, True, False]
        >>> open_limits(mark("Grade 3, worse than grade 2", grades)) == mark("Grade 3, ", grades) + " "
        True
    """
    text = _COMPARED.sub(_compared, text)
    return _OPEN.sub(_opened, _LIMIT.sub(_opened, text))


def _compared(found: re.Match[str]) -> str:
    earlier = _EARLIER.search(found.string[max(0, found.start() - 200) : found.start()])
    return " " if earlier else _opened(found)


def _opened(found: re.Match[str]) -> str:
    return f"{found['sign']} or {OTHERS}"
