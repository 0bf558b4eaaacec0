r"""The words around a clinical word that decide what a sentence says of it.

Entries are regular-expression fragments in lower case without groups that capture; a blank stands for white space.
English entries are matched as whole words, Chinese ones anywhere. Sources: the negation lists follow NegEx (Chapman et
al. 2001, pseudo-negations included) cut down to what replies to the benchmarks' prompts use; refusals follow the
response examples of LMOD (appendix G, figure 8), LMOD+ (Table 8, figure 7) and the regression rows of
MedEvalKit and VLMEvalKit that read "cannot" as an answer.
"""

from __future__ import annotations

YES = ("yes", "true", "positive", "present", "是的", "是", "对", "正确", "有", "真", "存在", "阳性")
NO = ("no", "false", "negative", "absent", "不是", "否", "不对", "错误", "错", "没有", "无", "假", "不存在", "阴性")

DENIALS_EN = (
    r"no(?! doubt| question| longer| matter| wonder| other than)",
    r"not(?! only| just| merely| simply| to mention)",
    r"(?:is|are|was|were|do|does|did|has|have|had)n't",
    r"(?:can't|cannot|can not|could not|couldn't) (?:see|find|detect|observe|identify any|identify signs|note|spot)",
    "without(?! doubt| question)",
    "neither",
    "nor",
    "none of",
    "never",
    "absence of",
    "absent",
    "lacks?",
    "lacking",
    "free of",
    "free from",
    "negative for",
    "excludes?",
    "excluding",
    "rules out",
    "ruled out",
    "ruling out",
    "rather than",
    "instead of",
    "unlikely to (?:be|have|indicate|represent)",
    "as opposed to",
)
DENIALS_ZH = (
    "未见",
    "未发现",
    "未提示",
    "未显示",
    "未出现",
    "未患",
    "并未",
    "没(?:有|发现|见)",
    "不是",
    "并非",
    "不存在",
    "不支持",
    "不符合",
    "不考虑",
    "不提示",
    "不像",
    "否认",
    "看不到",
    "排除",
    "除外",
    "(?<!毫)无(?!法|疑|论)",
    "(?<!除)非(?!常)",
)
DENIED_AFTER_EN = (
    "absent",
    "not",
    "no(?! doubt)",
    "none",
    "false",
    "negative",
    "excluded",
    "ruled out",
    "unlikely",
    "(?:very|highly|quite) unlikely",
    "isn't",
    "wasn't",
)
DENIED_AFTER_ZH = (
    "阴性",
    "不存在",
    "可能性(?:很|较|极)?(?:小|低)",
    "(?:可|可以|被|已)?排除",
    "依据不足",
    "证据不足",
    "的?可能性不大",
)

