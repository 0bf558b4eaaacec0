"""Spellings in OphthalWeChat's workbooks, and subspecialties of ophthalmology, in English and Chinese.

The column names of the deposit were not seen. A spelling counts by its letters and digits alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lmod_train.core.vocabulary.modalities import MODALITIES, combined
from lmod_train.core.vocabulary.term import Term
from lmod_train.data.sources.spellings import plain, spellings

QUESTION_COLUMNS = ("question", "answer", "type", "language", "image", "url", "pair", "A", "B", "C", "D")
"""Columns of the workbook of questions; the last four hold options that do not stand in the question."""

IMAGE_COLUMNS = ("image", "url", "file", "modality", "subspecialty", "condition", "caption", "article")
"""Columns of the workbook of images."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question text", "problem", "问题", "题目", "题干", "提问"),
    "answer": ("answers", "correct answer", "ground truth", "答案", "正确答案", "参考答案", "标准答案"),
    "type": ("question type", "qa type", "subset", "category", "task", "题型", "问题类型", "题目类型", "类型", "子集"),
    "language": ("lang", "语言", "语种"),
    "image": (
        *("image id", "img", "img id", "image name", "image index", "image no", "image number", "picture"),
        *("图片编号", "图像编号", "图片id", "图像id", "图片", "图像", "图片序号", "图像序号"),
    ),
    "url": (
        *("image url", "image link", "link", "src", "image address"),
        *("链接", "图片链接", "图像链接", "网址", "图片网址", "图片地址"),
    ),
    "file": ("file name", "filename", "image file", "image path", "path", "文件", "文件名", "图片文件", "路径"),
    "modality": (
        *("modalities", "imaging modality", "image modality", "image type", "examination"),
        *("模态", "成像模态", "影像模态", "图像模态", "检查", "检查方式", "成像方式", "检查类型", "图像类型"),
    ),
    "subspecialty": ("subspeciality", "specialty", "speciality", "department", "亚专科", "亚专业", "专科", "分科"),
    "condition": ("conditions", "disease", "diagnosis", "疾病", "病种", "诊断", "眼病", "病症"),
    "caption": ("captions", "description", "legend", "图注", "图片说明", "图片描述", "说明", "描述", "文字说明"),
    "article": ("article id", "post", "post id", "article url", "文章", "文章编号", "文章id", "推文", "推文编号"),
    "pair": (
        "pair id",
        "qa id",
        "qa pair",
        "qa pair id",
        "question id",
        "配对",
        "配对编号",
        "问答对",
        "问答编号",
        "题号",
    ),
    "A": ("option a", "choice a", "选项a"),
    "B": ("option b", "choice b", "选项b"),
    "C": ("option c", "choice c", "选项c"),
    "D": ("option d", "choice d", "选项d"),
}
"""Column -> further headers."""

NUMBERS = ("id", "no", "number", "index", "编号", "序号")
"""Headers that name the image in the workbook of images, unless another one does."""

TYPES: Mapping[str, tuple[str, ...]] = {
    "binary_question": (
        *("binary", "true false", "true or false", "tf", "judgement", "judgment", "yes no", "binary qa"),
        *("判断", "判断题", "是非题", "对错题", "二分类", "二元"),
    ),
    "single_choice_question": (
        *("single choice", "multiple choice", "mcq", "choice", "single", "single choice qa"),
        *("单选", "单选题", "选择题", "单项选择", "单项选择题"),
    ),
    "open_question": (
        *("open", "open ended", "open qa", "open ended qa", "free text", "short answer"),
        *("开放", "开放题", "开放式", "开放性问题", "开放式问题", "问答题", "简答题"),
    ),
}
"""Task that asks a kind of question -> spellings of the kind; a language may follow, as in ``Binary_CN``."""

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "zh": ("cn", "chinese", "zh cn", "zh hans", "simplified chinese", "中文", "汉语", "简体中文", "中"),
    "en": ("eng", "english", "en us", "英文", "英语", "英"),
}

TRUE = ("true", "t", "yes", "y", "correct", "right", "对", "是", "正确", "√", "✓")

FALSE = ("false", "f", "no", "n", "incorrect", "wrong", "错", "否", "错误", "不正确", "不对", "×", "✗")
"""Spellings of the answer to a statement."""

