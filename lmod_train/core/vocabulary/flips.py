"""Words by which short answers deny or assert a finding, and words that change neither, for finding negation flips."""

from __future__ import annotations

DENYING_EN = (
    *("no", "not", "cannot", "can't", "without", "neither", "nor", "none", "never", "absent", "absence of", "lack of"),
    *("lacks", "lacking", "free of", "free from", "negative for"), r"(?:is|are|was|were|do|does|did|has|have)n't",
)  # fmt: skip
DENYING_ZH = ("并没有", "没有", "没", "无", "未见", "未", "并非", "并不", "不是", "不", "阴性")
ABSENT_EN = (
    "absent",
    r"(?:not|cannot|can't|never|(?:is|are|was|were)n't)(?= (?:be |been )?(?:seen|visible|present|detected|found|noted"
    r"|shown|observed|identified|evident|apparent)(?![a-z]))",
)
"""Of these, those that also deny the words before them ("edema is not seen at the fovea")."""
ASSERTING_EN = ("with", "presence of", "positive for", "both")
ASSERTING_ZH = ("伴有", "有", "可见", "存在", "发现", "是", "阳性")
"""They end the reach of a denial, unless they follow it at once ("not with", 不存在)."""

NEUTRAL_EN = ("not only", "not just", "not merely", "but also")
NEUTRAL_ZH = ("不仅", "不但", "不只", "不光", "不止", "而且", "并且", "还", "同时")
"""They hold a word of denial and deny nothing."""

QUESTIONS_EN = ("whether", "or not")
QUESTIONS_ZH = ("有没有", "有无", "是不是", "是否", r"\?")
"""They leave open whether a finding is there."""

FRAMES_EN = (
    *("the", "an?", "there", "it", "this", "that", "these", "is", "are", "was", "were", "be", "been", "do", "does",
    "did"),
    *("has", "have", "had", "can", "could", "and", "or", "also", "as well as", "any", "answer", "yes", "images?"),
    *("photographs?", "patient", "shows?", "shown", "showing", "seen", "visible", "present", "detected", "found"),
    *("noted", "observed", "identified", "evident", "apparent", "obvious", "definite", "signs? of", "evidence of"),
)  # fmt: skip
FRAMES_ZH = (
    "图像中", "图像", "图中", "图片", "患者", "显示", "明显", "任何", "答案", "答", "的", "了", "见", "和", "及", "与",
    "或",
)  # fmt: skip
"""They change nothing about what an answer says."""

CONTRASTS_EN = ("but", "however", "although", "while", "whereas")
CONTRASTS_ZH = ("但是", "但", "而", "不过")
"""A denial does not reach beyond them."""
