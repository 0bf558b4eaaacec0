"""A drafted question: the facts and words that a model is given, and what is read in its reply."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.raw import read_json
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Prediction, Record, Region, Unparsed
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.filled import plain_text
from lmod_train.tasks.parsing.label import labels_in
from lmod_train.tasks.parsing.visible import strip_thinking
from lmod_train.tasks.prompt import prompt, question_text

_WORDS = package_data(__file__, "words.yaml")["drafts"]


HEADS = ("Question", "Options", "Right letter", "Answer")
"""Headings of the parts of a reply, in their order; ``Options`` may be missing in front of lettered lines."""

_HEAD = re.compile(r"[\s*#_`>]{0,8}(question|options|right letter|answer)[*_` ]{0,4}:[*_` ]{0,4}(.*)", re.IGNORECASE)

_OPTION = re.compile(r"[\s*_`>-]{0,8}\(?([A-Z])[.):][*_` ]{0,4}(\S.*)")

_LETTER = re.compile(r"[\s*_`(]{0,4}([A-Z])(?![A-Za-z])")

LONGEST = 20_000
"""Characters up to which a reply is read; longer ones are loops."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted single-choice question with its long answer. All texts are a model's, and untrusted.

    Attributes:
        question: Words of the question, on one line.
        options: Texts of the options in the order of their letters A, B, ...
        letter: Letter of the option that the model calls right; it may be none of the options'.
        answer: Long answer by the template of the stage; lines are kept.
    """

    question: str
    options: tuple[str, ...]
    letter: str
    answer: str

    @property
    def right(self) -> str:
        """Text of the right option; empty if the letter is not that of an option."""
        place = ascii_uppercase.find(self.letter) if self.letter else -1
        return self.options[place] if 0 <= place < len(self.options) else ""

    @property
    def wrong(self) -> tuple[str, ...]:
        """Texts of the other options."""
        return tuple(o for letter, o in zip(ascii_uppercase, self.options, strict=False) if letter != self.letter)

    @property
    def text(self) -> str:
        """The draft in the requested form, which `read_draft` reads back."""
        lines = [f"{letter}. {option}" for letter, option in zip(ascii_uppercase, self.options, strict=False)]
        head = [f"Question: {self.question}", "Options:", *lines, f"Right letter: {self.letter}"]
        return "\n".join([*head, f"Answer: {self.answer}"])


def read_draft(reply: str) -> Draft | Unparsed:
    r"""Return the draft in a reply, or why there is none; never raises, never guesses.

    Each heading must occur once. Bold marks around headings, thinking in front and blank lines are ignored. Whether the
    options and the letter fit each other is not decided here but by the checks.

    Returns:
        ``empty``; ``no_match`` with the part that is missing; ``ambiguous`` with the heading that occurs twice, or
        where the letters of the options are not A, B, ... in order; ``repetition`` for more than 20,000 letters.

    Example:
        >>> found = read_draft("Question: Which?\nA. cup\nB. rim\n**Right letter:** B\nAnswer: PRESENT. At the disc.")
        >>> found.right, found.answer
        ('rim', 'PRESENT. At the disc.')
        >>> read_draft("Question: Which?\nA. cup").detail
        'no Right letter'
    """
    text = strip_thinking(reply)[0].strip()
    if not any(c.isalnum() for c in text):
        return Unparsed("empty", text[:80])
    if len(text) > LONGEST:
        return Unparsed("repetition", text[:80])
    parts = _parts(text)
    if isinstance(parts, Unparsed):
        return parts
    letters = [letter for letter, _ in parts.options]
    if letters != list(ascii_uppercase[: len(letters)]):
        return Unparsed("ambiguous", f"letters of the options: {' '.join(letters)}")
    named = _LETTER.match(parts.letter)
    if named is None:
        return Unparsed("no_match", f"no letter after Right letter: {parts.letter[:60]}")
    return Draft(parts.question, tuple(text for _, text in parts.options), named[1], parts.answer)


@dataclass(frozen=True, slots=True)
class _Parts:
    question: str
    options: tuple[tuple[str, str], ...]
    letter: str
    answer: str


def _parts(text: str) -> _Parts | Unparsed:
    """Return the parts of a reply by its headings."""
    found: dict[str, list[str]] = {}
    at = ""
    for line in text.splitlines():
        head = _HEAD.fullmatch(line) if at != "answer" or _is_head_again(line) else None
        option = _OPTION.fullmatch(line) if at in ("question", "options") else None
        if head is not None:
            at = head[1].lower()
            if at in found:
                return Unparsed("ambiguous", f"two lines {head[1]}")
            found[at] = [head[2]]
        elif option is not None:
            at = "options"
            found.setdefault("options", []).append(line)
        elif at:
            found[at].append(line)
    missing = [name for name in HEADS if not any(line.strip() for line in found.get(name.lower(), []))]
    if missing:
        return Unparsed("no_match", f"no {missing[0]}")
    options = _options(found["options"])
    if isinstance(options, Unparsed):
        return options
    answer = "\n".join(line.strip(" *_`") for line in found["answer"]).strip()
    return _Parts(_one_line(found["question"]), options, _one_line(found["right letter"]), answer)


def _is_head_again(line: str) -> bool:
    """Return whether a line of the long answer repeats a heading, so that the reply holds two drafts."""
    head = _HEAD.fullmatch(line)
    return head is not None and head[1].lower() in ("question", "right letter")


def _options(lines: list[str]) -> tuple[tuple[str, str], ...] | Unparsed:
    found: list[tuple[str, str]] = []
    for line in lines:
        option = _OPTION.fullmatch(line)
        if option is not None:
            found.append((option[1], _one_line([option[2]])))
        elif line.strip() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {_one_line([line])}")
        elif line.strip():
            return Unparsed("no_match", f"a line among the options without a letter: {line.strip()[:60]}")
    return tuple(found)


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).strip(" *_`").split())


def parts_of(answer: str) -> dict[str, str]:
    r"""Return label in lower case -> words after it of the lines ``Label: words`` of a long answer.

    Lines without a label belong to the one above. Of a label that occurs twice the first counts.

    Example:
        >>> parts_of("Size: small,\nhalf a disc.\nShape: round")
        {'size': 'small, half a disc.', 'shape': 'round'}
    """
    found: dict[str, str] = {}
    at = ""
    for line in answer.replace("**", "").splitlines():
        label, colon, rest = line.partition(":")
        if colon and 0 < len(label.strip()) <= 40 and label.strip()[0].isalpha():
            at = " ".join(label.lower().split())
            found.setdefault(at, rest.strip())
        elif at:
            found[at] = f"{found[at]} {line.strip()}".strip()
    return found


PARTS: dict[str, list[str]] = _WORDS["parts"]
"""Stage -> labels of the lines of its answer. Those of LC and DD are printed; listings 5 and 6 name the parts of SG and
CD in one phrase joined by "+", and labels are ours there."""


# What is known of an image for one stage: the truth from a curated record, earlier truths, and measured boxes.
STAGES = tuple(PARTS)

CHAIN = "chain"

DIAGNOSES = ("four_way", "glaucoma")
"""Tasks whose answer is a diagnosis."""

ABSENT = ("NON-GLAUCOMA",)
"""Answers that deny one disease, and so are no diagnosis."""

LESIONS: list[str] = _WORDS["lesions"]
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
    return {name: "; ".join(_parts_facts(name, by_name[name], size, disc)) for name in sorted(by_name)}


def _parts_facts(name: str, boxes: Sequence[Box], size: tuple[int, int], disc: Box | None) -> list[str]:
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


# The question and answer templates of X-PCR's six stages, and the labels of the parts that an answer must have.
FILE = Path(__file__).with_name("listings.json")
"""Listings 1 to 6 of the supplement, verbatim, with their source."""

VERDICTS: dict[str, tuple[str, ...]] = {"IQA": ("YES", "NO"), "AL": ("PRESENT", "ABSENT")}
"""Stage -> words of which one begins the answer; a sentence follows."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A template of the supplement.

    Attributes:
        stage: Name of the stage (IQA, AL, LC, DD, SG, CD).
        location: Where it is printed.
        text: Its text, verbatim.
    """

    stage: str
    location: str
    text: str


@cache
def _printed() -> dict[str, Any]:
    """Return the listings, and the prompt of this package, version 1, in which they are put."""
    found: dict[str, Any] = read_json(FILE)
    return found


@cache
def listings() -> dict[str, Listing]:
    """Return stage -> its listing, in the order of the stages.

    Example:
        >>> [one.location for one in listings().values()][0], list(listings())
        ('Listing 1', ['IQA', 'AL', 'LC', 'DD', 'SG', 'CD'])
    """
    return {row["stage"]: Listing(**row) for row in _printed()["listings"]}


def form_of(stage: str) -> str:
    r"""Return the lines that an answer of a stage consists of, with ``...`` for the words to write.

    Example:
        >>> form_of("AL")
        'PRESENT. ... or ABSENT. ...'
        >>> form_of("SG")
        'Risk category: ...\nContributing factors: ...\nRecommended monitoring: ...'
    """
    if stage in VERDICTS:
        return " or ".join(f"{word}. ..." for word in VERDICTS[stage])
    return "\n".join(f"{label}: ..." for label in PARTS[stage])


# The prompt by which a model drafts a question of one stage.
OPTIONS = 4
"""Number of options of a question."""


def words_for(facts: Facts, letter: str) -> str:
    """Return the prompt for one draft.

    Args:
        facts: What is known of the image.
        letter: Letter that the right option shall have, so that right options are balanced over the letters.
    """
    place = {"stage": facts.stage, "facts": facts.text, "listing": listings()[facts.stage].text}
    return "\n".join(_printed()["prompt"]).format(**place, letter=letter, form=form_of(facts.stage))


# A draft with what is known of its image: the input of every check.


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft and the facts that it was written from.

    Attributes:
        record: What was asked of the model.
        draft: What it wrote.
        facts: Of the image and stage.
        truths: Stage -> truth of all stages of its chain.
    """

    record: Record
    draft: Draft
    facts: Facts
    truths: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Record id."""
        return self.record.id

    @property
    def stage(self) -> str:
        """Name of the stage."""
        return self.facts.stage


def drafted_of(predictions: Sequence[Prediction]) -> list[Drafted]:
    """Return the drafts of the predictions in whose reply one can be read, in id order.

    Raises:
        ValueError: A record holds no facts, so that it is not of the task `Drafting`.
    """
    truths: dict[str, dict[str, str]] = {}
    for prediction in predictions:
        record = prediction.record
        truths.setdefault(record.chain, {})[record.chain_step] = record.answer
    ordered = sorted(predictions, key=lambda p: p.record.id)
    return [_drafted(p, truths[p.record.chain]) for p in ordered if not isinstance(p.answer, Unparsed)]


def _drafted(prediction: Prediction, truths: Mapping[str, str]) -> Drafted:
    facts, draft = facts_in(question_text(prediction.record.messages)), read_draft(str(prediction.answer))
    if facts is None or isinstance(draft, Unparsed):
        raise ValueError(f"record {prediction.record.id}: not a draft with its facts")
    return Drafted(prediction.record, draft, facts, truths)


# A small draft for the examples and tests of the checks.


def drafted(
    stage: str = "DD",
    *,
    truth: str = "glaucoma",
    question: str = "What is the most likely diagnosis?",
    options: Sequence[str] = ("Glaucoma", "Cataract", "Normal", "Macular edema"),
    letter: str = "A",
    answer: str = "",
    eye: str = "",
    structure: str = "",
    boxes: Mapping[str, str] | None = None,
    truths: Mapping[str, str] | None = None,
    key: str = "1",
) -> Drafted:
    """Return a draft with its facts."""
    facts = Facts(stage, truth, "CFP", eye, structure, boxes=boxes or {})
    record = Record(
        f"draft/s/{key}/{stage}", "draft", "", 1, "s", key, "CFP", (f"{key}.jpg",), (f"{key}.jpg",), ("",), "train",
        key, "en", prompt(facts.text), (), truth, chain=f"s/{key}", chain_step=stage,
    )  # fmt: skip
    return Drafted(record, Draft(question, tuple(options), letter, answer), facts, truths or {stage: truth})
