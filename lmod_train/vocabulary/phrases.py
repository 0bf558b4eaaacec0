r"""The words around a clinical word that decide what a sentence says of it.

Entries are regular-expression fragments in lower case without groups that capture; a blank stands for white space.
English entries are matched as whole words, Chinese ones anywhere. Sources: the negation lists follow NegEx (Chapman et
al. 2001, pseudo-negations included) cut down to what replies to the benchmarks' prompts use; refusals follow the
response examples of LMOD (appendix G, figure 8), LMOD+ (Table 8, figure 7) and the regression rows of
MedEvalKit and VLMEvalKit that read "cannot" as an answer.
"""

from __future__ import annotations

_WRONG = (
    "(?:wrong|incorrect|mistaken|inaccurate|erroneous|misleading|unjustified|unreasonable|far-fetched"
    "|a mistake|an error|an overstatement|an exaggeration|a stretch)"
)
_CALL = "(?:call|describe|consider|deem|label|classify|regard|judge|diagnose|term|rate)"

DENIALS_EN = (
    r"no(?! doubt| denying| mistaking| question| longer| matter| wonder| other than)",
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
    "unlikely(?: to (?:be|have|indicate|represent))?",
    "improbable",
    "as opposed to",
    "(?:fails?|failed|failing) to (?:\\w{1,10}ly )?(?:show|demonstrate|reveal|exhibit|display|suggest|indicate|meet"
    "|find|detect|identify|uncover|disclose|confirm|support"
    "|bear out|turn up|yield|see|spot|note|observe|recogni[sz]e)",
    "(?:unable|not able) to (?:see|find|detect|observe|spot)",
    "(?:little|minimal|scant|scarce|sparse|meagre|hardly any|scarcely any|barely any|few)"
    " (?:\\w{1,12} )?(?:evidence|signs?|indications?|support|hints?|trace|grounds|reason)",
    "little (?:(?:here|that|which|in \\w{1,10}(?: \\w{1,10})?) )?(?:to )?"
    "(?:suggests?|indicates?|supports?|favou?rs?|points? to)",
    "nothing(?! (?:but|else than|less than|other than|short of))",
    "nowhere",
    "(?:anything but|far from)",
    "(?:hardly|scarcely|barely) an? (?:\\w{1,12} )?(?:sign|hint|trace|indication)",
    "little (?:speaks?|argues?) for",
    "(?:low|small|minimal|negligible|remote) (?:probability|likelihood|chance|suspicion|index of suspicion)",
    r"(?<!no\s)(?<!any\s)(?<!out\s)(?<!beyond\s)(?<!little\s)doubt(?:s|ful)?",
    "(?:argues?|speaks?|points?|lean(?:ing)?|decide|evidence) against",
    "inconsistent with",
    "incompatible with",
    "(?:i|we|i would|we can|can|i can) (?:exclude|rule out|dismiss|reject)",
    "no longer",
    r"(?<![0-9.])(?:0|zero) (?:\w{1,12} )?$",
    f"{_WRONG} to (?:{_CALL}|say|speak of|think|claim|conclude|suggest|assume|state|see|write|answer|put|tick"
    "|enter|report)",
    "(?:false|untrue|incorrect|wrong) that",
)
DENIALS_ZH = (
    "未见",
    "未(?:能|曾)?(?:发现|见到|看到|检出|观察到)",
    "未提示",
    "未显示",
    "未出现",
    "未患",
    "并未",
    "没(?:有|发现|见|看到|看见|观察到|检出|出现|找到)",
    "(?:谈|称|算)不上",
    "找不到",
    "缺乏",
    "缺少",
    "尚无",
    "尚未",
    "几乎没",
    "不(?:太|大)可能",
    "不能诊断",
    "不是",
    "并非",
    "不存在",
    "不支持",
    "不符合",
    "不考虑",
    "不提示",
    "不像",
    "否认",
    "看不(?:到|出|见)",
    "排除",
    "除外",
    "无(?!法|疑|论)",
    "(?<!除)非(?!常|增殖|增生)",
)
_SAID = (
    f"(?:{_CALL}|say|think|believe|claim|conclude|agree|suggest|mean|assume|true|correct|certain|the case|proof"
    "|evidence)"
)
_NOT = "(?:no|not|never|hardly|cannot|can't|don't|doesn't|isn't|wouldn't|didn't)"
DOUBLED_EN = (
    f"{_NOT} (?:\\w{{1,12}} ){{0,2}}?(?:without|free of|free from|negative for|lack(?:s|ing)?|absent|absence of"
    "|excluded?s?|excluding|rul(?:e|es|ed|ing) out|inconsistent with|incompatible with"
    "|doubt|doubtful|wrong|incorrect|a mistake)",
    f"(?:{_NOT} (?:\\w{{1,12}} ){{0,2}}?{_SAID}|{_WRONG} to \\w{{1,12}})(?: \\w{{1,12}}){{0,6}}?"
    " (?:no|not|without|free of|absent|absence|lacks?|negative for|isn't)",
)
DOUBLED_ZH = ("(?:并非|不是|不能说|不能认为)(?:没有|无|未见|不存在|不是|非)",)
"""A negation of a negation, which is not untangled."""
DENIED_AFTER_EN = (
    "absent",
    "not",
    "no(?! doubt)",
    "none",
    "false",
    "negative",
    "excluded",
    "ruled out",
    "(?:dismissed|rejected|discarded)",
    "(?:very |highly |quite |rather )?(?:unlikely|improbable|doubtful)",
    "(?:very |quite |rather |extremely )?(?:low|remote|minimal|negligible)(?! tension| pressure| grade)",
    "isn't",
    "wasn't",
    "aren't",
    "lacking",
    "out of the question",
    "(?:does|do|did)(?: not|n't) (?:appear|seem|look)",
    "undetected",
    "nowhere",
    r"(?:wrong|incorrect|mistaken|untrue)(?=\s?(?:$|[,.;:]))",
    "(?:can't|cannot|can not|could not|couldn't) be (?:found|seen|detected|discerned|observed|spotted|made out)",
)
DENIED_AFTER_ZH = (
    r"(?:否|无|没有)(?=\s{0,3}(?:$|[.;,。]))",
    "阴性",
    "不存在",
    "的?可能性(?:很|较|极)?(?:小|低)",
    "(?:可|可以|被|已)?排除",
    "依据不足",
    "证据不足",
    "不符",
    "的?可能性不大",
    "(?:的(?:典型)?(?:特征|征象|表现|改变|迹象|体征|证据))?(?:在[^,;。]{1,8}?)?(?:均|皆|都|也|并)?"
    "(?:未见|未发现|未检出|不存在|未(?:出现|观察到)|没有(?:出现|发现|看到|见到|观察到))",
    "(?:[、和及与或][^、和及与或,;.\\s]{1,14}){1,5}(?:的(?:典型)?(?:特征|征象|表现|改变|迹象|体征|证据))?"
    "(?:在[^,;。]{1,8}?)?(?:均|皆|都|也)?(?:未见|未发现|未检出|不存在|阴性|排除|未(?:出现|观察到)|没有(?:出现|发现|看到|见到))",
)

