"""Names broken into lines that fit beside a figure."""

from __future__ import annotations

import textwrap

from lmod_train.core.escaping import for_terminal


def wrapped(name: str, width: int = 26, most: int = 3) -> str:
    r"""Return a name in lines of at most `width` characters; of one too long, beginning and end.

    Example:
        >>> wrapped("medgemma-4b-it (tuned on LMOD)", 16)
        'medgemma-4b-it\n(tuned on LMOD)'
    """
    plain = for_terminal(" ".join(name.split()))
    lines = textwrap.wrap(plain, width) or [""]
    if len(lines) <= most:
        return "\n".join(lines)
    kept = width * most // 2 - 2
    return "\n".join(textwrap.wrap(f"{plain[:kept]} … {plain[-kept:]}", width)[:most])
