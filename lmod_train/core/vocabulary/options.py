"""Words around the letter of an option, and words by which a capital letter is none."""

from __future__ import annotations

from lmod_train.core.vocabulary.characters import MARKS

ANSWER_LABELS = (
    r"(?:final |correct |best |right |my |selected |chosen |predicted |most likely |likely ){0,2}"
    r"(?:answer|ans\.?|option|choice|response|letter|selection|prediction|verdict|output)(?: letter| option| choice)?",
    "(?:最终|正确|我的|最佳)?的?(?:答案|答|选项|选择|回答)",
)
"""Labels of the line that states the option, as the prompt requests it or nearly so."""

LEADS_EN = (
    *("is", "are", "it", "it's", "its", "that", "that's", "this", "would", "should", "must", "will", "be", "has to be"),
    *("most", "likely", "probably", "presumably", "definitely", "clearly", "certainly", "surely", "obviously",
    "simply"),
    *("so", "thus", "hence", "therefore", "then", "no,", "yes,", "rather", "and", "i", "i'd", "i'll", "we", "say"),
    *("option", "choice", "letter", "answer", "the", "an?", "correct", "best", "right", "final", "only",
    "not .{1,3} but"),
    *("think", "believe", "choose", "select", "pick", "go", "with", "go for", "answer", "opt", "for", "vote",
    "without"),
    *("doubt", "recommend", "suggest", "without a doubt", "my", "ans"),
)  # fmt: skip
LEADS_ZH = ("是", "为", "应", "该", "选择?", "选项", "我", "认为", "的", "故", "因此", "所以", "答案", "正确", "最可能")
"""Words that may stand between the beginning of a statement and its letter."""

JOINS_EN = (
    *("and/or", "or", "and", "nor", "versus", "vs", "to", "also", "both", "either", "even", "maybe", "possibly"),
    *("perhaps", "option", "choice", "letter", "answer", "the", "an?", "alternatively", "otherwise", "then"),
)
JOINS_ZH = ("或者?", "和", "及", "与", "以及", "还是", "选项?", "甚至", "跟", "同")
"""Words that join two options to one statement."""

SECOND_EN = (
    *("to", "or", "and", "vs", "versus", "if not", "maybe", "possibly", "perhaps", "potentially", "probably", "likely"),
    *("even", "but", "could be", "may be", "might be", "bordering on", "borderline", "approaching", "verging on"),
)
SECOND_ZH = ("或者?", "至", "到", "和", "及", "、", "还是", "甚至", "可能", "也许", "也", "是", "为")
"""Words by which a second, shorter name of an option is joined to the first: "grade 2, possibly 3"."""

LIMITS_EN = (
    *("at (?:the )?(?:least|most)", "(?:no|not) (?:less|more|fewer|worse|better|milder|higher|lower) than"),
    *("minimum(?: of)?", "maximum(?: of)?"),
)
LIMITS_ZH = ("至少", "最少", "至多", "最多", "不(?:低|高|少|大|小|轻|重)于", "不超过", "≥", "≤")
"""Words before an option, also its letter, that make it the limit of several."""
COMPARED_EN = (
    *("above", "below", "beyond", "over", "exceeds?", "exceeding", "up to", "close to", "nearly", "almost"),
    *("approaching", "bordering on", "borderline", "verging on", "short of", "between"),
    "(?:more|less|fewer|greater|higher|lower|worse|better|milder|earlier|later|severer"
    "|(?:more|less) (?:severe|advanced|extensive|marked)) than",
)
COMPARED_ZH = ("(?<!不)[高低大小重轻好差]于", "超过", "接近", "介于", "超出", "未达到?", "不到", "<", ">")
"""Words before the text of an option by which it is not the one that is meant."""
OPEN_EN = (
    r"(?:and|or|if not|possibly|perhaps|maybe|potentially|probably|even)(?: (?:possibly|even|maybe|perhaps|slightly))?"
    r" (?:worse|higher|more|greater|above|beyond|later|less|lower|better|milder|below|severer|more severe|less severe"
    r"|more advanced|over|older|younger|up|down)",
    "at (?:the )?(?:least|most)", "at a minimum",
)  # fmt: skip
OPEN_ZH = ("(?:及|或|和|或者)?(?:其)?(?:以上|以下|更重|更严重|更高|更低|更轻)(?!都|均|皆|所|选项|全)", r"\+")
"""Words behind an option that open it to further ones: "grade 2 or worse"."""

REASONS_EN = (
    *("because", "since", "as", "due", "given", "with", "for", "based on", "owing", "rather", "instead", "not", "over"),
    *("than", "which", "where", "in view", "although", "though", "but", "while", "whereas", "at"),
)
REASONS_ZH = ("因", "由于", "而", "理由", "依据", r"选?项(?=\s{0,3}(?:$|[.,;:!()\n-]|因|由|吧))", "吧")
"""Words behind the letter that do not change what it states."""

STRONG_EN = (
    *("choose", "chose", "select", "selected", "pick", "opt for", "go with", "go for", "vote for", "settle on"),
    *("lean(?:s|ing)? (?:towards?|to)", "favou?rs?", "prefer", "recommend", "suggest", "answer", "conclude"),
    *("make(?:s)?", "leaves?", "points? to", "must be", "it is", "it's", "that is", "thus", "hence", "therefore", "so"),
    *("consistent with", "corresponds? to", "decid(?:e|ed) (?:on|for)", "best described (?:as|by)", "go(?:ing)? for"),
    *("should", "please", "needs? to", "ought to", "advised? to"),
)
STRONG_ZH = (
    "选", "答案", "倾向于?", "应为", "应该是", "认为是", "判断为", "考虑为?", "属于", "正确的是", "故", "因此", "建议",
    "应当?", "请", "需要?",
)  # fmt: skip
"""Words before a letter that make it the choice of the reply."""

