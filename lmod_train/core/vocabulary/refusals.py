"""Phrases that decline to answer or refer the patient to a doctor.

After the response examples of LMOD (appendix G, figure 8) and LMOD+ (Table 8, figure 7), and the regression rows of
MedEvalKit and VLMEvalKit that read "cannot" as an answer. For the format of the phrases see
`lmod_train.core.vocabulary`.
"""

from __future__ import annotations

_IMAGE = "(?:images?|pictures?|photos?|photographs?|scans?|files?|attachments?)"
_IMAGE_ZH = "(?:图|照片|附件|文件)"
_SEND = "(?:re-?)?(?:upload|attach|send|provide|share|submit|supply|post)"

REFUSALS_EN = (
    "(?:(?:i'm|i am|we're|we are) )?sorry", "i apologi[sz]e",
    "(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not qualified to|not possible to|impossible to|"
    "difficult to|won't|will not|not comfortable|not in a position to|not equipped to|refuse to|decline to|"
    "do not feel able to) (?:\\w{1,30} ){0,3}?(?:diagnos\\w{1,30}|determin\\w{1,30}|tell|confirm|say|provid\\w{1,30}|"
    "assess\\w{0,30}|mak\\w{1,30}|giv\\w{1,30}|comment|opine|speculate|speak|advise|access|open|"
    "evaluat\\w{1,30}|conclud\\w{1,30}|offer|answer|interpret\\w{0,30}|identif\\w{1,30}|assist|help|comply|analy[sz]\\w{1,30}|"
    "view|see|process|judge|" "decide|grad(?:e|ing)|stag(?:e|ing)|classify|"
    "be (?:\\w{1,30} )?(?:determined|made|assessed|diagnosed|inferred|predicted|identified|established|"
    "estimated|told|judged|graded|staged|classified|answered|given|provided|evaluated)|infer|predict|estimate|read)",
    "(?:don't|do not|doesn't|does not|didn't) (?:\\w{1,30} )?(?:have|provide|contain|offer|show|"
    "give) (?:\\w{1,30} )?(?:enough|sufficient|"
    "adequate) (?:\\w{1,30} ){0,2}?(?:information|detail|details|evidence|data|quality|resolution)",
    "(?:don't|do not|doesn't|does not) (?:\\w{1,20} )?(?:have|provide|contain|offer|give|reveal) (?:\\w{1,20} ){0,2}?"
    "information (?:on|about|to|regarding|for)",
    "not (?:enough|sufficient) (?:information|detail|evidence|data)",
    "(?:is|are|would be) (?:not possible|impossible|not feasible)",
    "ungrade?able|not (?:gradable|gradeable|assessable|interpretable)",
    "too (?:blurry|blurred|dark|unclear|hazy|noisy|poor)(?: and \\w{1,15})? (?:to|for)",
    "insufficient (?:\\w{1,30} )?(?:information|evidence|data|quality|detail)",
    "image (?:is )?(?:not clear enough|too (?:blurry|blurred|dark|unclear))",
    "(?:consult|see|visit|contact|seek advice from|refer\\w{0,30} to|seek)(?: with)? (?:an? |the |your |his |"
    "her |their |medical )?"
    "(?:\\w{1,30} ){0,4}?(?:ophthalmologists?|optometrists?|doctors?|physicians?|professionals?|specialists?|"
    "provider|care provider|" "attention|advice|experts?)",
    "(?:needs?|requires?|need for) (?:an? )?(?:\\w{1,30} )?(?:comprehensive|further|additional|full|clinical|"
    "complete) (?:\\w{1,30} )?" "(?:examination|evaluation|testing|tests|assessment|information)",
    "as an ai(?: language| assistant)?(?: model)?", "i(?:'m| am) (?:just |only )?an ai",
    "i(?:'m| am) not (?:a |an )?(?:doctor|medical|ophthalmologist|physician)",
    "not (?:an? )?(?:eye|fundus|retinal|ophthalmic|ophthalmology|medical)(?: \\w{1,30})? "
    "(?:image|photograph|photo|scan)",
    "(?:don't|do not) know", "not sure", "(?:unclear|not clear) (?:whether|if)", "unsure", "uncertain", "undetermined",
    "unknown", "indeterminate", "inconclusive", "cannot be determined",
    "no (?:\\w{1,20} )?(?:answer|diagnosis|determination|conclusion|judge?ment|grading|assessment) "
    "(?:(?:can|could) be (?:given|made|provided|drawn|reached|offered)|(?:is|was) (?:possible|feasible))",
    "rather not (?:guess|say|answer|speculate|commit|decide|diagnose|comment)",
    f"no (?:\\w{{1,20}} )?{_IMAGE} (?:(?:was|is|were|are|has been|have been|could be|seems? to be|appears to be) )?"
    "(?:\\w{1,20} )?(?:provided|attached|visible|uploaded|supplied|included|shared|received|found|sent|available|here"
    "|(?:in|to|with|on) (?:your|the|this|our|my))",
    f"(?:don't|do not|didn't|did not|can't|cannot|can not|couldn't|could not) (?:\\w{{1,20}} )?(?:see|find|view|get"
    f"|receive|open|load|access|have) (?:an?|any|the|your|that) (?:\\w{{1,20}} ){{0,2}}{_IMAGE}",
    f"{_IMAGE} (?:\\w{{1,20}} )?(?:did not|didn't|does not|doesn't|has not|hasn't|have not|was not|wasn't|is not|isn't"
    "|failed to|seems? to be|appears to be|is|was|may be) (?:seem to |appear to |have |been |be )?"
    "(?:come through|load(?:ed)?|upload(?:ed)?|attach(?:ed)?|arrive[sd]?|missing|display(?:ed)?|open"
    "|received?|provided)",
    f"(?:could|can|would|will) you (?:\\w{{1,20}} ){{0,2}}?{_SEND}",
    f"(?:please|try to|need you to) (?:\\w{{1,20}} )?{_SEND} (?:an?|the|your|it|that|another)",
    "(?:don't|do not|doesn't|does not|lacks?|without|no|not) (?:\\w{1,20} )?(?:have )?(?:the |any |an? )?"
    "(?:ability|capability|capabilities|capacity|means|possibility|expertise|qualifications?|authority|access) "
    "(?:to|of|for)",
    "(?:beyond|outside|out of|exceeds?)(?: of)? (?:my|the scope|what i can|the limits of)",
    "(?:would rather|prefer|choose|chose|have) (?:not to|not|to refrain|to abstain|to decline)",
    "(?:must|have to|will|shall|need to|i) (?:\\w{1,20} )?(?:decline|abstain|refrain|pass on)",
    "text[- ](?:based|only) (?:\\w{1,20} )?(?:model|ai|assistant|system)", "n/a",
    "(?:do|does|did|will|would|can)(?:n't| not) (?:(?:alone|by itself) )?(?:suffice|permit|allow|enable|support) "
    "(?:for |to |me |us |one |a |an |any |the |reliable |safe |accurate ){0,4}"
    "(?:stag(?:e|ing)|grad(?:e|ing)|diagnos\\w{1,4}|judge?(?:ment)?|assess(?:ment)?|determin\\w{1,6}|classif\\w{1,7}"
    "|estimat\\w{1,4}|conclusion|decision|answer|evaluation|interpretation|tell|decide|say|identif\\w{1,8}|this)",
    "(?:not enough|not sufficient|insufficient|inadequate|not adequate|not suitable|unsuitable|too little|too poor) "
    "(?:for|to) (?:an? |any |the |reliable |safe |accurate ){0,3}"
    "(?:stag(?:e|ing)|grad(?:e|ing)|diagnos\\w{1,4}|judge?(?:ment)?|assess(?:ment)?|determin\\w{1,6}|classif\\w{1,7}"
    "|estimat\\w{1,4}|conclusion|decision|answer|evaluation|interpretation|tell|decide|say|identif\\w{1,8})",
    "(?:precludes?|prevents?|prohibits?|rules out|forbids?|defies|hinders?) "
    "(?:me from |an? |any |the |reliable |accurate ){0,3}"
    "(?:stag|grad|diagnos|judg|assess|determin|classif|evaluat|interpret|estimat)\\w{1,8}",
)  # fmt: skip
REFUSALS_ZH = (
    "抱歉", "对不起",
    "(?:无法|不能|不可以|难以|没有办法)(?:根据|从|通过|仅凭|对|为|直接|准确|明确)?.{0,12}?(?:判断|确定|诊断|分期|分级|提供|识别|回答|给出|评估|"
    "分析|确认|辨认|做出|作出|下结论|看到|评论|评价|查看|读取|打开|处理|发表|推断|推测|估计)",
    f"(?:没有?|未能?|并未)(?:\\w{{0,4}}?)(?:看到|收到|看见|上传|提供|附|发送|发|找到|检测到).{{0,8}}?{_IMAGE_ZH}",
    f"(?:看不到|看不见|打不开|收不到|无法打开|没有|缺少){_IMAGE_ZH}",
    f"{_IMAGE_ZH}(?:片|像|象)?(?:似乎|好像|可能)?(?:没有|未|未能|没)(?:成功)?(?:上传|加载|显示|附|收到|提供|发送)",
    f"请(?:您|你)?(?:再|重新|先|将|把|另外)?.{{0,6}}?(?:上传|提供|发送|附上|发来).{{0,8}}?{_IMAGE_ZH}",
    "请(?:您|你)?(?:再|重新)(?:上传|提供|发送|发)", "(?:不具备|没有|缺乏|缺少).{0,12}?能力",
    "超出.{0,10}?(?:能力|范围|权限)",
    "(?:不便|不宜|不方便|不愿|拒绝|不予).{0,8}?(?:评论|评价|发表|判断|作答|回答|诊断|置评|给出)",
    "(?:不能|无法|难以)(?:置评|作答)",
    "(?:建议|请|应|需)(?:您|患者|尽快|及时)?(?:咨询|就诊|就医|寻求|前往|到).{0,10}?(?:医生|医师|医院|眼科|专业|专家|就诊)?",
    "信息不足", "不足以(?:\\w{0,4}?)(?:分期|分级|诊断|判断|确定|评估|作出|做出|得出|识别|下结论|回答|支持)",
    "不(?:允许|支持|适合)(?:\\w{0,6}?)(?:分期|分级|诊断|判断|评估)", "不清晰.{0,6}(?:无法|不能)",
    "我不是(?:医生|眼科医生)", "作为(?:一个)?(?:人工智能|AI|ai|语言模型)", "不(?:知道|确定|清楚|详)", "未知",
    "不明(?!显)",
)  # fmt: skip

