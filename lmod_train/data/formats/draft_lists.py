"""Tables of a set of drafts: every draft, every fault, and the counts of each check; for spreadsheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.files import write_durably
from lmod_train.core.types import Prediction, Unparsed
from lmod_train.data.formats.spreadsheet import table_bytes
from lmod_train.tasks.drafting.checks import NAMES, Fault
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.readability import grade

DRAFTS, FAULTS, CHECKS = "drafts.csv", "faults.csv", "checks.csv"
"""Names of the tables in the folder of the drafts."""

UNREAD = "no_draft"
"""In the place of a check: replies in which there is no draft; their reason is the detail."""


def write_lists(
    folder: Path, drafts: Sequence[Drafted], faults: Sequence[Fault], predictions: Sequence[Prediction]
) -> None:
    """Write ``drafts.csv``, ``faults.csv`` and ``checks.csv``, each whole; all are derived from the replies.

    Args:
        folder: Folder of the drafts.
        drafts: Those that could be read.
        faults: What the checks found in them.
        predictions: Of all replies.
    """
    columns = ("id", "stage", "truth", "question", "options", "letter", "answer", "grade", "faults")
    _write(folder / DRAFTS, columns, _rows(drafts, faults))
    unread = [(p.record.id, p.record.chain_step, UNREAD, f"{p.answer.reason}: {p.answer.detail}")
              for p in predictions if isinstance(p.answer, Unparsed)]  # fmt: skip
    listed = [*unread, *((f.id, f.stage, f.check, f.detail) for f in faults)]
    _write(folder / FAULTS, ("id", "stage", "check", "detail"), listed)
    _write(folder / CHECKS, ("check", "stage", "replies", "with_fault"), counts(faults, predictions))


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with write_durably(path) as beside:
        beside.write_bytes(table_bytes(columns, rows))


def _rows(drafts: Sequence[Drafted], faults: Sequence[Fault]) -> list[tuple[object, ...]]:
    found: dict[str, list[str]] = {}
    for fault in faults:
        found.setdefault(fault.id, []).append(fault.check)
    return [
        (
            one.id,
            one.stage,
            one.facts.truth,
            one.draft.question,
            " | ".join(one.draft.options),
            one.draft.letter,
            one.draft.answer,
            None if (level := grade(one.draft.question)) is None else round(level, 1),
            ", ".join(dict.fromkeys(found.get(one.id, []))),
        )
        for one in drafts
    ]


def counts(faults: Sequence[Fault], predictions: Sequence[Prediction]) -> list[tuple[str, str, int, int]]:
    """Return check, stage, number of replies of the stage, and number of drafts in which the check found something.

    Example:
        >>> counts([], [])
        []
    """
    replies = Counter(p.record.chain_step for p in predictions)
    found = Counter((check, stage) for check, stage, _ in {(f.check, f.stage, f.id) for f in faults})
    found.update((UNREAD, p.record.chain_step) for p in predictions if isinstance(p.answer, Unparsed))
    return [
        (check, stage, n, found[check, stage]) for check in (UNREAD, *NAMES) for stage, n in sorted(replies.items())
    ]


def lines(faults: Sequence[Fault], predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield a line for the set, and one for each check that found something, for a terminal."""
    bad = {f.id for f in faults} | {p.record.id for p in predictions if isinstance(p.answer, Unparsed)}
    yield f"{len(predictions) - len(bad)} of {len(predictions)} drafts pass all checks"
    rows = counts(faults, predictions)
    for check in (UNREAD, *NAMES):
        stages = [f"{stage} {n}" for name, stage, _, n in rows if name == check and n]
        if stages:
            yield f"  {check:<21}{sum(n for name, _, _, n in rows if name == check):5}  ({', '.join(stages)})"
