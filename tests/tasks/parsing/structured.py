r"""Structured layouts of replies, with each answer and its opposite: pairs for the test of symmetric reading.

A layout of `NAMED` has ``{x}`` for the name that is asked about and ``{v}`` for the answer; one of `MANY` has also
another name, ``{y}``, with its own answer ``{w}``; one of `PLAIN` has ``{v}`` alone; one of `CHOSEN` has ``{a}``
for the choice that is meant and ``{b}`` for another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

from lmod_train.core.vocabulary.findings import FINDINGS, Finding
from tests.tabled import stored
from tests.tasks.parsing.grids import NAMES, NAMES_ZH

NAMED = stored(__file__, "structured.NAMED")  # fmt: skip
NAMED_ZH = stored(__file__, "structured.NAMED_ZH")  # fmt: skip
MANY = stored(__file__, "structured.MANY")  # fmt: skip
MANY_ZH = (
    '{"{y}": "{w}", "{x}": "{v}"}', '[{"疾病": "{x}", "结论": "{v}"}, {"疾病": "{y}", "结论": "{w}"}]',
    "{y}：{w}；{x}：{v}", "{x}：{v}\n{y}：{w}", "| 疾病 | 是否存在 |\n|---|---|\n| {y} | {w} |\n| {x} | {v} |",
    "疾病：{y}，是否存在：{w}\n疾病：{x}，是否存在：{v}",
    "<疾病>{x}</疾病><结论>{v}</结论>\n<疾病>{y}</疾病><结论>{w}</结论>", "- **{y}**：{w}\n- **{x}**：{v}",
)  # fmt: skip
PLAIN = stored(__file__, "structured.PLAIN")  # fmt: skip
CHOSEN = (
    "- [x] {a}\n- [ ] {b}", "- [ ] {b}\n- [x] {a}", "☑ {a}\n☐ {b}", "☐ {b}  ☑ {a}", "✅ {a}\n❌ {b}", "{b} ❌\n{a} ✅",
    "[ ] {b}   [X] {a}", "(x) {a}\n( ) {b}", "| {a} | {b} |\n|---|---|\n| ✓ | |", "| {b} | {a} |\n|---|---|\n| | x |",
    "✅ {a}", "{a} ✅", "[x] {a}", "● {a}\n○ {b}", "Answer: [x] {a} [ ] {b}",
    "- [X] **{a}**\n- [ ] **{b}**\n\nExplanation: as seen", "{a} ☑ / {b} ☐", "☒ {a}\n☐ {b}",
)  # fmt: skip

PAIRS = (
    ("TRUE", "FALSE"), ("Yes", "No"), ("true", "false"), ("present", "absent"), ("positive", "negative"), ("1", "0"),
)  # fmt: skip
PAIRS_ZH = (("是", "否"), ("有", "无"), ("存在", "不存在"), ("阳性", "阴性"), ("True", "False"))
CHOICES = stored(__file__, "structured.CHOICES")
"""Question -> pairs of answers to it."""
LABELS = {"sex": "Sex", "macular_hole_stage": "Stage", "icdr": "Stage", "age_group": "Age Group", "four_way": "Disease"}


def fill(layout: str, **words: str) -> str:
    """Return a layout with its places filled; other braces stay."""
    for place, word in words.items():
        layout = layout.replace("{" + place + "}", word)
    return layout


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """Yield question, layout, and a reply with its opposite: the first states yes, or the first of two choices."""
    for finding in FINDINGS:
        ask = f"conditions {finding.condition}"
        for own, layouts, words in ((NAMES, NAMED, PAIRS), (NAMES_ZH, NAMED_ZH, PAIRS_ZH)):
            for name in (name for of, name in own if of is finding):
                for layout in layouts:
                    for yes, no in words:
                        yield ask, layout, fill(layout, x=name, v=yes), fill(layout, x=name, v=no)
        yield from _beside_another(finding)
        for layout in PLAIN:
            for yes, no in PAIRS:
                yield ask, layout, fill(layout, v=yes), fill(layout, v=no)
        for layout in CHOSEN:
            for yes, no in PAIRS[:2]:
                yield ask, layout, fill(layout, a=yes, b=no), fill(layout, a=no, b=yes)
    both = (("Glaucoma", NAMED, PAIRS), ("GLAUCOMA", NAMED, PAIRS), ("青光眼", NAMED_ZH, PAIRS_ZH))
    for name, layouts, words in both:
        for layout in layouts:
            for yes, no in words:
                yield "glaucoma", layout, fill(layout, x=name, v=yes), fill(layout, x=name, v=no)
    for ask, choices in CHOICES.items():
        for one, other in choices:
            for layout in PLAIN:
                yield ask, layout, fill(layout, v=one), fill(layout, v=other)
                if ask in LABELS:
                    own = _labelled(layout, LABELS[ask])
                    yield ask, own, fill(own, v=one), fill(own, v=other)
            for layout in CHOSEN:
                yield ask, layout, fill(layout, a=one, b=other), fill(layout, a=other, b=one)


def _beside_another(finding: Finding) -> Iterator[tuple[str, str, str, str]]:
    """Yield the pairs where another name stands beside that of the finding, with each of both answers."""
    is_macula = "macula" in finding.condition  # a macular hole is an abnormal macula
    others = ("Cataract", "白内障") if is_macula else ("Macular hole", "黄斑裂孔")
    ways = zip((NAMES, NAMES_ZH), (MANY, MANY_ZH), (PAIRS, PAIRS_ZH), others, strict=True)
    for own, layouts, words, other in ways:
        for name in (name for of, name in own if of is finding):
            for layout, (yes, no), beside in product(layouts, words, (0, 1)):
                filled = fill(layout, x=name, y=other, w=(yes, no)[beside])
                yield f"conditions {finding.condition}", layout, fill(filled, v=yes), fill(filled, v=no)


def _labelled(layout: str, label: str) -> str:
    """Return a layout with the label of a task in the stead of "answer"."""
    key = json.dumps(label.lower().replace(" ", "_"))
    return layout.replace('"answer"', key).replace("Answer", label).replace("'answer'", key.replace('"', "'"))
