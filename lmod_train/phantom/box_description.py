"""Say in plain words what drawn boxes hold: looks, never the name that a task of the benchmark asks for.

Reading a number off a picture and finding what it belongs to is most of anatomy's work. The small base practises it
in these words, and learns in tuning only which name goes with which look.
"""

from __future__ import annotations

from collections.abc import Mapping

from lmod_train.errors import BadArgument
from lmod_train.phantom.description import Turn

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
"""How what a box surrounds looks, in English and Chinese, by the structure's name."""


def ask_what_boxes_hold(held: Mapping[int, str], language: str = "en") -> Turn:
    """Return what each numbered box holds, by its looks.

    Args:
        held: Names of `HELD` by the box's number; none gives an empty answer.
        language: ``en`` or ``zh``.

    Raises:
        BadArgument: No looks are known of a name.

    Example:
        >>> ask_what_boxes_hold({2: "gauge", 1: "pupil"}).answer
        'Box 1: a round opening. Box 2: a thin bent tube.'
        >>> ask_what_boxes_hold({1: "iris"}, "zh").answer
        '1号框：彩色环。'
    """
    unknown = sorted(set(held.values()) - set(HELD))
    if unknown:
        raise BadArgument("held", unknown, f"names among {', '.join(HELD)}", "use these words")
    if language == "zh":
        return Turn("框里是什么？", "".join(f"{n}号框：{HELD[held[n]][1]}。" for n in sorted(held)))
    return Turn("What do the boxes hold?", " ".join(f"Box {n}: {HELD[held[n]][0]}." for n in sorted(held)))
