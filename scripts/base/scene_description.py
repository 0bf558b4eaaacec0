"""Descriptions of phantom B-scans, external eye photographs and surgery frames; `description` has those of fundi.

They contain findings, never a diagnosis or a stage, and never the name of a structure in a drawn box.
"""

from __future__ import annotations

from description import Turn, with_summary

from lmod_train.core.types import Region
from lmod_train.phantom.eye_photograph import EyePhotograph
from lmod_train.phantom.instruments import INSTRUMENTS, Point
from lmod_train.phantom.oct import Scan
from lmod_train.phantom.surgery import Scene

_CHINESE = ("裂隙刀", "切开刀", "灌注针头", "虹膜铲", "截囊针", "撕囊镊", "钛弯镊", "超乳针头", "注吸管", "推注器")
TOOLS = {kind: ("an " if kind[0] in "aeiou" else "a ") + kind for kind in INSTRUMENTS}
"""Instrument with its article, by instrument."""


def describe_scan(
    scan: Scan, regions: tuple[Region, ...] = (), language: str = "en", side: float = 1.0
) -> tuple[Turn, ...]:
    """Return one question and answer per finding of a B-scan, preceded by one with the complete description.

    The gap is narrow below 8 % of the image width and wide from 14 %; it is closed above if the inner retina continues
    over it.

    Args:
        scan: Truth of the scan.
        regions: Numbered boxes drawn on the image, if any.
        language: ``en`` or ``zh``.
        side: Longer side of the image in the pixels of the boxes.

    Example:
        >>> from lmod_train.phantom.oct import draw_oct_eye, draw_scan
        >>> [turn.answer for turn in describe_scan(draw_scan(0, draw_oct_eye(0, "4", "left"), 0.0))[1:]]
        ['A wide gap, open above.', 'There are 3 dark ovals.', 'A thin line runs above.', 'The scan is sharp.']
    """
    size = 0 if scan.width < 0.08 else 1 if scan.width < 0.14 else 2
    closed, line, poor = scan.eye.height < 1, scan.eye.hyaloid is not None, scan.dim or scan.blurred
    ovals = len(scan.cysts)
    if language == "zh":
        gap = f"{('窄', '中等', '宽')[size]}缺口，上方{'闭合' if closed else '开放'}。" if scan.width else "没有缺口。"
        findings = [
            Turn("有缺口吗？", gap),
            Turn("有几个暗圆？", f"暗圆{ovals}个。"),
            Turn("上方有线吗？", "上方有细线。" if line else "上方无线。"),
            Turn("清晰吗？", "扫描较差。" if poor else "扫描清晰。"),
        ]
    else:
        words = ("narrow", "medium", "wide")
        gap = f"A {words[size]} gap, {'closed' if closed else 'open'} above." if scan.width else "No gap."
        findings = [
            Turn("Is there a gap?", gap),
            Turn("How many dark ovals are there?", f"There are {ovals} dark ovals."),
            Turn("Is there a line above?", "A thin line runs above." if line else "No line runs above."),
            Turn("Is the scan sharp?", "The scan is poor." if poor else "The scan is sharp."),
        ]
    return with_summary(findings, regions, language, side)


def describe_photograph(
    photograph: EyePhotograph, regions: tuple[Region, ...] = (), language: str = "en", side: float = 1.0
) -> tuple[Turn, ...]:
    """Return one question and answer per finding of an external photograph, preceded by the complete description.

    Args:
        photograph: Truth of the photograph.
        regions: Numbered boxes drawn on the image, if any.
        language: ``en`` or ``zh``.
        side: Longer side of the image in the pixels of the boxes.

    Example:
        >>> from lmod_train.phantom.eye_photograph import draw_eye_photograph
        >>> describe_photograph(draw_eye_photograph(3, "left", cataract=True))[0].answer
        'A left eye. The pupil is grey.'
    """
    grey = photograph.eyes[0].haze > 0
    if language == "zh":
        views = {"right": "右眼。", "left": "左眼。", "both": "双眼。", "iris": "只有虹膜。"}
        findings = [
            Turn("见到什么？", views[photograph.view]),
            Turn("瞳孔如何？", f"瞳孔{'灰白' if grey else '黑色'}。"),
        ]
    else:
        views = {"right": "A right eye.", "left": "A left eye.", "both": "Both eyes.", "iris": "An iris alone."}
        findings = [
            Turn("What is shown?", views[photograph.view]),
            Turn("What is the pupil like?", f"The pupil is {'grey' if grey else 'black'}."),
        ]
    return with_summary(findings, regions, language, side)


def describe_surgery(
    scene: Scene, regions: tuple[Region, ...] = (), language: str = "en", side: float = 1.0
) -> tuple[Turn, ...]:
    """Return one question and answer per finding of a surgery frame, preceded by the complete description.

    Instruments are named in a fixed order, each with the side it comes from; the text does not say which box contains
    which instrument.

    Args:
        scene: Truth of the frame.
        regions: Numbered boxes drawn on the image, if any.
        language: ``en`` or ``zh``.
        side: Longer side of the image in the pixels of the boxes.

    Example:
        >>> from lmod_train.phantom.surgery import draw_operation, draw_scene
        >>> describe_surgery(draw_scene(1, draw_operation(1), ["gauge"], lens=True))[0].answer
        'A lens is implanted. A gauge from the right.'
    """
    held = sorted(scene.instruments, key=lambda tool: INSTRUMENTS.index(tool.kind))
    ways = [_way(_centre(scene.pupil), tool.shape.outline, language) for tool in held]
    if language == "zh":
        names = [_CHINESE[INSTRUMENTS.index(tool.kind)] for tool in held]
        tools = "、".join(f"{way}来的{name}" for name, way in zip(names, ways, strict=True))
        findings = [
            Turn("植入晶体了吗？", "已植入晶体。" if scene.lens else "未植入晶体。"),
            Turn("有哪些器械？", f"{tools}。" if tools else "没有器械。"),
        ]
    else:
        names = [f"{TOOLS[tool.kind]} from the {way}" for tool, way in zip(held, ways, strict=True)]
        tools = ", ".join(names)
        findings = [
            Turn("Is a lens implanted?", "A lens is implanted." if scene.lens else "No lens is implanted."),
            Turn("Which instruments are there?", f"{tools[0].upper()}{tools[1:]}." if tools else "No instrument."),
        ]
    return with_summary(findings, regions, language, side)


def _centre(corners: tuple[Point, ...]) -> Point:
    return sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners)


def _way(middle: Point, outline: tuple[Point, ...], language: str) -> str:
    """Return the side from which an instrument comes, the direction of its handle's end from the pupil's centre."""
    far = max(outline, key=lambda p: (p[0] - middle[0]) ** 2 + (p[1] - middle[1]) ** 2)
    across, down = far[0] - middle[0], far[1] - middle[1]
    reach = (across * across + down * down) ** 0.5
    level = 0 if abs(down) < 0.38 * reach else 1 if down < 0 else 2
    place = 0 if abs(across) < 0.38 * reach else 1 if across < 0 else 2
    if language == "zh":
        return ("", "左", "右")[place] + ("", "上", "下")[level] + "方"
    if not place:
        return ("", "top", "bottom")[level]
    words = (("", "upper", "lower")[level], ("", "left", "right")[place])
    return " ".join(word for word in words if word)
