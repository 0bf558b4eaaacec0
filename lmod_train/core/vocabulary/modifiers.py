"""Words beside the name of a choice that do not change its meaning.

For the format of the phrases see `lmod_train.core.vocabulary`.
"""

from __future__ import annotations

FILLERS_EN = (
    "the", "an?", "is", "it", "its", "it's", "this", "that", "of", "for", "eye", "eyes", "fundus", "image",
    "photograph", "photo", "patient", "answer", "diagnosis", "disease", "condition", "class", "category", "label",
    "result", "clearly", "definitely", "therefore", "so", "i", "would", "say", "think", "stage", "retina", "or", "and",
    "in", "my", "non", "not", "no", "none", "option", "choice", "group", "confidence", "yes", "status", "s", "years?",
    "old", "[a-d]", "sure", "certainly", "assistant", "assessment", "here", "are", "picture", "scan",
)  # fmt: skip

FILLERS_ZH = (
    "眼底?", "的", "或", "和", "是", "为", "诊断", "答案", "结果", "该", "图像", "未见", "无", "非", "没有",
    "患者", "岁", "及", "以及", "与",
)  # fmt: skip
"""Words without a meaning of their own beside a choice."""

MODIFIERS_EN = (
    "early", "late", "mild", "moderate(?:ly)?", "severe(?:ly)?", "advanced", "primary", "secondary", "open-angle",
    "open angle", "angle-closure", "narrow-angle", "chronic", "acute", "definite", "obvious", "visible",
    "marked(?:ly)?", "significant(?:ly)?", "bilateral", "unilateral", "right", "left", "dry", "wet", "neovascular",
    "exudative", "atrophic", "hard", "soft", "confluent", "multiple", "several", "few", "some", "many", "numerous",
    "scattered", "small", "large", "typical", "classic", "nuclear", "cortical", "subcapsular", "posterior", "senile",
    "dense", "mature", "immature", "hypermature", "background", "proliferative", "non-?proliferative", "branch",
    "central", "hemi", "retinal", "choroidal", "chorioretinal", "macular", "intraretinal", "preretinal", "subretinal",
    "vitreous", "dot", "blot", "flame-?shaped", "pigmented", "flat", "peripheral", "high", "degenerative",
    "pathologic(?:al)?", "changes?", "signs?", "features?", "stage", "grade", "type", "form", "present", "severity",
    "intermediate", "geographic", "atrophy", "ocular", "most", "very", "highly", "likely", "probabl[ey]",
    "consistent with", "evidence", "undoubtedly", "unquestionably", "unmistakabl[ey]", "evidently",
    "unequivocal(?:ly)?", "clear-cut", "hence", "thus", "(?:no|without|beyond) doubt", "seen", "detected", "found",
    "noted", "observed", "identified", "apparent",
)  # fmt: skip

MODIFIERS_ZH = (
    "明确", "确诊", "肯定", "早期", "中期", "晚期", "进展期", "轻度", "中度", "重度", "严重", "原发性", "继发性",
    "开角型", "闭角型", "慢性", "急性", "双眼", "左眼", "右眼", "明显", "典型", "可见", "多个", "多发", "散在", "少量",
    "大量", "征象", "改变", "表现", "迹象", "老年性", "增殖期", "增殖性", "湿性", "干性", "视网膜", "片状", "点状",
    "火焰状", "存在", "有", "患有", "显示", "考虑", "提示",
)  # fmt: skip
"""Attributes of a condition that keep its assertion."""