MODALITY_NAMES: Mapping[str, tuple[str, ...]] = {
    "CFP": ("color fundus photography", "colour fundus photography", "fundus", "眼底彩照", "眼底照相", "彩色眼底照相"),
    "SLO": ("scanning laser ophthalmoscopy", "激光扫描检眼镜", "扫描激光检眼镜"),
    "OCT": ("optical coherence tomography", "光学相干断层扫描", "相干光断层扫描"),
    "Slit-lamp": ("slitlamp", "slit lamp photography", "裂隙灯", "裂隙灯照相", "眼前段照相"),
    "EP": ("external eye photo", "external eye photograph", "external eye", "外眼照", "外眼照相"),
    "FFA": ("FA", "fundus fluorescein angiography", "fluorescein angiography", "荧光素血管造影", "眼底荧光血管造影"),
    "ICGA": ("ICG", "indocyanine green angiography", "吲哚菁绿血管造影", "脉络膜血管造影"),
    "FAF": ("fundus autofluorescence", "autofluorescence", "眼底自发荧光", "自发荧光"),
    "OCTA": ("oct angiography", "光学相干断层扫描血管成像", "血管成像oct"),
    "AS-OCT": ("anterior segment oct", "眼前节oct", "眼前段oct"),
    "UBM": ("ultrasound biomicroscopy", "超声生物显微镜"),
    "A-scan": ("ultrasound a scan", "A超"),
    "B-scan": ("ultrasound b scan", "B超", "眼部B超", "眼科B超"),
    "IR": ("infrared", "infrared reflectance", "红外", "近红外"),
    "Red-free": ("red free", "无赤光"),
    "Retro-mode": ("retro mode",),
    "RetCam": ("ret cam",),
    "Gonioscope": ("gonioscopy", "前房角镜", "房角镜"),
    "Visual-field": ("visual field", "perimetry", "视野", "视野检查"),
    "VEP": ("visual evoked potential", "视觉诱发电位"),
    "Corneal-topography": ("corneal topography", "角膜地形图"),
    "Corneal-confocal": ("corneal confocal", "confocal", "角膜共聚焦", "角膜共聚焦显微镜"),
    "Meibography": ("睑板腺", "睑板腺成像"),
    "CT": ("computed tomography",),
    "MRI": ("magnetic resonance imaging", "MR", "磁共振", "核磁共振"),
}
"""Modality of the vocabulary -> further spellings. ``SS`` of the paper's table 6 is not explained: unknown."""

_JOINTS = re.compile(r"[+＋/、,，;；&]|\band\b|和|与")

_UNEXPLAINED = {"ss"}


@dataclass(frozen=True, slots=True)
class Words:
    """Plain spelling -> name, for each kind of name."""

    columns: Mapping[str, str]
    types: Mapping[str, str]
    languages: Mapping[str, str]
    modalities: Mapping[str, str]
    subspecialties: Mapping[str, str]


def words(
    columns: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    languages: Mapping[str, str] | None = None,
    modalities: Mapping[str, str] | None = None,
    subspecialties: Mapping[str, str] | None = None,
) -> Words:
    """Return the spellings with those of the user; arguments are those of the source.

    Raises:
        BadArgument: A spelling stands for no name.
    """
    every = {modality.name: MODALITY_NAMES.get(modality.name, ()) for modality in MODALITIES}
    known = spellings(every, "modalities", None)
    of_user = spellings(every, "modalities", modalities)
    unexplained = {word: name for word, name in known.items() if word in _UNEXPLAINED and of_user[word] == name}
    return Words(
        columns=spellings(COLUMNS, "columns", columns),
        types=spellings(TYPES, "types", types),
        languages=spellings(LANGUAGES, "languages", languages),
        modalities={word: name for word, name in of_user.items() if word not in unexplained},
        subspecialties=spellings(_of_terms(SUBSPECIALTIES), "subspecialties", subspecialties),
    )


def _of_terms(terms: Iterable[Term]) -> dict[str, tuple[str, ...]]:
    return {term.name: (*term.english, *term.chinese) for term in terms}