_OBLIGED = (
    r"(?:i (?:have|had|must|were|am|was)(?: \w{1,10}){0,2} to|i must|"
    r"(?:forced|pressed|pushed|required|asked|obliged) to)"
)
"""An answer under protest is an answer: "if I had to choose, I would say male"."""
_OF_CHOICES = (
    r"(?:(?:\w{1,12} ){0,3}(?:options?|choices|candidates|possibilities|categories|alternatives"
    r"|diagnoses|labels|classes)"
    r"|(?:all )?(?:the )?(?:two|three|four|five|six|eight|these|those|them)(?! (?:are|were|\w{3,12}s)(?![a-z])))"
)
"""What the choice is made among: "the most likely among the given options is"."""
_HAD = r"^(?:had|were|should) (?:the|it|there|this|these)"
CONDITIONALS_EN = (rf"if(?! {_OBLIGED})", _HAD, "unless", "provided that", "in case", "assuming")
CONDITIONALS_ZH = ("如果", "若", "假如", "假设")
"""What makes all that follows in its clause a supposition."""

BEARERS_ELSE_EN = (
    "(?:grand|step|god)?(?:mother|father|parent|son|daughter|child)(?:-in-law)?s?", "brothers?", "sisters?",
    "siblings?", "twins?", "aunts?", "uncles?", "cousins?", "nieces?", "nephews?", "husbands?", "wife", "spouse",
    "relatives?", "famil(?:y|ies)(?: members?)?", "friends?", "neighbou?rs?", "colleagues?", "(?:mum|mom|dad)",
    "(?:another|(?:the )?(?:previous|last|other|next|earlier)) (?:patient|person|case|subject|eye|image|photograph)",
    "(?:fellow|contralateral|opposite) eye",
)  # fmt: skip
BEARERS_ELSE_ZH = (
    "家族|既往",
    "(?:母亲|父亲|父母|妈妈|爸爸|爷爷|奶奶|祖父|祖母|外公|外婆|外祖父|外祖母|哥哥|弟弟|姐姐|妹妹|兄弟|姐妹|儿子|女儿"
    "|子女|丈夫|妻子|配偶|亲戚|亲属|家属|家人|朋友|邻居|同事)",
    "(?:另一|另外一)(?:位|名|个|只)?(?:患者|病人|眼)",
    "对侧眼",
)
"""Who or what has a disease that is not the eye in question: "my mother has glaucoma" says nothing of it."""

