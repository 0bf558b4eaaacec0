"""Pages of predictions that need no script: a hundred each, linked to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from lmod_train.core.files import write_beside
from lmod_train.core.types import Prediction
from lmod_train.report.viewer.record_details import part_text
from lmod_train.report.writers.template import fill, static_policy

EACH = 100
"""Predictions of a page."""
LONGEST = 20_000
"""Characters of a reply that are laid out at once; the others are folded, as browsers need minutes for megabytes."""


@dataclass(frozen=True, slots=True)
class Card:
    """A prediction as a page without script shows it.

    Attributes:
        model: Label of the run.
        record: Details of the record.
        reply: Details of the reply.
        prediction: The prediction, for the texts that the details number.
        outcome: Its outcome.
        error: Its type of error, empty for none.
    """

    model: str
    record: dict[str, Any]
    reply: dict[str, Any]
    prediction: Prediction
    outcome: str
    error: str

    @property
    def boxes(self) -> Markup:
        """The regions of the first image as SVG; here, as a template takes ten times as long."""
        image, outcomes = self.record["images"][0], {id: outcome for id, outcome, _ in self.reply["regions"]}
        size = max(image["width"], image["height"]) / 36
        drawn = []
        for id, structure, x0, y0, x1, y1 in self.record["regions"]:
            outcome = outcomes.get(id, "missed")
            drawn.append(
                f'<rect class="{outcome}" x="{x0}" y="{y0}" width="{max(1, x1 - x0)}" height="{max(1, y1 - y0)}"/>\n'
                f'<text class="{outcome}" x="{x0}" y="{max(size, y0 - size / 4)}" font-size="{size}">'
                f"{id} {escape(structure)}: {outcome}</text>"
            )
        return Markup("\n".join(drawn))  # noqa: S704  # the only text of others is escaped

    @property
    def stated(self) -> str:
        """Outcome of each region, with the structure that the model states."""
        return "; ".join(
            f"{id}: {outcome}" + (f" ({said})" if said else "") for id, outcome, said in self.reply["regions"]
        )


class StaticPages(ABC):
    """Takes cards in order; `starts` is the page on which each model and task begins."""

    def __init__(self) -> None:
        self.starts: dict[tuple[str, str], int] = {}
        self._cards: list[Card] = []
        self._number = 1

    def add(self, card: Card) -> None:
        """Add a card; a full page is written."""
        self.starts.setdefault((card.model, card.record["task"]), self._number)
        self._cards.append(card)
        if len(self._cards) == EACH:
            self.close()

    def close(self) -> None:
        """Write the cards that are left."""
        if self._cards:
            self._write(self._cards)
            self._number, self._cards = self._number + 1, []

    @abstractmethod
    def _write(self, cards: list[Card]) -> None:
        """Write a page of cards."""


class PagesBeside(StaticPages):
    """Files ``pages/000001.html`` and so on beside the page."""

    def __init__(self, out: Path, total: int, notes: list[Any]) -> None:
        super().__init__()
        self._out, self._notes = out, notes
        self._last = -(-total // EACH)

    def _write(self, cards: list[Card]) -> None:
        html = fill(
            "static.html",
            cards=cards,
            number=self._number,
            last=self._last,
            notes=self._notes,
            page_name=page_name,
            part_text=part_text,
            policy=static_policy(),
            cards_show_images=True,
            longest=LONGEST,
        )
        with write_beside(self._out / "pages" / page_name(self._number)) as part:
            part.write_text(html, encoding="utf-8", errors="backslashreplace")


class PagesInside(StaticPages):
    """Cards within the page itself, without images."""

    def __init__(self) -> None:
        super().__init__()
        self.cards: list[Card] = []

    def _write(self, cards: list[Card]) -> None:
        self.cards += cards


def page_name(number: int) -> str:
    """Return the file name of a page.

    Example:
        >>> page_name(7)
        '000007.html'
    """
    return f"{number:06d}.html"
