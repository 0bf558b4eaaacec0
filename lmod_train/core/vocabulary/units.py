"""Units of measurements of the eye, each with its spellings, and words for limits."""

from __future__ import annotations

UNITS = (
    ("%", "percent", "per cent", "prozent", "pour cent", "por ciento", "por cento"),
    ("mmHg", "mm Hg", "mm of mercury", "毫米汞柱"),
    ("mm", "millimetres", "millimeters", "millimetre", "millimeter", "毫米"),
    ("μm", "um", "micrometres", "micrometers", "micrometre", "micrometer", "microns", "micron", "微米"),
    ("nm", "nanometres", "nanometers"), ("cm", "centimetres", "centimeters", "厘米"),
    ("D", "dpt", "dioptres", "diopters", "dioptre", "diopter", "dioptrien"), ("dB", "decibels"),
    ("°", "degrees", "degree", "grad", "度"), ("logMAR",), ("ETDRS letters", "letters", "letter"),
    ("years", "year", "yrs", "yr", "y", "jahre", "ans", "anos", "岁", "年"), ("months", "month", "monate", "月"),
    ("weeks", "week", "days", "day"), ("mm2", "mm^2"), ("mm3", "mm^3"), ("μL", "uL"), ("mL", "ml"),
    ("DD", "disc diameters"),
    ("pixels", "pixel", "px"), ("clock hours", "clock hour"), ("Hz",), ("ms",), ("s", "seconds"), ("lines", "line"),
)  # fmt: skip
"""Spellings of each unit; the first stands for all."""
LIMITS = (
    "at least", "at most", "more than", "less than", "greater than", "up to", "above", "below", "over", "under",
    "between", "from", "no more than", "mindestens", "hoechstens", "ueber", "unter", "zwischen", "mehr als",
    "weniger als",
    "plus de", "moins de", "entre", "mas de", "menos de", "mais de", "至少", "至多", "大于", "小于", "超过", "低于",
)  # fmt: skip
"""Words before a number that make it a limit."""
OPEN = ("or more", "or less", "or higher", "or lower", "or above", "or below", "and above", "and over")
"""Words behind a number that make it a limit."""
