"""Words of a request for an explanation, and of a text that gives no reason or is about no image."""

from __future__ import annotations

ASKED_FOR = r"explanation|explain|justif|reason|rationale|(?<![a-z])why(?![a-z])|解释|说明|理由|原因|依据"
"""Words in a prompt that ask for an explanation, as a regular expression."""

FILLERS_EN = frozenset((
    "a", "about", "above", "according", "age", "all", "also", "am", "an", "and", "answer", "any", "anything",
    "appear", "appears", "are", "as", "at", "based", "be", "because", "been", "being", "belongs", "below", "by",
    "can", "case", "clear", "clearly", "closed", "color", "colorful", "colour", "condition", "considered",
    "consistent", "contain", "contains", "current", "decision", "definitely", "depicts", "described",
    "detected", "diagnosed", "diagnosis", "did", "disease", "displays", "do", "does", "evidence", "evident",
    "exhibits", "explanation", "explanations", "eye", "false", "feature", "features", "final", "find", "for",
    "format", "found", "from", "fundus", "gender", "given", "gives", "grade", "group", "had", "has", "have",
    "having", "here", "i", "id", "identified", "image", "images", "in", "indicate", "indicates", "indicating",
    "individual", "is", "it", "its", "justification", "justifications", "label", "level", "likely", "me", "my",
    "n", "na", "nil", "no", "non", "none", "not", "null", "oct", "of", "old", "on", "ophthalmic",
    "ophthalmology", "or", "particular", "patient", "patients", "person", "photo", "photograph", "picture",
    "predicted", "prediction", "presence", "present", "presented", "probably", "provided", "rationale",
    "reason", "reasoning", "reasons", "result", "retinal", "s", "say", "scan", "see", "seem", "seems", "seen",
    "sex", "show", "showing", "shown", "shows", "sign", "signs", "so", "stage", "stated", "subject", "such",
    "suggest", "suggests", "that", "the", "their", "there", "therefore", "these", "they", "think", "this",
    "thus", "to", "true", "type", "under", "using", "visible", "was", "we", "were", "what", "where", "which",
    "with", "without", "would", "year", "years", "yes", "you", "your",
))  # fmt: skip
"""English words that give no reason by themselves."""
FILLERS_ZH = (
    "答案|回答|解释|理由|说明|原因|依据|疾病|诊断|结果|结论|分期|分级|阶段|性别|年龄组|年龄|根据|基于|综合|判断|图像|图片|图中|照片|"
    "眼底|这张|该|此|本例|这|患者|病人|患有|显示|表明|提示|可见|存在|未见|没有|不存在|征象|迹象|表现|特征|属于|符合|如上|同上|"
    "第|期|级|组|岁|性|是|否|有|无|为|的|不|没|非|了"
)
"""Chinese words of the same kind, as a regular expression."""

TEXTBOOK_EN = (
    r"(?<!there\s)(?:is|are) (?:an?|the|one of the|among the) (?:[a-z]+[ -]){0,4}?(?:group|condition|disease|disorder"
    r"|complication|cause|technique|method|test|layer|break|clouding|part|opening)s?"
    r"(?= (?:of|that|which|in|at|among|to|used|affecting))",
    r"(?:is|are) (?:often|usually|commonly|typically|mainly|generally) (?:\w+)",
    r"(?:is|are) (?:caused|diagnosed|treated|divided|classified|related|defined|characteri[sz]ed|used)(?![a-z])",
    r"(?:is|are) (?:very |most |more )?common(?![a-z])", r"(?:is|are) (?:important|essential|crucial|vital)(?![a-z])",
    r"(?:can|may|could|often|usually|typically) (?:\w+ly )?(?:cause|lead|develop|affect|result|occur|progress)s?"
    r"(?![a-z])",
    r"(?:leads?|leading) (?:to|cause)", r"affects? (?:people|adults|patients|the)", r"risk factors?",
    r"early (?:detection|diagnosis|treatment)", r"treatments? (?:include|option|of)",
    r"(?:regular|routine) (?:eye )?(?:tests?|exams?|examinations?|check)",
    r"(?:doctors|ophthalmologists|physicians|clinicians) (?:look|use|measure|examine|check)",
    r"should be (?:done|performed|made|carried out) by", r"people (?:over|aged|with|who)", r"non-invasive",
)  # fmt: skip
"""Phrases of a text about a disease or a technique in general."""
TEXTBOOK_ZH = (
    "是(?:一种|一组|指|最?常见的|糖尿病(?:最|的)|导致|致盲|由)", "(?:可|会|能)(?:导致|引起|致盲|造成)", "危险因素",
    "常见于", "多见于", "通常(?:没有|由|见于|无)", "早期(?:发现|诊断|治疗|通常|多无)", "主要(?:表现|原因|危险)",
)  # fmt: skip
ABOUT_THIS_EN = (
    r"this(?! (?:condition|disease|disorder|technique|method|test|may|can|could|leads?|is (?:an?|one|because|why))"
    r"(?![a-z]))",
    r"the (?:provided |given |present |above |fundus |input )?(?:image|photograph|photo|picture|scan|patient)(?!s)"
    r"(?! techniques?)",
    r"(?:right|left) eye", "here",
    r"(?:is|are) (?:\w+ly )?(?:visible|seen|noted|present|evident|observed|enlarged|thin|pale|normal|intact"
    r"|absent|hazy)",
    r"appears?", r"looks?(?! at| for)", r"shows?", r"i (?:see|think|believe|note|observe|find|would)",
    r"region (?:id)?:? ?[0-9]+", r"[0-9]\.[0-9]", r"no (?:signs?|evidence|haemorrhages?|hemorrhages?|exudates|drusen)",
)  # fmt: skip
"""Phrases of a text about the image in question."""
ABOUT_THIS_ZH = (
    "(?:该|此|本|这张?|上|下)(?:图|片|例|患者|病人|眼底|照片)", "图(?:像|片|中)?(?:显示|提示|可见|中|所示)", "可见",
    "未见", "此眼", "本图", "[0-9]\\.[0-9]", "边界", "约",
)  # fmt: skip

REFUSALS_OTHER = (
    r"no puedo (?:diagnosticar|determinar|proporcionar|ver|evaluar|identificar)",
    r"no es posible (?:diagnosticar|determinar|evaluar)",
    r"(?:je ne peux pas|il (?:m')?est impossible de|impossible de) (?:d[ée]terminer|diagnostiquer|poser|dire|voir)",
    r"(?:ich kann|kann ich) (?:\w+ ){0,6}?(?:nicht|keine)",
    r"n[ãa]o (?:posso|consigo) (?:diagnosticar|determinar|fornecer|ver)",
    r"(?:診断|判断|回答|判定|特定)(?:する)?(?:こと)?(?:は|が)?(?:でき(?:ません|ない)|難しい)|申し訳(?:ありません|ございません)",
    r"(?:لا أستطيع|لا يمكنني|عذر)",
    r"не мог(?:у|ут) (?:\w+ ){0,3}?(?:поставить|определить|диагност|оценить)|невозможно (?:определить|установить)",
    r"(?:진단|판단)(?:할|하는|을)? ?수 없",
)  # fmt: skip
"""Phrases that decline to answer in languages that the parsers do not read, as regular expressions."""
