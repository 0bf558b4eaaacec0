"""Normalise the numbering of boxes, before regions are parsed."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import numerals
from lmod_train.core.vocabulary.structures import COLOURS

_BOX_ZH = "(?:边界框|边框|方框|矩形框|框选?区域?|区域|框)"
_COLOUR = f"(?:(?:{'|'.join(COLOURS)})色?)"
_HAN = "".join(word for word in numerals.NUMERALS if not word.isascii())
_WORDS = {
    word: n for word, n in numerals.NUMERALS.items() if word.isascii() and len(word) > 2 and set(word) - set("ivx")
}
_ORDINALS = {word: n for n, word in enumerate(numerals.ORDINALS, 1)}
_N = rf"[0-9]{{1,9}}|[{_HAN}](?![{_HAN}])"
_CHINESE = re.compile(
    rf"第\s?(?P<nth>{_N})\s?(?:号|个)?\s?{_BOX_ZH}"
    rf"|(?<![0-9{_HAN}])(?P<named>{_N})\s?号\s?(?:的\s?)?{_BOX_ZH}?"
    rf"|(?:编号|序号|标号|标记|标注|数字|标有|标示)(?:为|是)?\s?[\"']?(?P<marked>{_N})[\"']?\s?号?(?:标记|标注|标示)?的?\s?{_BOX_ZH}"
    rf"|{_COLOUR}?{_BOX_ZH} ?[(]?(?P<after>{_N})(?![0-9])[)]?"
)
_TOGETHER = re.compile(r"(?<=[0-9])\s?(?P<and>[和、及与,])\s?(?:以及)?区域(?=[0-9]{1,9}(?:[和、及与]|分别))")
_VERB_ZH = re.compile(
    r"(?<=[0-9])\s?(?:中|内|里|处)?\s?所?(?:标示|标注|标记|框选|框出|显示|指示|表示|代表|对应|包含)(?:的|了|于)?"
    r"(?:(?:部位|结构|区域)的?)?(?:是|为)?"
    r"|(?<=[0-9])\s?(?:中|内|里|处|应该?|分别|的?(?:内容|结构|类型))(?:的?(?:结构|区域|部位))?(?:是|为)"
)
_RATHER = re.compile(
    r"(?:不是|并非)[^,;。\n是]{1,12}?,?\s?而是|(?<![a-z])is\snot\s(?:the\s|an?\s)?[^.;\n]{1,40}?,?\sbut\s(?:rather\s)?",
    re.IGNORECASE,
)  # "is not the cup but the disc"
_COLOURED = re.compile(
    rf"(?<=[0-9])\s?\({_COLOUR}\s?(?:框|(?:bounding )?box|one)?\)"
    r"(?=\s?(?:[:=,;是为-]|is|show|contain))",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    rf"(?<![a-z])(?:(?P<nth>{'|'.join(_ORDINALS)})\s(?:numbered |labell?ed )?(?:bounding )?(?:box|region)"
    rf"|(?:box|region|area)\s(?P<after>{'|'.join(_WORDS)}))(?![a-z])",
    re.IGNORECASE,
)


def normalise_numbering(text: str) -> str:
    """Return the text with each numbered box written as "region" and its number in digits.

    Example:
        >>> normalise_numbering("1号框为视杯，第二个框标注的是视盘")
        '区域1为视杯，区域2为视盘'
        >>> normalise_numbering("The first box is the iris, box two the pupil.")
        'The region 1 is the iris, region 2 the pupil.'
        >>> normalise_numbering("框1和框2分别为视盘和视杯"), normalise_numbering("Region 1 (red): iris")
        ('区域1和2为视盘和视杯', 'Region 1: iris')
    """
    text = _RATHER.sub(lambda m: "是" if m[0][0] in "不并" else "is ", text)
    text = _CHINESE.sub(_plain_zh, _ENGLISH.sub(_plain, text))
    return _COLOURED.sub("", _VERB_ZH.sub("为", _TOGETHER.sub(r"\g<and>", text)))


def _plain(found: re.Match[str]) -> str:
    nth = found["nth"]
    return f"region {_ORDINALS[nth.casefold()] if nth else _WORDS[found['after'].casefold()]}"


def _plain_zh(found: re.Match[str]) -> str:
    number = found[found.lastgroup or 0]
    return f"区域{number if number.isascii() else numerals.NUMERALS[number]}"
