"""The collapse lab's table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lmod_train.lab.collapse import ANSWERS, STARTS, Answers, Outcome
from lmod_train.report.canvas import COLOURS, canvas

SMOOTH = 10
"""Steps that a point of the loss curve averages."""

HEAD = (
    "start", "answers", "strings", "seeds", "loss", "right", "empty", "repetitive", "cut off", "distinct", "doctor",
    "says, e.g.",
)  # fmt: skip


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a Markdown table, seeds in one row, with one example of what is said, and their limits.

    Example:
        >>> whole = Outcome(0, "merged", "short", 8, 2, 33.0, 0.1, 1.0, 0.0, 0.0, 0.0, 0.5, "passes", "NORMAL")
        >>> print(table([whole]).splitlines()[2])
        | merged | short | 2 | 1 | 0.10 | 100 % | 0 % | 0 % | 0 % | 0.50 | passes | `NORMAL` |
    """
    rows = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD))]
    for answers in ANSWERS:
        for start in STARTS:
            own = [o for o in outcomes if (o.start, o.answers) == (start, answers)]
            if own:
                shares = [_percent([getattr(o, s) for o in own]) for s in ("right", "empty", "repetitive", "at_limit")]
                loss, distinct = fmean(o.loss for o in own), fmean(o.distinct for o in own)
                said = own[0].example.replace("|", "\\|").replace("\n", " ")[:70]
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
                rows.append(" | ".join([*cells, f"`{said}`" if said else "nothing"]))
    return "\n".join(f"| {row} |" for row in rows) + f"\n\n{limits(outcomes)}\n"


def limits(outcomes: Sequence[Outcome]) -> str:
    """Return what the table cannot show, in words: how its learning rate was chosen, and what is not known."""
    strings = {answers: _strings(outcomes, answers) for answers in ANSWERS}
    minutes = sum(o.seconds for o in outcomes) / 60 / max(len({o.seed for o in outcomes}), 1)
    return (
        "Limits: one small model on drawn eyes. The learning rate of the recipe was chosen so that both published "
        "symptoms show; at 1e-3 long replies end empty too. Long answers are "
        f"{strings['long']} strings in all, varied ones {strings['varied']}. What the authors' files held is not "
        "known: the published command is consistent with a start from delta weights, and these replies with its "
        f"outcome. Training and asking took {minutes:.1f} minutes a seed here."
    )


def _strings(outcomes: Sequence[Outcome], answers: Answers) -> str:
    return next((str(o.strings) for o in outcomes if o.answers == answers), "0 (not run)")


def _percent(values: Sequence[float]) -> str:
    low, high = (f"{100 * v:.0f}" for v in (min(values), max(values)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def draw(outcomes: Sequence[Outcome], losses: Sequence[Sequence[float]], out: Path) -> Path:
    """Draw ``collapse.png`` (and .svg): loss curves above, how replies ended below; return the PNG.

    Args:
        outcomes: Of every training.
        losses: Loss of every step of each.
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
    axis.set(title=title, xlabel="optimiser step", ylabel="loss (nats a token)", ylim=(0, None))
    axis.legend(frameon=False)


def _endings(axis: Any, own: Sequence[Outcome]) -> None:
    """Draw shares side by side in the curves' colours, the mean over seeds as a bar and each seed as a dot."""
    names = ("right", "empty", "repetitive", "at_limit")
    for i, start in enumerate(STARTS):
        seeds = [o for o in own if o.start == start]
        for j, name in enumerate(names if seeds else ()):
            values = [getattr(o, name) for o in seeds]
            place = j + (i - 0.5) * 0.38
            axis.bar(place, fmean(values), 0.36, color=COLOURS[i])
            axis.plot([place] * len(values), values, "o", color="black", markersize=3)
    axis.set_xticks(range(len(names)), ["right", "empty", "repeats itself", "cut off"])
    axis.set(ylim=(0, 1.05), ylabel="share of held-out replies")
