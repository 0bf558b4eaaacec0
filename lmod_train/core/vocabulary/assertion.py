"""Phrases that assert a mention, in front of it or behind it."""

from __future__ import annotations

ASSERTIONS_EN = (
    "is", "it's", "are", "was", "has", "have", "having", "with", "shows?", "showing", "shown", "contains?", "reveals?",
    "revealing", "indicat(?:es?|ing|ive|ion)", "suggest(?:s|ing|ive)?", "consistent with", "compatible with",
    "characteristics? of", "typical of", "signs? of", "evidence of", "features? of", "findings? of", "presence of",
    "case of", "diagnos(?:is|ed|tic)", "demonstrat(?:es?|ing)", "displays?", "displaying", "depicts?", "exhibits?",
    "exhibiting", "confirms?", "likely", "probabl[ey]", "suffer(?:s|ing)", "represent(?:s|ing)?", "detected",
    "appears?", "looks?", "seems?", "points? to(?:wards?)?", "pointing to(?:wards?)?", "identified as",
    "classif(?:y|ied)", "think", "believe", "say", "choose", "select", "pick", "conclude", "answer", "see", "supports?",
    "supporting", "meets? the criteria for", "belongs? to", "positive for",
    "(?:speaks?|argues?|points?) (?:strongly |clearly )?for", "lean(?:ing)? towards?", "guess", "estimate", "predict",
    "favou?rs?", "go with", "call (?:this|it)", "opt for", "falls? (?:in|into|under)", "(?:be|is) labell?ed(?: as)?",
    "mark (?:this|it) as", "label(?:led)? as", "i\\.?e\\.?,?", "(?:high|strong) (?:probability|likelihood|chance)",
    "vote (?:is )?for", "(?:must|has to|have to|can only) be",
    "(?:label|answer|diagnosis|verdict|class|disease|category) should be",
    r"(?<!would\s)(?<!could\s)(?<!might\s)(?<!may\s)(?<!to\s)makes? (?:it|this)", "amount(?:s|ing)? to",
    "add(?:s|ing)? up to", "arrived? at", "everything (?:\\w{1,12} ){0,5}?(?:says?|speaks|screams|points)",
    "(?:hence|ergo|thus|therefore|consequently) (?:(?:clearly|most|likely|probably) ){0,2}(?:an? )?$", "there's",
    "(?:i|we) (?:can )?(?:find|found|count|notice|note|spot|observe|identify|detect)", "settled? (?:on|for)",
    "(?:put|mark|file|note|set|write) (?:\\w{1,10} ){1,2}down as",
    "(?:my|the) (?:\\w{1,12} )?(?:choice|pick|answer|vote|call|label|option|decision|fit|match|assessment|impression"
    "|conclusion|diagnosis|reading) "
    "(?:\\w{1,12} ){0,5}would be",
)  # fmt: skip
"""Assertions in front of a mention."""
ASSERTIONS_ZH = (
    "是", "为", "诊断", "考虑", "提示", "显示", "符合", "患有", "存在", "有", "可见", "表现", "属于", "支持", "可能",
    "倾向", "见", "(?<!未)(?<!没)(?<!没有)(?:发现|看到|观察到|检出)(?:了)?", "选择(?!题|项)", "我(?:会)?选(?!择|项)",
    "判定", "归为", "(?:确|当|应|实)属",
)  # fmt: skip
ASSERTED_AFTER_EN = (
    "present", "detected", "seen", "observed", "evident", "visible", "likely", "confirmed", "diagnosed", "noted",
    "identified", "apparent", "lies?", "sits?", "abounds?",
    "my (?:\\w{1,10} )?(?:answer|choice|pick|diagnosis|guess|verdict|vote)", "(?:located|situated)",
    "what (?:i|we)(?: would|'d| will| shall| should)? (?:say|see|call|think|pick|choose|answer|conclude|find"
    "|go with|diagnose)" "(?! (?:it |this )?(?:only )?(?:if|unless|were|had))",
    "(?:very |quite )?high(?! tension| pressure)", "probable", "(?:correct|right|true)(?=\\s?(?:$|[,.;:]))",
    "not in (?:doubt|question)",
    "the (?:most likely |likely |correct |right |best |probable |primary )?(?:diagnosis|disease|condition|answer)",
    "the (?:best|closest|correct|right|most fitting|most plausible) "
    "(?:classification|category|reading|fit|match|answer|option|choice|explanation|description|label)",
    "(?:fits?|matches|explains?|suits?)(?: (?:it|this|the \\w{1,12}|these|them))?(?: (?:image|findings|picture))? best",
)  # fmt: skip
"""Assertions behind a mention."""
ASSERTED_AFTER_ZH = (
    "的?可能性(?:很|较|极)?(?:大|高)", "阳性", "明确", "存在", "的?(?:典型)?(?:表现|征象|特征|改变|眼底|图像)",
    "样改变", "最(?:为)?(?:符合|可能|吻合|合适|贴切)", "(?:的)?可能性最大",
)  # fmt: skip
