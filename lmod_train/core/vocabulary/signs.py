"""Signs of a disease in an image, and what is said of the same parts of a healthy eye; to add a disease, add a row.

The signs are those that the papers' examples and the sources' own label definitions name; a sign that several diseases
share is listed with each.
"""

from __future__ import annotations

from dataclasses import dataclass

_MUCH = r"(?:clearly |markedly |significantly |visibly |very |severely |slightly |abnormally )?"
_BE = r"(?:is|are|was|appears?|looks?|seems?)"
_LARGE = "(?:enlarged|increased|large|elevated|high|deep|widened|excavated|big)"
_CUP = r"(?:optic )?(?:cup(?:[- ]to[- ]dis[ck])?(?: ratio)?|cdr|c/d(?: ratio)?)"
_NERVE = r"(?:optic (?:dis[ck]|nerve(?: head)?)|dis[ck]|nerve head|(?:neuroretinal )?rim|" + _CUP + ")"
_WELL = r"(?:completely |entirely |perfectly |very )?(?:normal|healthy|intact|unremarkable"
_WELL += r"|within (?:the )?normal (?:limits|range))"


_NO_HOLE = (
    r"(?:no|not an?|without an?) (?:(?:visible|evident|clear|obvious|apparent|definite) )?(?:macular )?hole"
    r"(?= (?:or|in|is|can|was|at|and|present|visible|seen)|\W{0,3}$)"
)


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of a disease.

    Attributes:
        condition: Name in `CONDITIONS` or `STRUCTURES`.
        english: Signs, as phrases (see `lmod_train.core.vocabulary`).
        chinese: The same in Chinese.
        healthy_en: Phrases of the affected part without the disease.
        healthy_zh: The same in Chinese.
    """

    condition: str
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    healthy_en: tuple[str, ...] = ()
    healthy_zh: tuple[str, ...] = ()


_DIABETIC = (
    "micro-?aneurysms?", "ha?emorrhages?", "(?:hard |soft )?exudates?", "cotton[- ]wool spots?",
    "neovasculari[sz]ation", "new vessels",
)  # fmt: skip
_DIABETIC_ZH = ("微动脉瘤", "微血管瘤", "出血", "渗出", "棉绒斑", "新生血管")

SIGNS: tuple[Signs, ...] = (
    Signs(
        "glaucoma",
        ("(?:optic |glaucomatous )?cupping", "cupped", f"{_LARGE} {_CUP}", f"{_CUP} {_BE} {_MUCH}{_LARGE}",
         f"enlargement of the {_CUP}", "(?:thinning|loss|notching) of the (?:neuroretinal |inferior |superior )?rim",
         "rim (?:thinning|loss|is lost|is notched|is thinned)", "(?:inferior |superior )?notch(?:es|ing|ed)?",
         "(?:elevated|increased|high) (?:iop|intraocular pressure)",
         "nerve fib(?:re|er)s? (?:layer )?(?:defects?|loss)", "glaucomatous"),
        ("视杯(?:明显|显著)?(?:扩大|增大)", "杯盘比(?:明显|显著)?(?:增大|扩大|约?0\\.[789])",
         "盘沿(?:变窄|变薄|切迹|丢失)", "神经纤维层缺损"),
        (f"{_NERVE}(?: {_BE}| is found to be)? {_WELL}",
         f"(?:normal|healthy|small|intact) (?:(?:pink|optic|neuroretinal|sized) ){{0,2}}{_NERVE}"),
        ("视盘(?:颜色|形态)?(?:正常|未见异常)", "杯盘比正常", "盘沿完整"),
    ),
    Signs(
        "diabetic retinopathy", _DIABETIC, _DIABETIC_ZH, ("retina " + _BE + " " + _WELL, "healthy retina"),
        ("视网膜(?:正常|未见异常)",),
    ),
    Signs(
        "age-related macular degeneration", ("drusen", "geographic atrophy", "choroidal neovasculari[sz]ation"),
        ("玻璃膜疣", "地图样萎缩", "脉络膜新生血管"), ("macula " + _BE + " " + _WELL, "normal macula"),
        ("黄斑(?:区)?正常",),
    ),
    Signs(
        "cataract", ("lens opacit(?:y|ies)", "opacification of the lens", "hazy view"), ("晶状体混浊",),
        ("clear media",), ("屈光介质清晰",),
    ),
    Signs(
        "macular hole", ("full[- ]thickness", "operculum", "foveal (?:cyst|defect|detachment)"), ("全层", "裂孔约"),
        ("normal (?:macula|retina|fovea)", _NO_HOLE, f"foveal contour {_BE} {_WELL}", f"retinal layers {_BE} {_WELL}"),
        ("各层结构正常", "(?:未见|没有|无)(?:明显|可见)?(?:的)?黄斑裂孔"),
    ),
)  # fmt: skip

HEALTHY_EN = (
    "(?:normal|healthy) (?:looking )?(?:(?:fundus|retinal|eye) ){0,1}(?:fundus|eye|retina|image|photograph)"
    "(?! of the other)",
    f"(?:fundus|eye|retina) {_BE} {_WELL}",
    "no (?:(?:visible|obvious|significant|any|apparent) ){0,2}(?:abnormalit(?:y|ies)|diseases?|patholog(?:y|ies))",
    "without (?:any )?abnormalit(?:y|ies)", "no evidence of (?:any )?disease",
)  # fmt: skip
"""Phrases of an eye without disease."""
HEALTHY_ZH = ("(?:眼底|视网膜)(?:完全|基本)?正常", "(?:未见|无|没有)(?:明显|任何|明显的)?异常")
OTHER_EYE = (
    "other eye", "fellow eye", "would (?:indicate|suggest|show|be|have)", "one (?:might|would) expect",
    "physiologi\\w+", "(?:large|big) disc", "at first", "instead of", "clear of", "对侧眼", "另一眼", "生理性",
)  # fmt: skip
"""Phrases that make a sign that of another eye, of a supposition, or of a healthy variant, as regular expressions."""
CONCESSIONS = (
    "although", "though", "while", "however", r"(?<=[\w,]\s)but", "criteria", "insufficient", "not enough", "alone",
    "few", "only", "mild", "subtle", "slight(?:ly)?", "artefacts?", "artifacts?", "need", "rather", "虽", "但", "轻度",
)  # fmt: skip
"""Phrases by which an explanation admits a sign and denies the disease all the same, as regular expressions."""
COMPARISONS = (
    "than", "unlike", "lacks?", "would", "preced(?:es?|ing)", "before", "after", "earlier", "later",
    "follow(?:s|ed|ing)?", "differs?", "whereas", "compared", "next", "towards?", "rather", "(?<!or )older", "younger",
    "below", "above", "if", "相比", "小于", "大于", "早于", "晚于",
)  # fmt: skip
"""Phrases that compare with another stage or age, as regular expressions."""
