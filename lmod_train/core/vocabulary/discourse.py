"""Phrases that structure a reply: contrasts, parentheses, final answers, corrections and conclusions."""

from __future__ import annotations

CONTRASTS_EN = (
    r"(?<!anything\s)(?<!nothing\s)(?<!cannot\s)but", "however", "though", "although", "whereas", "while",
    r"(?<!not\s)yet", "instead(?! of)", "rather(?! than)",
)  # fmt: skip
"""Conjunctions that open a new statement."""
CONTRASTS_ZH = ("但是", "然而", "不过", "但", "而是")
PARENTHESES_AFTER_SUBJECT_EN = (
    "however", "though", "too", "also", "in turn", "(?:in|by) (?:contrast|comparison)",
    "on the (?:other hand|contrary)", "for its part", "overall", "therefore", "thus", "on balance",
    "in this (?:image|eye|case|patient)", "as such",
)  # fmt: skip
"""Parentheses between commas behind a subject."""
PARENTHESES_AFTER_VERB_EN = (
    "however", "though", "too", "also", "indeed", "in fact", "alas", "clearly", "therefore", "thus", "overall",
    "(?:un)?fortunately", "in my (?:view|opinion|judge?ment|estimation|assessment)", "to my (?:mind|eye)",
    "i (?:think|believe|would say|am afraid|fear|am sure)", "in all (?:likelihood|probability)", "of course",
    "after all", "on balance", "as such", "in conclusion", "in short", "nonetheless", "nevertheless", "in the end",
)  # fmt: skip
"""Parentheses between commas behind a verb, without effect on the statement."""
FINAL_EN = (
    "(?:up)?on (?:re-?examination|reflection|review)(?=\\s?[:,])",
    "after (?:re-?examination|reconsideration|review|re-?evaluation|(?:a )?(?:second|closer) look)(?=\\s?[:,])",
    "the (?:most appropriate|best|most likely|right) answer (?:is|=)",
    "(?:my |the )?final (?:answer|diagnosis|decision|verdict)",
    "(?:my |the )?(?:correct|corrected|revised|amended|updated) (?:answer|diagnosis|stage|grade|level|group|age group"
    "|sex|reading|response|result|label|assessment|classification|verdict|conclusion|output)",
    "final(?=\\s?:)", "the answer should (?:have been|be)",
    "the answer (?:(?:to|for) (?:\\w{1,12}" " ){1,4}?)?(?:is|=)(?! only)",
)  # fmt: skip
"""Announcements of a final answer."""
FINAL_ZH = (
    "(?:复核|复查|复审|重新(?:评估|审阅|判断|检查))后(?=[:,])",
    "最终(?:答案|诊断|结论|判断)", "(?<!问题的)答案(?:应该?)?(?:是|为)",
    "(?:更正|纠正|修正|修改|改正|订正)(?:之)?后的?(?:答案|诊断|结论|结果|判断|分期|分级|年龄组|性别)?",
)  # fmt: skip
CORRECTIONS_EN = (
    "correction", "i meant?", "on second thought", "actually", "(?:no,? )?wait",
    "(?:(?:so|hence|thus|therefore|and),? )?"
    "(?:let me |i (?:need|have|want) to |i must |i should |i will |i'll |i (?:now |hereby )?|to )?"
    "(?:correct|revise|amend|change)"
    "(?: that| this| it| myself| my (?:answer|reply|response|diagnosis|reading|assessment|grade|stage))(?: (?:in)?to)?",
    "edit(?=\\s?:)", "erratum", "scratch that", "i take (?:that|it) back",
    "i (?:hereby )?(?:correct|contradict|overrule) myself", "i stand corrected",
    "(?:(?:so|hence|thus|therefore|now),? )?(?:corrected|changed|revised|amended|updated)(?: to)?(?=\\s?:)",
    "(?:(?:but|no|sorry|oh),? )?(?:that|this|it|which) (?:is|was) (?:wrong|incorrect|mistaken|an error"
    "|a mistake|a slip)",
)  # fmt: skip
"""Announcements of a correction."""
CORRECTIONS_ZH = (
    "(?:因此|所以|故|于是|现|应)?(?:我)?(?:要|需要|必须|来|将其|予以)?(?:更正|纠正|修正|订正)(?:一下|为|成)?", "应为",
    "应该是", "(?:不对|错了|等等|等一下|说错了),?\\s?(?:应该?)?(?:是|为)?",
    "(?:因此|所以|故|于是|现|应)?(?:我)?(?:改为|修改为|更改为|改成|改判为?)",
)  # fmt: skip
CONCLUSIONS_EN = ("in conclusion", "to conclude", "conclusion", "overall", "in summary", "to sum up")
"""Announcements of a conclusion."""
CONCLUSIONS_ZH = ("综上所述", "综上", "总之", "结论")