_OTHERS = (
    "(?:screener|referrer|referral|optician|optometrist|gp|doctor|nurse|technician|student|colleague|chart|record|file"
    "|(?<!my\\s)report|letter|software|algorithm|label|folder)"
)
"""Whose word is not the reply's own: "the screener entered stage 4"."""
HEDGES_EN = (
    _HAD,
    rf"if(?! {_OBLIGED})",
    "whether",
    "may",
    "might",
    "could(?! (?:find|see|detect|identify|discern|observe|spot|note) (?:no|none|neither))",
    "possibly",
    "possible",
    "possibility of",
    "potential(?:ly)?",
    "perhaps",
    "maybe",
    "cannot be sure",
    "neither non[- ]\\w{1,20} nor",
    "neither (?:confirm|diagnose|establish|include) nor (?:exclude|rule out|deny|refute)",
    "(?:look|looking|search|searching|check|watch) for",
    "(?:cannot|can't|can not|could not) be (?:said|concluded|stated|established)",
    "not (?:unlikely|improbable|impossible)",
    "suspicious (?:for|of)",
    "suspicions? (?:for|of)",
    "suspected",
    "suspects?",
    "concern(?:ing|s|ed)? (?:for|of|about)",
    "worrisome for",
    "question of",
    "questionable",
    "equivocal",
    "borderline",
    "unless",
    "provided that",
    "in case",
    "assuming",
    r"(?<!i\scan\s)(?<!we\scan\s)(?<!can\ssafely\s)rule out",
    "insufficient (?:evidence|information|data)(?: (?:of|for|to))?",
    "too (?:\\w{1,15} ){1,3}(?:to|for)",
    "(?:assessment|evaluation) (?:of|for)",
    "(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not possible to|impossible to|"
    "difficult to|hard to|"
    "not (?:enough|sufficient) (?:information|evidence) to) (?:\\w{1,30} ){0,2}?(?:diagnose|determine|tell|"
    "confirm|say|provide|grade|stage|classify|"
    "assess|make|give|evaluate|conclude|offer|answer|interpret|identify|exclude|rule out|distinguish|be excluded|"
    "comment|opine|speculate|speak|advise|help|assist|"
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
    r"(?<!is\sa\s)(?<!from\sa\s)(?<!of\sa\s)(?<!to\sa\s)(?<!this\s)patients? with",
    "people with",
    r"(?<!is\san\s)(?<!shows\san\s)(?<!depicts\san\s)(?<!this\s)(?<!of\san\s)eyes? with",
    "(?:eyes|patients|people|those|subjects|individuals) without",
    "seen in(?: \\w{1,30}){0,2}",
    "compared (?:to|with)",
    "unlike",
    "(?:sometimes|occasionally|at times)",
    "for (?:example|instance)",
    "between",
    rf"among(?! {_OF_CHOICES})",
    "differential(?: diagnos[ie]s)?",
    "options?(?: are| include)",
    "options:",
    "(?:asked|wonder(?:ed|ing)?|question|enquir(?:ed|y)|inquir(?:ed|y)) (?:about|whether|if)",
    "(?:reluctant|loath|unwilling|hesitant|tempt(?:ed|ing)|too early|premature|refuse|decline|far be it from me) to",
    "(?:some|others|many|people|(?<!no\\s)one|you) (?:would|might|may|could|will)",
    "as (?:one|we|you) (?:sees?|finds?|expects?)",
    "as (?:seen|found|expected) in",
    "(?:was|were|been) told",
    "(?:referral|letter|title|file ?name|caption|prompt|template|chart|example answer"
    "|previous (?:report|answer|model))",
    "(?:drops?|medications?|medicines?|pills|therap(?:y|ies)|drugs?|surgery|laser|operat(?:ion|ed))"
    " (?:\\w{1,12} ){0,2}for",
    "(?:too much|not enough) for",
    "^(?:please )?(?:think|beware) of",
    "about to (?:say|write|answer|call|conclude|diagnose)",
    "(?:worried|anxious|afraid|scared|fears?|fearful|feared)(?: (?:about|of|that))?",
    r"(?<!not\s)(?<!n't\s)hesitate to",
    "(?:not|n't|never) (?:go so far as|ready|prepared|willing|inclined|dare|about|in a position|confident enough"
    "|qualified|licen[sc]ed|trained|permitted|allowed|authori[sz]ed|competent|equipped|comfortable|designed) to",
    "(?:not|n't|cannot|never|neither) (?:yet )?(?:claim|assert|affirm|maintain|declare|vouch|commit)",
    f"(?:{'|'.join(BEARERS_ELSE_EN)})",
    r"either(?!\s?[.,:;])(?! (?:way|case|side|eye))",
    "^with(?:out)? (?!(?:this|these|such|the)(?![a-z]))(?:\\w{1,12} ){1,6}(?:it|this|that) would (?:be|have been)",
    f"{_OTHERS} (?:\\w{{1,10}} )?(?:says?|said|states?|stated|entered|wrote|writes|claims?|claimed|reads?|gives|gave"
    "|lists?|listed|noted|suspected|put|thought|diagnosed|called|graded|recorded|marked)",
    "what (?:\\w{1,10} ){0,3}(?:looks?|looked|seems?|seemed|appears?|appeared|pass) (?:like|as|to be|for)",
)
HEDGES_ZH = (
    "是否",
    "(?<!很)(?<!极)(?<!最)(?<!更)(?<!较)(?<!不)可能(?!性)",
    "不能(?:说|称|认为)",
    "(?:不好|很难|难)说",
    "不(?:敢|愿|肯|便)(?:断言|断定|说|称|认定)",
    "(?:不能|无法|难以|不可|尚不能)(?:完全|明确)?(?:排除|除外|判断|确定|诊断|确认|区分|给出|提供|识别)",
    "不(?:排除|除外)",
    "疑似",
    "可疑",
    "怀疑",
    "待排",
    "如果",
    "若",
    "假如",
    "假设",
    "风险",
    "筛查",
    "用于",
    "治疗",
    "例如",
    "比如",
    "鉴别",
    f"(?:{'|'.join(BEARERS_ELSE_ZH)})",
)
SUSPICIONS_EN = (
    "suspicious (?:for|of)",
    "suspicions? (?:for|of)",
    "suspected",
    "concern(?:ing|s)? (?:for|of|about)",
    "risk (?:of|for)",
    "suspect",
)
SUSPICIONS_ZH = ("怀疑", "可疑")
"""Hedges that a negation before them makes denials: "not suspicious for glaucoma", "no concern for glaucoma"."""

