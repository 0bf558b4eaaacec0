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
from tests.tasks.parsing.grids import NAMES, NAMES_ZH

NAMED = (
    '{"{x}": "{v}"}', '{"{x}": "{v}", "explanation": "the image was looked at"}', "{'{x}': '{v}'}", "{{x}: {v}}",
    '```json\n{\n  "{x}": "{v}",\n  "confidence": 0.9\n}\n```', 'Here is my answer:\n{"{x}": "{v}"}\nThank you.',
    '{"condition": "{x}", "present": "{v}"}', '{"present": "{v}", "condition": "{x}"}',
    '{"disease": "{x}", "answer": "{v}", "confidence": 0.05}',
    '{"finding": "{x}", "status": "{v}", "explanations": "as seen"}',
    '{"question": "Does the patient have {x}?", "answer": "{v}"}', '{"result": {"{x}": "{v}"}}',
    '{"findings": [{"name": "{x}", "present": "{v}"}]}', '[{"condition": "{x}", "value": "{v}"}]',
    '{"{x}": {"present": "{v}", "probability": 0.4, "reason": "as seen"}}', '{"{x}_present": "{v}"}',
    '{"has_{x}": "{v}"}', '{"name": "report", "arguments": {"condition": "{x}", "present": "{v}"}}', '["{x}", "{v}"]',
    '<tool_call>{"name": "report", "arguments": "{\\"condition\\": \\"{x}\\", \\"present\\": \\"{v}\\"}"}</tool_call>',
    '{"condition": "{x}", "present": "{v}", "explanation": "the reply was cut off in the mid',
    "<condition>{x}</condition><present>{v}</present>",
    "<result><condition>{x}</condition>\n<answer>{v}</answer></result>", "<{x}>{v}</{x}>",
    "<diagnosis>{x}</diagnosis>\n<present>{v}</present>\n<explanation>as seen</explanation>",
    "| Condition | Present |\n|---|---|\n| {x} | {v} |", "| {x} | {v} |", "{x} | {v}",
    "| Finding | Answer | Confidence |\n|:--|:-:|--:|\n| {x} | {v} | 90% |",
    "| Field | Value |\n|---|---|\n| Condition | {x} |\n| Present | {v} |\n| Explanation | as seen |",
    "| {x} | Explanation |\n|---|---|\n| {v} | as seen |", "Condition | Present\n--- | ---\n{x} | {v}",
    "<table><tr><th>Condition</th><th>Present</th></tr><tr><td>{x}</td><td>{v}</td></tr></table>",
    "Condition: {x}\nPresent: {v}", "Condition: {x}; Present: {v}", "Condition: {x}, Present: {v}",
    "condition = {x}; present = {v}", "**Condition:** {x}\n**Answer:** {v}\n**Explanation:** as seen",
    "- condition: {x}\n- present: {v}", "{x}: {v}", "{x} = {v}", "- **{x}**: {v}", "{x} → {v}", "**{x}:** **{v}**",
    "condition: {x}\npresent: {v}\nexplanation: as seen", "{x}: {v}; Explanations: as seen", "## {x}\n**Answer:** {v}",
    "Finding: {x}\nStatus: {v}.", "Disease: {x}; Result: {v}; Confidence: 0.9",
)  # fmt: skip
NAMED_ZH = (
    '{"{x}": "{v}"}', '{"疾病": "{x}", "是否存在": "{v}"}', '{"病变": "{x}", "结论": "{v}", "置信度": 0.8}',
    "{“{x}”：“{v}”}", '{"诊断": "{x}", "结果": "{v}", "依据": "如图所示"}',
    "| 疾病 | 是否存在 |\n|---|---|\n| {x} | {v} |", "| {x} | {v} |", "{x}：{v}", "疾病：{x}\n是否存在：{v}",
    "疾病：{x}；判断：{v}；理由：如图所示", "**{x}**：{v}", "<疾病>{x}</疾病><结论>{v}</结论>", "{x}={v}", "{x}→{v}",
    '```json\n{"项目": "{x}", "答案": "{v}"}\n```', "| 项目 | 结果 | 说明 |\n|---|---|---|\n| {x} | {v} | 如图 |",
)  # fmt: skip
MANY = (
    '{"{y}": "{w}", "{x}": "{v}"}', '{"{x}": "{v}", "{y}": "{w}"}', "{{y}: {w}, {x}: {v}}",
    '[{"condition": "{y}", "present": "{w}"}, {"condition": "{x}", "present": "{v}"}]',
    '{"findings": [{"name": "{x}", "status": "{v}"}, {"name": "{y}", "status": "{w}"}]}',
    '{"findings": {"{y}": "{w}", "{x}": "{v}"}, "explanation": "as seen"}',
    '{"{y}": {"present": "{w}", "confidence": 0.7}, "{x}": {"present": "{v}", "confidence": 0.9}}',
    "<condition>{y}</condition><present>{w}</present>\n<condition>{x}</condition><present>{v}</present>",
    "<{x}>{v}</{x}>\n<{y}>{w}</{y}>",
    "| Condition | Present |\n|---|---|\n| {y} | {w} |\n| {x} | {v} |", "| {x} | {v} |\n| {y} | {w} |",
    "| {y} | {x} |\n|---|---|\n| {w} | {v} |", "Condition,Present\n{y},{w}\n{x},{v}", "{y}: {w}\n{x}: {v}",
    "{x}: {v}; {y}: {w}", "- **{y}**: {w}\n- **{x}**: {v}", "{y} = {w}, {x} = {v}", "1. {x}: {v}\n2. {y}: {w}",
    "Condition: {y}; Present: {w}\nCondition: {x}; Present: {v}", "### {x}\nPresent: {v}\n\n### {y}\nPresent: {w}",
    "- condition: {y}\n  present: {w}\n- condition: {x}\n  present: {v}", "{x}: {v}\n{y}: {w}",
)  # fmt: skip
MANY_ZH = (
    '{"{y}": "{w}", "{x}": "{v}"}', '[{"疾病": "{x}", "结论": "{v}"}, {"疾病": "{y}", "结论": "{w}"}]',
    "{y}：{w}；{x}：{v}", "{x}：{v}\n{y}：{w}", "| 疾病 | 是否存在 |\n|---|---|\n| {y} | {w} |\n| {x} | {v} |",
    "疾病：{y}，是否存在：{w}\n疾病：{x}，是否存在：{v}",
    "<疾病>{x}</疾病><结论>{v}</结论>\n<疾病>{y}</疾病><结论>{w}</结论>", "- **{y}**：{w}\n- **{x}**：{v}",
)  # fmt: skip
PLAIN = (
    '{"answer": "{v}"}', '{"answer": {v}}', '{"present": "{v}", "confidence": 0.7}',
    "{'answer': '{v}', 'explanation': 'as seen'}", '{"result": {"label": "{v}"}}',
    '```json\n{"final_answer": "{v}"}\n```', '{"verdict": "{v}", "why": "as seen"}', "<answer>{v}</answer>",
    "<result>{v}</result>", "<response><answer>{v}</answer><explanation>as seen</explanation></response>",
    "Answer: {v}", "answer = {v}", "**Answer:** {v}", "Answer:\n{v}", "## Answer\n{v}",
    "Result: {v}; Explanation: as seen", "Verdict: **{v}**", "\\boxed{{v}}", "\\boxed{\\text{{v}}}",
    "$\\boxed{\\textbf{{v}}}$", "| Answer |\n|---|\n| {v} |", "| Answer | Explanation |\n|---|---|\n| {v} | as seen |",
    "结论：{v}", '{"结论": "{v}"}', "答案：{v}；解释：如图", "- answer: {v}\n- confidence: 0.9",
    '{"answer": "{v}", "explanation": "cut o',
)  # fmt: skip
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
CHOICES = {
    "glaucoma": (("GLAUCOMA", "NON-GLAUCOMA"), ("Glaucoma", "Non-glaucoma"), ("青光眼", "非青光眼")),
    "sex": (("MALE", "FEMALE"), ("Male", "Female"), ("男", "女"), ("M", "F")),
    "true_false": (("True", "False"), ("TRUE", "FALSE"), ("true", "false")),
    "dui_cuo": (("对", "错"), ("正确", "错误")),
    "macular_hole_stage": (("2", "3"), ("Stage 1", "Stage 4"), ("IV", "II"), ("2期", "4期")),
    "icdr": (("0", "4"), ("1", "2"), ("3级", "2级")),
    "four_way": (("glaucoma", "normal"), ("Cataract", "Diabetic Retinopathy"), ("青光眼", "白内障")),
    "age_group": (("30–39", "60–69"), ("<18", "80+"), ("45", "72"), ("Group 2", "Group 5")),
    "option dd": (("A", "D"), ("B. Diabetic retinopathy", "D. Glaucoma"), ("Normal fundus", "Glaucoma")),
    "option zdd": (("A", "B"), ("B. 青光眼", "D. 正常眼底"), ("糖尿病视网膜病变", "青光眼")),
}
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