HEDGES_EN = (
    "if",
    "whether",
    "may",
    "might",
    "could",
    "possibly",
    "possible",
    "possibility of",
    "potential(?:ly)?",
    "perhaps",
    "maybe",
    "cannot be sure",
    "(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not possible to|impossible to|"
    "difficult to|hard to|"
    "not (?:enough|sufficient) (?:information|evidence) to) (?:\\w+ ){0,2}?(?:diagnose|determine|tell|"
    "confirm|say|provide|"
    "assess|make|give|evaluate|conclude|offer|answer|interpret|identify|exclude|rule out|distinguish|be excluded|"
    "be ruled out|judge|detect if|establish)",
    "risks? (?:of|for|factors? for)",
    "history of",
    "treat(?:ment|ed|ing)? (?:of|for)?",
    "used (?:to|for|in)",
    "to (?:detect|determine|diagnose|evaluate|assess|screen for|monitor|check for|rule out|exclude|look for)",
    "(?:screen|screened|screening|evaluated?|evaluation|assess(?:ed|ment)|monitor(?:ed|ing)?|tested|test|"
    "checked|examined)"
    " for",
    "(?:diseases|conditions|disorders|pathologies) (?:such as|like|including|are)",
    "patients? with",
    "people with",
    "eyes? with",
    "seen in(?: \\w+){0,2}",
    "compared (?:to|with)",
    "unlike",
    "between",
    "among",
    "differential(?: diagnos[ie]s)?",
    "options?(?: are| include|:)",
)
HEDGES_ZH = (
    "是否",
    "(?<!很)(?<!极)(?<!最)(?<!不)可能(?!性)",
    "(?:不能|无法|难以|不可|尚不能)(?:完全|明确)?(?:排除|除外|判断|确定|诊断|确认|区分|给出|提供|识别)",
    "不(?:排除|除外)",
    "疑似",
    "待排",
    "如果",
    "风险",
    "筛查",
    "用于",
    "治疗",
    "例如",
    "比如",
    "鉴别",
)
HEDGED_AFTER_EN = (
    "(?:cannot|can't|can not|could not|couldn't) be (?:excluded|ruled out|confirmed|determined|diagnosed|assessed)",
    "(?:may|might|could) be(?: present| possible| suspected)?",
    "(?:is|are) an? ",
    "(?:is|are) (?:one of )?(?:the )?(?:second |most )?(?:leading|common|major) ",
    "(?:is|are) (?:often|usually|typically|commonly|generally|characterized|caused|defined|associated|diagnosed by|"
    "diagnosed with|diagnosed through|possible)",
    "causes?",
    "can (?:cause|lead|result|occur|be (?:diagnosed|treated|caused|detected))",
    "affects?",
    "occurs?",
    "refers? to",
    "develops?",
    "surgery",
    "extraction",
    "removal",
    "screening",
    "treatment",
    "medications?",
    "suspects?",
    "risk",
    "specialist",
)
HEDGED_AFTER_ZH = (
    "是一种",
    "是一组",
    "是(?:常见|主要)",
    "手术",
    "筛查",
    "(?:不能|无法|不)(?:排除|除外|确定)",
    "待排",
    "风险",
)

ASSERTIONS_EN = (
    "is",
    "it's",
    "are",
    "was",
    "has",
    "have",
    "having",
    "with",
    "shows?",
    "showing",
    "shown",
    "contains?",
    "reveals?",
    "revealing",
    "indicat(?:es?|ing|ive|ion)",
    "suggest(?:s|ing|ive)?",
    "consistent with",
    "compatible with",
    "characteristics? of",
    "typical of",
    "signs? of",
    "evidence of",
    "features? of",
    "findings? of",
    "presence of",
    "case of",
    "diagnos(?:is|ed|tic)",
    "demonstrat(?:es?|ing)",
    "displays?",
    "displaying",
    "depicts?",
    "exhibits?",
    "exhibiting",
    "confirms?",
    "likely",
    "probabl[ey]",
    "suffer(?:s|ing)",
    "represent(?:s|ing)?",
    "detected",
    "appears?",
    "looks?",
    "seems?",
    "points? to(?:wards?)?",
    "pointing to(?:wards?)?",
    "identified as",
    "classif(?:y|ied)",
    "think",
    "believe",
    "say",
    "choose",
    "select",
    "pick",
    "conclude",
    "answer",
    "see",
    "supports?",
    "supporting",
    "meets? the criteria for",
)
ASSERTIONS_ZH = (
    "是",
    "为",
    "诊断",
    "考虑",
    "提示",
    "显示",
    "符合",
    "患有",
    "存在",
    "有",
    "可见",
    "表现",
    "属于",
    "支持",
    "可能",
    "倾向",
    "见",
)
ASSERTED_AFTER_EN = (
    "present",
    "detected",
    "seen",
    "observed",
    "evident",
    "visible",
    "likely",
    "confirmed",
    "diagnosed",
    "noted",
    "identified",
    "suspected",
    "apparent",
    "the (?:most likely |likely |correct |probable |primary )?(?:diagnosis|disease|condition|answer)",
)
ASSERTED_AFTER_ZH = (
    "可能性(?:很|较|极)?(?:大|高)",
    "阳性",
    "明确",
    "存在",
    "的?(?:典型)?(?:表现|征象|特征|改变|眼底|图像)",
    "样改变",
)

