"""Layouts and values of an answer slot in both languages, for tests of every combination.

A layout is text with ``{x}`` for the name and ``{v}`` for the word. Each pair of words is one of opposites.
"""

from __future__ import annotations

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS
from tests.tabled import stored

SIGNED = stored(__file__, "grids.SIGNED")  # fmt: skip
"""Layouts with a sign that gives a number a meaning as well."""

LOOSE = stored(__file__, "grids.LOOSE")

CHINESE = stored(__file__, "grids.CHINESE")

PAIRS = stored(__file__, "grids.PAIRS")
NUMBERS = (("1", "0"), ("T", "F"), ("Y", "N"))
PAIRS_ZH = (
    ("是", "否"), ("有", "无"), ("有", "没有"), ("存在", "不存在"), ("阳性", "阴性"), ("真", "假"), ("正确", "错误"),
    ("对", "错"),
    ("可见", "未见"), ("陽性", "陰性"), ("正確", "錯誤"), ("有", "無"),
)  # fmt: skip

REFUSED = (
    "UNKNOWN", "UNCERTAIN", "N/A", "CANNOT DETERMINE", "INCONCLUSIVE", "null", "INDETERMINATE", "UNDETERMINED",
    "UNGRADABLE",
    "cannot be determined", "unable to determine", "not applicable", "insufficient information",
)  # fmt: skip
JUNK = ("7", "12", "0.4", "1.5", "0/1", "T/F", "50%", "___", "TBD", "XXXX", "<answer>", "<ANSWER>", "-1", "00")
"""Values that are neither an answer nor an abstention."""
OPEN = ("MAYBE", "POSSIBLE", "?", "-", "possibly", "perhaps", "suspected", "borderline")
REFUSED_ZH = ("未知", "无法确定", "無法判斷", "不确定", "不詳")
OPEN_ZH = ("可能", "疑似", "待排除", "？")
REQUESTED = ("{x} {v};", "{x} {v}", "{x} {v}; Explanations: as seen", "{x} <{v}>; Explanations: <as seen>")
"""The format that LMOD+ requests ("AMD <TRUE/FALSE>"); its slot holds only the requested values or an abstention."""

CORRECTIONS = stored(__file__, "grids.CORRECTIONS")  # fmt: skip
"""Announcements of a corrected answer."""

ZH_NAME = {term.name: term.chinese[0] for term in CONDITIONS}
NAMES = [(f, name) for f in FINDINGS for name in dict.fromkeys((f.short, f.condition))]
NAMES_ZH = [(f, ZH_NAME[f.condition]) for f in FINDINGS]


def cases(word: str) -> tuple[str, ...]:
    """Return a word in the cases that models write it in."""
    return tuple(dict.fromkeys((word, word.upper(), word.capitalize())))
