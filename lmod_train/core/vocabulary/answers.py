"""Answers to yes-or-no questions: yes, no, refused and open.

For the format of the phrases see `lmod_train.core.vocabulary`.
"""

from __future__ import annotations

OPPOSITES = (
    ("yes", "no"), ("true", "false"), ("positive", "negative"), ("present", "absent"), ("是的", "不是"), ("是", "否"),
    ("对", "不对"), ("对", "错"), ("正确", "错误"), ("有", "没有"), ("有", "无"), ("真", "假"), ("存在", "不存在"),
    ("阳性", "阴性"),
)  # fmt: skip
"""Pairs of a positive and a negative answer; pairs, so that no layout is readable for one of them only."""
YES = tuple(dict.fromkeys(yes for yes, _ in OPPOSITES))
NO = tuple(dict.fromkeys(no for _, no in OPPOSITES))

# Further values of an answer slot ("Glaucoma: not detected").
_FOUND = "(?:detected|seen|found|visible|observed|evident|identified|noted|apparent|confirmed|diagnosed)"
SLOT_YES_EN = (
    f"(?:clearly |definitely )?{_FOUND}", "(?:very |highly |most )?(?:likely|probable|probably)",
    "(?:signs|evidence|features) (?:present|detected|seen|found)", "yeah", "yep",
)  # fmt: skip
SLOT_NO_EN = (
    f"(?:not|none|nothing) (?:clearly )?(?:present|{_FOUND})", "(?:is |are )?not (?:likely|probable)",
    "(?:very |highly |most )?(?:unlikely|improbable)",
    f"no (?:clear |definite |obvious |visible |apparent )?(?:signs?|evidence|features?|indications?|findings?)"
    f"(?: (?:is |are |was |were )?(?:present|{_FOUND})| of (?:it|this|the disease|the condition))?"
    "(?=\\W{0,9}(?:[\\n.;,]|$))",
    "undetected",
    "(?:certainly |definitely |absolutely )?not(?: (?:here|at all|in this (?:eye|image|case|patient)|that i can see))?",
    "none", "nil", "nope", "ruled out", "excluded",
)  # fmt: skip
SLOT_YES_ZH = ("可见", "已检出", "检出", "可能性(?:很|较|极)?(?:大|高)")
SLOT_NO_ZH = ("未见(?:明显)?(?:异常)?", "未(?:发现|检出|提示|显示)", "可能性(?:很|较|极)?(?:小|低)", "并无", "没")
SLOT_REFUSED_EN = (
    "unknown", "uncertain", "undetermined", "undeterminable", "indeterminate", "inconclusive", "ungradable",
    "ungradeable", "unclear", "unsure", "n/?a", "null", "nan",
    "not (?:assessed|evaluated|examined|known|stated|mentioned|reported|tested|graded)", "no (?:data|information"
    "|comment|opinion|answer)",
    "not (?:applicable|available|gradable|gradeable|assessable|determinable|determined|sure|certain|clear|possible)",
    "(?:unable|impossible|not able|not possible|difficult) to (?:determine|tell|say|assess|judge|diagnose|decide|answer"
    "|evaluate|grade|confirm|identify|see|interpret)",
    "(?:i )?(?:can't|cannot|can not|could not|couldn't) (?:be )?(?:determined?|tell|told|say|assess(?:ed)?|judged?"
    "|diagnosed?|decided?|answer(?:ed)?|evaluated?|graded?|confirm(?:ed)?|identif(?:y|ied)|see|seen|interpret(?:ed)?)",
    "(?:i )?(?:don't|do not) know",
    "(?:insufficient|inadequate|not enough|not sufficient)"
    "(?: (?:image )?(?:information|data|evidence|details?|quality|resolution))?",
    "no answer", "tbd", "(?:to be|not yet) determined", "pending",
)  # fmt: skip
SLOT_REFUSED_ZH = (
    "(?:无法|不能|难以)(?:完全|明确)?(?:判断|确定|诊断|识别|评估|确认|辨认|回答|分级|分期)?", "未知",
    "不(?:明确|明|确定|详|清楚|清|知道|知|适用|可评估)", "不能确定", "未确定",
)  # fmt: skip
SLOT_OPEN_EN = (
    "maybe", "possibl[ey]", "perhaps", "suspect(?:ed)?", "suspicious", "suspicion", "questionable", "equivocal",
    "borderline", "to be (?:confirmed|discussed|excluded|ruled out|verified|clarified)", "could be", "might be",
    "may be", "cannot be (?:excluded|ruled out)", "not (?:excluded|ruled out)", "either", "x{2,8}",
)  # fmt: skip
SLOT_OPEN_ZH = ("可能(?!性)", "疑似", "可疑", "待查", "待排除?", "怀疑", "也许", "或许", "不(?:能)?排除")
