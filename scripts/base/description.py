"""Descriptions of phantom fundi: findings, never a diagnosis, and never the name of a structure in a drawn box.

The small base is trained on them, so that it can describe images without knowing the benchmark's tasks.
`scene_description` describes B-scans, eye photographs and surgery frames,
`box_description` the content of boxes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.phantom.eye import Eye

LOOKS: dict[str, tuple[str, str]] = {
    "nevus": ("a slate grey oval", "灰蓝色椭圆斑"),
    "drusen": ("small yellow dots around the fovea", "中心凹周围黄色小点"),
    "abnormal macula": ("brown clumps at the fovea", "中心凹处褐色团块"),
    "age-related macular degeneration": ("a pale patch at the fovea", "中心凹处苍白斑块"),
    "scar": ("a white patch with a dark edge", "深色边缘白斑"),
    "vascular occlusion": ("dark streaks that fan out", "扇形深色条纹"),
    "hemorrhage": ("a pool with a level top", "上缘平直的积液"),
    "retinal detachment": ("a grey folded sheet below", "下方灰色皱褶"),
    "myopic fundus": ("a streaked ground with a white crescent", "条纹状底色和白色新月"),
    "hypertensive retinopathy": ("thin arteries with a bright stripe", "细而带亮条的动脉"),
    "abnormal vessels": ("wide winding veins", "粗大迂曲的静脉"),
}
"""Appearance of each condition of `SIGNS` in English and Chinese, in words that are no diagnosis."""


@dataclass(frozen=True)
class Turn:
    """A question about the image and its true answer."""

    question: str
    answer: str


def describe(
    eye: Eye,
    regions: tuple[Region, ...] = (),
    language: str = "en",
    signs: Collection[str] = (),
    side: float = 1.0,
    laser: bool = False,
) -> tuple[Turn, ...]:
    """Return one question and answer per finding, preceded by one with the complete description.

    Args:
        eye: Truth of the eye.
        regions: Numbered boxes drawn on the image, if any.
        language: ``en`` or ``zh``.
        signs: Conditions whose signs are painted, names of `lmod_train.phantom.lesions.SIGNS`.
        side: Longer side of the image in the pixels of the boxes; only used with boxes.
        laser: Whether the image is a laser scan, which shows no colour, lesions or haze.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> summary, *findings = describe(draw_eye(1, "glaucoma"))
        >>> summary.answer == " ".join(t.answer for t in findings), "glaucoma" in summary.answer
        (True, False)
    """
    findings = [_side(eye, language), _cup(eye, language)]
    if not laser:
        findings += [_colours(eye, language), _spots(eye, language), _signs(signs, language), _clarity(eye, language)]
    return with_summary(findings, regions, language, side)


def with_summary(findings: Sequence[Turn], regions: tuple[Region, ...], language: str, side: float) -> tuple[Turn, ...]:
    """Return the turns, with one about the boxes if there are any, preceded by one with all answers."""
    findings = [*findings, *([boxes_turn(regions, language, side)] if regions else [])]
    ask = "Describe this picture." if language == "en" else "请描述这张图片。"
    return Turn(ask, (" " if language == "en" else "").join(t.answer for t in findings)), *findings


def ask_of_sign(name: str, signs: Collection[str], language: str = "en") -> Turn:
    """Return question and answer about the presence of one condition, by its appearance.

    Raises:
        BadArgument: The name is not in `LOOKS`.

    Example:
        >>> ask_of_sign("nevus", ["nevus", "scar"])
        Turn(question='Is there a slate grey oval?', answer='Yes.')
        >>> ask_of_sign("drusen", ["nevus"], "zh").answer
        '没有。'
    """
    if name not in LOOKS:
        raise BadArgument("name", name, f"one of {', '.join(LOOKS)}", "use these words")
    looks, seen = LOOKS[name][language != "en"], name in signs
    if language == "zh":
        return Turn(f"有{looks}吗？", "有。" if seen else "没有。")
    return Turn(f"{'Is' if looks.startswith('a ') else 'Are'} there {looks}?", "Yes." if seen else "No.")


def _side(eye: Eye, language: str) -> Turn:
    right = eye.laterality == "right"
    if language == "zh":
        return Turn("这是哪只眼？", f"{'右' if right else '左'}眼。")
    return Turn("Which eye is it?", f"A {eye.laterality} eye.")


def _cup(eye: Eye, language: str) -> Turn:
    """Return the cup-to-disc ratio to one decimal, with a word for it; the cup is large from 0.55."""
    ratio = f"{eye.cup_to_disc:.1f}"
    word = 0 if eye.cup_to_disc < 0.4 else 1 if eye.cup_to_disc < 0.55 else 2
    if language == "zh":
        return Turn("视杯有多大？", f"视杯{('小', '中等', '大')[word]}，杯盘比{ratio}。")
    return Turn("How large is the cup?", f"The cup is {('small', 'medium', 'large')[word]}, ratio {ratio}.")


def _colours(eye: Eye, language: str) -> Turn:
    """Return the width of the disc and the colour cast."""
    wide, blue = eye.disc_radii[0] >= 0.083, eye.camera.tint[2]
    tone = 0 if blue > 1.0 else 1 if blue > 0.7 else 2
    if language == "zh":
        return Turn("盘宽和色调如何？", f"盘{'宽' if wide else '窄'}，色调偏{('蓝', '橙', '黄')[tone]}。")
    tones = ("bluish", "orange", "yellow")
    return Turn("How are disc and light?", f"The disc is {'wide' if wide else 'narrow'}, the light {tones[tone]}.")


def _spots(eye: Eye, language: str) -> Turn:
    """Return the number of each kind of lesion in words (many from four), blots above and below the fovea apart."""
    kinds = [lesion.kind for lesion in eye.lesions]
    blots = [lesion for lesion in eye.lesions if lesion.kind == "haemorrhage"]
    above = sum(blot.y < eye.fovea[1] for blot in blots)
    flat, raised = kinds.count("hard exudate"), kinds.count("cotton-wool spot")
    counts = (kinds.count("microaneurysm"), above, len(blots) - above, flat, raised)
    words = ("no", "few", "many") if language == "en" else ("无", "少", "多")
    dots, up, down, yellow, woolly = (words[0 if n == 0 else 1 if n < 4 else 2] for n in counts)
    large = any(blot.radius > 0.05 for blot in blots)
    if language == "zh":
        pool = "，其中一个巨大" if large else ""
        return Turn("有斑点吗？", f"红点{dots}，上方暗斑{up}，下方暗斑{down}{pool}，黄斑点{yellow}，絮状斑{woolly}。")
    pool = ", one of them huge" if large else ""
    red = f"There are {dots} red dots, {up} blots above and {down} below{pool}"
    return Turn("Are there spots?", f"{red}, {yellow} yellow and {woolly} woolly spots.")


def _signs(signs: Collection[str], language: str) -> Turn:
    """Return the appearance of every condition, in the order of `LOOKS`."""
    looks = [words[language != "en"] for name, words in LOOKS.items() if name in signs]
    if language == "zh":
        return Turn("还见到什么？", f"还有{'、'.join(looks)}。" if looks else "别无其他。")
    return Turn("What else is seen?", f"Also {'; '.join(looks)}." if looks else "Nothing else.")


def _clarity(eye: Eye, language: str) -> Turn:
    word = 0 if eye.haze < 0.15 else 1 if eye.haze < 0.6 else 2
    if language == "zh":
        return Turn("图片清晰吗？", f"图片{('清晰', '模糊', '非常模糊')[word]}。")
    return Turn("Is the picture clear?", f"The picture is {('clear', 'hazy', 'very hazy')[word]}.")


def boxes_turn(regions: tuple[Region, ...], language: str, side: float) -> Turn:
    """Return size and position of each box, and its relation to the others: around, inside the smallest, or alone.

    Args:
        regions: Numbered boxes, at least one.
        language: ``en`` or ``zh``.
        side: Side of the square image in the pixels of the boxes. A box is small if its longer side is below a quarter
            of it, and large from a half; its centre is left below 0.42 and right from 0.58 of the side.

    Example:
        >>> regions = (Region("a", Box(0, 0, 90, 90), 1), Region("b", Box(10, 10, 30, 40), 2))
        >>> boxes_turn(regions, "en", 100).answer
        'Box 1: large, middle, around 2. Box 2: medium, upper left, inside 1.'
    """
    sentences = []
    for region in sorted(regions, key=lambda r: r.id):
        box, others = region.box, [o for o in regions if o.id != region.id]
        around = sorted(o.id for o in others if _inside(o.box, box))
        within = sorted((o.box.area, o.id) for o in others if _inside(box, o.box))
        share = max(box.width, box.height) / side
        size = 0 if share < 0.25 else 1 if share < 0.5 else 2
        place = _place((box.x0 + box.x1) / (2 * side), (box.y0 + box.y1) / (2 * side), language)
        if language == "zh":
            relation = f"包含{'、'.join(map(str, around))}号框" if around else ""
            relation = relation or (f"在{within[0][1]}号框内" if within else "单独")
            sentences.append(f"{region.id}号框{('小', '中等', '大')[size]}，{place}，{relation}。")
        else:
            relation = f"around {' and '.join(map(str, around))}" if around else ""
            relation = relation or (f"inside {within[0][1]}" if within else "alone")
            sentences.append(f"Box {region.id}: {('small', 'medium', 'large')[size]}, {place}, {relation}.")
    if language == "zh":
        return Turn("画了哪些框？", "".join(sentences))
    return Turn("Which boxes are drawn?", " ".join(sentences))


def _place(x: float, y: float, language: str) -> str:
    """Return in words which ninth of the image a point is in."""
    across, down = ((c >= 0.42) + (c >= 0.58) for c in (x, y))
    if language == "zh":
        return ("左", "中", "右")[across] + ("上", "间", "下")[down]
    words = (("upper", "", "lower")[down], ("left", "middle", "right")[across])
    return " ".join(word for word in words if word)


def _inside(inner: Box, outer: Box) -> bool:
    return outer.x0 <= inner.x0 and outer.y0 <= inner.y0 and outer.x1 >= inner.x1 and outer.y1 >= inner.y1
