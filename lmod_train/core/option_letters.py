"""Options with letters, one a line: the lists of single-choice questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message

LETTERS = ascii_uppercase
"""Letters of the options, in order; a list has no more options than that."""

_LINE = re.compile(r"(?P<letter>[A-Z])\. (?P<text>\S.*)")


def lettered(options: Sequence[str]) -> str:
    r"""Return the options as lines ``A. text`` in their order.

    Args:
        options: 2 to 26 different texts of one line each, without surrounding blanks.

    Raises:
        BadArgument: There are fewer than 2 or more than 26, two are equal, or one is empty or not a single line.

    Example:
        >>> lettered(["optic disc", "macula"])
        'A. optic disc\nB. macula'
    """
    plain = all(text and text.splitlines() == [text] and text == text.strip() for text in options)
    if not (plain and 2 <= len(options) <= len(LETTERS) and len(set(options)) == len(options)):
        expected = f"2 to {len(LETTERS)} different texts, each a line without surrounding blanks"
        raise BadArgument("options", list(options), expected, "correct the options of the question, or leave it out")
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))


def split_lettered(text: str, marks: Sequence[tuple[str, re.Match[str]]], edges: str) -> tuple[str, list[str]]:
    """Return the words in front of the last list of options in a text, and the options; none if there is no list.

    Args:
        text: Words of a question.
        marks: Each place that may be the letter of an option, and its letter, in order.
        edges: Characters to leave out at both ends of an option.

    Example:
        >>> text = "Which? A) cup B) rim"
        >>> split_lettered(text, [(mark[1], mark) for mark in re.finditer(r"([A-Z])[)]", text)], " ")
        ('Which? ', ['cup', 'rim'])
    """
    starts = [n for n, (letter, _) in enumerate(marks) if letter == "A"]
    listed = marks[starts[-1] :] if starts else []
    if len(listed) < 2 or "".join(letter for letter, _ in listed) != ascii_uppercase[: len(listed)]:
        return text, []
    ends = [mark.start() for _, mark in listed[1:]] + [len(text)]
    options = [text[mark.end() : end].strip(edges) for (_, mark), end in zip(listed, ends, strict=True)]
    return text[: listed[0][1].start()], options


_MARK = re.compile(
    r"(?<![A-Za-z0-9\uff21-\uff3a\uff41-\uff5a-])[(\uff08\[\u3010]?\s?([A-Z\uff21-\uff3a])\s?"
    r"[)\uff09\]\u3011]?\s?[:\uff1a.\uff0e\u3001)\uff09\]\u3011]"
)
"""Letter before an option: ``A:``, ``A.``, ``(A)``, ``A\u3001``, and the same in full width."""

EDGES = " \t\n;,\uff1b\uff0c\u3001\u3002"
"""Signs around an option that are no part of it."""


def divided(text: str) -> tuple[str, tuple[str, ...], str]:
    r"""Return the words before the options in a text, the options in the order of their letters, and the words behind.

    There are none if the letters behind the last A are not in order. Where each option is a line, the last one is too.

    Example:
        >>> divided("Which? A: optic disc B: macula"), divided("Vitamin A: which? A) low B) high")
        (('Which?', ('optic disc', 'macula'), ''), ('Vitamin A: which?', ('low', 'high'), ''))
        >>> divided("Which?\n(A) cup\n(B) rim\nReply with a letter."), divided("Which? A: a B: b A: c")
        (('Which?', ('cup', 'rim'), 'Reply with a letter.'), ('Which? A: a B: b A: c', (), ''))
    """
    marks = [(unicodedata.normalize("NFKC", found[1]), found) for found in _MARK.finditer(text)]
    front, options = split_lettered(text, marks, EDGES)
    if not options:
        return text, (), ""
    *others, last = options
    lines = last.split("\n", 1) if not any("\n" in one for one in others) else [last]
    return front.strip(), (*others, lines[0].strip(EDGES)), "".join(lines[1:]).strip()


def both_or_neither(one: str, other: str) -> tuple[str, str, str, str]:
    """Return the four options of a pair: none of the two, only the first, only the second, both; all of one length.

    Example:
        >>> both_or_neither("hemorrhage", "drusen")[:2]
        ('neither hemorrhage nor drusen', 'hemorrhage but without drusen')
        >>> len({len(option) for option in both_or_neither("hemorrhage", "drusen")})
        1
    """
    return (
        f"neither {one} nor {other}",
        f"{one} but without {other}",
        f"{other} but without {one}",
        f"{one}, as well as {other}",
    )


_PAIRS = (
    (re.compile(r"neither (.+) nor (.+)"), (False, False)),
    (re.compile(r"(.+) but without (.+)"), (True, False)),
    (re.compile(r"(.+), as well as (.+)"), (True, True)),
)


def named_in(option: str) -> dict[str, bool]:
    """Return what an option of a pair says of each of the two: whether it is there; empty for other options.

    Example:
        >>> [named_in(option) for option in both_or_neither("hemorrhage", "drusen")[1:3]]
        [{'hemorrhage': True, 'drusen': False}, {'drusen': True, 'hemorrhage': False}]
        >>> named_in("cup grade 2")
        {}
    """
    found = next(((m, there) for pattern, there in _PAIRS if (m := pattern.fullmatch(option))), None)
    return dict(zip(found[0].groups(), found[1], strict=True)) if found else {}


def options_in(messages: Sequence[Message]) -> dict[str, str]:
    r"""Return letter -> text of the last lettered list in the last user turn; empty if there is none.

    A list is at least two lines ``A. text``, ``B. text`` in a row, in the order of the alphabet from A.

    Example:
        >>> from lmod_train.core.types import Part
        >>> options_in([Message("user", (Part("image"), Part("text", "Which?\nA. cup\nB. rim\nOne letter.")))])
        {'A': 'cup', 'B': 'rim'}
    """
    turns = [m for m in messages if m.role == "user"]
    texts = [part.text for part in turns[-1].parts] if turns else []
    lists = [found for found in _lists("\n".join(texts)) if len(found) > 1]
    return lists[-1] if lists else {}


def _lists(text: str) -> list[dict[str, str]]:
    """Return each run of lettered lines that starts with A, runs of one line too."""
    lists: list[dict[str, str]] = []
    next_letter = ""
    for line in text.splitlines():
        found = _LINE.fullmatch(line.rstrip())
        letter = found["letter"] if found else ""
        if found and letter in ("A", next_letter):
            lists += [{}] if letter == "A" else []
            lists[-1][letter] = found["text"]
        next_letter = chr(ord(letter) + 1) if letter and letter in ("A", next_letter) else ""
    return lists
