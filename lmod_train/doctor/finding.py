"""What a check found, and the report that is stored with the run."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from lmod_train.artifacts.manifest import write_json
from lmod_train.errors import LmodError

Level = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        check: Name of the check.
        level: ``ok``; ``warn``: train if you know why; ``fail``: training would be worthless; ``skip``: could not look.
        what: What was seen, with its figures.
        why: Why it matters; empty for what is well.
        cure: The next command or edit; empty for what is well.
    """

    check: str
    level: Level
    what: str
    why: str = ""
    cure: str = ""


class Refused(LmodError):
    """The doctor found what would make the training worthless."""

    def __init__(self, failures: Sequence[Finding]) -> None:
        said = "\n".join(f"  {f.check}: {f.what}\n    why: {f.why}\n    next: {f.cure}" for f in failures)
        super().__init__(
            f"doctor: {len(failures)} check(s) failed, and nothing was trained.\n{said}\n"
            "Next: mend these and start again; `--doctor.refuse false` trains regardless"
        )


def failures(findings: Sequence[Finding]) -> list[Finding]:
    """Return what stands in the way of a training."""
    return [f for f in findings if f.level == "fail"]


def write(path: Path, findings: Sequence[Finding], of: str = "") -> None:
    """Write the report as JSON: the verdict, what was examined, and every finding."""
    write_json(path, {"passed": not failures(findings), "of": of, "findings": [asdict(f) for f in findings]})


def passed(path: Path, of: str) -> bool:
    """Return whether a report says that the very same was examined and nothing failed; a damaged one says nothing."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        return bool(of) and report["passed"] is True and report["of"] == of
    except (OSError, ValueError, KeyError, TypeError):
        return False


def table(findings: Sequence[Finding]) -> str:
    """Return the report for a terminal: a line a finding, what is not well with its why and its cure.

    Example:
        >>> print(table([Finding("delta", "ok", "gains 0.98"), Finding("labels", "fail", "none", "x", "y")]))
        ok    delta         gains 0.98
        FAIL  labels        none
                            why: x
                            next: y
    """
    lines = []
    for f in findings:
        shown = f.level.upper() if f.level == "fail" else f.level
        more = [f"why: {f.why}", f"next: {f.cure}"] if f.why else []
        first, *rest = [piece for text in [*f.what.splitlines(), *more] for piece in textwrap.wrap(text, 98) or [""]]
        lines += [f"{shown:<6}{f.check:<14}{first}", *(" " * 20 + line for line in rest)]
    return "\n".join(lines)
