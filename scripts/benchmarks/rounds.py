"""Runs that take turns, and what they used: the statistic of every benchmark here. Needs the standard library alone."""

from __future__ import annotations

import math
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}

Round = Callable[[], float]
"""Does its work once and returns its seconds."""


class Rounds:
    """Runs that took turns.

    Args:
        rounds: How often each ran.
        warm: Whether a round that is not counted comes first; not for runs that warm up in a process of their own.
        runs: By name.

    Attributes:
        seconds: Of every round of each.
        others: Cores that other processes kept busy, on average; NaN where the system does not tell.
    """

    def __init__(self, rounds: int, warm: bool = True, /, **runs: Round) -> None:
        self.seconds: dict[str, list[float]] = {name: [] for name in runs}
        if warm:
            for run in runs.values():
                run()
        began, busy = time.perf_counter(), others_seconds()
        for _ in range(rounds):
            for name, run in runs.items():
                self.seconds[name].append(run())
        self.others = (others_seconds() - busy) / (time.perf_counter() - began)

    def median(self, name: str) -> float:
        """Return the median seconds of one."""
        return statistics.median(self.seconds[name])

    def spread(self, name: str, other: str) -> str:
        """Return the lowest and the highest ratio of one round: seconds of `other` over those of `name`."""
        ratios = [b / a for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]
        return f"{min(ratios):.2f}-{max(ratios):.2f}"

    def tell(self, what: str, name: str, other: str, wanted: str, limit: str) -> None:
        """Print one row."""
        ours, theirs, spread = self.median(name), self.median(other), self.spread(name, other)
        print(
            f"| {what} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.2f} | {spread} | {wanted} | {limit} "
            f"| {self.others:.2f} |",
            flush=True,
        )


def others_seconds() -> float:
    """Return the processor seconds that processes other than this one and its children have used; NaN if unknown."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return math.nan
    user, nice, system = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in first[1:4])
    return user + nice + system - sum(os.times()[:4])


def peak_mebibytes() -> float:
    """Return the most memory this process has held so far.

    A process that was started by a larger one begins with what that one held; the one that starts others stays small.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10
