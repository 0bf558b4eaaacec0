"""Parse the answer to a question of one's own: one of its choices, yes or no, or several choices.

Mentions of choices are signs before anything else is read (`lmod_train.tasks.parsing.own_words`), and the rules for
options read the signs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, last, split_explanation
from lmod_train.tasks.parsing.keys import role_of
from lmod_train.tasks.parsing.option import option_in_prose, read_slot
from lmod_train.tasks.parsing.option_signs import TEXT, index_of
from lmod_train.tasks.parsing.own_words import Synonyms, Words, field_named, folded, words_of
from lmod_train.tasks.parsing.reading import Claim, answer_in
from lmod_train.tasks.parsing.slots import kinds_of
from lmod_train.tasks.parsing.stage import parse_stage
from lmod_train.tasks.parsing.stance import stance, statements
from lmod_train.tasks.parsing.structure import EMPTY, TICKED, Slot, decode

SEPARATOR = "; "
"""Between the choices of an answer with several."""


def parse_own(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the one choice that the text states, in the question's spelling.

    Args:
        text: A reply without thinking (see `lmod_train.tasks.parsing.reading.read`).
        choices: Those of the question, which differ in more than case, accents, blanks and hyphens.
        synonyms: Further words of the choices.
        keys: Names of the question, which announce an answer: "Rim status: thin".

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` (none is stated, or some are only denied) or
        ``ambiguous`` (two are stated, or "grade 2 or worse").

    Example:
        >>> three = ("DR", "PDR", "no DR")
        >>> [parse_own(text, three) for text in ("DR", "It is PDR, not DR.", "There are no signs of DR.")]
        ['DR', 'PDR', 'no DR']
        >>> parse_own("Diagnose: Glaukom, nicht gesund", ("Glaukom", "gesund"))
        'Glaukom'
        >>> [parse_own(text, three).reason for text in ("not PDR", "DR or PDR", "")]
        ['no_match', 'ambiguous', 'empty']
    """
    if not text.strip():
        return Unparsed("empty")
    words = words_of(choices, synonyms)
    opened = words.opened(text, keys)
    if all(choice.isdecimal() and choice == str(int(choice)) and len(choice) < 3 for choice in choices):
        level = parse_stage(opened, choices)
        if isinstance(level, str) or level.reason != "no_match":
            return level

    if len(set(re.findall(TEXT, words.run_of_answers(opened)))) > 1:
        return Unparsed("ambiguous", "several choices in a row")

    def slot(found: Slot) -> Claim | None:
        return words.denied_by(found) or read_slot(words.in_slot(found), choices, words.marked)

    def prose(found: str) -> Claim:
        stated = option_in_prose(found, choices, words.marked)
        nothing = isinstance(stated, Unparsed) and stated.reason == "no_match"
        return (words.denied_in(found) or stated) if nothing else stated

    return answer_in(opened, slot, prose)


