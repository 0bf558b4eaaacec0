"""Words that call a statement true or false, and the words around them; see `lmod_train.core.vocabulary`."""

from __future__ import annotations

TRUE_EN = ("true", "correct", "right", "accurate", "valid", "truthful", "factual", "correctly", "accurately")
FALSE_EN = ("false", "incorrect", "wrong", "inaccurate", "invalid", "untrue", "mistaken", "erroneous", "incorrectly")
TRUE_ZH = ("正确", "准确", "属实", "真实", "无误", "相符", "符合", "一致", "吻合", "对", "真")
FALSE_ZH = ("错误", "有误", "失实", "不实", "不符", "矛盾", "错", "假")
"""Verdicts on a statement."""

ALONE_TRUE = ("yes", "yeah", "yep", "t", "是的?", "嗯")
ALONE_FALSE = ("no", "nope", "f", "否", "不是的?")
"""Verdicts only where nothing but a label or a reason is beside them."""

SUBJECTS_EN = (
    "statement", "text", "description", "claim", "sentence", "assertion", "caption", "content", "proposition", "it",
    "this", "that", "which", "answer", "response", "judge?ment", "verdict", "conclusion", "reply",
)  # fmt: skip
SUBJECTS_ZH = (
    *("说法", "描述", "文本", "内容", "陈述", "表述", "叙述", "论述", "文字", "观点", "这句话", "该句", "答案", "回答"),
    *("判断", "结论", "论断", "判定"),
)
"""What a verdict is about."""

LEADS_EN = (
    "so", "thus", "hence", "therefore", "indeed", "rather", "it is", "it's", "that is", "that's", "this is", "i", "i'd",
    "would", "say", "think", "believe", "judge", "answer", "response", "verdict", "judge?ment", "conclusion", "result",
    "go with", "choose", "select", "is", "the", "my", "final", "a", "an", "and", "then", "hello", "well", "statement",
    "text", "output", "choice", "option", "probably", "likely", "most likely", "definitely", "clearly", "absolutely",
    "completely", "entirely", "totally", "certainly", "obviously", "actually", "in fact", "perfectly",
    "to be", "as", "of",
)  # fmt: skip
LEADS_ZH = (
    *("答案?", "回答", "判断", "结论", "结果", "选择?", "最终", "我", "认为", "觉得", "其实?", "是", "为", "应该?",
    "所以", "因此"),
    *("故", "而是", "不如说", "完全", "绝对", "确实", "基本", "非常", "很可能", "极?有可能(?=是|为)", "大概率", "多半",
    "您好", "你好"),
    *("嗯", "这", "此", "该", "它", "图", "就", "说得?", "判定", "综上", "属于", "的", "上", "也"),
)  # fmt: skip
"""Words that may stand alone before a verdict."""

FIT_EN = r"(?:match(?:es)?|fits?|agrees? with|corresponds? to|reflects?|(?:in line|consistent) with)"
"""Words by which a description is true of an image."""

HEDGES_EN = (
    "might", "may", "could", "possibl[ey]", "perhaps", "maybe", "partially", "partly", "half", "would be", "would have",
    "if", "unless", "whether", "(?:not )(?:entirely|completely|fully|wholly|totally|quite|strictly)", "somewhat",
    "in part", "only", "either", "mostly", "not sure", "uncertain", "unclear",
)  # fmt: skip
HEDGES_ZH = (
    *("(?<!很)(?<!极)(?<!极有)(?<!最)(?<!大)可能", "也许", "或许", "部分", "如果", "若", "假如", "假设", "是否",
    "能否", "不完全"),
    *("不一定", "不全", "未必", "半", "不确定", "无法", "不能", "难以", "除非", "才"),
)  # fmt: skip
"""Words before a verdict that leave it open."""
NOT_EN = (
    r"(?:anything but|nowhere near|no longer|short of|the opposite of|hardly|scarcely)(?: (?:an?|the))?",
    r"(?:not|never|hardly|far from|neither|no|cannot be|can't be)(?: (?:an?|be|at all|really|actually|the))?",
    r"(?:is|was|are|does|do|did|would)n't(?: (?:an?|be))?",
)
NOT_ZH = (
    "挑不出", "没什么", "[谈称算]不上", "不尽", "并?不", "并?没有?", "并?无", "并?非", "并?不是", "不算", "不太",
    "不够", "并?没有?(?:任何|什么)", "不能算", "并?不存在",
)  # fmt: skip
"""Words directly before a verdict that turn it into its opposite."""
