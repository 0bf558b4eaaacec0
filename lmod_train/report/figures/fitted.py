"""Text broken into lines by the width of its characters, as Chinese ones are wider than others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from lmod_train.core.escaping import for_terminal
from lmod_train.report.canvas import fonts

CUT = "…"
_BOX = 1.2
"""Width of the box that matplotlib draws for a character without a glyph, as a share of the size."""
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\s\u3040-\u30ff\u3400-\u9fff]+|\s+")


def fitted(text: str, width: float, most: int, measure: Callable[[str], float]) -> list[str]:
    r"""Return a text in at most `most` lines of at most `width`, cut with ``…`` if it is longer; at least one line.

    Control characters are written like ``\u001b``. Words that are too long are broken.

    Args:
        text: Any text; its blanks become single spaces.
        width: Width of a line, in the unit of `measure`.
        most: Maximum number of lines.
        measure: Returns the width of a character.

    Example:
        >>> fitted("the optic disc is pale", 10, 2, lambda c: 1), fitted("aaaaabbbbb", 5, 3, lambda c: 1)
        (['the optic', 'disc is…'], ['aaaaa', 'bbbbb'])
    """
    plain = for_terminal(" ".join(text.split()))
    lines: list[str] = []
    for line in _lines(plain, width, measure):
        if len(lines) == most:
            lines[-1] = _shortened(lines[-1], width, measure)
            break
        lines.append(line)
    return lines or [""]


def _lines(plain: str, width: float, measure: Callable[[str], float]) -> Iterator[str]:
    line, used = "", 0.0
    for word in _WORDS.findall(plain):
        size = sum(map(measure, word))
        if used + size > width and line.strip():
            yield line.rstrip()
            line, used = "", 0.0
        if word.isspace() and not line:
            continue
        if size <= width:
            line, used = line + word, used + size
            continue
        for character in word:
            size = measure(character)
            if line and used + size > width:
                yield line
                line, used = "", 0.0
            line, used = line + character, used + size
    if line.strip():
        yield line.rstrip()


def _shortened(line: str, width: float, measure: Callable[[str], float]) -> str:
    while line and sum(map(measure, line + CUT)) > width:
        line = line[:-1]
    return line.rstrip() + CUT


def inches(size: float) -> Callable[[str], float]:
    """Return a function that returns the width of a character in inches, at a size in points."""
    return lambda character: _ems(character) * size / 72


@cache
def _ems(character: str) -> float:
    """Return the width of a character in the figures' fonts, as a share of their size."""
    from matplotlib.ft2font import LoadFlags  # imported here, as it would slow down `--help`

    font = next((own for own in fonts() if own.get_char_index(ord(character))), None)
    if font is None:
        return _BOX
    font.set_size(100, 72)
    glyph = font.load_char(ord(character), flags=LoadFlags.NO_HINTING)
    return float(glyph.linearHoriAdvance / 65536 / 100)
