"""Names broken into lines that fit beside a figure."""

from __future__ import annotations

import re
import textwrap

from lmod_train.core.escaping import for_terminal


def wrapped(name: str, width: int = 26, most: int = 3) -> str:
    r"""Return a name in lines of at most `width` characters; of one too long, beginning and end.

    A line breaks at a space, or after a hyphen or slash; a word breaks only if it is longer than a line.

    Example:
        >>> wrapped("medgemma-4b-it (tuned on LMOD)", 16)
        'medgemma-4b-it\n(tuned on LMOD)'
        >>> wrapped("Cataract/Anterior Segment", 18)
        'Cataract/Anterior\nSegment'
    """
    plain = for_terminal(" ".join(name.split()))
    lines = _Wrapper(width).wrap(plain) or [""]
    if len(lines) <= most:
        return "\n".join(lines)
    kept = width * most // 2 - 2
    return "\n".join(_Wrapper(width).wrap(f"{plain[:kept]} … {plain[-kept:]}")[:most])


class _Wrapper(textwrap.TextWrapper):
    def _split(self, text: str) -> list[str]:
        return [part for chunk in super()._split(text) for part in re.split("(?<=/)(?=.)", chunk)]
