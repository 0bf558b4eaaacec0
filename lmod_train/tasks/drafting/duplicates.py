"""Check for drafts that occur twice."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.tasks.drafting.drafted import Drafted


def duplicates(drafts: Sequence[Drafted]) -> dict[str, list[str]]:
    """Return id -> what an earlier draft has in common with it, of the drafts that occur twice, in the given order.

    The same long answer of another image is a copy, as no two images have the same findings in the same words.
    Questions and options may be the same for several images, but not for one.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> duplicates([drafted(key="1", answer="A pale disc."), drafted(key="2", answer="a pale DISC")])
        {'draft/s/2/DD': ['long answer of draft/s/1/DD']}
    """
    answers: dict[str, str] = {}
    questions: dict[tuple[str, ...], str] = {}
    found: dict[str, list[str]] = {}
    for one in drafts:
        answer, asked = (
            _plain(one.draft.answer),
            (*one.record.image, *map(_plain, (one.draft.question, *one.draft.options))),
        )
        first = answers.setdefault(answer, one.id) if answer else one.id
        before = questions.setdefault(asked, one.id)
        why = [f"long answer of {first}"] if first != one.id else []
        why += [f"question and options of {before}"] if before != one.id else []
        found |= {one.id: why} if why else {}
    return found


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
