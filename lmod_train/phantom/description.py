"""Say in words what a phantom shows: findings, never a diagnosis and never the name of what a drawn box surrounds.

The small base learns from these. It then describes what it sees and does not know the benchmark's tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.phantom.eye import Eye
from lmod_train.types import Box, Region


@dataclass(frozen=True)
class Turn:
    """A question about the picture and its true answer."""

    question: str
    answer: str


def describe(eye: Eye, regions: tuple[Region, ...] = (), language: str = "en") -> tuple[Turn, ...]:
    """Return one turn a finding, the first of them the whole description.

    Args:
        eye: The truth.
        regions: Numbered boxes drawn on the picture, if any, in pixels of any one size.
        language: ``en`` or ``zh``.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> whole, *findings = describe(draw_eye(1, "glaucoma"))
        >>> whole.answer == " ".join(t.answer for t in findings), "glaucoma" in whole.answer
        (True, False)
    """
    findings = [_side(eye, language), _cup(eye, language), _spots(eye, language), _clarity(eye, language)]
    if regions:
        findings.append(_boxes(regions, language))
    ask = "Describe this picture." if language == "en" else "请描述这张图片。"
    return Turn(ask, (" " if language == "en" else "").join(t.answer for t in findings)), *findings


def _side(eye: Eye, language: str) -> Turn:
    right = eye.laterality == "right"
    if language == "zh":
        return Turn("这是哪只眼？", f"{'右' if right else '左'}眼。")
    return Turn("Which eye is it?", f"A {eye.laterality} eye.")


def _cup(eye: Eye, language: str) -> Turn:
    """Ratio to one decimal, and a word for it; a large cup is one above 0.55."""
    ratio = f"{eye.cup_to_disc:.1f}"
    word = 0 if eye.cup_to_disc < 0.4 else 1 if eye.cup_to_disc < 0.55 else 2
    if language == "zh":
        return Turn("视杯有多大？", f"视杯{('小', '中等', '大')[word]}，杯盘比{ratio}。")
    return Turn("How large is the cup?", f"The cup is {('small', 'medium', 'large')[word]}, ratio {ratio}.")


def _spots(eye: Eye, language: str) -> Turn:
    dark = sum(lesion.kind in ("haemorrhage", "microaneurysm") for lesion in eye.lesions)
    bright = len(eye.lesions) - dark
    words = ("no", "few", "many") if language == "en" else ("没有", "少量", "大量")
    amount = [words[0 if n == 0 else 1 if n < 5 else 2] for n in (dark, bright)]
    if language == "zh":
        return Turn("有斑点吗？", f"{amount[0]}暗斑，{amount[1]}亮斑。")
    return Turn("Are there spots?", f"There are {amount[0]} dark spots and {amount[1]} bright spots.")


def _clarity(eye: Eye, language: str) -> Turn:
    word = 0 if eye.haze < 0.15 else 1 if eye.haze < 0.6 else 2
    if language == "zh":
        return Turn("图片清晰吗？", f"图片{('清晰', '模糊', '非常模糊')[word]}。")
    return Turn("Is the picture clear?", f"The picture is {('clear', 'hazy', 'very hazy')[word]}.")


def _boxes(regions: tuple[Region, ...], language: str) -> Turn:
    """Tell how the boxes lie to one another: inside, around, or apart from every other."""
    said = []
    for region in sorted(regions, key=lambda r: r.id):
        around = [o.id for o in regions if o.id != region.id and _inside(o.box, region.box)]
        within = [o.id for o in regions if o.id != region.id and _inside(region.box, o.box)]
        if language == "zh":
            relation = f"包含{around[0]}号框" if around else f"在{within[0]}号框内" if within else "单独"
            said.append(f"{region.id}号框{relation}。")
        else:
            relation = f"around box {around[0]}" if around else f"inside box {within[0]}" if within else "alone"
            said.append(f"Box {region.id} is {relation}.")
    if language == "zh":
        return Turn("画了哪些框？", "".join(said))
    return Turn("Which boxes are drawn?", " ".join(said))


def _inside(inner: Box, outer: Box) -> bool:
    return outer.x0 <= inner.x0 and outer.y0 <= inner.y0 and outer.x1 >= inner.x1 and outer.y1 >= inner.y1
