"""What is known of an image for one stage: the truth from a curated record, earlier truths, and measured boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Record, Region
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.drafts.listing import PARTS
from lmod_train.tasks.filled import plain_text
from lmod_train.tasks.parsing.label import labels_in

STAGES = tuple(PARTS)

CHAIN, ANATOMY = "chain", "anatomy"
DIAGNOSES = ("four_way", "glaucoma")
"""Tasks whose answer is a diagnosis."""
ABSENT = ("NON-GLAUCOMA",)
"""Answers that deny one disease, and so are no diagnosis."""
LESIONS = (
    "microaneurysms", "haemorrhages", "hard exudates", "soft exudates", "macular hole", "intraretinal cysts",
)  # fmt: skip
"""Structures of boxes that are lesions: truths of stage LC."""

BEGIN, END = "begin facts", "end facts"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an image for the draft of one stage. Labels come from files, and are one plain line each.

    Attributes:
        stage: Name of the stage.
        truth: True answer of the stage.
        modality: Name in `lmod_train.core.vocabulary.modalities`; empty if unknown.
        eye: ``left`` or ``right``; empty if unknown.
        structure: Structure that the question is about; empty if it is about the image.
        earlier: Earlier stage -> its true answer.
        boxes: Structure -> measurements of its boxes (see `measures.described`).
    """

    stage: str
    truth: str
    modality: str = ""
    eye: str = ""
    structure: str = ""
    earlier: Mapping[str, str] = field(default_factory=dict)
    boxes: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The facts as lines of a prompt; `facts_in` reads them back."""
        given = {"Modality": self.modality, "Eye": self.eye, "Structure": self.structure}
        lines = [f"{name}: {value}" for name, value in given.items() if value]
        lines += [f"True answer of stage {stage}: {truth}" for stage, truth in self.earlier.items()]
        lines += [f"Boxes of {name}: {words}" for name, words in self.boxes.items()]
        return "\n".join([BEGIN, *lines, f"True answer of this stage, {self.stage}: {self.truth}", END])


def facts_in(text: str) -> Facts | None:
    r"""Return the facts in the words of a prompt; None if there are none.

    Example:
        >>> facts = Facts("DD", "glaucoma", "CFP", "left", "", {"IQA": "Adequate"}, {"optic disc": "1 box; left"})
        >>> facts_in(f"Write.\n{facts.text}\nDone.") == facts
        True
    """
    lines = text.splitlines()
    if BEGIN not in lines or END not in lines[lines.index(BEGIN) :]:
        return None
    start = lines.index(BEGIN)
    found: dict[str, str] = {}
    for line in lines[start + 1 : lines.index(END, start)]:
        name, _, value = line.partition(": ")
        found[name] = value
    stage, truth = next(((k.removeprefix(_THIS), v) for k, v in found.items() if k.startswith(_THIS)), ("", ""))
    earlier = {k.removeprefix(_EARLIER): v for k, v in found.items() if k.startswith(_EARLIER)}
    boxes = {k.removeprefix(_BOXES): v for k, v in found.items() if k.startswith(_BOXES)}
    given = {name: found.get(name, "") for name in ("Modality", "Eye", "Structure")}
    return Facts(stage, truth, given["Modality"], given["Eye"], given["Structure"], earlier, boxes) if stage else None


_THIS, _EARLIER, _BOXES = "True answer of this stage, ", "True answer of stage ", "Boxes of "


def known_of(
    records: Sequence[Record], size_of: Callable[[Record], tuple[int, int]], seed: int = 0
) -> list[tuple[Record, Facts]]:
    """Return the facts of each stage of one sample that has a truth, with the record that the truth is from.

    A stage's truth is that of a record of the task `chain`; where there is none, the answer of a diagnosis task (DD),
    of a scale (SG), a lesion with boxes (LC), and the place of a structure with one box (AL). A stage without a truth
    is left out, never inferred from another.

    Args:
        records: Records of one sample, in any order.
        size_of: Returns width and height of a record's original image in pixels.
        seed: Seed of the choice among several lesions or structures.

    Example:
        >>> known_of([], lambda record: (1, 1))
        []
    """
    usable = sorted((r for r in records if r.language == "en" and len(r.image) == 1), key=lambda r: r.id)
    marked = next((r for r in usable if r.regions), None)
    named = [replace(r, structure=plain_text(r.structure).replace(":", "")) for r in marked.regions] if marked else []
    boxes = described(named, size_of(marked)) if marked else {}
    truths = _truths(usable, marked, boxes, seed)
    found: list[tuple[Record, Facts]] = []
    for stage in (stage for stage in STAGES if stage in truths):
        record, facts = truths[stage]
        earlier = {before: truths[before][1].truth for before in STAGES[: STAGES.index(stage)] if before in truths}
        eye = (record.patient.laterality or "").casefold()
        eye = eye if eye in ("left", "right") else ""
        modality = plain_text(record.modality)
        found.append((record, replace(facts, modality=modality, eye=eye, earlier=earlier, boxes=boxes)))
    return found


def _truths(
    records: Iterable[Record], marked: Record | None, boxes: Mapping[str, str], seed: int
) -> dict[str, tuple[Record, Facts]]:
    """Return stage -> the record with its truth, and the facts of it alone: chains first, boxes last."""
    found: dict[str, tuple[Record, Facts]] = {}
    for record in sorted(records, key=lambda r: (r.task != CHAIN, r.id)):
        stage, truth = truth_of(record)
        if stage in STAGES and truth:
            found.setdefault(stage, (record, Facts(stage, truth)))
    if marked is not None:
        for stage, names in (("AL", single(boxes)), ("LC", [name for name in boxes if name in LESIONS])):
            if names and stage not in found:
                name = min(names, key=lambda name: shuffle_key(seed, "draft", marked.source, marked.key, stage, name))
                truth = boxes[name].split("; ")[1] if stage == "AL" else name
                found[stage] = marked, Facts(stage, truth, structure=name)
    return found


def truth_of(record: Record) -> tuple[str, str]:
    """Return the stage that a record's answer is a truth of, and the truth in words; two empty texts if it is of none.

    Example:
        >>> from lmod_train.tasks.prompt import prompt
        >>> fields = dict.fromkeys(("task_class", "source", "key", "modality", "group"), "") | {"task_version": 1}
        >>> fields |= dict.fromkeys(("image", "image_plain", "image_sha256"), ()) | {"split": "test", "language": "en"}
        >>> given = {"messages": prompt("Which?"), "choices": ("0", "1"), "answer": "2"}
        >>> truth_of(Record("a", "icdr", **fields, **given))
        ('SG', 'moderate NPDR')
    """
    if record.task == CHAIN:
        return record.chain_step, plain_text(_chosen(record))
    if record.task in DIAGNOSES:
        named = labels_in(record.answer, record.choices)
        word = named[0] if len(named) == 1 else ""
        return ("DD", plain_text(word.casefold())) if word and word not in ABSENT else ("", "")
    scale = next((s for s in SCALES if s.name == record.task), None)
    level = record.answer.rpartition(":")[2].strip(" .")
    if scale is None or level not in scale.levels:
        return "", ""
    return "SG", plain_text(scale.meanings[scale.levels.index(level)])


def _chosen(record: Record) -> str:
    """Return the text of the right option of a single-choice record; empty if its answer names none."""
    letter = record.answer.removeprefix("Answer:").strip()[:1]
    place = ascii_uppercase.find(letter) if letter else -1
    return record.choices[place] if 0 <= place < len(record.choices) else ""


MIDDLE = 0.1
"""Share of the image's side around its centre within which a box is neither left nor right, neither upper nor lower."""