def kind_and_language(text: str, known: Words) -> tuple[str, str]:
    """Return the task and the language that a kind of question names, each empty if it is not known.

    Example:
        >>> kind_and_language("Single-choice_EN", words()), kind_and_language("判断题", words())
        (('single_choice_question', 'en'), ('binary_question', ''))
        >>> kind_and_language("essay", words())
        ('', '')
    """
    name = plain(text)
    if name in known.types:
        return known.types[name], ""
    for word, language in known.languages.items():
        for rest in (name.removesuffix(word), name.removeprefix(word)):
            if rest != name and rest in known.types:
                return known.types[rest], language
    return "", ""


def modality_of(text: str, known: Words) -> str | None:
    """Return the modality or combination that a cell names; None if a part of it is not known.

    Example:
        >>> modality_of("FFA + CFP", words()), modality_of("眼底彩照、OCT", words()), modality_of("SS", words())
        ('CFP+FFA', 'CFP+OCT', None)
    """
    parts = [plain(part) for part in _JOINTS.split(text) if plain(part)]
    whole = known.modalities.get(plain(text))
    found = [whole] if whole else [known.modalities.get(part) for part in parts]
    names = [name for name in found if name]
    return combined(names) if names and len(names) == len(found) else None


def shown(value: object) -> str:
    """Return a value in at most about 60 characters, Chinese as it is and what cannot be printed escaped.

    Example:
        >>> shown("视盘"), shown(None)
        ("'视盘'", 'None')
    """
    text = repr(value[:60]) if isinstance(value, str) else repr(value)[:60]
    return text + ("..." if isinstance(value, str) and len(value) > 60 else "")


def half_width(text: str) -> str:
    """Return a text with half-width letters, digits and marks, one blank for several, and none around it.

    Example:
        >>> half_width(" Ａ：视盘　 水肿 ")
        'A:视盘 水肿'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


# Subspecialties of ophthalmology; the nine of OphthalWeChat (figure 2A), after the American Academy of
# Ophthalmology.
SUBSPECIALTIES: tuple[Term, ...] = (
    Term(
        "Retina/Vitreous", ("retina", "vitreous", "retina and vitreous", "vitreoretinal", "retinal disease"),
        ("视网膜/玻璃体", "视网膜与玻璃体", "视网膜玻璃体", "玻璃体视网膜", "眼底病", "视网膜"), "68.7",
    ),
    Term(
        "Cornea/External Disease",
        ("cornea", "external disease", "cornea and external disease", "cornea and external eye"),
        ("角膜/外眼病", "角膜与外眼病", "角膜外眼病", "角膜及外眼病", "角膜/眼表", "角膜病", "角膜"), "9.6",
    ),
    Term(
        "Cataract/Anterior Segment", ("cataract", "anterior segment", "cataract and anterior segment", "lens"),
        ("白内障/眼前节", "白内障与眼前节", "白内障眼前节", "白内障及眼前节", "白内障", "眼前节"), "7.2",
    ),
    Term("Uveitis", ("uvea", "ocular inflammation", "uveitis and inflammation"), ("葡萄膜炎", "葡萄膜病"), "3.5"),
    Term(
        "Neuro-Ophthalmology/Orbit", ("neuro-ophthalmology", "neuro-ophthalmology and orbit", "neuroophthalmic"),
        ("神经眼科/眼眶", "神经眼科与眼眶", "神经眼科眼眶", "神经眼科"), "3.1",
    ),
    Term("Glaucoma", (), ("青光眼",), "2.3"),
    Term(
        "Ocular Pathology/Oncology",
        ("ocular pathology", "ocular oncology", "oncology", "pathology and oncology", "ocular pathology and oncology"),
        ("眼病理/肿瘤", "眼病理与肿瘤", "眼肿瘤", "眼部肿瘤", "眼病理", "眼病理肿瘤"), "2.3",
    ),
    Term(
        "Pediatric Ophthalmology/Strabismus",
        ("pediatric ophthalmology", "paediatric ophthalmology", "pediatrics", "strabismus",
         "pediatric ophthalmology and strabismus"),
        ("小儿眼科/斜视", "小儿眼科与斜视", "小儿眼科斜视", "小儿眼科", "儿童眼科", "斜视"), "1.7",
    ),
    Term(
        "Oculoplastics/Orbit", ("oculoplastics", "oculoplastic", "oculoplastics and orbit", "orbit"),
        ("眼整形/眼眶", "眼整形与眼眶", "眼整形眼眶", "眼整形"), "1.6",
    ),
)  # fmt: skip