STRONG_AFTER_EN = (
    r"(?:is|was|seems|appears|looks|would be|should be|must be|remains) "
    r"(?:(?:by far|clearly|probably|the|an?|then) ){0,2}"
    r"(?:correct|right|best|better|true|(?:more|most) (?:\w{1,12} )?(?:likely|plausible|probable|fitting|suitable"
    r"|appropriate|consistent|accurate)|likely|answer|choice|option|fitting|suitable|appropriate)",
    r"(?:best|better) (?:describes?|fits?|match(?:es)?|represents?|explains?|corresponds|answers?|choice)",
    r"(?:fits?|match(?:es)?|describes?|suits?|wins?)(?: \w{1,12}){0,2}",
    r"the (?:best|correct|right|most likely|only)(?: remaining)? (?:answer|option|choice|fit|match)", "it is",
)  # fmt: skip
STRONG_AFTER_ZH = ("正确", "是正确", "为正确", "最符合", "符合", "最合适", "更可能", "可能性最大", "是对的")
"""Words behind a letter that make it the choice of the reply."""

YES_EN = ("yes", "correct", "right", "true", "(?:most )?likely", "matches", "fits", "supported", "consistent")
YES_ZH = ("正确", "对", "是", "符合", *MARKS["yes"])
NO_EN = ("no", "not", "in(?:correct|consistent)", "wrong", "false", "unlikely", "less likely", "excluded", "ruled out")
NO_ZH = ("错误?", "否", "不", "排除", *MARKS["no"])
"""What a list of all options may say of each."""

BEFORE_NO_LETTER = (
    *("vitamins?", "hepatitis", "influenza", "types?", "groups?", "fig(?:ure)?s?", "panels?", "images?", "regions?"),
    *("zones?", "box(?:es)?", "areas?", "tables?", "sections?", "parts?", "plan", "patients?", "points?", "arrows?"),
    *("factors?", "proteins?", "toxin", "ig", "haemophilus", "group", "eyes?", "lesions?", "photographs?", "marker"),
    *("dr", "mr", "mrs", "ms", "prof"),
)
"""Nouns whose own letter follows: "vitamin A", "type B", "panel C"."""

AFTER_NO_LETTER = (
    *("cells?", "lymphomas?", "scans?", "ultrasound", "ultrasonography", "waves?", "vitamins?", "complex(?:es)?"),
    *("coli", "albicans", "aureus", "cereus", "pneumoniae", "epidermidis", "acnes", "influenzae", "gondii", "canis"),
    *("burgdorferi", "henselae", "tuberculosis", "trachomatis", "pallidum", "solani", "fumigatus"),
)
"""Words whose own letter precedes: "B cells", "C. albicans"."""

AFTER_LETTER_A = (
    *("is", "isn't", "was", "wasn't", "are", "would", "should", "could", "can", "cannot", "may", "might", "must",
    "will"),
    *("and", "or", "nor", "not", "but", "because", "since", "as", "due", "given", "with", "for", "based", "rather"),
    *("instead", "seems", "appears", "looks", "fits", "matches", "describes", "represents", "corresponds", "suits"),
    *("remains", "applies", "has", "does", "doesn't", "then", "here", "if", "when", "while", "to", "through", "over"),
    *("at", "in", "on", "only", "alone", "too", "also", "best describes", "best fits", "best matches", "best explains"),
    *("best represents", "most likely", "most probably", "it is", "so", "therefore", "which", "by", "from", "vs"),
    *("shows", "gives", "implies", "suggests", "means", "refers", "explains", "accounts", "contradicts", "requires"),
)  # fmt: skip
"""Words behind the letter A that no article has behind it."""

WRONG_AFTER = (
    "would (?:only )?be (?:correct|right|the answer) if",
    r"[-(]\s?(?:wrong|incorrect|eliminated|excluded|ruled" " out|no)(?![a-z])", "is (?:hardly|scarcely|anything but)",
    r"(?:is|was|are|were|seems|appears|would be|can be) (?:(?:clearly|therefore|also|both|all|thus) )?"
    r"(?:not|never|less|wrong|incorrect|unlikely|false|excluded|ruled out|eliminated|inappropriate|implausible|out)",
    "(?:can|cannot|can't|could|does|doesn't|do|don't) (?:not|be (?:excluded|eliminated|ruled out)|fit|match|apply)",
    "(?:isn't|aren't|wasn't)",
)  # fmt: skip
WRONG_AFTER_ZH = (
    "除外", "(?:选?项)?(?:有误|最不可能)", "(?:选?项)?(?:[都均皆也]?(?:是|为|可以?|应|被)?(?:不|错|排除|否))",
)  # fmt: skip
"""Words behind an option that deny it."""

STEPS_EN = ("only", "it is", "it's", "so", "therefore", "thus", "hence", "i", "we", "leaving", "rather", "just")
STEPS_ZH = ("故", "所以", "因此", "应?选", "而是", "是", "则", "即")
"""Words behind a comma that open a new statement."""