APOLOGIES_EN = (
    "(?:(?:i'm|i am|we're|we are) )?(?:very |so |really )?sorry", "(?:my )?apologies", "i apologi[sz]e",
    "unfortunately",
)  # fmt: skip
APOLOGIES_ZH = ("(?:很|非常|十分|真的?)?(?:抱歉|对不起|遗憾)", "不好意思")
"""Openings of a refusal, which may also open an answer: "Sorry, it is a macular hole"."""
COURTESIES_EN = (
    "if you (?:have|need|want|would|wish|provide|can|could|share|are|suspect)", "(?:please )?(?:feel free|let me know)",
    "(?:i hope|hope) (?:this|that|you)", "how (?:can|may) i", "is there anything", "i(?:'d| would) be (?:happy|glad)",
    "i(?:'m| am) (?:here|happy|glad)", "thank(?:s| you)", "(?:this|it) is (?:important|best|recommended|advisable)",
    "(?:for|in case of) (?:an? |any |the |your )?(?:\\w{1,12} ){0,2}"
    "(?:diagnosis|concerns?|advice|assessment|evaluation|emergency)",
    "(?:they|he or she|a professional|an expert) (?:can|will|could)", "please",
    "(?:a |an )?(?:proper|accurate|definitive|correct|reliable) "
    "(?:medical )?(?:diagnosis|interpretation|assessment) (?:requires?|needs?)",
)  # fmt: skip
COURTESIES_ZH = (
    "如(?:果|需|有|您)", "若(?:您|有|需)", "希望", "欢迎", "请", "感谢", "谢谢", "祝", "有(?:什么|任何|其他)", "您可以",
    "你可以", "(?:专业)?医生(?:会|能|可)", "以便", "以获得", "以免", "需要(?:由)?专业", "建议",
)  # fmt: skip
"""Openings of sentences around a refusal that answer nothing."""
BARE_EN = (
    "unsure", "uncertain", "undetermined", "unknown", "indeterminate", "inconclusive", "ungrade?able", "n/a",
    "not sure",
)  # fmt: skip
BARE_ZH = ("不(?:知道|确定|清楚|详)", "未知", "不明")
"""Phrases of the refusals that may also describe a finding: "unknown material"."""
