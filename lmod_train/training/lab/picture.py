"""The collapse lab's table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lmod_train.report.canvas import COLOURS, canvas
from lmod_train.training.lab.collapse import ANSWERS, STARTS, Answers, Outcome

SMOOTH = 10
"""Number of steps that are averaged for one point of the loss curve."""

HEAD = (
    "start", "answers", "strings", "seeds", "loss", "right", "empty", "repetitive", "cut off", "distinct", "doctor",
    "example reply",
)  # fmt: skip


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a Markdown table, one row for all seeds, with an example reply and the limitations below.

    Example:
        >>> merged = Outcome(0, "merged", "short", 8, 2, 33.0, 0.1, 1.0, 0.0, 0.0, 0.0, 0.5, "passes", "NORMAL")
        >>> print(table([merged]).splitlines()[2])
        | merged | short | 2 | 1 | 0.10 | 100 % | 0 % | 0 % | 0 % | 0.50 | passes | `NORMAL` |
    """
    rows = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD))]
    for answers in ANSWERS:
        for start in STARTS:
            own = [o for o in outcomes if (o.start, o.answers) == (start, answers)]
            if own:
                shares = [_percent([getattr(o, s) for o in own]) for s in ("right", "empty", "repetitive", "at_limit")]
                loss, distinct = fmean(o.loss for o in own), fmean(o.distinct for o in own)
                example = own[0].example.replace("|", "\\|").replace("\n", " ")[:70]
                cells = [
                    start,
                    answers,
                    str(own[0].strings),
                    str(len(own)),
                    f"{loss:.2f}",
                    *shares,
                    f"{distinct:.2f}",
                    own[0].doctor,
                ]
                rows.append(" | ".join([*cells, f"`{example}`" if example else "(empty)"]))
    return "\n".join(f"| {row} |" for row in rows) + f"\n\n{limits(outcomes)}\n"


def limits(outcomes: Sequence[Outcome]) -> str:
    """Return the limitations of the experiment as text: choice of the learning rate, and what is not known."""
    strings = {answers: _strings(outcomes, answers) for answers in ANSWERS}
    minutes = sum(o.seconds for o in outcomes) / 60 / max(len({o.seed for o in outcomes}), 1)
    return (
        "Limitations: one small model on drawn eyes (phantoms). The learning rate was chosen such that both published "
        "symptoms appear; at 1e-3 long replies are empty too. The training records have "
        f"{strings['long']} distinct long answers and {strings['varied']} distinct varied ones. The content of the "
        "authors' weight files is not known: the published command is consistent with a start from delta weights, and "
        f"these replies with its outcome. Training and evaluation took {minutes:.1f} minutes per seed here."
    )


def _strings(outcomes: Sequence[Outcome], answers: Answers) -> str:
    return next((str(o.strings) for o in outcomes if o.answers == answers), "0 (not run)")


def _percent(values: Sequence[float]) -> str:
    low, high = (f"{100 * v:.0f}" for v in (min(values), max(values)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def draw(outcomes: Sequence[Outcome], losses: Sequence[Sequence[float]], out: Path) -> Path:
    """Draw ``collapse.png`` (and .svg) with loss curves above and shares of replies below; return the PNG's path.

    Args:
        outcomes: Outcome of every training.
        losses: Loss of every step, for each outcome.
        out: Folder to write to.
    """
    with canvas(out, "collapse", 2, len(ANSWERS), (15, 7)) as axes:
        for column, answers in enumerate(ANSWERS):
            own = [(o, v) for o, v in zip(outcomes, losses, strict=True) if o.answers == answers]
            _curves(axes[0, column], own, f"{answers} answers")
            _endings(axes[1, column], [o for o, _ in own])
    return out / "collapse.png"


def _curves(axis: Any, own: Sequence[tuple[Outcome, Sequence[float]]], title: str) -> None:
    shown = set()
    for outcome, values in own:
        points = [fmean(values[i : i + SMOOTH]) for i in range(0, len(values), SMOOTH)]
        colour = COLOURS[STARTS.index(outcome.start)]
        label = None if outcome.start in shown else f"from {outcome.start} weights"
        shown.add(outcome.start)
        axis.plot([i * SMOOTH for i in range(len(points))], points, color=colour, label=label, linewidth=1.4)
    axis.set(title=title, xlabel="optimiser step", ylabel="loss (nats per token)", ylim=(0, None))
    axis.legend(frameon=False)


def _endings(axis: Any, own: Sequence[Outcome]) -> None:
    """Draw the shares of both starts side by side: the mean over seeds as a bar, each seed as a dot."""
    names = ("right", "empty", "repetitive", "at_limit")
    for i, start in enumerate(STARTS):
        seeds = [o for o in own if o.start == start]
        for j, name in enumerate(names if seeds else ()):
            values = [getattr(o, name) for o in seeds]
            place = j + (i - 0.5) * 0.38
            axis.bar(place, fmean(values), 0.36, color=COLOURS[i])
            axis.plot([place] * len(values), values, "o", color="black", markersize=3)
    axis.set_xticks(range(len(names)), ["right", "empty", "repetitive", "cut off"])
    axis.set(ylim=(0, 1.05), ylabel="share of held-out replies")
