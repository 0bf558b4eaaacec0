"""Data of many records or replies, kept a fixed number at a time, so that memory stays small."""

from __future__ import annotations

from typing import Any

from lmod_train.report.viewer.store import Store
from lmod_train.report.viewer.texts import Numbered

SIZE = 250
"""Rows of a block."""


class Blocks:
    """Writes rows to ``NAME-0``, ``NAME-1`` and so on, `SIZE` at a time; `texts` numbers the texts of a block."""

    def __init__(self, name: str, store: Store) -> None:
        self._name, self._store = name, store
        self._rows: list[dict[str, Any]] = []
        self._number = 0
        self.texts = Numbered[str]()

    def add(self, row: dict[str, Any]) -> None:
        """Add a row; a full block is written."""
        self._rows.append(row)
        if len(self._rows) == SIZE:
            self.close()

    def close(self) -> None:
        """Write the rows that are left."""
        if self._rows:
            self._store.add(f"{self._name}-{self._number}", {"texts": self.texts.values, "rows": self._rows})
            self._number, self._rows, self.texts = self._number + 1, [], Numbered()
