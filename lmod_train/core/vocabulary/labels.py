"""Keys of fields, by what they announce: in JSON, tags, tables and lines; for the format see
`lmod_train.core.vocabulary`.

A key counts in any case, with blanks, hyphens or underscores between its words ("is_present", "isPresent"), and with
words such as "final" and "result" before and behind it ("my final answer", "diagnosis result", 最终诊断结果).
"""

from __future__ import annotations

BEFORE_EN = (
    r"(?:(?:the|my|your|a|final|overall|main|primary|most likely|likely|probable|predicted|selected|chosen"
    r"|assigned|given"
    r"|requested|correct|best|clinical|model|image|patient(?:'s)?|binary|short|this|is|overall|principal"
    r"|suspected|corrected|revised|updated|amended) ){0,3}"
)
BEHIND_EN = (
    r"(?: (?:name|text|value|code|result|string|word|choice|option|label|class|category|letter|here|in image)){0,2}"
)
BEFORE_ZH = "(?:最终|最后|主要|总体|综合|初步|临床|模型|本例|我的|你的|正确|最佳|该|影像|图像|医学|总)?的?"
BEHIND_ZH = "(?:结果|名称|结论|类别|选项|标签|情况)?"
"""What may stand before and behind a key, as regular expressions."""

SUBJECTS_EN = (
    "conditions?", "questions?", "items?", "features?", "signs?", "targets?", "names?", "pathology|pathologies",
    "query", "tasks?", "finding", "condition asked|asked condition", "statement", "claim", "assertion", "hypothesis",
    "q", "abnormality", "lesion", "criterion|criteria", "fields?", "attributes?", "keys?", "propert(?:y|ies)",
    "parameters?", "findings",
)  # fmt: skip
SUBJECTS_ZH = (
    "病变", "问题", "征象", "项目", "病种", "名称", "体征", "检查项目", "字段", "指标", "病症", "题目", "陈述",
)  # fmt: skip
"""Keys of what is asked about."""
DIAGNOSES_EN = ("diagnos[ie]s", "diseases?", "classification", "impression", "dx", "diagnostic impression")
DIAGNOSES_ZH = ("疾病", "诊断", "印象", "分类", "病名", "诊断意见", "诊断印象")
"""Keys of a diagnosis: an answer, or what is asked about where a key of an answer stands beside it."""
ANSWERS_EN = (
    "answers?", "ans", "verdict", "result", "present(?: or absent|/absent)?", "presence", "status", "values?",
    "detected", "exists?", "existence", "found", "seen", "observed", "visible", "positive", "decision", "prediction",
    "outputs?", "response", "choice", "option", "judge?ment", "conclusion", "outcome", "determination", "assessment",
    "affected", "(?:is|was) (?:it )?(?:present|there|detected|seen|found|visible|positive|observed|true)",
    "true ?/ ?false", "yes ?/ ?no", "(?:has|have) (?:the |this )?(?:condition|disease|finding)", "finding present",
    "reading", "call", "pick", "opinion", "match(?:es)?", "fits?", "guess", "corrected", "revised",
    "(?:statement |text )?(?:is )?(?:correct|accurate|true|valid)(?:ness)?", "accuracy", "validity", "selection",
    "selected", "truth", "state", "presence in image", "reply", "interpretation",
)  # fmt: skip
ANSWERS_ZH = (
    "是否存在", "存在", "存在与否", "有无", "是否", "有没有", "是否有", "是否患有", "是否患病", "是否可见", "结果",
    "答案", "答", "判断", "判定", "判读", "结论", "回答", "选择", "选项", "阳性", "是否阳性", "检出", "是否检出",
    "状态", "值", "意见", "检测", "诊断结论", "对错", "正误", "(?:是否)?(?:符合|匹配)", "是否正确", "评估",
    "取值", "所选",
)  # fmt: skip
"""Keys of an answer."""
IDS_EN = (
    "(?:region|box|bounding box|area|object|structure|label)s? ?(?:ids?|no\\.?|num(?:ber)?|#|index)", "ids?",
    "regions?", "box(?:es)?", "bounding box(?:es)?", "bbox", "number", "no\\.?", "index", "#", "area",
)  # fmt: skip
IDS_ZH = ("(?:区域|框|边界框|方框|标注框)?(?:编号|序号|号码|号)", "区域(?:ID|id)?", "(?:边界|方|标注)?框", "标号")
"""Keys of the number of a region."""
TYPES_EN = (
    "(?:region |structure |anatomical )?types?", "labels?", "structures?", "class(?:es)?", "categor(?:y|ies)",
    "anatomy",
)  # fmt: skip
TYPES_ZH = ("(?:区域|解剖)?类型", "(?:解剖)?结构", "类别", "标签", "部位")
"""Keys of the type of a region, and of any other label."""
EXPLANATION_LABELS = (
    "explanations?", "justifications?", "reason(?:s|ing)?", "rationale", "evidence", "why", "解释", "理由", "说明",
    "原因", "依据",
)  # fmt: skip
"""Labels of the explanation."""
PROBABILITIES_EN = (
    "(?:predicted )?(?:prob(?:ability|abilities)?|likelihoods?|scores?|logits?|p|risk)", "probability of disease",
)  # fmt: skip
PROBABILITIES_ZH = ("概率", "可能性", "分数", "评分", "得分", "患病概率", "风险")
"""Keys of a probability, which nobody asked for: a name with nothing else beside it is then no answer."""
DENIED_EN = (
    "(?:not (?:present|detected|seen|found)|absent|excluded?|ruled out|eliminated|rejected|dismissed|incorrect"
    "|wrong|not|negative"
    "|least likely|unlikely|discarded)(?: (?:answers?|options?|choices?|conditions?|findings?|diagnos[ie]s"
    "|letters?|diseases?))?",
)  # fmt: skip
DENIED_ZH = ("排除", "不选", "错误选项", "不存在", "未见", "已排除", "除外", "阴性", "错误答案")
"""Keys of what is denied."""
EXTRAS_EN = (
    *EXPLANATION_LABELS[: 6], *PROBABILITIES_EN, "confiden(?:ce|t)(?: (?:level|score|rating|in %|%))?", "certainty",
    "uncertainty", "supporting (?:evidence|findings|features)", "explained", "thoughts?", "thinking", "analysis",
    "notes?", "comments?", "remarks?", "details?", "descriptions?",
    "(?:key |main |visual |image |supporting )?(?:findings|features|observations|signs)", "recommendations?",
    "limitations?", "image quality", "eyes?", "side", "laterality", "images?", "modality", "basis", "references?",
    "summary", "caveats?", "disclaimer", "next steps?", "follow[ -]?up", "location", "coordinates", "color|colour",
    "differentials?|differential diagnos[ie]s", "steps?", "method", "language", "examples?", "format", "legend",
    "options", "choices", "schema", "template", "alternatives", "candidates", "possible (?:answers|values|labels)",
)  # fmt: skip
EXTRAS_ZH = (
    *EXPLANATION_LABELS[6:], *PROBABILITIES_ZH, "置信(?:度|水平|区间)", "把握(?:度|程度)?", "信心(?:指数)?", "可信度",
    "确信度", "备注", "建议", "描述", "所见", "影像所见", "分析", "证据", "推理(?:过程)?", "图像质量", "眼别", "细节",
    "特征", "思考", "鉴别诊断", "局限性?", "图像描述", "观察", "免责声明", "位置", "示例", "格式", "候选",
)  # fmt: skip
"""Keys of what is never an answer."""
