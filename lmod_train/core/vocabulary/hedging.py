"""Phrases that leave a mention open, make it conditional, or attribute it to another person or eye."""

from __future__ import annotations

_FORCED_CHOICE = (
    r"(?:i (?:have|had|must|were|am|was)(?: \w{1,10}){0,2} to|i must|"
    r"(?:forced|pressed|pushed|required|asked|obliged) to)"
)
"""A forced choice is an answer: "if I had to choose, I would say male"."""
_GIVEN_OPTIONS = (
    r"(?:(?:\w{1,12} ){0,3}(?:options?|choices|candidates|possibilities|categories|alternatives"
    r"|diagnoses|labels|classes)"
    r"|(?:all )?(?:the )?(?:two|three|four|five|six|eight|these|those|them)(?! (?:are|were|\w{3,12}s)(?![a-z])))"
)
"""The options of a choice: "the most likely among the given options is"."""
_INVERTED_CONDITION = r"^(?:had|were|should) (?:the|it|there|this|these)"
CONDITIONALS_EN = (rf"if(?! {_FORCED_CHOICE})", _INVERTED_CONDITION, "unless", "provided that", "in case", "assuming")
"""Openings of a condition, which holds for the rest of the clause."""
CONDITIONALS_ZH = ("如果", "若", "假如", "假设")
OTHER_SUBJECTS_EN = (
    "(?:grand|step|god)?(?:mother|father|parent|son|daughter|child)(?:-in-law)?s?", "brothers?", "sisters?",
    "siblings?", "twins?", "aunts?", "uncles?", "cousins?", "nieces?", "nephews?", "husbands?", "wife", "spouse",
    "relatives?", "famil(?:y|ies)(?: members?)?", "friends?", "neighbou?rs?", "colleagues?", "doctors?",
    "physicians?", "nurses?", "examiners?", "(?:mum|mom|dad)",
    "(?:another|(?:the )?(?:previous|last|other|next|earlier)) (?:patient|person|case|subject|eye|image|photograph)",
    "(?:fellow|contralateral|opposite) eye",
)  # fmt: skip
"""Persons and eyes other than the one in question: "my mother has glaucoma" is no statement about it."""
OTHER_SUBJECTS_ZH = (
    "家族|既往",
    "(?:母亲|父亲|父母|妈妈|爸爸|爷爷|奶奶|祖父|祖母|外公|外婆|外祖父|外祖母|哥哥|弟弟|姐姐|妹妹|兄弟|姐妹|儿子|女儿"
    "|子女|丈夫|妻子|配偶|亲戚|亲属|家属|家人|朋友|邻居|同事)",
    "(?:另一|另外一)(?:位|名|个|只)?(?:患者|病人|眼)", "对侧眼",
)  # fmt: skip
_OTHER_AUTHORS = (
    "(?:screener|referrer|referral|optician|optometrist|gp|doctor|nurse|technician|student|colleague|chart|record|file"
    "|(?<!my\\s)report|letter|software|algorithm|label|folder)"
)
"""Authors other than the reply itself: "the screener entered stage 4"."""
HEDGES_EN = (
    "(?:is|are|can be|may be|could be) (?:often |usually |commonly )?(?:(?:an?|one of the|the (?:classic|typical)) "
    "(?:\\w{1,12} ){0,2}(?:signs?|features?|symptoms?|markers?)|(?:an?|one of the|the) (?:\\w{1,12} )?hallmarks?) of",
    "(?:often |commonly |usually |frequently )?associated with",
    "to (?:classify|label|call|diagnose|grade)(?: \\w{1,12}){0,2} as",
    "(?:greater|larger|more|higher|above|over|exceeding)(?: than)? [0-9.]{1,5} (?:is |are )?"
    "(?:suggestive of|suggests?|indicates?|means?)",
    "(?:difficult|hard|impossible) to (?:believe|argue|accept)", "at odds with", "different (?:from|to)",
    "least likely(?: \\w{1,12})? (?:is|would be)", _INVERTED_CONDITION, rf"if(?! {_FORCED_CHOICE})", "whether", "may",
    "might", "could(?! (?:find|see|detect|identify|discern|observe|spot|note) (?:no|none|neither))", "possibly",
    "possible", "possibility of", "potential(?:ly)?", "perhaps", "maybe", "cannot be sure",
    "neither non[- ]\\w{1,20} nor",
    "neither (?:confirm|diagnose|establish|include) nor (?:exclude|rule out|deny|refute)",
    "(?:look|looking|search|searching|check|watch) for",
    "(?:cannot|can't|can not|could not) be (?:said|concluded|stated|established)",
    "not (?:unlikely|improbable|impossible)", "suspicious (?:for|of)", "suspicions? (?:for|of)", "suspected",
    "suspects?", "concern(?:ing|s|ed)? (?:for|of|about)", "worrisome for", "question of", "questionable", "equivocal",
    "borderline", "unless", "provided that", "in case", "assuming",
    r"(?<!i\scan\s)(?<!we\scan\s)(?<!i\swould\s)(?<!can\ssafely\s)rule out",
    "insufficient (?:evidence|information|data)(?: (?:of|for|to))?", "too (?:\\w{1,15} ){1,3}(?:to|for)",
    "(?:assessment|evaluation) (?:of|for)",
    "(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not possible to|impossible to|"
    "difficult to|hard to|"
    "not (?:enough|sufficient) (?:information|evidence) to) (?:\\w{1,30} ){0,2}?(?:diagnose|determine|tell|"
    "confirm|say|provide|grade|stage|classify|"
    "assess|make|give|evaluate|conclude|offer|answer|interpret|identify|exclude|rule out|distinguish|be excluded|"
    "comment|opine|speculate|speak|advise|help|assist|" "be ruled out|judge|detect if|establish)",
    "risks? (?:of|for|factors? for)", "history of", "treat(?:ment|ed|ing)? (?:of|for)?", "used (?:to|for|in)",
    "to (?:detect|determine|diagnose|evaluate|assess|screen for|monitor|check for|rule out|exclude|look for)",
    "(?:screen|screened|screening|evaluated?|evaluation|assess(?:ed|ment)|monitor(?:ed|ing)?|tested|test|"
    "checked|examined)" " for",
    "(?:diseases|conditions|disorders|pathologies) (?:such as|like|including|are)",
    r"(?<!is\sa\s)(?<!from\sa\s)(?<!of\sa\s)(?<!to\sa\s)(?<!this\s)patients? with", "people with",
    r"(?<!is\san\s)(?<!shows\san\s)(?<!depicts\san\s)(?<!this\s)(?<!of\san\s)eyes? with",
    "(?:eyes|patients|people|those|subjects|individuals) without", "seen in(?: \\w{1,30}){0,2}", "compared (?:to|with)",
    "unlike", "(?:sometimes|occasionally|at times)", "for (?:example|instance)", "between",
    rf"among(?! {_GIVEN_OPTIONS})", "differential(?: diagnos[ie]s)?", "options?(?: are| include)", "options:",
    "(?:asked|wonder(?:ed|ing)?|question|enquir(?:ed|y)|inquir(?:ed|y)) (?:about|whether|if)",
    "(?:reluctant|loath|unwilling|hesitant|tempt(?:ed|ing)|too early|premature|refuse|decline|far be it from me) to",
    "(?:some|others|many|people|(?<!no\\s)one|you) (?:would|might|may|could|will)",
    "as (?:one|we|you) (?:sees?|finds?|expects?)", "as (?:seen|found|expected) in", "(?:was|were|been) told",
    "(?:referral|letter|title|file ?name|caption|prompt|template|chart|example answer"
    "|previous (?:report|answer|model))",
    "(?:drops?|medications?|medicines?|pills|therap(?:y|ies)|drugs?|surgery|laser|operat(?:ion|ed))"
    " (?:\\w{1,12} ){0,2}for",
    "(?:too much|not enough) for", "^(?:please )?(?:think|beware) of",
    "about to (?:say|write|answer|call|conclude|diagnose)",
    "(?:worried|anxious|afraid|scared|fears?|fearful|feared)(?: (?:about|of|that))?",
    r"(?<!not\s)(?<!n't\s)hesitate to",
    "(?:not|n't|never) (?:go so far as|ready|prepared|willing|inclined|dare|about|in a position|confident enough"
    "|qualified|licen[sc]ed|trained|permitted|allowed|authori[sz]ed|competent|equipped|comfortable|designed) to",
    "(?:not|n't|cannot|never|neither) (?:yet )?(?:claim|assert|affirm|maintain|declare|vouch|commit)",
    f"(?:{'|'.join(OTHER_SUBJECTS_EN)})", r"either(?!\s?[.,:;])(?! (?:way|case|side|eye))",
    "^with(?:out)? (?!(?:this|these|such|the)(?![a-z]))(?:\\w{1,12} ){1,6}(?:it|this|that) would (?:be|have been)",
    f"{_OTHER_AUTHORS} (?:\\w{{1,10}} )?(?:says?|said|states?|stated|entered|wrote|writes|claims?|claimed|reads?"
    "|gives|gave|lists?|listed|noted|suspected|put|thought|diagnosed|called|graded|recorded|marked)",
    "what (?:\\w{1,10} ){0,3}(?:looks?|looked|seems?|seemed|appears?|appeared|pass) (?:like|as|to be|for)",
)  # fmt: skip
"""Hedges in front of a mention."""
HEDGES_ZH = (
    "(?:大于|超过|高于)[0-9.]{1,5}(?:即|则|时)?(?:提示|考虑|诊断)",
    "误诊", "有别于", "是否", "(?<!很)(?<!极)(?<!最)(?<!更)(?<!较)(?<!不)(?<!不太)(?<!不大)可能(?!性)",
    "不能(?:说|称|认为)", "(?:不好|很难|难)说", "不(?:敢|愿|肯|便)(?:断言|断定|说|称|认定)",
    "(?:不能|无法|难以|不可|尚不能)(?:完全|明确)?(?:排除|除外|判断|确定|诊断|确认|区分|给出|提供|识别)",
    "不(?:排除|除外)", "疑似", "可疑", "怀疑", "待排", "如果", "若", "假如", "假设", "风险", "筛查", "用于", "治疗",
    "例如", "比如", "鉴别", f"(?:{'|'.join(OTHER_SUBJECTS_ZH)})",
)  # fmt: skip
SUSPICIONS_EN = (
    "suspicious (?:for|of)", "suspicions? (?:for|of)", "suspected", "concern(?:ing|s)? (?:for|of|about)",
    "risk (?:of|for)", "suspect",
)  # fmt: skip
"""Hedges that become denials behind a negation: "not suspicious for glaucoma", "no concern for glaucoma"."""
SUSPICIONS_ZH = ("怀疑", "可疑")
HEDGED_AFTER_EN = (
    "(?:requires?|needs) (?:an?|the|at least)", "were (?:the|it|there|this|these)",
    "(?:(?:is|are|remains|yet) ){0,2}to be (?:confirmed|discussed|excluded|ruled out|verified|determined|clarified)",
    ",? ?(?:only )?(?:if|unless|provided)",
    "(?:is|are|can be|was) (?:present|diagnosed|seen|found) (?:only"
    " )?(?:if|when|unless|without|in the (?:fellow|other))",
    "(?:tests?|stud(?:y|ies)|experts?|assessment|evaluation|clinics?|drops|databases?|data ?sets?|grad(?:e|ing)"
    " (?:can|could)|repair|research)(?![a-z])",
    "(?:is|are|was|were|has|have)? ?(?:been )?not (?:been )?(?:assessed|evaluated|examined|mentioned|stated"
    "|reported|tested|known|graded|documented)",
    "(?:is|are) not (?:curable|always|necessarily|usually|often|contagious|reversible|painful|all)",
    "has no" " (?:cure|early|symptoms|single|known)", "nor non",
    "(?:runs |is |was |has been )?(?:in|within) (?:(?:the|his|her|their) )?(?:family|relatives|mother|father"
    "|siblings?|fellow eye|other eye)",
    "would be (?:premature|rash|hasty|speculat\\w{1,6}"
    "|too (?:early|much|bold)|going too far|an? (?:guess|overstatement))",
    "(?:only )?(?:if|unless|provided|when)",
    "(?:is|are|was|were|has|have|could|can)? ?(?:not|n't) (?:be |been )?(?:excluded|ruled out|confirmed|certain|clear)",
    "(?:(?:is|are|was|were|seems|appears) )?not (?:unlikely|improbable|impossible)",
    "(?:remains|is|are) (?:a )?(?:possib\\w{1,6}|questionable|equivocal|uncertain|unclear|unknown|borderline)",
    "(?:was|were|would be|would have been|seemed|had been) my (?:first|initial)",
    "(?:cannot|can't|can not|could not|couldn't) be (?:excluded|ruled out|confirmed|determined|diagnosed|assessed)",
    "(?:may|might|could) be(?: present| possible| suspected)?", "(?:is|are) an? ",
    "(?:is|are) (?:one of )?(?:the )?(?:second |most )?(?:leading|common|major) ",
    "(?:is|are) (?:often|usually|typically|commonly|generally|characterized|caused|defined|associated|diagnosed by|"
    "diagnosed with|diagnosed through|possible)",
    "causes?", "can (?:cause|lead|result|occur|be (?:diagnosed|treated|caused|detected))", "affects?", "occurs?",
    "refers? to", "develops?", "surgery", "extraction", "removal", "screening", "treatment", "medications?",
    "suspects?", "risk", "specialist", "(?:grade|stage|level|score) (?:0|zero)",
)  # fmt: skip
"""Hedges behind a mention, generic statements and treatments included."""
HEDGED_AFTER_ZH = (
    "是一种", "是一组", "是(?:常见|主要)", "手术", "筛查", "(?:不能|无法|不)(?:排除|除外|确定)", "待排", "待查",
    "可能(?!性)", "风险", "(?:家族)?病?史",
)  # fmt: skip
