"""Descriptions of what numbered boxes contain, by appearance, never by a name that a task of the benchmark asks for.

Reading a number in an image and finding what it belongs to is most of the work in the task anatomy. The small base is
trained to do this with descriptions, and fine-tuning only adds which name belongs to which appearance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from description import Turn

from lmod_train.core.errors import BadArgument

HELD: dict[str, tuple[str, str]] = {
    "optic disc": ("a bright oval", "亮椭圆"),
    "optic cup": ("a pale middle", "苍白中央"),
    "fovea": ("a dim spot", "暗点"),
    "choroid": ("a speckled band", "斑点带"),
    "retina": ("a layered band", "分层带"),
    "intraretinal cysts": ("dark ovals", "暗圆"),
    "macular hole": ("a break in the bands", "带的缺口"),
    "right eye": ("lids with the nose at their right", "鼻在右侧的眼睑"),
    "left eye": ("lids with the nose at their left", "鼻在左侧的眼睑"),
    "iris": ("a coloured ring", "彩色环"),
    "pupil": ("a round opening", "圆孔"),
    "cornea": ("a clear dome", "透明圆顶"),
    "lens": ("a small clear plate", "透明小片"),
    "slit knife": ("a pointed blade on teal", "青柄尖刃"),
    "incision knife": ("a slanted blade on ivory", "象牙柄斜刃"),
    "gauge": ("a thin bent tube", "细弯管"),
    "spatula": ("a paddle on a rod", "杆端小桨"),
    "capsulorhexis cystotome": ("a hooked needle on orange", "橙座钩针"),
    "capsulorhexis forceps": ("two short steel prongs", "两根短钢叉"),
    "katena forceps": ("two long blue prongs", "两根长蓝叉"),
    "phacoemulsification tip": ("a blue sleeve on a thick grip", "粗柄蓝套"),
    "irrigation-aspiration": ("a curved tube in pink", "粉套弯管"),
    "lens injector": ("a wide glass barrel", "宽玻璃筒"),
}
"""Appearance of each structure, in English and Chinese, by its name."""


FORMS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "en": (
        ("What do the boxes hold?", "Box {number}: {look}.", " "),
        ("What does each number mark? Name one a line.", "{number}. {look}", "\n"),
        ("Go through the regions.", "Region {number} holds {look}.", " "),
        (
            "What do you see in the frames? Follow the format: Number: xxx; Look: xxx.",
            "Number: {number}; Look: {look}",
            "\n",
        ),
        (
            "Tell frames and contents. Write: Frame ID - xxx, Content - xxx.",
            "Frame ID - {number}, Content - {look}",
            "\n",
        ),
        ("List number and look with a bar between them.", "{number} | {look}", "\n"),
        ("What do the numbers stand for?", "Number {number} stands for {look}.", " "),
        ("Give the labels as pairs.", '"{number}": "{look}"', ", "),
    ),
    "zh": (
        ("框里是什么？", "{number}号框：{look}。", ""),
        ("每个编号标出什么？", "编号{number}；外观：{look}", "\n"),
        ("逐一说明区域。", "区域{number}为{look}。", ""),
    ),
}
"""Forms of question and answer by language: question, answer per box, separator. There are several, so that the model
does not learn to find a box by one wording only."""
_CHOOSE = {"en": (" Choose from: ", ", ", "."), "zh": ("可选：", "、", "。")}


def ask_what_boxes_hold(
    held: Mapping[int, str], language: str = "en", form: int = 0, options: Sequence[str] = ()
) -> Turn:
    """Return question and answer about what each numbered box contains, by appearance.

    Args:
        held: Name of the structure (a key of `HELD`) by number of the box; {} gives an empty answer.
        language: ``en`` or ``zh``.
        form: Index into `FORMS`.
        options: Names of `HELD` whose appearances the question offers, in this order; by default none.

    Raises:
        BadArgument: A name is not in `HELD`, or there is no such form.

    Example:
        >>> ask_what_boxes_hold({2: "gauge", 1: "pupil"}).answer
        'Box 1: a round opening. Box 2: a thin bent tube.'
        >>> ask_what_boxes_hold({1: "iris"}, "zh").answer
        '1号框：彩色环。'
        >>> ask_what_boxes_hold({1: "iris"}, form=5, options=["pupil", "iris"])
        Turn(question='List number and look with a bar between them. Choose from: a round opening, a coloured ring.', \
answer='1 | a coloured ring')
    """
    _known("held", held.values())
    _known("options", options)
    if not 0 <= form < len(FORMS[language]):
        raise BadArgument("form", form, f"0 to {len(FORMS[language]) - 1} for {language!r}", "choose one of FORMS")
    question, each, between = FORMS[language][form]
    place = language != "en"
    if options:
        before, comma, after = _CHOOSE[language]
        question += before + comma.join(HELD[name][place] for name in options) + after
    answers = [each.format(number=number, look=HELD[held[number]][place]) for number in sorted(held)]
    return Turn(question, between.join(answers))


def ask_of_box(number: int, name: str, language: str = "en") -> Turn:
    """Return question and answer about what one box contains, by appearance.

    Raises:
        BadArgument: The name is not in `HELD`.

    Example:
        >>> ask_of_box(3, "gauge")
        Turn(question='What is in box 3?', answer='In 3 is a thin bent tube.')
    """
    _known("name", [name])
    if language == "zh":
        return Turn(f"{number}号框里是什么？", f"{number}里是{HELD[name][1]}。")
    return Turn(f"What is in box {number}?", f"In {number} is {HELD[name][0]}.")


def _known(argument: str, names: Iterable[str]) -> None:
    unknown = sorted(set(names) - set(HELD))
    if unknown:
        raise BadArgument(argument, unknown, f"names among {', '.join(HELD)}", "use these words")
