"""Check that a long answer has all parts of its template."""

from __future__ import annotations

import re

from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafts.draft import parts_of
from lmod_train.tasks.drafts.listing import PARTS, VERDICTS

_NOTHING = re.compile(r"\W*(?:n/?a|none given|not stated|unknown|tbd|to be determined|-)?\W*", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"<[A-Z][A-Z _/()-]{2,60}|\[(?:adverse outcome|[A-Z][A-Z _/]{2,40})\]|\.\.\.\s*$", re.MULTILINE
)
FEWEST = 3
"""Words that follow a verdict (YES, NO, PRESENT, ABSENT) at least."""


def missing_parts(one: Drafted) -> list[str]:
    """Return the parts of the template that the long answer lacks or leaves empty, and places left to fill in.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> missing_parts(drafted("IQA", answer="YES. The macula and the optic disc are sharp."))
        []
        >>> missing_parts(drafted("IQA", answer="The image is sharp."))
        ['no YES or NO at the beginning']
    """
    answer = one.draft.answer
    left = [
        f"place left to fill in: {found[0][:40]}" for found in _PLACEHOLDER.finditer(f"{one.draft.question}\n{answer}")
    ]
    return [*_of_verdict(one.stage, answer), *_of_labels(one.stage, answer), *left]


def _of_verdict(stage: str, answer: str) -> list[str]:
    words = VERDICTS.get(stage, ())
    if not words:
        return []
    found = re.match(rf"\W*(?:{'|'.join(words)})\b", answer, re.IGNORECASE)
    if found is None:
        return [f"no {' or '.join(words)} at the beginning"]
    return [] if len(answer[found.end() :].split()) >= FEWEST else [f"nothing after {found[0].strip()}"]


def _of_labels(stage: str, answer: str) -> list[str]:
    parts = parts_of(answer)
    return [f"no {label}" for label in PARTS[stage] if _NOTHING.fullmatch(parts.get(label.lower(), ""))]