HEDGED_AFTER_EN = (
    "were (?:the|it|there|this|these)",
    "(?:(?:is|are|remains|yet) ){0,2}to be (?:confirmed|discussed|excluded|ruled out|verified|determined|clarified)",
    "nor non",
    "would be (?:premature|rash|hasty|speculat\\w{1,6}"
    "|too (?:early|much|bold)|going too far|an? (?:guess|overstatement))",
    "(?:only )?(?:if|unless|provided|when)",
    "(?:is|are|was|were|has|have|could|can)? ?(?:not|n't) (?:be |been )?(?:excluded|ruled out|confirmed|certain|clear)",
    "(?:(?:is|are|was|were|seems|appears) )?not (?:unlikely|improbable|impossible)",
    "(?:remains|is|are) (?:a )?(?:possib\\w{1,6}|questionable|equivocal|uncertain|unclear|unknown|borderline)",
    "(?:was|were|would be|would have been|seemed|had been) my (?:first|initial)",
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
    "(?:grade|stage|level|score) (?:0|zero)",
)
HEDGED_AFTER_ZH = (
    "是一种",
    "是一组",
    "是(?:常见|主要)",
    "手术",
    "筛查",
    "(?:不能|无法|不)(?:排除|除外|确定)",
    "待排",
    "待查",
    "可能(?!性)",
    "风险",
    "(?:家族)?病?史",
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
    "belongs? to",
    "positive for",
    "(?:speaks?|argues?|points?) (?:strongly |clearly )?for",
    "lean(?:ing)? towards?",
    "guess",
    "estimate",
    "predict",
    "favou?rs?",
    "go with",
    "call (?:this|it)",
    "opt for",
    "label(?:led)? as",
    "i\\.?e\\.?,?",
    "(?:high|strong) (?:probability|likelihood|chance)",
    "vote (?:is )?for",
    "(?:must|has to|have to|can only) be",
    "(?:label|answer|diagnosis|verdict|class|disease|category) should be",
    r"(?<!would\s)(?<!could\s)(?<!might\s)(?<!may\s)(?<!to\s)makes? (?:it|this)",
    "amount(?:s|ing)? to",
    "add(?:s|ing)? up to",
    "arrived? at",
    "everything (?:\\w{1,12} ){0,5}?(?:says?|speaks|screams|points)",
    "(?:hence|ergo|thus|therefore|consequently) (?:(?:clearly|most|likely|probably) ){0,2}(?:an? )?$",
    "there's",
    "(?:i|we) (?:can )?(?:find|found|count|notice|note|spot|observe|identify|detect)",
    "settled? (?:on|for)",
    "(?:put|mark|file|note|set|write) (?:\\w{1,10} ){1,2}down as",
    "(?:my|the) (?:\\w{1,12} )?(?:choice|pick|answer|vote|call|label|option|decision|fit|match) "
    "(?:\\w{1,12} ){0,5}would be",
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
    "(?<!未)(?<!没)(?<!没有)(?:发现|看到|观察到|检出)(?:了)?",
    "选择(?!题|项)",
    "我(?:会)?选(?!择|项)",
    "判定",
    "归为",
    "(?:确|当|应|实)属",
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
    "apparent",
    "lies?",
    "sits?",
    "abounds?",
    "my (?:\\w{1,10} )?(?:answer|choice|pick|diagnosis|guess|verdict|vote)",
    "(?:located|situated)",
    "what (?:i|we)(?: would|'d| will| shall| should)? (?:say|see|call|think|pick|choose|answer|conclude|find"
    "|go with|diagnose)"
    "(?! (?:it |this )?(?:only )?(?:if|unless|were|had))",
    "(?:very |quite )?high(?! tension| pressure)",
    "probable",
    "the (?:most likely |likely |correct |right |best |probable |primary )?(?:diagnosis|disease|condition|answer)",
    "the (?:best|closest|most fitting|most plausible) (?:fit|match|answer|option|choice|explanation|description|label)",
    "(?:fits?|matches|explains?|suits?)(?: (?:it|this|the \\w{1,12}|these|them))?(?: (?:image|findings|picture))? best",
)
ASSERTED_AFTER_ZH = (
    "的?可能性(?:很|较|极)?(?:大|高)",
    "阳性",
    "明确",
    "存在",
    "的?(?:典型)?(?:表现|征象|特征|改变|眼底|图像)",
    "样改变",
    "最(?:为)?(?:符合|可能|吻合|合适|贴切)",
    "(?:的)?可能性最大",
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
ASIDES_EN = (
    "however", "though", "too", "also", "in turn", "(?:in|by) (?:contrast|comparison)",
    "on the (?:other hand|contrary)", "for its part", "overall", "therefore", "thus", "on balance",
    "in this (?:image|eye|case|patient)", "as such",
)  # fmt: skip
"""What may stand between commas behind a subject."""
PARENTHESES_EN = (
    "however", "though", "too", "also", "indeed", "in fact", "alas", "clearly", "therefore", "thus", "overall",
    "(?:un)?fortunately", "in my (?:view|opinion|judge?ment|estimation|assessment)", "to my (?:mind|eye)",
    "i (?:think|believe|would say|am afraid|fear|am sure)", "in all (?:likelihood|probability)", "of course",
    "after all", "on balance", "as such", "in conclusion", "in short", "nonetheless", "nevertheless", "in the end",
)  # fmt: skip
"""What may stand between commas behind a verb and leaves what is said as it is."""
REVERSALS_EN = ("not", "never", "hardly", "far from", "anything but", "no longer", "by no means", "not at all")
REVERSALS_ZH = ("并不", "并非", "不是", "不", "非")
"""What turns a predicate round: "is far from normal"."""
CALLS_EN = (_CALL,)
WRONGS_EN = (f"{_WRONG} to",)
"""What calls a statement wrong before it is made: "it would be a mistake to call this X"."""
BEARERS_EN = (
    "eye", "patient", "subject", "individual", "person", "case", "(?:optic )?dis[ck]", "(?:optic )?nerve(?: head)?",
    "fundus", "retina", "image", "photograph", "scan", "macula",
)  # fmt: skip
"""What can have a disease."""
QUANTIFIERS_EN = (
    "most", "many", "some", "all", "early", "late", "advanced", "mild", "moderate", "severe", "chronic", "typical",
    "true", "established", "healthy", "normal", "human", "classic", "such", "(?:the )?cases? of", "people with(?:out)?",
    "those with(?:out)?", "someone with(?:out)?",
)  # fmt: skip
HABITS_EN = ("typically", "usually", "often", "generally", "commonly", "normally", "tends? to", "frequently", "always")
GENERAL_VERBS_EN = (
    *HABITS_EN, "shows?", "has", "have", "would", "will", "can", "exhibits?", "displays?", "looks?", "appears?", "is",
    "are", "keeps?", "lacks?",
)  # fmt: skip
GENERAL_AFTER_ZH = (
    "(?:患者|者|病人)(?:的|通常|常|往往|一般|多|中|眼)",
    "的(?:人眼?|眼睛?|患者)(?!底)",
    "眼(?:的|通常|常|往往|一般|中)",
    "(?:中|时|患者中)[,的]",
    "的(?:典型|常见|主要|早期|晚期)?(?:表现|特征|特点|症状|体征|病因|定义|危险因素|诊断)(?:是|为|有|包括)",
    "(?:的)?(?:通常|往往|一般|常(?:见于|表现|有|伴|会|导致|引起)|多(?:见于|表现为))",
)
"""What is said of a disease in general, of those who have it, and of no one eye."""
LIST_WORDS = r"\b(?:or|nor|and)\b|/|及|或|和|、|以及"
CONTRASTS_EN = (
    r"(?<!anything\s)(?<!nothing\s)(?<!cannot\s)but",
    "however",
    "though",
    "although",
    "whereas",
    "while",
    "yet",
    "instead(?! of)",
    "rather(?! than)",
)
CONTRASTS_ZH = ("但是", "然而", "不过", "但", "而是")

FINAL_EN = (
    "(?:my |the )?final (?:answer|diagnosis|decision|verdict)",
    "(?:my |the )?(?:correct|corrected|revised|amended|updated) (?:answer|diagnosis|stage|grade|level|group|age group"
    "|sex|reading|response|result|label|assessment|classification|verdict|conclusion|output)",
    "the answer (?:(?:to|for) (?:\\w{1,12} ){1,4}?)?(?:is|=)(?! only)",
)
FINAL_ZH = (
    "最终(?:答案|诊断|结论|判断)",
    "(?<!问题的)答案(?:应该?)?(?:是|为)",
    "(?:更正|纠正|修正|修改|改正|订正)(?:之)?后的?(?:答案|诊断|结论|结果|判断|分期|分级|年龄组|性别)?",
)
CORRECTIONS_EN = (
    "correction",
    "i meant?",
    "on second thought",
    "actually",
    "(?:no,? )?wait",
    "(?:(?:so|hence|thus|therefore|and),? )?"
    "(?:let me |i (?:need|have|want) to |i must |i should |i will |i'll |i (?:now |hereby )?|to )?"
    "(?:correct|revise|amend|change)"
    "(?: that| this| it| myself| my (?:answer|reply|response|diagnosis|reading|assessment|grade|stage))(?: (?:in)?to)?",
    "edit(?=\\s?:)",
    "erratum",
    "scratch that",
    "i take (?:that|it) back",
    "i (?:hereby )?(?:correct|contradict|overrule) myself",
    "i stand corrected",
    "(?:(?:so|hence|thus|therefore|now),? )?(?:corrected|changed|revised|amended|updated)(?: to)?(?=\\s?:)",
    "(?:(?:but|no|sorry|oh),? )?(?:that|this|it|which) (?:is|was) (?:wrong|incorrect|mistaken|an error"
    "|a mistake|a slip)",
)
CORRECTIONS_ZH = (
    "(?:因此|所以|故|于是|现|应)?(?:我)?(?:要|需要|必须|来|将其|予以)?(?:更正|纠正|修正|订正)(?:一下|为|成)?",
    "应为",
    "应该是",
    "(?:不对|错了|等等|等一下|说错了),?\\s?(?:应该?)?(?:是|为)?",
    "(?:因此|所以|故|于是|现|应)?(?:我)?(?:改为|修改为|更改为|改成|改判为?)",
)
CONCLUSIONS_EN = ("in conclusion", "to conclude", "conclusion", "overall", "in summary", "to sum up")
CONCLUSIONS_ZH = ("综上所述", "综上", "总之", "结论")

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
SUBJECT_HEADS_EN = ("(?:condition|disease|finding|question|feature|sign|diagnosis|patholog(?:y|ies)|item)s?",)
SUBJECT_HEADS_ZH = ("疾病", "病变", "问题", "征象", "项目", "诊断")
VALUE_HEADS_EN = (
    "present(?: or absent|/absent| in image)?", "presence", "answer", "status", "result", "value", "detected", "seen",
    "true ?/ ?false", "yes ?/ ?no", "verdict", "assessment", "response",
)  # fmt: skip
VALUE_HEADS_ZH = ("是否存在", "存在", "有无", "结果", "答案", "判断", "是否")
ASIDE_HEADS_EN = (
    "eye", "image", "side", "patient", "no\\.?", "#", "descriptions?", "comments?", "notes?", "remarks?", "details?",
    "(?:key |supporting |main )?(?:findings|features|signs)", "interpretation", "basis", "confidence",
)  # fmt: skip
ASIDE_HEADS_ZH = ("眼别", "图像", "描述", "备注", "说明", "解释", "依据", "理由", "原因", "所见")
"""What heads the columns of a table: what is asked, the answer to it, and what is said beside it."""
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

# "Normal" said of a part is no diagnosis: "normal cup-to-disc ratio", "the vessels look healthy".
PARTS = (
    r"dis[ck]s?|cups?|cup-to-dis[ck]|macula|macular|fovea|foveal|vessels?|vasculature|vascular|nerves?|"
    r"lens|margins?|ratio|"
    r"pressure|iop|colou?r|cornea|rim|retinal layers|background|arter(?:y|ies)|veins?|periphery|contours?|"
    r"boundar(?:y|ies)|"
    r"视盘|视杯|杯盘比|黄斑|血管|晶状体|角膜|神经|边界|颜色|眼压"
)
WHOLES = (
    r"(?:(?:retinal|human|ocular|colou?r|looking|appearing) ){0,4}(?:fundus|retina|eyes?|images?|photos?|photographs?|"
    r"scan|"
    r"appearance|appearing|findings?|results?|case|subject|condition|patient|person|limits|眼|图像)|"
    r"(?:is|are|was|were) (?:visible|seen|detected|present|found|noted|evident|observed)|"
    r"with|without|and|or|in|for|at|on|of|as|overall|based|because|since|given|no|there|which|that|it|to"
    r"|here|now|then|instead|rather|therefore|so|among|from|by|after|fits|is the (?:best|most)"
)
