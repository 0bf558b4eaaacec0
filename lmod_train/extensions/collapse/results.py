"""The collapse lab's table and figure, and which explanations its controls leave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Score
from lmod_train.extensions.collapse.lab import ANSWERS, Answers, Result, Start
from lmod_train.report.canvas import COLOURS, canvas

_WORDS = package_data(__file__, "words.yaml")["results"]


SMOOTH = 10
"""Number of steps that are averaged for one point of the loss curve."""

HEAD: list[str] = _WORDS["head"]

SHARES = ("right", "empty", "repetitive", "at_limit")


def table(results: Sequence[Result]) -> str:
    """Return a Markdown table with a row for each arm, and below it what the controls leave of the claim, and limits.

    ``right`` is the mean over the seeds with its 95 % interval over patients; ``by seed`` the range of the seeds.
    """
    rows = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD)), *map(_row, results)]
    text = "\n".join(f"| {row} |" for row in rows)
    return "\n\n".join(filter(None, (text, remains(results), limits(results)))) + "\n"


def _row(result: Result) -> str:
    own, recipe = result.outcomes, result.arm.recipe
    example = own[0].example.replace("|", "\\|").replace("\n", " ")[:70]
    rate, loss = f"{recipe.lr:g}", f"{fmean(o.loss for o in own):.2f}"
    cells = [result.arm.start, result.arm.answers, rate, str(recipe.steps), str(own[0].strings), str(len(own)), loss]
    cells += [percent(result.right), *(_range([getattr(o, share) for o in own]) for share in SHARES)]
    cells += [f"{fmean(o.distinct for o in own):.2f}", own[0].doctor, f"`{example}`" if example else "(empty)"]
    return " | ".join(cells)


def limits(results: Sequence[Result]) -> str:
    """Return the limitations of the experiment as text: what was chosen, and what is not known."""
    strings = {
        answers: next((str(r.outcomes[0].strings) for r in results if r.arm.answers == answers), "0 (not run)")
        for answers in ANSWERS
    }
    outcomes = [o for result in results for o in result.outcomes]
    minutes = sum(o.seconds for o in outcomes) / 60 / max(len({o.seed for o in outcomes}), 1)
    return str(_WORDS["limits"]).format(**strings, edge=_edge(results), minutes=minutes)


def _edge(results: Sequence[Result]) -> str:
    """Return a sentence if a rate was chosen that is the highest or the lowest of those that were tried."""
    rates = {result.arm.recipe.lr for result in results}
    ends = sorted({r.arm.start for r in results if len(rates) > 1 and r.arm.recipe.lr in (min(rates), max(rates))})
    chosen = f"The rate of {', '.join(ends)} is an end of the range that was tried, and could be better beyond it. "
    return chosen if ends else ""


def _range(values: Sequence[float]) -> str:
    low, high = (f"{100 * v:.0f}" for v in (min(values), max(values)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def draw(results: Sequence[Result], out: Path) -> Path:
    """Draw ``collapse.png`` (and .svg) with loss curves above and shares of replies below; return the PNG's path.

    Args:
        results: Result of every arm.
        out: Folder to write to.
    """
    names = list(dict.fromkeys(_name(r) for r in results))
    with canvas(out, "collapse", 2, len(ANSWERS), (15, 7)) as axes:
        for column, answers in enumerate(ANSWERS):
            own = [r for r in results if r.arm.answers == answers]
            _curves(axes[0, column], own, names, f"{answers} answers")
            _endings(axes[1, column], own, names)
    return out / "collapse.png"


def _name(result: Result) -> str:
    return f"{result.arm.start}, {result.arm.recipe.steps} steps"


def _curves(axis: Any, own: Sequence[Result], names: Sequence[str], title: str) -> None:
    for result in own:
        colour, label = COLOURS[names.index(_name(result))], f"{_name(result)}, rate {result.arm.recipe.lr:g}"
        for seed, values in enumerate(result.losses):
            points = [fmean(values[i : i + SMOOTH]) for i in range(0, len(values), SMOOTH)]
            places = [i * SMOOTH for i in range(len(points))]
            axis.plot(places, points, color=colour, label=None if seed else label, linewidth=1.2)
    axis.set(title=title, xlabel="optimiser step", ylabel="loss (nats per token)", ylim=(0, None))
    if own:
        axis.legend(frameon=False)


def _endings(axis: Any, own: Sequence[Result], names: Sequence[str]) -> None:
    """Draw the shares of all arms side by side: the mean over seeds as a bar, each seed as a dot."""
    width = 0.8 / len(names)
    for result in own:
        i = names.index(_name(result))
        for j, share in enumerate(SHARES):
            values = [getattr(o, share) for o in result.outcomes]
            place = j + (i - (len(names) - 1) / 2) * width
            axis.bar(place, fmean(values), 0.95 * width, color=COLOURS[i])
            axis.plot([place] * len(values), values, "o", color="black", markersize=3)
    axis.set_xticks(range(len(SHARES)), ["right", "empty", "repetitive", "cut off"])
    axis.set(ylim=(0, 1.05), ylabel="share of held-out replies")


# What the collapse lab says after its controls: which explanations of a failure from delta weights are left.


def remains(results: Sequence[Result]) -> str:
    """Return what is left of the claim that a start from delta weights, and nothing else, makes replies collapse.

    Shares of right answers differ here if their intervals do not overlap, which is stricter than a test of the
    difference. Nothing is said without controls, as then no other explanation was tried.

    Args:
        results: Results of all arms; of two arms of the delta the one with more steps comes second.
    """
    held = {answers: _arms(results, answers) for answers in ANSWERS}
    held = {
        answers: arms for answers, arms in held.items() if {"merged", "delta", "longer", "base", "random"} <= {*arms}
    }
    if not held:
        return ""
    kinds = list(held)
    behind = [k for k in kinds if _below(held[k]["delta"], held[k]["merged"])]
    still = [k for k in behind if _below(held[k]["longer"], held[k]["merged"])]
    empty_handed = [k for k in kinds if not _apart(held[k]["delta"], held[k]["random"])]
    enough = [k for k in kinds if not _apart(held[k]["base"], held[k]["merged"])]
    lines = [
        f"Each start at its own rate: {_each(held, 'merged', 'delta')} are right from complete weights and from their "
        f"delta. {_said('The delta is behind', behind, kinds, 'The delta is not shown to be behind')}.",
        f"With {_times(results)} times the steps the delta reaches {_each(held, 'longer')}. "
        f"{_said('It is still behind', still, kinds, 'It is then not shown to be behind')}.",
        f"A language model with random weights reaches {_each(held, 'random')}. "
        f"{_said('The delta is not shown to differ from it', empty_handed, kinds, 'The delta differs from it')}.",
        f"The base before its tuning reaches {_each(held, 'base')}. "
        f"{_said('It is not shown to differ from the complete weights', enough, kinds, 'It differs from them')}.",
        f"At its own rate, the delta's replies are {_symptoms(results)}.",
        f"What remains: {_verdict(kinds, still, empty_handed)}.",
    ]
    return "\n\n".join(lines)


def _arms(results: Sequence[Result], answers: Answers) -> dict[Start | str, Score]:
    """Return the share of right answers of each start; ``longer`` is the delta with more steps."""
    found: dict[Start | str, Score] = {}
    for result in results:
        if result.arm.answers == answers:
            found["longer" if result.arm.start in found else result.arm.start] = result.right
    return found


def _times(results: Sequence[Result]) -> int:
    steps = {result.arm.recipe.steps for result in results}
    return max(steps) // min(steps)


def _below(one: Score, other: Score) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _apart(one: Score, other: Score) -> bool:
    return _below(one, other) or _below(other, one)


def _each(held: dict[Answers, dict[Start | str, Score]], *arms: str) -> str:
    """Return the shares of arms by kind of answers, e.g. ``100 % and 3 % of short answers``."""
    return ", ".join(
        f"{' and '.join(percent(own[arm]) for arm in arms)} of {kind} answers" for kind, own in held.items()
    )


def percent(score: Score) -> str:
    """Return a share with its interval, e.g. ``98 % (95-99)``."""
    if score.value is None:
        return "-"
    bounds = (
        f" ({100 * score.low:.0f}-{100 * score.high:.0f})" if score.low is not None and score.high is not None else ""
    )
    return f"{100 * score.value:.0f} %{bounds}"


def _said(statement: str, of: Sequence[Answers], kinds: Sequence[Answers], otherwise: str) -> str:
    """Return a statement for the kinds of answers that it holds for, and its opposite for the others."""
    left = [kind for kind in kinds if kind not in of]
    said = [f"{words} for {_listed(own)}" for words, own in ((statement, of), (otherwise, left)) if own]
    return ". ".join(said)


def _listed(kinds: Sequence[Answers]) -> str:
    return f"{' and '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))} answers"


def _symptoms(results: Sequence[Result]) -> str:
    told = []
    for answers in ANSWERS:
        own = next((r.outcomes for r in results if (r.arm.start, r.arm.answers) == ("delta", answers)), [])
        if own:
            empty, looping = fmean(o.empty for o in own), fmean(max(o.repetitive, o.at_limit) for o in own)
            told.append(
                f"to {100 * empty:.0f} % empty and to {100 * looping:.0f} % repetitive or cut off for {answers} answers"
            )
    return ", ".join(told)


def _verdict(kinds: Sequence[Answers], still: Sequence[Answers], empty_handed: Sequence[Answers]) -> str:
    """Return the conclusion: for which kinds no other rate and no further steps make up for the start."""
    told = []
    if still:
        told.append(f"for {_listed(still)} neither another rate nor more steps make up for the start from the delta")
    if both := [kind for kind in still if kind in empty_handed]:
        told.append(f"for {_listed(both)} it is not shown to be better than a language model that was never trained")
    if left := [kind for kind in kinds if kind not in still]:
        told.append(
            f"for {_listed(left)} the delta learns too, at its own rate or with more steps: there the collapse is one "
            "of the rate and the steps together with the start"
        )
    return "; ".join(told)
