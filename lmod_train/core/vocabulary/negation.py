"""Phrases that deny a mention, reverse a predicate, or end the reach of a negation.

The lists follow NegEx (Chapman et al. 2001, pseudo-negations included), cut down to what replies to the benchmarks'
prompts use.
"""

from __future__ import annotations

_WRONG = (
    "(?:wrong|incorrect|mistaken|inaccurate|erroneous|misleading|unjustified|unreasonable|far-fetched"
    "|a mistake|an error|an overstatement|an exaggeration|a stretch)"
)
_CALL = "(?:call|describe|consider|deem|label|classify|regard|judge|diagnose|term|rate)"
DENIALS_EN = (
    r"no(?! doubt| denying| mistaking| question| longer| matter| wonder| other than)",
    r"not(?! only| just| merely| simply| to mention)", r"(?:is|are|was|were|do|does|did|has|have|had)n't",
    r"(?:would|wo|should|could|ca|might|need)n't (?:call|say|label|diagnose|describe|consider|think|classify"
    r"|grade|regard|interpret" r"|go (?:for|with)|choose|pick|put|make|be)",
    r"(?:would|will|should|could) hardly",
    r"(?:disagree|dispute|reject|refute|deny|denies|refutes|rejects|disputes|contradicts?)",
    r"(?:unconvinced|unpersuaded)", r"(?:stop|fall|falls|stops) short of",
    r"(?:miss(?:es)?|lacks?) the (?:criteria|threshold|features) (?:for|of)", r"(?:the|an?) (?:opposite|contrary) of",
    r"beg(?:s)? to differ",
    r"(?:can't|cannot|can not|could not|couldn't) (?:see|find|detect|observe|identify any|identify signs|note|spot)",
    r"without(?! (?:a |any )?(?:doubt|question))(?! (?:\w{1,14} ){1,6}(?:i|we) (?:am|are|would|think|believe|can"
    r"|conclude|say|see))",
    "neither", "nor", "none of", "never", "absence of", "absent", "lacks?", "lacking", "free of", "free from",
    "(?:devoid|void|rid|clear|bare) of", "spared(?: (?:by|from|of))?", "un(?:affected|touched) by",
    "(?:has " "|have )?escaped",
    "(?:zero|0|negligible) (?:\\w{1,12} )?(?:evidence|signs?|chance|probability|indications?|features?)(?: (?:of"
    "|for))?",
    "paucity of (?:evidence|signs)(?: (?:of|for))?", "w/o", "can(?:not|'t) be(?= (?:an? )?$)", "negative for",
    "excludes?", "excluding", "rules out", "ruled out", "ruling out", "rather than", "instead of",
    "unlikely(?: to (?:be|have|indicate|represent))?", "improbable", "as opposed to",
    "(?:fails?|failed|failing) to (?:\\w{1,10}ly )?(?:show|demonstrate|reveal|exhibit|display|suggest|indicate|meet"
    "|find|detect|identify|uncover|disclose|confirm|support"
    "|bear out|turn up|yield|see|spot|note|observe|recogni[sz]e)",
    "(?:unable|not able) to (?:see|find|detect|observe|spot)",
    "(?:little|minimal|scant|scarce|sparse|meagre|hardly any|scarcely any|barely any|few)"
    " (?:\\w{1,12} )?(?:evidence|signs?|indications?|support|hints?|trace|grounds|reason)",
    "little (?:(?:here|that|which|in \\w{1,10}(?: \\w{1,10})?) )?(?:to )?"
    "(?:suggests?|indicates?|supports?|favou?rs?|points? to)",
    "nothing(?! (?:but|else than|less than|other than|short of))", "nowhere", "(?:anything but|far from)",
    "(?:hardly|scarcely|barely) an? (?:\\w{1,12} )?(?:sign|hint|trace|indication)", "little (?:speaks?|argues?) for",
    "(?:low|small|minimal|negligible|remote) (?:probability|likelihood|chance|suspicion|index of suspicion)",
    r"(?<!no\s)(?<!any\s)(?<!out\s)(?<!beyond\s)(?<!little\s)doubt(?:s|ful)?",
    "(?:argues?|speaks?|points?|lean(?:ing)?|decide|evidence) against", "inconsistent with", "incompatible with",
    "(?:i|we|i would|we can|can|i can) (?:exclude|rule out|dismiss|reject)", "no longer",
    r"(?<![0-9.])(?:0|zero) (?:\w{1,12} )?$",
    f"{_WRONG} to (?:{_CALL}|say|speak of|think|claim|conclude|suggest|assume|state|see|write|answer|put|tick"
    "|enter|report)",
    "(?:false|untrue|incorrect|wrong) that",
)  # fmt: skip
"""Negations in front of a mention."""
DENIALS_ZH = (
    "未见", "未(?:能|曾)?(?:发现|见到|看到|检出|观察到)", "未提示", "未显示", "未出现", "未患", "并未",
    "没(?:有|发现|见|看到|看见|观察到|检出|出现|找到)", "(?:谈|称|算)不上", "找不到", "缺乏", "缺少", "尚无", "尚未",
    "几乎没", "不(?:太|大)可能", "不能诊断", "(?:未|从未|未曾|不曾|并?不|没有?)(?:能)?被(?:诊断|判断|判定" "|确诊)",
    "(?:切?勿|莫)(?:诊断|判断|认为)", "不是", "并非", "不存在", "不支持", "不符合", "不考虑", "不提示",
    "(?<!得)不(?:认为|觉得|认同|同意|主张|相信|诊断|判断|判定|属于|具备|构成|含有?|带有?|患有?|伴有?|见(?!好)|算是?|会是|可能(?:是|为|有|存在)|应(?:诊断|判断|考虑)"
    "|足以(?:诊断|说明|证明|支持|构成|考虑|判断)|够(?:诊断|成)|大像|太像|宜诊断|建议诊断|予诊断)",
    "(?:绝|决|并|断|也|尚|还)不(?:是|为|属|存在|支持|符合|考虑|可能)", "(?:绝|决|断)(?:非|无|没有)", "谈不上", "看不出",
    "哪(?:里|儿)?(?:有|是)", "何来", "岂(?:是|有)", "未(?:达到?|满足|符合|构成)", "够不上", "否定",
    "难以(?:支持|认定|诊断为)", "(?:反对|排斥)(?:诊断)?", "不像", "否认", "看不(?:到|出|见)", "排除", "除外",
    "毫无(?!疑|争)", "(?<!毫)无(?!法|疑|论|可置疑|可争议)", "(?<!除)非(?!常|增殖|增生)",
)  # fmt: skip
_CLAIM = (
    f"(?:{_CALL}|say|think|believe|claim|conclude|agree|suggest|mean|assume|true|correct|certain|the case|proof"
    "|evidence)"
)
_NOT = "(?:no|not|never|hardly|cannot|can't|don't|doesn't|isn't|wouldn't|didn't)"
DOUBLE_NEGATIONS_EN = (
    f"{_NOT} (?:\\w{{1,12}} ){{0,2}}?(?:without|free of|free from|negative for|lack(?:s|ing)?|absent|absence of"
    "|excluded?s?|excluding|rul(?:e|es|ed|ing) out|inconsistent with|incompatible with"
    "|doubt|doubtful|wrong|incorrect|a mistake)",
    f"(?:{_NOT} (?:\\w{{1,12}} ){{0,2}}?{_CLAIM}|{_WRONG} to \\w{{1,12}})(?: \\w{{1,12}}){{0,6}}?"
    " (?:no|not|without|free of|absent|absence|lacks?|negative for|isn't)",
)
"""Double negations: the parsers do not resolve them, and read no statement."""
DOUBLE_NEGATIONS_ZH = ("(?:并非|不是|不能说|不能认为)(?:没有|无|未见|不存在|不是|非)",)
DENIED_AFTER_EN = (
    "absent", "not(?! in doubt| in question| merely| only| just| simply)", "no(?! doubt)", "none", "false", "negative",
    "excluded", "ruled out", "(?:dismissed|rejected|discarded)",
    "(?:considered|suspected|entertained|discussed) (?:and|but) (?:then |later )?(?:dismissed|rejected|discarded"
    "|ruled out|excluded)",
    "(?:can't|cannot|can not|could not) be made", "(?:does|do|did)(?: not|n't) apply",
    "(?:very |highly |quite |rather )?(?:unlikely|improbable|doubtful)",
    "(?:very |quite |rather |extremely )?(?:low|remote|minimal|negligible)(?! tension| pressure| grade)", "isn't",
    "wasn't", "aren't", "lacking", "out of the question", "(?:does|do|did)(?: not|n't) (?:appear|seem|look)",
    "undetected", "nowhere", r"(?:wrong|incorrect|mistaken|untrue)(?=\s?(?:$|[,.;:]))",
    "(?:can't|cannot|can not|could not|couldn't) be (?:found|seen|detected|discerned|observed|spotted|made out)",
)  # fmt: skip
"""Negations behind a mention."""
DENIED_AFTER_ZH = (
    r"(?:否|无|没有)(?=\s{0,3}(?:$|[.;,。]))", "阴性", "不存在", "的?可能性(?:很|较|极)?(?:小|低)",
    "(?:可|可以|被|已)?排除", "依据不足", "的?证据不足", "的?(?:概率|几率)(?:很|极|较|非常)?(?:小|低)",
    "是(?:误诊|错误的?|不对的?)", "的?(?:诊断)?是?不成立的?", "证据不足", "不符", "的?可能性不大",
    "(?:的(?:典型)?(?:特征|征象|表现|改变|迹象|体征|证据))?(?:在[^,;。]{1,8}?)?(?:均|皆|都|也|并)?"
    "(?:未见|未发现|未检出|不存在|未(?:出现|观察到)|没有(?:出现|发现|看到|见到|观察到))",
    "(?:[、和及与或][^、和及与或,;.\\s]{1,14}){1,5}(?:的(?:典型)?(?:特征|征象|表现|改变|迹象|体征|证据))?"
    "(?:在[^,;。]{1,8}?)?(?:均|皆|都|也)?(?:未见|未发现|未检出|不存在|阴性|排除|未(?:出现|观察到)|没有(?:出现|发现|看到|见到))",
)  # fmt: skip
NEGATORS_EN = (
    "no", "not", "never", "non", "none", "neither", "nor", "nothing", "nowhere", "nobody", "without", "cannot",
    "\\w{2,6}n't", "hardly", "scarcely", "barely", "unable", "fail(?:s|ed|ing)?", "impossible", "unlikely",
    "improbable", "absen(?:t|ce)", "lack(?:s|ing|ed)?", "free", "negative", "excluded?s?", "excluding",
    "rul(?:e|es|ed|ing) out", "den(?:y|ies|ied|ying)", "against", "reject(?:s|ed|ing)?", "disagree(?:s|d)?",
    "dismiss(?:es|ed)?", "doubt(?:s|ed|ful)?", "disput(?:e|es|ed)", "wrong", "incorrect", "false", "untrue",
    "instead of", "rather than", "refus(?:e|es|ed)", "inconsistent", "incompatible", "far from", "anything but",
    "little", "un(?:convinced|persuaded)", "hesitat(?:e|es|ed)", "contradicts?",
)  # fmt: skip
NEGATORS_ZH = (
    "(?<![除莫无毫并])[不无未没非](?!常)", "否(?!则)", "难以", "缺乏", "缺少", "排除", "除外", "拒绝", "免于", "反对",
    "绝无", "并无", "莫",
)  # fmt: skip
"""Words that may deny what follows; one that no rule accounts for leaves a statement open."""
NEUTRAL_EN = (
    "no doubt", "without (?:a |any )?(?:doubt|question)", "no question", "not only", "not just", "not merely",
    "not simply", "not solely", "no longer", "no wonder", "no matter", "no (?:denying|mistaking)", "not to mention",
    "nothing (?:but|other than|less than|short of)", "none other than", "no other than", "cannot (?:but|help but)",
    "non-?\\s?(?:proliferative|pdr|invasive|mydriatic|contact|perfus\\w{1,8})", "beyond doubt", "whether or not",
    "if not", "why not", "not uncommon(?:ly)?", "not surprisingly", "red-free", "free hand", "a little",
    "no(?:t)? hesitat(?:e|ion)(?: to)?", "not (?:in )?doubt", "little doubt", "no reservations?", "not least",
    "false colou?r", "yes or no",
)  # fmt: skip
NEUTRAL_ZH = (
    "毫无疑[问义]", "毋庸置疑", "毋庸讳言", "无可置疑的?", "不容置疑", "无疑", "没有疑[问义]", "没有争议", "无需怀疑",
    "不用说", "不仅仅?", "不但", "不只", "不光", "不止", "非增[殖生]", "非常", "无论", "不管", "不过", "不少", "不同",
    "不等", "不断", "不规则", "不均匀?", "不齐", "不清晰?", "不整齐?", "不完整", "不平整?", "不光滑", "不对称", "不佳",
    "不良", "不足(?!以)", "不明显", "不明(?!确)", "无灌注", "无赤光", "无创", "除非", "并非只", "不可避免", "不难看出",
    "不难", "不得不", "莫非", "未成年", "无误", "不如说?", "没问题", "不禁",
)  # fmt: skip
"""Idioms that hold a negating word and deny nothing."""
REACH_ENDS_EN = (
    r"(?<!not\s)(?<!n't\s)(?<!nothing\s)(?<!cannot\s)(?:suggests|suggesting|indicates|indicating|points to"
    r"|confirms|supports|favou?rs|means"
    r"|implies|shows|reveals|makes|hence|yields|proves|signals|amounts to|argues for)",
    "(?:i|we) (?:am|are|would|will|think|believe|conclude|say|call|diagnose|judge|consider)(?! not)",
)  # fmt: skip
REACH_ENDS_ZH = (
    "(?<![不未无没非])(?<!不能)(?<!不足以)(?<!无法)(?<!难以)(?:提示|考虑|支持|说明|表明|诊断为|判断为|判为|因此|所以|故|导致|引起|符合|显示|即为|应为|当属|确为)",
)  # fmt: skip
"""Words behind which a new statement begins, so that a negating word before them says nothing of what follows."""
SCOPE_ENDS_EN = (
    "so", "hence", "thus", "therefore", "because", "despite", "since", "except",
    "(?:and|which) (?:is|are|has|have|shows?|indicates?|suggests?|confirms?|it|the|there)",
)  # fmt: skip
"""Phrases that end the reach of a negation: "not round and is consistent with", "no haze, hence"."""
LIST_WORDS = r"\b(?:or|nor|and)\b|/|及|或|和|、|以及"
"""Words of a list, over whose commas a negation reaches."""
REVERSALS_EN = ("not", "never", "hardly", "far from", "anything but", "no longer", "by no means", "not at all")
"""Phrases that negate a predicate: "is far from normal"."""
REVERSALS_ZH = ("并不", "并非", "不是", "不", "非")
CALL_VERBS_EN = (_CALL,)
"""Verbs that give something a name: "call this X"."""
CALLED_WRONG_EN = (f"{_WRONG} to",)
"""Phrases that call a statement wrong before it is made: "it would be a mistake to call this X"."""
