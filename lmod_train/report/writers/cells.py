"""The text of a cell, by the format of its column."""

from __future__ import annotations

from lmod_train.report.contents import MISSING, Cell, Estimate, Format

RIGHT: frozenset[Format] = frozenset({"count", "number", "signed", "percent", "statistic", "p"})
"""Formats whose columns are right-aligned."""


def cell_text(cell: Cell, format: Format = "text") -> str:
    """Return a cell as text; a dash for a missing value, ``none`` for a missing interval.

    Example:
        >>> cell_text(0.5, "number"), cell_text((0.25, 0.75), "interval"), cell_text(None, "percent")
        ('0.500', '0.250-0.750', '-')
        >>> cell_text(Estimate(0.5, 0.25, 0.75, n=40), "estimate")
        '0.500 (0.250-0.750), n 40'
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Estimate):
        return _estimate(cell)
    if isinstance(cell, tuple) or format in ("interval", "signed_interval"):
        return _interval(cell if isinstance(cell, tuple) else (None, None), format == "signed_interval")
    return MISSING if cell is None else _number(cell, format)


def _number(value: float, format: Format) -> str:
    if format == "p":
        return p_value(value)
    if format == "percent":
        return f"{100 * value:.1f} %"
    digits = {"number": ".3f", "signed": "+.3f", "statistic": ".2f"}.get(format, "")
    return f"{value:{digits}}"


def _interval(ends: tuple[float | None, float | None], signed: bool) -> str:
    low, high = ends
    if low is None or high is None:
        return "none"
    return f"{low:+.3f} to {high:+.3f}" if signed else f"{low:.3f}-{high:.3f}"


def _estimate(cell: Estimate) -> str:
    if cell.value is None:
        return MISSING
    between = f" ({_interval((cell.low, cell.high), signed=False)})" if cell.low is not None else ""
    return f"{cell.value:.3f}{between}{'' if cell.n is None else f', n {cell.n}'}"


def p_value(p: float | None) -> str:
    """Return a p value in the notation of papers.

    Example:
        >>> p_value(0.04), p_value(1e-9), p_value(None)
        ('0.040', '< 0.001', '-')
    """
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
