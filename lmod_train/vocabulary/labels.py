"""Labels of fields and heads of table columns in replies."""

from __future__ import annotations

VERDICT_LABELS = (
    "(?:disease|condition)(?: name)?",
    "(?:primary |most likely |likely |final )?diagnosis",
    "(?:final )?answer",
    "classification",
    "prediction",
    "category",
    "impression",
    "output",
    "印象",
    "verdict",
    "答",
    "result",
    "(?:best |final |my )?(?:decision|judge?ment|assessment|determination|reading|call|choice|pick|response|opinion"
    "|option|conclusion|match|fit|guess)",
    "(?:selected|chosen|predicted|assigned) (?:answer|option|label|class|category|disease|condition|diagnosis)",
    "判断(?:结果)?",
    "判定(?:结果)?",
    "(?:最终|总体)?结论",
    "(?:我的)?选择",
    "判读(?:结果)?",
    "疾病(?:名称)?",
    "诊断(?:结果)?",
    "最终诊断",
    "(?:最终)?答案",
    "结果",
    "分类",
)
"""Labels of the answer."""
EXPLANATION_LABELS = (
    "explanations?",
    "justifications?",
    "reason(?:s|ing)?",
    "rationale",
    "evidence",
    "why",
    "解释",
    "理由",
    "说明",
    "原因",
    "依据",
)
"""Labels of the explanation."""
QUESTION_COLUMNS_EN = ("(?:condition|disease|finding|question|feature|sign|diagnosis|patholog(?:y|ies)|item)s?",)
"""Heads of the column with the questions."""
QUESTION_COLUMNS_ZH = ("疾病", "病变", "问题", "征象", "项目", "诊断")
ANSWER_COLUMNS_EN = (
    "present(?: or absent|/absent| in image)?", "presence", "answer", "status", "result", "value", "detected", "seen",
    "true ?/ ?false", "yes ?/ ?no", "verdict", "assessment", "response",
)  # fmt: skip
"""Heads of the column with the answers."""
ANSWER_COLUMNS_ZH = ("是否存在", "存在", "有无", "结果", "答案", "判断", "是否")
OTHER_COLUMNS_EN = (
    "eye", "image", "side", "patient", "no\\.?", "#", "descriptions?", "comments?", "notes?", "remarks?", "details?",
    "(?:key |supporting |main )?(?:findings|features|signs)", "interpretation", "basis", "confidence",
)  # fmt: skip
"""Heads of columns with neither."""
OTHER_COLUMNS_ZH = ("眼别", "图像", "描述", "备注", "说明", "解释", "依据", "理由", "原因", "所见")
