"""Small whole numbers in words, labels of stages, and units of measurements."""

from __future__ import annotations

NUMERALS = {
    **dict(
        zip(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
            range(11),
            strict=True,
        )
    ),
    **dict(zip(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"), range(1, 11), strict=True)),
    **dict(zip("〇一二三四五六七八九十", range(11), strict=True)),
    "零": 0,
    "两": 2,
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
}
"""Word -> small whole number; Roman numerals are numbers only after a label such as "Stage"."""

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
"""Ordinals of boxes, from 1."""

STAGE_LABELS = ("stage", "grade", "stadium", "level", "分期", "分级", "阶段", "期", "级")
SCALE_LABELS = (
    "(?:icdr|sdrg|drs|gass)(?: (?:stage|grade|level|scale|score|class(?:ification)?))?",
    "(?:diabetic retinopathy |retinopathy )?(?:scale|grading|staging|severity)",
)
"""Names of scales, which also label a level (LMOD+ asks for ICDR and SDRG)."""
UNITS = (
    r"%|percent|(?:µ|μ|u|m|c|n)m\b|microns?|micromet(?:er|re)s?|millimet(?:er|re)s?|mmhg|degrees?|°|"
    r"years?|months?|weeks?|"
    r"diopters?|d\b|微米|毫米|年|岁|度|倍"
)