# A negation before these does not reach behind them: "not round and is consistent with", "no haze, hence".
SCOPE_ENDS_EN = (
    "so",
    "hence",
    "thus",
    "therefore",
    "because",
    "despite",
    "since",
    "except",
    "(?:and|which) (?:is|are|has|have|shows?|indicates?|suggests?|confirms?|it|the|there)",
)
LIST_WORDS = r"\b(?:or|nor|and)\b|/|及|或|和|、|以及"
CONTRASTS_EN = ("but", "however", "though", "although", "whereas", "while", "yet", "instead(?! of)", "rather(?! than)")
CONTRASTS_ZH = ("但是", "然而", "不过", "但", "而是")

FINAL_EN = (
    "(?:my |the )?final (?:answer|diagnosis|decision|verdict)",
    "(?:my |the )?correct(?:ed)? (?:answer|diagnosis)",
    "the answer",
)
FINAL_ZH = ("最终(?:答案|诊断|结论|判断)", "答案(?:是|为)")
CORRECTIONS_EN = (
    "correction",
    "i meant?",
    "on second thought",
    "actually",
    "wait",
    "let me correct(?: that| myself)?",
    "i correct myself",
)
CORRECTIONS_ZH = ("更正", "纠正", "修正", "应为", "应该是")
CONCLUSIONS_EN = ("in conclusion", "to conclude", "conclusion", "overall", "in summary", "to sum up")
CONCLUSIONS_ZH = ("综上所述", "综上", "总之", "结论")

VERDICT_LABELS = (
    "(?:disease|condition)(?: name)?",
    "(?:primary |most likely |likely |final )?diagnosis",
    "(?:final )?answer",
    "classification",
    "prediction",
    "verdict",
    "result",
    "疾病(?:名称)?",
    "诊断(?:结果)?",
    "最终诊断",
    "(?:最终)?答案",
    "结果",
    "分类",
)
EXPLANATION_LABELS = (
    "explanations?",
    "justifications?",
    "reason(?:s|ing)?",
    "rationale",
    "evidence",
    "解释",
    "理由",
    "说明",
    "原因",
    "依据",
)

# "Normal" said of a part is no diagnosis: "normal cup-to-disc ratio", "the vessels look healthy".
PARTS = (
    r"dis[ck]s?|cups?|cup-to-dis[ck]|macula|macular|fovea|foveal|vessels?|vasculature|vascular|nerves?|"
    r"lens|margins?|ratio|"
    r"pressure|iop|colou?r|cornea|rim|retinal layers|background|arter(?:y|ies)|veins?|periphery|contours?|"
    r"boundar(?:y|ies)|"
    r"视盘|视杯|杯盘比|黄斑|血管|晶状体|角膜|神经|边界|颜色|眼压"
)
WHOLES = (
    r"(?:(?:retinal|human|ocular|colou?r|looking|appearing) )*(?:fundus|retina|eyes?|images?|photos?|photographs?|scan|"
    r"appearance|appearing|findings?|results?|case|subject|condition|patient|person|limits|眼|图像)|"
    r"with|without|and|or|in|for|at|on|of|as|overall|based|because|since|given|no|there|which|that|it|to"
)