DISC, CUP = "optic disc", "optic cup"


def described(regions: Sequence[Region], size: tuple[int, int]) -> dict[str, str]:
    """Return structure -> measurements of its boxes, in the order of the names.

    Args:
        regions: Boxes in pixels of the original image.
        size: Width and height of that image in pixels.

    Example:
        >>> boxes = [Region("optic disc", Box(60, 10, 80, 30)), Region("optic cup", Box(65, 14, 75, 26))]
        >>> found = described(boxes, (100, 100))
        >>> found["optic disc"]
        '1 box; upper right of the image; 20 % of the width, 20 % of the height'
        >>> found["optic cup"].rpartition("; ")[2]
        'vertical cup-to-disc ratio 0.60'
    """
    by_name: dict[str, list[Box]] = {}
    for region in regions:
        by_name.setdefault(region.structure, []).append(region.box)
    disc = by_name[DISC][0] if len(by_name.get(DISC, [])) == 1 else None
    return {name: "; ".join(_parts(name, by_name[name], size, disc)) for name in sorted(by_name)}


def _parts(name: str, boxes: Sequence[Box], size: tuple[int, int], disc: Box | None) -> list[str]:
    places = dict.fromkeys(place_of(box, size) for box in boxes)
    parts = ["1 box" if len(boxes) == 1 else f"{len(boxes)} boxes", ", ".join(places)]
    if len(boxes) == 1:
        width, height = (100 * side / whole for side, whole in zip(_sides(boxes[0]), size, strict=True))
        parts.append(f"{width:.0f} % of the width, {height:.0f} % of the height")
    if disc is not None and name not in (DISC, CUP):
        parts.append(_from_disc(boxes, disc))
    if disc is not None and name == CUP and len(boxes) == 1:
        parts.append(f"vertical cup-to-disc ratio {boxes[0].height / disc.height:.2f}")
    return parts


def _sides(box: Box) -> tuple[int, int]:
    return box.width, box.height


def centre(box: Box) -> tuple[float, float]:
    """Return x and y of a box's centre."""
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def place_of(box: Box, size: tuple[int, int]) -> str:
    """Return where the centre of a box is in the image.

    Example:
        >>> place_of(Box(0, 45, 10, 55), (100, 100)), place_of(Box(45, 45, 55, 55), (100, 100))
        ('left of the image', 'centre of the image')
    """
    across, down = (at / whole - 0.5 for at, whole in zip(centre(box), size, strict=True))
    vertical = "" if abs(down) <= MIDDLE else "lower" if down > 0 else "upper"
    side = "" if abs(across) <= MIDDLE else "right" if across > 0 else "left"
    return f"{' '.join(word for word in (vertical, side) if word) or 'centre'} of the image"


def _from_disc(boxes: Sequence[Box], disc: Box) -> str:
    """Return distance and clock hour of the nearest box, from the disc's centre; 12 o'clock is up in the image."""
    (x, y), diameter = centre(disc), (disc.width + disc.height) / 2
    offsets = [(at[0] - x, at[1] - y) for at in map(centre, boxes)]
    across, down = min(offsets, key=lambda offset: math.hypot(*offset))
    hour = round(math.degrees(math.atan2(across, -down)) / 30) % 12 or 12
    nearest = "" if len(boxes) == 1 else "nearest "
    far = math.hypot(across, down) / diameter
    return f"{nearest}centre {far:.1f} disc diameters from the centre of the optic disc, at {hour} o'clock"


def single(described_structures: Mapping[str, str]) -> list[str]:
    """Return the structures with one box, in order: those whose place is one place."""
    return [name for name, words in described_structures.items() if words.startswith("1 box;")]
