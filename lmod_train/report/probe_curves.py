"""Figures of the probes of a training: signs of collapse, accuracy with exchanged images, and frequency of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import ArtifactError
from lmod_train.core.raw import json_of_line, lines_of
from lmod_train.report.canvas import COLOURS, LINES, MARKERS, canvas, hide_from

SIGNS = ("empty", "repetitive", "at_limit", "identical", "unparsed")

MOST_TASKS = 6
"""Maximum number of panels of answers; further tasks are not shown."""


def read_probes(run: Path) -> list[dict[str, Any]]:
    """Return the probes of a run in order of their steps, the last one per step; [] if there are none.

    Raises:
        ArtifactError: A line is not valid JSON; a last line cut off by a crash is ignored.
    """
    file = Run(run).tripwires
    probes: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines_of(file) if file.is_file() else (), start=1):
        try:
            probe = json_of_line(line)
        except ValueError as error:
            if not line.endswith(b"\n"):
                break
            raise ArtifactError(file, f"line {number} is not valid JSON ({error})", "delete the line") from error
        probes[probe["step"]] = probe
    return [probes[step] for step in sorted(probes)]


def draw_probes(run: Path) -> Path | None:
    """Draw ``RUN/tripwires.png`` (and .svg) from ``RUN/tripwires.jsonl``; None if the run has no probes.

    Raises:
        ArtifactError: The file is damaged.
    """
    probes = read_probes(run)
    if not probes:
        return None
    tasks = list(probes[-1]["answers"])[:MOST_TASKS]
    rows = 1 + (len(tasks) + 1) // 2
    with canvas(run, "tripwires", rows, 2, (11, 3.4 * rows)) as axes:
        _shares(axes[0, 0], probes, SIGNS, f"Signs of a collapse (n = {probes[-1]['n']})")
        _shares(axes[0, 1], probes, ("right", "right_shuffled"), "Correct answers with own and with exchanged images")
        for axis, task in zip(axes[1:].flat, tasks, strict=False):
            _words(axis, task, probes[-1]["answers"][task], probes[-1]["step"])
        hide_from(axes[1:], len(tasks))
    return run / "tripwires.png"


def _shares(axis: Any, probes: Sequence[Mapping[str, Any]], names: Sequence[str], title: str) -> None:
    steps = [probe["step"] for probe in probes]
    for i, name in enumerate(names):
        style = {"color": COLOURS[i], "linestyle": LINES[i % len(LINES)], "marker": MARKERS[i], "markersize": 4}
        axis.plot(steps, [probe[name] for probe in probes], label=name.replace("_", " "), **style)
    bad = [probe["step"] for probe in probes if probe["tripped"]]
    if bad:
        axis.plot(bad, [1.03] * len(bad), "v", color="#B00020", markersize=6, label="past a limit")
    axis.set(ylim=(-0.04, 1.08), xlabel="optimiser step", ylabel="share of the probe", title=title)
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _words(axis: Any, task: str, counted: Mapping[str, Mapping[str, int]], step: int) -> None:
    """Draw how often each answer was given at the last probe, next to how often it is the true one."""
    words = sorted({*counted["true"], *counted["answered"]}, key=lambda w: (w == "unparsed", w))
    places = range(len(words))
    for side, shift, colour in (("true", -0.2, COLOURS[6]), ("answered", 0.2, COLOURS[0])):
        heights = [counted[side].get(w, 0) for w in words]
        axis.barh([p + shift for p in places], heights, 0.38, color=colour, label=side)
    axis.set_title(f"{task}, step {step}", fontsize=10)
    axis.set_xlabel("records or regions")
    axis.set_yticks(list(places), [w if len(w) < 28 else f"{w[:25]}..." for w in words], fontsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
