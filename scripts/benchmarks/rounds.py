"""Alternating runs and their time and memory, as used by all benchmarks here. Needs only the standard library."""

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
"""Function that runs once and returns its seconds."""


class Rounds:
    """Results of runs that alternate.

    Args:
        rounds: Number of rounds.
        warm: Whether an uncounted round comes first; not for runs that warm up in their own process.
        runs: Functions to run, by name.

    Attributes:
        seconds: Seconds of every round, by name.
        others: Mean number of cores kept busy by other processes; NaN if the system does not report it.
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
        """Return the median seconds of a run."""
        return statistics.median(self.seconds[name])

    def spread(self, name: str, other: str) -> str:
        """Return the lowest and the highest ratio of one round: seconds of `other` over those of `name`."""
        ratios = [b / a for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]
        return f"{min(ratios):.2f}-{max(ratios):.2f}"

    def print_row(self, what: str, name: str, other: str, wanted: str, limit: str) -> None:
        """Print one row of the table."""
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
    """Return the peak memory of this process in MiB.

    A child process starts with the peak of its parent, so a parent that starts others must stay small.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def process_age() -> float:
    """Return the seconds since this process was started, imports included; NaN if the system does not report it."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
    except OSError:
        return math.nan
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
