"""Labelled replies to questions for numbered boxes; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.regions import parse_regions
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

FUNDUS = ("optic disc", "optic cup")
OCT = ("Choroid", "IRC", "MH", "Retina")
SURGERY = ("Cornea", "Lens", "Pupil", "Slit Knife", "Spatula", "cornea1", "Irrigation-Aspiration")
D, C = FUNDUS


def outcome(text: str, choices: tuple[str, ...]) -> dict[int, str] | str:
    answer = read(Reply("id", text), parse_regions, choices)
    if isinstance(answer, Unparsed):
        return f"?{answer.reason}"
    assert isinstance(answer, dict)
    return answer


@tabled(
    ("text", "wanted"),
    [
        # the requested format and its variants
        ("Region ID: 1; Type: optic disc", {1: D}),
        ("Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup", {1: D, 2: C}),
        ("Region ID: 1; Type: optic disc; Region ID: 2; Type: optic cup.", {1: D, 2: C}),
        ("Region ID: 1; Type: optic disc Region ID: 2; Type: optic cup", {1: D, 2: C}),
        ("Region ID: 1, Type: optic disc, Region ID: 2, Type: optic cup", {1: D, 2: C}),
        ("Region ID: [1]; Type: [optic disc]", {1: D}),
        ("[Region ID: 1; Type: optic disc]\n[Region ID: 2; Type: optic cup]", {1: D, 2: C}),
        ("Region ID: <1>; Type: <optic cup>", {1: C}),
        ("- **Region ID:** 1; **Type:** Optic Disc\n- **Region ID:** 2; **Type:** Optic Cup", {1: D, 2: C}),
        ("* Region ID 1: Type: optic disc", {1: D}),
        ("1. Region ID: 1; Type: optic disc\n2. Region ID: 2; Type: optic cup", {1: D, 2: C}),
        ("Region ID: 1\nType: optic disc\n\nRegion ID: 2\nType: optic cup", {1: D, 2: C}),
        ("Region ID: 2; Type: optic disc\nRegion ID: 1; Type: optic cup", {2: D, 1: C}),
        ("region id: 1; type: OPTIC DISC", {1: D}),
        ("Region ID: #1; Type: optic disc", {1: D}),
        ("Region 1; Type: optic disc", {1: D}),
        ("ID: 1; Type: optic cup", {1: C}),
        ("Region ID: 1; Type: optic disc (bright, round)", {1: D}),
        ("Region ID: 1; Type: optic disc, which is bright", {1: D}),
        ("Region ID: 1; Type: the optic disc", {1: D}),
        ("Region ID: 1; Type: Optic disc region", {1: D}),
        ("Region ID: 1 and 2; Type: optic disc", {1: D, 2: D}),
        # JSON and tables
        ('{"1": "optic disc", "2": "optic cup"}', {1: D, 2: C}),
        ('```json\n[{"Region ID": 1, "Type": "optic disc"}, {"Region ID": 2, "Type": "optic cup"}]\n```', {1: D, 2: C}),
        ('[{"region_id": 1, "type": "optic disc"}]', {1: D}),
        ('[{"id": "1", "type": "optic cup"}]', {1: C}),
        ('[{"type": "optic disc", "region_id": 1}, {"type": "optic cup", "region_id": 2}]', {1: D, 2: C}),
        ("{1: 'optic disc', 2: 'optic cup'}", {1: D, 2: C}),
        ("| Region ID | Type |\n|---|---|\n| 1 | optic disc |\n| 2 | optic cup |", {1: D, 2: C}),
        # looser forms
        ("1 - optic disc\n2 - optic cup", {1: D, 2: C}),
        ("1: optic disc, 2: optic cup", {1: D, 2: C}),
        ("1. Optic disc\n2. Optic cup", {1: D, 2: C}),
        ("(1) optic disc\n(2) optic cup", {1: D, 2: C}),
        ("1) optic disc", {1: D}),
        ("Region 1: optic disc", {1: D}),
        ("Region 1 is the optic disc. Region 2 is the optic cup.", {1: D, 2: C}),
        ("Box 1: optic cup", {1: C}),
        ("Bounding box 2 contains the optic disc, seen as a bright oval.", {2: D}),
        # synonyms, slips and Chinese
        ("Region ID: 1; Type: optic disk", {1: D}),
        ("Region ID: 1; Type: Optic nerve head", {1: D}),
        ("Region ID: 1; Type: ONH", {1: D}),
        ("Region ID: 1; Type: cup", {1: C}),
        ("Region ID: 1; Type: Optic_Disc", {1: D}),
        ("Region ID: 1; Type: optic-cup", {1: C}),
        ("Region ID: 1; Type: opitc disc", {1: D}),
        ("Region ID: 1; Type: optic dics", {1: D}),
        ("Region ID: 1; Type: opticcup", {1: C}),
        ("区域编号：1；类型：视盘\n区域编号：2；类型：视杯", {1: D, 2: C}),
        ("区域1：视盘", {1: D}),
        ("区域1是视杯", {1: C}),
        # hallucinated ids stay, foreign types stay
        ("Region ID: 1; Type: optic disc\nRegion ID: 7; Type: optic cup", {1: D, 7: C}),
        ("Region ID: 1; Type: optic disc\nRegion ID: 2; Type: retina", {1: D, 2: "retina"}),
        ("Region ID: 1; Type: optic disc\nRegion ID: 2; Type: Some Nose", {1: D, 2: "some nose"}),
        ("Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic disc rim", {1: D, 2: "optic disc rim"}),
        ("Region ID: 1; Type: not optic disc\nRegion ID: 2; Type: optic cup", {1: "not optic disc", 2: C}),
        ("Region ID: 1; Type: optic disc\nRegion ID: 2; Type:", {1: D}),
        ("Region ID: 1; Type: nose\nRegion ID: 2; Type: mouth", "?no_match"),
        ("Region ID: xxx; Type: xxx.", "?no_match"),
        ("Region ID: 1; Type: xxx.", "?no_match"),
        # two types for one region
        ("Region ID: 1; Type: optic disc\nRegion ID: 1; Type: optic cup", "?ambiguous"),
        (
            "Region ID: 1; Type: optic disc\nRegion ID: 1; Type: optic cup\nRegion ID: 2; Type: optic cup",
            {1: "optic disc / optic cup", 2: C},
        ),
        ("Region ID: 1; Type: optic disc\nRegion ID: 1; Type: optic disc", {1: D}),
        # the requested format beats what contradicts it; final answers and corrections beat both
        ("Region ID: 1; Type: optic disc\nRegion 1 is the optic cup because it is bright.", {1: D}),
        ("Region 1 is the optic cup.\nFinal answer: Region ID: 1; Type: optic disc", {1: D}),
        (
            "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic disc\nCorrection: Region ID: 2; Type: optic cup",
            {1: D, 2: C},
        ),
        # no regions
        ("[0.0, 0.2, 0.99, 0.86]", "?no_match"),  # LMOD figure 4, VILA-3B: N/A
        ("optic disc, optic cup", "?no_match"),
        ("1. The image shows a fundus photograph of good quality.\n2. Everything in it looks fine to me.", "?no_match"),
        ("I'm sorry, I cannot identify the regions.", "?refused"),
        ("Optic " * 39 + "Opt " * 946, "?repetition"),  # LMOD figure 13
        ("Region ID: 1; Type: optic disc\n" * 40, "?repetition"),
        ("Region ID: 1; Type: optic disc\n" + "Opt " * 300, {1: D}),
        ("", "?empty"),
    ],
)
def test_fundus_replies(text: str, wanted: dict[int, str] | str) -> None:
    assert outcome(text, FUNDUS) == wanted


@tabled(
    ("text", "wanted"),
    [
        ("Region ID: 1; Type: Retina\nRegion ID: 2; Type: Choroid", {1: "Retina", 2: "Choroid"}),
        ("Region ID: 1; Type: Macular hole; Region ID: 2; Type: Intraretinal cyst", {1: "MH", 2: "IRC"}),
        ("Region ID: 1; Type: intraretinal cysts (IRC)", {1: "IRC"}),
        ("Region ID: 1; Type: mh", {1: "MH"}),
        # LMOD figure 4, LLaVA-M-7B: regions 1 and 2 misclassified, a region 4 that does not exist
        (
            "Region ID: 1; Type: Choroid\nRegion ID: 2; Type: IRC\nRegion ID: 4; Type: Retina",
            {1: "Choroid", 2: "IRC", 4: "Retina"},
        ),
        (
            "Region ID: 1; Type: Retinal pigment epithelium; Region ID: 2; Type: Retina",
            {1: "retinal pigment epithelium", 2: "Retina"},
        ),
        ("区域1：黄斑裂孔；区域2：脉络膜", {1: "MH", 2: "Choroid"}),
    ],
)
def test_oct_replies(text: str, wanted: dict[int, str]) -> None:
    assert outcome(text, OCT) == wanted


@tabled(
    ("text", "wanted"),
    [
        ("Region ID: 1; Type: Cornea\nRegion ID: 2; Type: cornea1", {1: "Cornea", 2: "cornea1"}),
        ("Region ID: 1; Type: irrigation/aspiration", {1: "Irrigation-Aspiration"}),
        ("Region ID: 1; Type: slit-knife", {1: "Slit Knife"}),
        ("Region ID: 1; Type: Corena\nRegion ID: 2; Type: Lens", {1: "Cornea", 2: "Lens"}),  # a digit is no slip
        ("Region ID: 1; Type: corena1\nRegion ID: 2; Type: Lens", {1: "cornea1", 2: "Lens"}),
        ("Region ID: 1; Type: lens injector\nRegion ID: 2; Type: Lens", {1: "lens injector", 2: "Lens"}),
    ],
)
def test_surgical_replies(text: str, wanted: dict[int, str]) -> None:
    assert outcome(text, SURGERY) == wanted


def test_a_type_in_brackets() -> None:
    assert parse("anatomy CFP", "Region 1 (optic disc), Region 2 (optic cup)") == {1: "optic disc", 2: "optic cup"}
    assert isinstance(parse("anatomy CFP", "Region 1 (left), Region 2 (right)"), Unparsed)


@tabled("rest", [": a bright disc", " rather than optic cup", ", not optic cup"])
def test_text_behind_a_type_does_not_change_it(rest: str) -> None:
    assert parse("anatomy CFP", f"Region 1 is the optic disc{rest}") == {1: "optic disc"}


@tabled("mark", ["/", "|", ";", " /", " |"])
def test_pairs_on_one_line_end_at_any_mark(mark: str) -> None:
    line = f"Region ID: 1; Type: iris{mark} Region ID: 2; Type: pupil{mark} Region ID: 3; Type: iris"
    assert parse("anatomy LP", line) == {1: "iris", 2: "pupil", 3: "iris"}