def parse_several(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the choices that the text states, in the order of the question, joined by `SEPARATOR`.

    Args:
        text: A reply without thinking.
        choices: Those of the question.
        synonyms: Further words of the choices.
        keys: Names of the question.

    Returns:
        The choices, an empty text if it states that none applies or denies each; or `Unparsed` with ``empty``,
        ``no_match`` or ``ambiguous`` (one is both stated and denied, or one is stated beside "none").

    Example:
        >>> two = ("drusen", "Blutung")
        >>> [parse_several(text, two) for text in ("Blutung, Drusen", "drusen but no Blutung", "Answer: none")]
        ['drusen; Blutung', 'drusen', '']
    """
    if not text.strip():
        return Unparsed("empty")
    words = words_of(choices, synonyms)
    stated: dict[int | None, set[bool]] = defaultdict(set)  # None stands for "none of them"
    for number, holds in _stated_in(words, words.opened(text, (*keys, *entry("other_languages.lists")))):
        stated[number].add(holds)
    yes = sorted(number for number, found in stated.items() if number is not None and True in found)
    if any(len(found) > 1 for found in stated.values()) or (yes and None in stated):
        return Unparsed("ambiguous", " and ".join(choices[number] for number in yes[:4]))
    if yes:
        return SEPARATOR.join(choices[number] for number in yes)
    if None in stated or len(stated) == len(choices):
        return ""
    return Unparsed("no_match", text.strip()[:80])


def parse_yes_no(text: str, choices: tuple[str, ...], synonyms: Synonyms = (), keys: tuple[str, ...] = ()) -> Claim:
    """Return the choice for yes or for no that the text states.

    Args:
        text: A reply without thinking.
        choices: Two: the word for yes, and that for no.
        synonyms: Further words of the choices, as the name of what is asked: then "no signs of it" is a no.
        keys: Names of the question.

    Returns:
        The choice, or `Unparsed` as in `parse_own`.

    Example:
        >>> own = (("yes", ("notch",)),)
        >>> [parse_yes_no(text, ("yes", "no"), own) for text in ("Antwort: ja", "No.", "A notch is seen.", "no notch")]
        ['yes', 'no', 'yes', 'no']
        >>> parse_yes_no("no notch", ("yes", "no")).reason
        'no_match'
    """
    opened = field_named(keys).sub(r"\g<before>Answer\g<after>", folded(text))
    if sorted(re.findall(r"\w+", opened.casefold())) == sorted(choices):
        return Unparsed("ambiguous", "both choices")  # "yes no"
    stated = parse_choice(_POLAR.sub(lambda m: m["before"] + ("yes" if m["yes"] else "no"), opened), choices)
    if not synonyms or not (isinstance(stated, str) or stated.reason == "no_match"):
        return stated
    own = dict(zip(choices, (_ASKED, f"no {_ASKED}"), strict=True))
    named = parse_own(text, tuple(own.values()), tuple((own[choice], forms) for choice, forms in synonyms), keys)
    if isinstance(named, Unparsed):
        return stated if named.reason == "no_match" or isinstance(stated, str) else named
    said = next(choice for choice, word in own.items() if word == named)
    return Unparsed("ambiguous", f"{stated} and {said}") if isinstance(stated, str) and said != stated else said


_ASKED = "\ua470"
"""Stands for what is asked; of the Yi script, and no option's sign."""
_POLAR = compiled("own_choice.polar")


def _stated_in(words: Words, text: str) -> Iterator[tuple[int | None, bool]]:
    """Yield each stated choice and whether it holds: of structures, else of the answer's line, else of the prose."""
    decoded = decode(text)
    whole = [words.in_slot(slot) for slot in decoded.slots if slot.layout != "line"]
    found = [one for slot in whole for one in _of_slot(words, slot)]
    if not found:
        prose, _ = split_explanation(clean(decoded.prose()))
        final, line = final_statement(prose), last(_LINE, prose)
        found = list(_of_prose(words, line["value"] if line else final or prose))
        found = found or list(_of_prose(words, prose))
    yield from found


_LINE = compiled("own_choice.line", re.IGNORECASE | re.MULTILINE)


def _of_slot(words: Words, slot: Slot) -> Iterator[tuple[int | None, bool]]:
    kinds = ("yes",) if slot.value == TICKED else ("no",) if slot.value == EMPTY else kinds_of(clean(slot.value))
    named = re.fullmatch(rf"\W{{0,9}}(?P<sign>{TEXT})\W{{0,9}}", words.marked(slot.name, ()))
    if named and not (slot.role and role_of(slot.name)) and kinds in (("yes",), ("no",)):
        yield index_of(named["sign"]), kinds == ("yes",)
    elif slot.role == "denied":
        yield from ((number, not holds) for number, holds in _of_prose(words, clean(slot.value)) if number is not None)
    elif slot.role or slot.layout == "box":
        yield from _of_prose(words, clean(slot.value))


def _of_prose(words: Words, text: str) -> Iterator[tuple[int | None, bool]]:
    marked = words.marked(text, ())
    if _NONE.fullmatch(marked):
        yield None, True
    for clause in statements(marked):
        for mention in re.finditer(TEXT, clause):
            found = stance(clause, mention.start(), mention.end(), bare=True)
            if found is not None:
                yield index_of(mention[0]), found == "asserted"


_NONE = compiled("own_choice.none")
