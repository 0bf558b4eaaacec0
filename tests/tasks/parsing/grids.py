"""Layouts and values of an answer slot in both languages, for tests of every combination.

A layout is text with ``{x}`` for the name and ``{v}`` for the word. Each pair of words is one of opposites.
"""

from __future__ import annotations

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS

SIGNED = (
    "{x}: {v}",
    "{x}:{v}",
    "{x} = {v}",
    '"{x}": "{v}"',
    '{{"{x}": "{v}"}}',
    '{{"{x}": "{v}", "explanation": "the image was looked at"}}',
    '{{\n  "{x}": "{v}"\n}}',
    "```json\n{{\"{x}\": \"{v}\"}}\n```",
    "{{'{x}': '{v}'}}",
    "| {x} | {v} |",
    "| Finding | Answer |\n|---|---|\n| {x} | {v} |",
    "{x} → {v}",
    "{x} -> {v}",
    "{x} => {v}",
    "{x}: {v}; Explanation: as seen",
    "{x}: {v}\nExplanation: as seen",
    "{x}: {v}. The image was looked at.",
    "- {x}: {v}",
    "* **{x}:** {v}",
    "**{x}**: **{v}**",
    "1. {x}: {v}",
    "{x}:\n{v}",
    "{x} present: {v}",
    "{x} status: {v}",
    "<{x}>: <{v}>",
)  # fmt: skip
"""Layouts with a sign that gives a number a meaning as well."""

LOOSE = (
    "{x} - {v}",
    "{x} – {v}",
    "{x} — {v}",
    "{x} ({v})",
    "{x} [{v}]",
    "{x}\n{v}",
    "{x}? {v}",
    "{x} present? {v}",
    "{x} present?\n{v}.",
    "Is there {x}? {v}",
    "Is {x} present in this image?\n{v}.",
    "Does the patient have {x}?\n\n{v}",
    "Q: Does the image show {x}?\nA: {v}",
)

CHINESE = (
    "{x}：{v}",
    "{x}:{v}",
    "“{x}”：“{v}”",
    '{{"{x}": "{v}"}}',
    "| {x} | {v} |",
    "{x}（{v}）",
    "{x}→{v}",
    "{x}：{v}；解释：如图所示",
    "{x}：{v}。如图所示。",
    "{x}？{v}",
    "是否有{x}？\n{v}",
    "{x}\n{v}",
    "**{x}**：{v}",
)

PAIRS = (
    ("yes", "no"),
    ("true", "false"),
    ("present", "absent"),
    ("positive", "negative"),
    ("detected", "not detected"),
    ("seen", "not seen"),
    ("likely", "unlikely"),
    ("probable", "improbable"),
)
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

CORRECTIONS = (
    "Correction: {b}", "Correction: {b}.", "Wait, I misread the image. The corrected answer is {b}.", "I meant {b}.",
    "Let me correct that: {b}", "I need to correct myself: {b}", "Edit: {b}", "Revised answer: {b}", "No, wait, {b}",
    "On second thought, {b}", "The correct answer is {b}.", "Final answer: {b}",
    "I correct my answer to {b}.", "So I change my answer to {b}.",
    "更正：{b}", "更正一下，{b}", "不对，应该是{b}", "修正后的答案是{b}", "最终答案：{b}",
)  # fmt: skip
"""Announcements of a corrected answer."""

ZH_NAME = {term.name: term.chinese[0] for term in CONDITIONS}
NAMES = [(f, name) for f in FINDINGS for name in dict.fromkeys((f.short, f.condition))]
NAMES_ZH = [(f, ZH_NAME[f.condition]) for f in FINDINGS]


def cases(word: str) -> tuple[str, ...]:
    """Return a word in the cases that models write it in."""
    return tuple(dict.fromkeys((word, word.upper(), word.capitalize())))