REFUSALS_EN = (
    "(?:(?:i'm|i am|we're|we are) )?sorry",
    "i apologi[sz]e",
    "(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not qualified to|not possible to|impossible to|"
    "difficult to|won't|will not|not comfortable|not in a position to|not equipped to|refuse to|decline to|"
    "do not feel able to) (?:\\w+ ){0,3}?(?:diagnos\\w+|determin\\w+|tell|confirm|say|provid\\w+|"
    "assess\\w*|mak\\w+|giv\\w+|"
    "evaluat\\w+|conclud\\w+|offer|answer|interpret\\w*|identif\\w+|assist|help|comply|analy[sz]\\w+|"
    "view|see|process|judge|"
    "decide|be determined|be made|be assessed|be diagnosed|read)",
    "(?:don't|do not|doesn't|does not|didn't) (?:\\w+ )?(?:have|provide|contain|offer|show|"
    "give) (?:\\w+ )?(?:enough|sufficient|"
    "adequate) (?:\\w+ ){0,2}?(?:information|detail|details|evidence|data|quality|resolution)",
    "not (?:enough|sufficient) (?:information|detail|evidence|data)",
    "insufficient (?:\\w+ )?(?:information|evidence|data|quality|detail)",
    "image (?:is )?(?:not clear enough|too (?:blurry|blurred|dark|unclear))",
    "(?:consult|see|visit|contact|seek advice from|refer\\w* to|seek)(?: with)? (?:an? |the |your |his |"
    "her |their |medical )?"
    "(?:\\w+ ){0,4}?(?:ophthalmologists?|optometrists?|doctors?|physicians?|professionals?|specialists?|"
    "provider|care provider|"
    "attention|advice|experts?)",
    "(?:needs?|requires?|need for) (?:an? )?(?:\\w+ )?(?:comprehensive|further|additional|full|clinical|"
    "complete) (?:\\w+ )?"
    "(?:examination|evaluation|testing|tests|assessment|information)",
    "as an ai(?: language| assistant)?(?: model)?",
    "i(?:'m| am) (?:just |only )?an ai",
    "i(?:'m| am) not (?:a |an )?(?:doctor|medical|ophthalmologist|physician)",
    "not (?:an? )?(?:eye|fundus|retinal|ophthalmic|ophthalmology|medical)(?: \\w+)? (?:image|photograph|photo|scan)",
    "(?:don't|do not) know",
    "not sure",
    "unsure",
    "uncertain",
    "undetermined",
    "unknown",
    "indeterminate",
    "inconclusive",
    "cannot be determined",
    "no image (?:was |is |has been )?(?:provided|attached|visible|uploaded)",
    "n/a",
)
REFUSALS_ZH = (
    "抱歉",
    "对不起",
    "(?:无法|不能|不可以|难以|没有办法)(?:根据|从|通过|仅凭|对|为|直接|准确|明确)?.{0,12}?(?:判断|确定|诊断|提供|识别|回答|给出|评估|"
    "分析|确认|辨认|做出|作出|下结论|看到)",
    "(?:建议|请|应|需)(?:您|患者|尽快|及时)?(?:咨询|就诊|就医|寻求|前往|到).{0,10}?(?:医生|医师|医院|眼科|专业|专家|就诊)?",
    "信息不足",
    "不清晰.{0,6}(?:无法|不能)",
    "我不是(?:医生|眼科医生)",
    "作为(?:一个)?(?:人工智能|AI|ai|语言模型)",
    "不(?:知道|确定|清楚)",
)

NUMERALS = {
    **dict(
        zip(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
            range(11),
            strict=True,
        )
    ),
    **dict(zip(("i", "ii", "iii", "iv", "v", "vi"), range(1, 7), strict=True)),
    **dict(zip("〇一二三四五六七八九十", range(11), strict=True)),
    "零": 0,
    "两": 2,
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
}
"""Words for small whole numbers; Roman ones stand for a number only after a label such as "Stage"."""

STAGE_LABELS = ("stage", "grade", "stadium", "level", "分期", "分级", "阶段", "期", "级")
UNITS = (
    r"%|percent|(?:µ|μ|u|m|c|n)m\b|microns?|micromet(?:er|re)s?|millimet(?:er|re)s?|mmhg|degrees?|°|"
    r"years?|months?|weeks?|"
    r"diopters?|d\b|微米|毫米|年|岁|度|倍"
)
