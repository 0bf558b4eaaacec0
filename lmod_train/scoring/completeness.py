"""How many of the records to ask have a reply, failed, and were not asked; read by commands that load no scipy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmod_train.core.types import Score


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the records that were to be asked: each is in one of three counts.

    Attributes:
        replied: Number of records with a reply of the model, whatever it says; scores are over these.
        failed: Number of records whose request failed.
        not_asked: Number of records that no request was sent for.
    """

    replied: int
    failed: int = 0
    not_asked: int = 0

    @property
    def complete(self) -> bool:
        """Whether every record has a reply."""
        return not (self.failed or self.not_asked)

    def __str__(self) -> str:
        records = self.replied + self.failed + self.not_asked
        missing = [f"{n} {what}" for n, what in ((self.failed, "failed"), (self.not_asked, "not asked")) if n]
        return f"{self.replied} of {records} records have a reply{''.join(f', {one}' for one in missing)}"


def share_failed(task: str, failed: int, asked: int) -> Score:
    """Return the share of the asked records whose request failed; no value if none was asked.

    It has no interval, as it says nothing about the model.

    Example:
        >>> share_failed("glaucoma", 3, 12).value
        0.25
    """
    return Score(task, "all", "share_failed", asked, failed / asked if asked else None)


def share_not_asked(task: str, not_asked: int, records: int) -> Score:
    """Return the share of the records to ask that were not asked, without an interval."""
    return Score(task, "all", "share_not_asked", records, not_asked / records)


def account_in(scores: Sequence[Score], task: str) -> Account | None:
    """Return the account of a task from its scores; None if they do not state it.

    Example:
        >>> print(account_in([share_failed("glaucoma", 3, 12), share_not_asked("glaucoma", 8, 20)], "glaucoma"))
        9 of 20 records have a reply, 3 failed, 8 not asked
    """
    stated = {s.metric: s for s in scores if (s.task, s.subset) == (task, "all")}
    if "share_failed" not in stated:
        return None
    failed, not_asked = (_count(stated.get(name)) for name in ("share_failed", "share_not_asked"))
    return Account(stated["share_failed"].n - failed, failed, not_asked)


def _count(share: Score | None) -> int:
    return round((share.value or 0.0) * share.n) if share else 0
