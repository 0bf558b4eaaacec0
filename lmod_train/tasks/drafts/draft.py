"""A drafted question as it is read in a model's reply: question, lettered options, the right letter, a long answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from string import ascii_uppercase

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.thinking import strip_thinking

HEADS = ("Question", "Options", "Right letter", "Answer")
"""Headings of the parts of a reply, in their order; ``Options`` may be missing in front of lettered lines."""

_HEAD = re.compile(r"[\s*#_`>]{0,8}(question|options|right letter|answer)[*_` ]{0,4}:[*_` ]{0,4}(.*)", re.IGNORECASE)
_OPTION = re.compile(r"[\s*_`>-]{0,8}\(?([A-Z])[.):][*_` ]{0,4}(\S.*)")
_LETTER = re.compile(r"[\s*_`(]{0,4}([A-Z])(?![A-Za-z])")
LONGEST = 20_000
"""Characters up to which a reply is read; longer ones are loops."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted single-choice question with its long answer. All texts are a model's, and untrusted.

    Attributes:
        question: Words of the question, on one line.
        options: Texts of the options in the order of their letters A, B, ...
        letter: Letter of the option that the model calls right; it may be none of the options'.
        answer: Long answer by the template of the stage; lines are kept.
    """

    question: str
    options: tuple[str, ...]
    letter: str
    answer: str

    @property
    def right(self) -> str:
        """Text of the right option; empty if the letter is not that of an option."""
        place = ascii_uppercase.find(self.letter) if self.letter else -1
        return self.options[place] if 0 <= place < len(self.options) else ""

    @property
    def wrong(self) -> tuple[str, ...]:
        """Texts of the other options."""
        return tuple(o for letter, o in zip(ascii_uppercase, self.options, strict=False) if letter != self.letter)

    @property
    def text(self) -> str:
        """The draft in the requested form, which `read_draft` reads back."""
        lines = [f"{letter}. {option}" for letter, option in zip(ascii_uppercase, self.options, strict=False)]
        head = [f"Question: {self.question}", "Options:", *lines, f"Right letter: {self.letter}"]
        return "\n".join([*head, f"Answer: {self.answer}"])


def read_draft(reply: str) -> Draft | Unparsed:
    r"""Return the draft in a reply, or why there is none; never raises, never guesses.

    Each heading must occur once. Bold marks around headings, thinking in front and blank lines are ignored. Whether the
    options and the letter fit each other is not decided here but by the checks.

    Returns:
        ``empty``; ``no_match`` with the part that is missing; ``ambiguous`` with the heading that occurs twice, or
        where the letters of the options are not A, B, ... in order; ``repetition`` for more than 20,000 letters.

    Example:
        >>> found = read_draft("Question: Which?\nA. cup\nB. rim\n**Right letter:** B\nAnswer: PRESENT. At the disc.")
        >>> found.right, found.answer
        ('rim', 'PRESENT. At the disc.')
        >>> read_draft("Question: Which?\nA. cup").detail
        'no Right letter'
    """
    text = strip_thinking(reply)[0].strip()
    if not any(c.isalnum() for c in text):
        return Unparsed("empty", text[:80])
    if len(text) > LONGEST:
        return Unparsed("repetition", text[:80])
    parts = _parts(text)
    if isinstance(parts, Unparsed):
        return parts
    letters = [letter for letter, _ in parts.options]
    if letters != list(ascii_uppercase[: len(letters)]):
        return Unparsed("ambiguous", f"letters of the options: {' '.join(letters)}")
    named = _LETTER.match(parts.letter)
    if named is None:
        return Unparsed("no_match", f"no letter after Right letter: {parts.letter[:60]}")
    return Draft(parts.question, tuple(text for _, text in parts.options), named[1], parts.answer)


@dataclass(frozen=True, slots=True)
class _Parts:
    question: str
    options: tuple[tuple[str, str], ...]
    letter: str
    answer: str


def _parts(text: str) -> _Parts | Unparsed:
    """Return the parts of a reply by its headings."""
    found: dict[str, list[str]] = {}
    at = ""
    for line in text.splitlines():
        head = _HEAD.fullmatch(line) if at != "answer" or _is_head_again(line) else None
        option = _OPTION.fullmatch(line) if at in ("question", "options") else None
        if head is not None:
            at = head[1].lower()
            if at in found:
                return Unparsed("ambiguous", f"two lines {head[1]}")
            found[at] = [head[2]]
        elif option is not None:
            at = "options"
            found.setdefault("options", []).append(line)
        elif at:
            found[at].append(line)
    missing = [name for name in HEADS if not any(line.strip() for line in found.get(name.lower(), []))]
    if missing:
        return Unparsed("no_match", f"no {missing[0]}")
    options = _options(found["options"])
    if isinstance(options, Unparsed):
        return options
    answer = "\n".join(line.strip(" *_`") for line in found["answer"]).strip()
    return _Parts(_one_line(found["question"]), options, _one_line(found["right letter"]), answer)


def _is_head_again(line: str) -> bool:
    """Return whether a line of the long answer repeats a heading, so that the reply holds two drafts."""
    head = _HEAD.fullmatch(line)
    return head is not None and head[1].lower() in ("question", "right letter")


def _options(lines: list[str]) -> tuple[tuple[str, str], ...] | Unparsed:
    found: list[tuple[str, str]] = []
    for line in lines:
        option = _OPTION.fullmatch(line)
        if option is not None:
            found.append((option[1], _one_line([option[2]])))
        elif line.strip() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {_one_line([line])}")
        elif line.strip():
            return Unparsed("no_match", f"a line among the options without a letter: {line.strip()[:60]}")
    return tuple(found)


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).strip(" *_`").split())


def parts_of(answer: str) -> dict[str, str]:
    r"""Return label in lower case -> words after it of the lines ``Label: words`` of a long answer.

    Lines without a label belong to the one above. Of a label that occurs twice the first counts.

    Example:
        >>> parts_of("Size: small,\nhalf a disc.\nShape: round")
        {'size': 'small, half a disc.', 'shape': 'round'}
    """
    found: dict[str, str] = {}
    at = ""
    for line in answer.replace("**", "").splitlines():
        label, colon, rest = line.partition(":")
        if colon and 0 < len(label.strip()) <= 40 and label.strip()[0].isalpha():
            at = " ".join(label.lower().split())
            found.setdefault(at, rest.strip())
        elif at:
            found[at] = f"{found[at]} {line.strip()}".strip()
    return found


def shuffled(draft: Draft, order: tuple[int, ...]) -> Draft:
    """Return a draft with its options in another order, and the letter of the right one.

    Args:
        draft: With a right option.
        order: Index in the draft of the option that comes first, second, ...

    Example:
        >>> shuffled(Draft("Which?", ("cup", "rim"), "A", ""), (1, 0)).letter
        'B'
    """
    place = ascii_uppercase.index(draft.letter)
    options = tuple(draft.options[i] for i in order)
    return replace(draft, options=options, letter=ascii_uppercase[order.index(place)])
