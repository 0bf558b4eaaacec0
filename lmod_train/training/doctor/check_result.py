"""The result of a check, and the report of all results that is stored with the run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.errors import LmodError
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import read_json

Level = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One result of a check; a check may yield several.

    Attributes:
        check: Name of the check.
        level: ``ok``; ``warn``: the training may be poor; ``fail``: it would be worthless; ``skip``: not checked.
        what: What was observed, with its numbers.
        why: Why it matters; empty for ``ok`` and ``skip``.
        cure: The next command or edit; empty for ``ok`` and ``skip``.
    """

    check: str
    level: Level
    what: str
    why: str = ""
    cure: str = ""


def problem(name: str, level: Level | bool, what: str, **values: Any) -> CheckResult:
    """Return a result with the reason and remedy of `problems.yaml`.

    Args:
        name: Check and problem, such as ``recipe.decay``.
        level: ``warn`` or ``fail``; or whether it is a failure, else a warning.
        what: What was observed.
        **values: What reason and remedy name.
    """
    check, _, own = name.partition(".")
    text = package_data(__file__, "problems.yaml")[check][own]
    level = level if isinstance(level, str) else "fail" if level else "warn"
    return CheckResult(check, level, what, *(text[part].format(**values) for part in ("why", "cure")))


class Refused(LmodError):
    """Raised where a check failed: the training would be worthless."""

    def __init__(self, failures: Sequence[CheckResult]) -> None:
        listed = "\n".join(f"  {f.check}: {f.what}\n    why: {f.why}\n    next: {f.cure}" for f in failures)
        super().__init__(
            f"doctor: {len(failures)} check(s) failed, and nothing was trained.\n{listed}\n"
            "Next: fix these and start again; `--doctor.refuse false` trains regardless"
        )


def failures(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results of level ``fail``."""
    return [r for r in results if r.level == "fail"]


def write_checks(path: Path, results: Sequence[CheckResult], of: str = "") -> None:
    """Write the report as JSON: the verdict, the identity `of` what was examined, and every result."""
    write_json(path, {"passed": not failures(results), "of": of, "findings": [asdict(r) for r in results]})


def passed(path: Path, of: str) -> bool:
    """Return whether the report at `path` is of the same identity and has no failure; False for a damaged report."""
    try:
        report = read_json(path)
        return bool(of) and report["passed"] is True and report["of"] == of
    except (OSError, ValueError, KeyError, TypeError):
        return False


def terminal_report(results: Sequence[CheckResult]) -> str:
    """Return the report as text for a terminal: each result, and below a warning or failure its reason and remedy.

    Example:
        >>> results = [CheckResult("delta", "ok", "gains 0.98"), CheckResult("labels", "fail", "none", "x", "y")]
        >>> print(terminal_report(results))
        ok    delta         gains 0.98
        FAIL  labels        none
                            why: x
                            next: y
    """
    lines = []
    for r in results:
        level = r.level.upper() if r.level == "fail" else r.level
        more = [f"why: {r.why}", f"next: {r.cure}"] if r.why else []
        first, *rest = [piece for text in [*r.what.splitlines(), *more] for piece in textwrap.wrap(text, 98) or [""]]
        lines += [f"{level:<6}{r.check:<14}{first}", *(" " * 20 + line for line in rest)]
    return "\n".join(lines)
