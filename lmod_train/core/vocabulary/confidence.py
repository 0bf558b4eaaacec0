"""Words of a stated confidence."""

from __future__ import annotations

LABELS_EN = (
    r"(?:my |the |overall |self-rated |level of ){0,2}(?:confidence|certainty)"
    r"(?: (?:level|score|rating|value|percentage|estimate))?"
    r"(?: in (?:this|my|the|that) (?:\w{1,12} )?(?:answer|choice|diagnosis|decision|option|response|selection))?",
)
LABELS_ZH = ("置信(?:度|水平)", "信心(?:水平|指数|程度|度)?", "把握(?:程度|度)?", "确信度", "可信度")
"""Labels of the confidence."""
LINKS_EN = ("is", "of", "at", "would be", "was")
LINKS_ZH = ("是", "为")
"""Words between the label and its value."""
FILLERS_EN = (
    *("about", "around", "approximately", r"approx\.?", "roughly", r"ca\.?", "over", "above", "at least", "at most"),
    *("up to", "nearly", "almost", "between", "from", "high", "low", "moderate", "medium", "very", "quite", "fairly"),
)
FILLERS_ZH = ("大?约为?", "大概", "在", "介于", "较?高", "较?低", "中等?", "非常")
"""Words in front of the number."""
CERTAIN_EN = ("confident", "sure", "certain", "confidence(?! (?:interval|limit|band|region))", "certainty")
CERTAIN_ZH = ("的?(?:把握|信心|置信度|确信|可信度|确定)",)
"""Words behind a percentage that make it a confidence."""
PERCENT = ("%", "per ?cent(?![a-z])", "pct(?![a-z])")
"""Signs of a percentage."""
ASKED_EN = ("confiden(?:t|ce)", "certainty", "how (?:sure|certain)")
ASKED_ZH = ("置信", "信心", "把握", "确信", "可信度")
"""Words by which a question asks for a confidence."""
DENIED_EN = (
    *("not(?! (?:only|just))", "never", "neither", "nor", "no(?! doubt)", "wrong", "incorrect", "false", "unlikely"),
    *("excluded?", "ruled? out", "eliminated?", "against"), "(?:is|was|does|do|can|could|would)n't",
)  # fmt: skip
DENIED_ZH = ("不是", "不选", "不对", "并非", "不可能", "不应", "排除", "错误", "没有", "而非")
"""Words behind a confidence by which it is one in a denial."""
