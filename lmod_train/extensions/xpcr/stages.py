"""The six stages of X-PCR: names and context of each, and its question and truth from a sample's annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from lmod_train.core.option_letters import both_or_neither, named_in
from lmod_train.core.package_data import package_data
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Sample
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.extensions.xpcr.questions import dataset_of, disease_tags
from lmod_train.scoring.chain_steps import ALIASES, step_named

_WORDS = package_data(__file__, "words.yaml")["stages"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the chain.

    Attributes:
        name: Abbreviation of the supplement (section 3.1), `chain_step` of its records.
        title: Name in words.
        fact: Sentence that states its answer, at ``{}``, to every later question.
        asks_last: Sentence that states its answer to the next stage, where only the preceding answer is stated.
    """

    name: str
    title: str
    fact: str
    asks_last: str

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the same stage in the paper's figure 1."""
        return tuple(alias for alias, name in ALIASES.items() if name == self.name)


STAGES = tuple(Stage(*row) for row in _WORDS["stages"])
"""The stages in their order (X-PCR, supplement, section 3.1 and figure 3; figure 1 for aliases and contexts). The
facts, and how the fragment for DD ends, are ours."""

STAGE_NAMES = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> Stage | None:
    """Return the stage of a name or alias in any case; None if there is none.

    Example:
        >>> stage_named("pf").name, stage_named("treatment")
        ('LC', None)
    """
    return next((stage for stage in STAGES if stage.name == step_named(name)), None)


# A question of one stage before it has words for a model, and what stages have in common when they ask.
T = TypeVar("T")

Level = Literal["R", "A", "S"]
"""Expertise that a question needs (ours): resident, attending, specialist."""


@dataclass(frozen=True, slots=True)
class Posed:
    """A question of a stage.

    Attributes:
        question: In words.
        options: Texts of the options; one of them is right.
        truth: The right one.
        origin: Annotation that the truth is from, for the account of curation.
        level: Expertise that it needs.
    """

    question: str
    options: tuple[str, ...]
    truth: str
    origin: str
    level: Level


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why a stage has no truth for a sample; never guessed from another stage."""

    reason: str


def drawn(items: Sequence[T], sample: Sample, *pieces: str) -> list[T]:
    """Return the items in an order that depends on the sample's key and `pieces` alone."""

    def place(index: int) -> str:
        return shuffle_key("chain", sample.source, sample.key, *pieces, index)

    return [items[i] for i in sorted(range(len(items)), key=place)]


def pair(question: str, named: Sequence[tuple[str, bool]], origin: str) -> Posed:
    """Return the question which of two findings an image shows; two at a time need a specialist, else an attending.

    Args:
        question: In words.
        named: Name of each of the two, and whether it is there.
        origin: Annotation that states it.
    """
    (one, has_one), (other, has_other) = named
    options = both_or_neither(one, other)
    return Posed(question, options, options[has_one + 2 * has_other], origin, "S" if has_one and has_other else "A")


def structures_in(sample: Sample) -> set[str]:
    """Return the structures of masks and outlines, also those whose box was too small to be kept."""
    return {region.structure for region in sample.regions} | set(sample.too_small)


def box_of(sample: Sample, structure: str) -> Box | None:
    """Return the box of a structure; None if there is none, or more than one."""
    boxes = [region.box for region in sample.regions if region.structure == structure]
    return boxes[0] if len(boxes) == 1 else None


def centre(box: Box) -> tuple[float, float]:
    """Return the centre of a box in pixels.

    Example:
        >>> centre(Box(0, 0, 4, 10))
        (2.0, 5.0)
    """
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


# Localisation (AL): where a structure lies, from boxes of masks and points, or which structure is abnormal.
MARGIN = 0.01
"""Share of the image's longer side within which a place is too close to a border between two places to be asked for."""

QUADRANTS = ("upper left quarter", "upper right quarter", "lower left quarter", "lower right quarter")

DIRECTIONS = ("left of it, above", "right of it, above", "left of it, below", "right of it, below")

SHIFTS = ("left by above 5 %", "left by under 5 %", "right by under 5 %", "right by above 5 %")

LANDMARKS = ("optic disc", "pupil", "eye")
"""Structures of which the first that is outlined is asked for, if there is neither a B-scan nor a fovea."""

STRUCTURES = ("none is abnormal", "optic nerve head", "the macular area", "vascular network")

_VIEWS = {"SLO": "laser scan", "SS": "frame"}

_FLAGS = ("abnormal optic disc", "abnormal macula", "abnormal vessels")

_CLOSE = Missing("too close to a border between two places")


def pose_al(sample: Sample) -> Posed | Missing:
    """Return a question about a place; level R."""
    if "retina" in structures_in(sample):
        return _hole(sample)
    if any(flag in sample.labels for flag in _FLAGS):
        return _abnormal(sample)
    return _landmark(sample)


def _hole(sample: Sample) -> Posed | Missing:
    """Return how far the macular hole's centre lies from the middle of a B-scan."""
    box = box_of(sample, "macular hole")
    if box is None:
        return Missing("no box of a macular hole")
    shift = centre(box)[0] / sample.size[0] - 0.5
    if min(abs(shift - border) for border in (-0.05, 0, 0.05)) < MARGIN / 2:
        return _CLOSE
    question = (
        "Where does the centre of the macular hole lie, relative to the middle of the scan and in percent of "
        "the scan's width?"
    )
    return Posed(question, SHIFTS, SHIFTS[sum(shift > border for border in (-0.05, 0, 0.05))], "mask", "R")


def _abnormal(sample: Sample) -> Posed | Missing:
    """Return which one of disc, macula and vessels is labelled abnormal."""
    flags = [sample.labels.get(flag) for flag in _FLAGS]
    if None in flags:
        return Missing("not all structures are labelled")
    if flags.count("yes") > 1:
        return Missing("several structures are abnormal")
    truth = STRUCTURES[1 + flags.index("yes") if "yes" in flags else 0]
    question = "Which structure is primarily abnormal: the optic nerve head, the macula or the vessels?"
    return Posed(question, STRUCTURES, truth, "labels", "R")


def _landmark(sample: Sample) -> Posed | Missing:
    """Return where the fovea lies from the disc; without a fovea, in which quarter disc, pupil or eye lies."""
    found = structures_in(sample)
    landmark = next((name for name in LANDMARKS if name in found), LANDMARKS[0])
    box, fovea = box_of(sample, landmark), box_of(sample, "fovea")
    if box is None:
        return Missing(f"no box of the {landmark}")
    place = centre(box)
    middle = (sample.size[0] / 2, sample.size[1] / 2)
    (x, y), (x0, y0) = (centre(fovea), place) if fovea else (place, middle)
    if min(abs(x - x0), abs(y - y0)) < MARGIN * max(sample.size):
        return _CLOSE
    at = (x > x0) + 2 * (y > y0)
    if fovea:
        question = "Where does the fovea lie in the photograph, seen from the centre of the optic disc?"
        return Posed(question, DIRECTIONS, DIRECTIONS[at], "points of disc and fovea", "R")
    view, origin = _VIEWS.get(sample.modality, "photograph"), "box" if landmark == "eye" else "mask or outline"
    question = f"In which quarter of the {view} does the centre of the {landmark} lie?"
    return Posed(question, QUADRANTS, QUADRANTS[at], origin, "R")


# Lesions (LC): which findings an image shows, from masks, outlines and labels.
LESION_QUESTION = "Characterize the findings. Which of the two does the image show: {} or {}?"

LESION_KINDS = ("microaneurysms", "haemorrhages", "hard exudates", "soft exudates")
"""Lesions of diabetic retinopathy whose masks say whether they are there."""

FLAGS: dict[str, str] = _WORDS["flags"]
"""Labels of findings -> words of the options."""

INSTRUMENTS: list[str] = _WORDS["instruments"]
"""Instruments of cataract surgery; a frame with any outline has those of all its instruments."""

RATIOS = ("under 0.30", "0.3 to 0.5", "0.5 to 0.7", "above 0.70")
"""Classes of the vertical cup-to-disc ratio."""

BORDERS = (0.3, 0.5, 0.7)


def pose_lc(sample: Sample) -> Posed | Missing:
    """Return a question about findings."""
    if "retina" in structures_in(sample):
        return _hole_lc(sample)
    if sample.modality == "SS":
        return _instruments(sample)
    if sum(kind in sample.labels for kind in LESION_KINDS) > 1:
        return _kinds(sample)
    if sum(flag in sample.labels for flag in FLAGS) > 1:
        return _flags(sample)
    return _cup(sample)


def _hole_lc(sample: Sample) -> Posed:
    """Return whether a B-scan's mask has a hole and cysts."""
    found = structures_in(sample)
    named = [("macular hole", "macular hole" in found), ("intraretinal cysts", "intraretinal cysts" in found)]
    return pair(LESION_QUESTION.format("macular hole", "intraretinal cysts"), named, "mask")


def _instruments(sample: Sample) -> Posed | Missing:
    """Return which of two instruments, drawn by the sample's key, a frame of surgery shows."""
    found = structures_in(sample)
    if not found:
        return Missing("no outline in the frame")
    names = drawn(INSTRUMENTS, sample, "LC")[:2]
    return pair(LESION_QUESTION.format(*names), [(name, name in found) for name in names], "outlines")


def _kinds(sample: Sample) -> Posed:
    """Return whether two kinds of lesion, drawn by the sample's key, have a mask."""
    names = drawn([kind for kind in LESION_KINDS if kind in sample.labels], sample, "LC")[:2]
    return pair(LESION_QUESTION.format(*names), [(name, sample.labels[name] == "yes") for name in names], "mask")


def _flags(sample: Sample) -> Posed | Missing:
    """Return which of two findings, drawn by the sample's key, are labelled.

    From ICDR 2 the retinopathy may have haemorrhages of its own, which the label ``no`` does not deny.
    """
    names = drawn([name for name in FLAGS if name in sample.labels], sample, "LC")[:2]
    own = sample.labels.get("icdr", "0") >= "2" and sample.labels.get("hemorrhage") == "no"
    if own and "hemorrhage" in names:
        return Missing("haemorrhages of retinopathy are not labelled")
    words = [FLAGS[name] for name in names]
    return pair(
        LESION_QUESTION.format(*words), [(FLAGS[name], sample.labels[name] == "yes") for name in names], "labels"
    )


def _cup(sample: Sample) -> Posed | Missing:
    """Return the class of the vertical cup-to-disc ratio."""
    ratio = cup_to_disc(sample, BORDERS)
    if isinstance(ratio, Missing):
        return ratio
    question = "Characterize the optic cup: what is the vertical cup-to-disc ratio?"
    return Posed(question, RATIOS, RATIOS[sum(ratio > border for border in BORDERS)], "mask or outline", "A")


# Diagnosis (DD): diseases that a source labels as present or absent.
DIAGNOSES: dict[str, str] = _WORDS["diagnoses"]

HOLES = ("macula with no hole", "lamellar hole alone", "impending hole only", "full-thickness hole")

CATARACT = ("without cataract", "cataract present")

GLAUCOMA = ("without glaucoma", "glaucoma present")

OTHERS = ("age-related macular degeneration", "vascular occlusion", "hypertensive retinopathy", "myopic fundus")
"""Diseases of which one, drawn by the sample's key, is asked for beside diabetic retinopathy."""

DIAGNOSIS_QUESTION = "What is the diagnosis, as far as {} and {} are concerned?"

_HOLE_LEVELS = {HOLES[2]: ("1",), HOLES[3]: ("2", "3", "4")}
"""Kind of a macular hole -> its stages (Gass 1995)."""

_MANAGED = {HOLES[2]: "macular hole", HOLES[3]: "macular hole", GLAUCOMA[0]: "no glaucoma", GLAUCOMA[1]: "glaucoma"}
"""Diagnosis -> its name in the management table."""

_RETINOPATHY, _EDEMA = "diabetic retinopathy", "a risk of macular edema"


def pose_dd(sample: Sample) -> Posed | Missing:
    """Return a question about the diagnosis."""
    labels = sample.labels
    if "cataract" in labels:
        return _yes_or_no("cataract", labels["cataract"], CATARACT)
    if labels.get("diagnosis") in DIAGNOSES:
        question = "What is the most likely diagnosis?"
        return Posed(question, tuple(DIAGNOSES.values()), DIAGNOSES[labels["diagnosis"]], "labels", "A")
    if "macular_hole_stage" in labels:
        return shows_hole(sample) or _hole_dd(labels["macular_hole_stage"])
    if "glaucoma" in labels:
        return _yes_or_no("glaucoma", labels["glaucoma"], GLAUCOMA)
    return _retinopathic(sample)


def levels_in(answer: str) -> tuple[str, ...]:
    """Return the levels that the severity can have after an answer to this stage; empty if it implies none.

    Example:
        >>> levels_in("impending hole only"), levels_in("neither diabetic retinopathy nor vascular occlusion")
        (('1',), ('0',))
        >>> levels_in("glaucoma present")
        ()
    """
    ill = named_in(answer).get(_RETINOPATHY)
    return _HOLE_LEVELS.get(answer, ()) if ill is None else ("1", "2", "3", "4") if ill else ("0",)


def diagnoses_in(answer: str) -> tuple[str, ...]:
    """Return the names that an answer to this stage can have in the management table; empty if it has none.

    Retinopathy has two, as the table asks for macular edema, unless the answer says whether there is a risk of it.

    Example:
        >>> diagnoses_in("glaucoma present"), diagnoses_in("macula with no hole")
        (('glaucoma',), ())
    """
    named = named_in(answer)
    if _RETINOPATHY not in named:
        return (_MANAGED[answer],) if answer in _MANAGED else ()
    both = (_RETINOPATHY, f"{_RETINOPATHY} with macular edema")
    return (both[named[_EDEMA]],) if _EDEMA in named else both


def _yes_or_no(disease: str, label: str, options: tuple[str, str]) -> Posed:
    """Return whether one disease is labelled; `options` are its absence and its presence."""
    question = f"What is the diagnosis, as far as {disease} is concerned?"
    return Posed(question, options, options[label == "yes"], "labels", "A")


def _hole_dd(stage: str) -> Posed:
    """Return the kind of a macular hole: stage 1 is impending, the others are full-thickness holes (Gass 1995)."""
    truth = HOLES[2 if stage == "1" else 3]
    return Posed("What is the diagnosis at the macula?", HOLES, truth, "label and mask", "A")


def _retinopathic(sample: Sample) -> Posed | Missing:
    """Return whether there is diabetic retinopathy, and one other condition that the source labels."""
    ill = retinopathy(sample)
    if isinstance(ill, Missing):
        return ill
    if "macular_edema_risk" in sample.labels:
        other, has_other = _EDEMA, sample.labels["macular_edema_risk"] != "0"
    else:
        labelled = [name for name in OTHERS if name in sample.labels]
        if not labelled:
            return Missing("no second diagnosis is labelled")
        other = drawn(labelled, sample, "DD")[0]
        has_other = sample.labels[other] == "yes"
    return pair(DIAGNOSIS_QUESTION.format(_RETINOPATHY, other), [(_RETINOPATHY, ill), (other, has_other)], "labels")


# Further question families of diagnosis and severity (supplement, section 3.1), where labels give their truth.
FAMILIES: dict[str, str] = _WORDS["families"]
"""Family -> its question; ours."""


def pose_families(sample: Sample) -> dict[tuple[str, str], Posed]:
    """Return (stage, family) -> question of a sample; a family without a truth is absent.

    - ``normality``: normal or abnormal, where one diagnosis is labelled and normal is one of them;
    - ``differential``: which of two candidates the image shows, one labelled as present, the other as absent;
    - ``ranking``: the order of four candidates that begins with the right one, all that labels say; each candidate
      stands once at each place, so that no order is told from the others by its words;
    - ``co-occurrence``: which two of four conditions are there, two of them labelled as absent;
    - ``risk``: the risk of macular edema, where it is graded.

    Progression needs two visits, which no source of chains has (`lmod_train.tasks.change` asks a table's).
    """
    labels, found = sample.labels, dict[tuple[str, str], Posed]()
    one = None if "cataract" in labels else labels.get("diagnosis")  # a photograph of the lens denies no fundus disease
    named = {DIAGNOSES[name]: name == one for name in DIAGNOSES} if one in DIAGNOSES else _labelled(labels)
    there, absent = ([name for name, is_there in named.items() if is_there is side] for side in (True, False))
    there, absent = drawn(there, sample, "families", "there"), drawn(absent, sample, "families", "absent")
    if one in DIAGNOSES:
        options = ("normal", "abnormal")
        found["DD", "normality"] = Posed(FAMILIES["normality"], options, options[one != "normal"], "labels", "R")
    if len(there) == 1 and absent:
        two = tuple(sorted((there[0], absent[0])))
        found["DD", "differential"] = Posed(FAMILIES["differential"].format(*two), two, there[0], "labels", "A")
    if len(there) == 1 and len(absent) > 2:
        four = drawn([there[0], *absent[:3]], sample, "families", "ranking")
        orders = {four[n]: ", then ".join(four[n:] + four[:n]) for n in range(4)}  # each name once at each place
        found["DD", "ranking"] = Posed(FAMILIES["ranking"], tuple(orders.values()), orders[there[0]], "labels", "A")
    if len(there) > 1 and len(absent) > 1:
        (a, b), (c, d) = there[:2], absent[:2]
        pairs = tuple(" and ".join(sorted(two)) for two in ((a, b), (a, c), (b, d), (c, d)))
        found["DD", "co-occurrence"] = Posed(FAMILIES["co-occurrence"], pairs, pairs[0], "labels", "S")
    if "macular_edema_risk" in labels:
        scale = _SCALES["macular_edema_risk"]
        truth = scale.meanings[int(labels[scale.name])]
        found["SG", "risk"] = Posed(FAMILIES["risk"], scale.meanings, truth, "labels", "S")
    return found


def _labelled(labels: Mapping[str, str]) -> dict[str, bool]:
    """Return the diseases that a source labels as present or absent, each by itself."""
    known = {_RETINOPATHY, *OTHERS, "glaucoma", "macular edema", "retinal detachment"}  # diseases, no findings
    return {name: value == "yes" for name, value in sorted(labels.items()) if name in known and value in ("yes", "no")}


# Severity (SG): levels of the scales of the vocabulary, and grades of the cup-to-disc ratio.
_SCALES = {scale.name: scale for scale in SCALES}

_GRADES = {"macular_hole_stage": "Gass stage", "icdr": "ICDR grade", "sdrg": "SDRG grade"}


def pose_sg(sample: Sample) -> Posed | Missing:
    """Return a question about the severity; level S."""
    name = next((name for name in _GRADES if name in sample.labels), None)
    if name is None:
        return _cup_sg(sample)
    hidden = shows_hole(sample) if name == "macular_hole_stage" else retinopathy(sample)
    return hidden if isinstance(hidden, Missing) else _level(name, sample.labels[name])


def implied_sg(stated: Mapping[str, str]) -> frozenset[str]:
    """Return the options that agree with the diagnosis among earlier answers (stage -> text); none without one.

    A kind of macular hole implies Gass stages, retinopathy or none the grades of its scales, glaucoma no size of a cup.

    Example:
        >>> implied_sg({"DD": "impending hole only"}) & {f"Gass stage {n}" for n in range(1, 5)}
        frozenset({'Gass stage 1'})
    """
    levels = levels_in(stated.get("DD", ""))
    return frozenset(f"{word} {level}" for word in _GRADES.values() for level in levels)


def _level(name: str, level: str) -> Posed:
    """Return the question for the level of a scale, with the meaning of each in its words."""
    scale, word = _SCALES[name], _GRADES[name]
    meanings = "; ".join(f"{n} {meaning}" for n, meaning in zip(scale.levels, scale.meanings, strict=True))
    question = f"Grade the severity of {scale.disease} based on observed findings ({meanings})."
    return Posed(question, tuple(f"{word} {n}" for n in scale.levels), f"{word} {level}", "labels", "S")


def _cup_sg(sample: Sample) -> Posed | Missing:
    """Return the grade of the cup, the severity that a photograph of a glaucoma set, or a laser scan, shows."""
    if "glaucoma" not in sample.labels and sample.modality != "SLO":
        return Missing("no label of a severity")
    grade = cup_grade(sample)
    if isinstance(grade, Missing):
        return grade
    question = (
        "Grade the severity of the cupping by the vertical cup-to-disc ratio (0 below {}; 1 up to {}; 2 up to {}; "
        "3 above).".format(*CUP_BORDERS)
    )
    return Posed(question, tuple(f"cup grade {n}" for n in range(4)), f"cup grade {grade}", "mask or outline", "S")


# Decision (CD): management of the diagnosis and grade by a table of published guidance; a draft.
_DISEASES = {"macular hole": "the macular hole", "glaucoma": "glaucoma", "no glaucoma": "glaucoma"}


def pose_cd(sample: Sample) -> Posed | Missing:
    """Return the question for the management class; level S. Missing where the table has no row."""
    case = case_of(sample)
    if isinstance(case, Missing):
        return case
    row = management_of(case.diagnosis, case.grade)
    if row is None:
        return Missing("no row in the management table")
    disease = _DISEASES.get(case.diagnosis, "diabetic retinopathy in a person with diabetes")
    question = f"What is the next step of management, as far as {disease} is concerned?"
    return Posed(question, CLASSES, row.management, "management table (draft)", "S")


def implied_cd(stated: Mapping[str, str]) -> frozenset[str]:
    """Return the management classes that agree with earlier answers (stage -> text); none without diagnosis and grade.

    These are the classes of the table's rows with the stated diagnosis and grade. Without a stated severity, each grade
    counts that the diagnosis implies; without a diagnosis, each one that has the grade.

    Example:
        >>> implied_cd({"DD": "full-thickness hole", "SG": "Gass stage 1"}), implied_cd({"SG": "ICDR grade 4"})
        (frozenset({'review at a short interval'}), frozenset({'treat the disease actively'}))
    """
    if not {"DD", "SG"} & stated.keys():
        return frozenset()
    grades = {_grade(option) for option in ([stated["SG"]] if "SG" in stated else implied_sg(stated))}
    of_grade = [row for row in MANAGEMENT if row.grade in grades or not grades]
    diagnoses = diagnoses_in(stated["DD"]) if "DD" in stated else {row.diagnosis for row in of_grade}
    return frozenset(row.management for row in of_grade if row.diagnosis in diagnoses)


def _grade(option: str) -> str:
    """Return an option of the severity as the table spells it: ``Gass 2`` of ``Gass stage 2``."""
    words = option.split()
    return " ".join(words[:1] + words[-1:])


def impact_of(sample: Sample) -> int | None:
    """Return how much a wrong decision about the case matters, from 1 to 5; None if it is not known."""
    case = case_of(sample)
    row = None if isinstance(case, Missing) else management_of(case.diagnosis, case.grade)
    return row.impact if row else None


# Diagnosis and grade of a sample as the management table spells them.
CUP_BORDERS = (0.5, 0.65, 0.8)
"""Vertical cup-to-disc ratios at which the grades 1, 2 and 3 of a cup begin; ours, no published scale."""

_RETINOPATHY_CASE = "diabetic retinopathy"

_ICDR: list[str] = package_data(__file__, "words.yaml")["questions"]["icdr"]
"""Abbreviations of the grades in X-PCR's Table 2."""


@dataclass(frozen=True, slots=True)
class Case:
    """Diagnosis and grade, keys of `lmod_train.extensions.xpcr.stages`."""

    diagnosis: str
    grade: str


def case_of(sample: Sample) -> Case | Missing:
    """Return diagnosis and grade from the sample's own labels and masks, or why one of them is not known."""
    labels = sample.labels
    if "macular_hole_stage" in labels:
        return shows_hole(sample) or Case("macular hole", f"Gass {labels['macular_hole_stage']}")
    if "icdr" in labels:
        return _retinopathic_case(sample)
    if "glaucoma" in labels:
        grade = cup_grade(sample)
        if isinstance(grade, Missing):
            return grade
        return Case("glaucoma" if labels["glaucoma"] == "yes" else "no glaucoma", f"cup {grade}")
    return Missing("no graded diagnosis")


def _retinopathic_case(sample: Sample) -> Case | Missing:
    """Return retinopathy with its ICDR grade; edema beside it changes the management."""
    ill = retinopathy(sample)
    if isinstance(ill, Missing):
        return ill
    if sample.labels.get("retinal detachment") == "yes":
        return Missing("retinal detachment decides, not retinopathy")
    edema = sample.labels.get("macular edema") == "yes" or sample.labels.get("macular_edema_risk", "0") != "0"
    if edema and not ill:
        return Missing("macular edema without retinopathy")
    return Case(
        f"{_RETINOPATHY_CASE} with macular edema" if edema else _RETINOPATHY_CASE, f"ICDR {sample.labels['icdr']}"
    )


def tags_of_case(sample: Sample) -> dict[str, str]:
    """Return the tags of the disease that a sample's labels state (`disease_tags`), and of its data set in Table 1.

    An ICDR grade names a disease of Table 2, and grade 0 only where no label is ``yes``. A disease that the table
    does not have leaves out the tags, as the image shows several.

    Example:
        >>> from pathlib import Path
        >>> tags_of_case(Sample("refuge", "1", "CFP", Path(), "1", "", labels={"icdr": "2"}))
        {'dataset': '21 REFUGE', 'disease': 'Moderate non-proliferative diabetic retinopathy', 'category': 'DR'}
    """
    labels = sample.labels
    present = [name for name, value in labels.items() if value == "yes"]
    ill = [name for name, is_there in _labelled(labels).items() if is_there and name != _EDEMA]
    grade = labels.get("icdr", "")
    graded = grade and not isinstance(retinopathy(sample), Missing) and (grade != "0" or not present)
    named = [*present, labels.get("diagnosis", ""), *([_ICDR[int(grade)]] if graded else [])]
    return dataset_of(sample.source) | (disease_tags(named) if all(disease_tags([name]) for name in ill) else {})


def retinopathy(sample: Sample) -> bool | Missing:
    """Return whether there is diabetic retinopathy; missing without a label, or where flag and grades contradict."""
    labels = sample.labels
    graded = [labels[scale] != "0" for scale in ("icdr", "sdrg") if scale in labels]
    flagged = [labels[_RETINOPATHY_CASE] == "yes"] if _RETINOPATHY_CASE in labels else []
    stated = {*graded, *flagged}
    if len(stated) > 1:
        return Missing("flag and grade of retinopathy contradict")
    return stated.pop() if stated else Missing("no label of a diagnosis")


def shows_hole(sample: Sample) -> Missing | None:
    """Return why a scan of an eye with a macular hole does not show it; None if its mask does."""
    found = structures_in(sample)
    if "macular hole" in found:
        return None
    return Missing("the mask shows no hole" if found else "no mask that can be read")


def cup_grade(sample: Sample) -> int | Missing:
    """Return the grade of the cup's size, 0 to 3, from the vertical cup-to-disc ratio."""
    ratio = cup_to_disc(sample, CUP_BORDERS)
    return ratio if isinstance(ratio, Missing) else sum(ratio > border for border in CUP_BORDERS)


# The vertical cup-to-disc ratio from the boxes of disc and cup.
CUP_MARGIN = 0.01
"""Distance from a border between two classes within which a ratio is of neither."""


def cup_to_disc(sample: Sample, borders: Sequence[float]) -> float | Missing:
    """Return the height of the cup's box over that of the disc's, or why there is none clear of the borders.

    Args:
        sample: With boxes of disc and cup.
        borders: Ratios at which one class ends and the next begins.
    """
    disc, cup = box_of(sample, "optic disc"), box_of(sample, "optic cup")
    if disc is None or cup is None:
        return Missing("no outline of the cup" if disc else "no outline or mask of lesions or cup")
    ratio = cup.height / disc.height
    if min(abs(ratio - border) for border in borders) < CUP_MARGIN:
        return Missing("too close to a border between two classes")
    return ratio


# Management of an eye by diagnosis and grade, from published guidance, and how much a case matters.
DRAFT = "draft, not yet read by a clinician"
"""State of the table; the manifest of a curated folder prints it beside the counts of the stage CD."""

_TABLE = package_data(__file__, "management.yaml")

CLASSES = tuple(_TABLE["classes"].values())
"""Management classes, from the least to the most urgent."""


@dataclass(frozen=True, slots=True)
class Management:
    """One row of the table.

    Attributes:
        diagnosis: Disease, or its absence ("no glaucoma").
        grade: Grade of the severity; empty if it does not matter.
        management: One of `CLASSES`.
        reference: Guidance with its year.
        impact: How much a wrong decision about such a case matters, from 1 to 5; ours, not part of the guidance.
    """

    diagnosis: str
    grade: str
    management: str
    reference: str
    impact: int


MANAGEMENT = tuple(
    Management(diagnosis, grade, _TABLE["classes"][name], _TABLE["references"][guidance], impact)
    for diagnosis, grade, name, guidance, impact in _TABLE["rows"]
)

_ROWS = {(row.diagnosis, row.grade): row for row in MANAGEMENT}


def management_of(diagnosis: str, grade: str) -> Management | None:
    """Return the row of a diagnosis and its grade; None if the table has none.

    Example:
        >>> row = management_of("diabetic retinopathy", "ICDR 4")
        >>> row.management, row.impact, management_of("drusen", "")
        ('treat the disease actively', 5, None)
    """
    return _ROWS.get((diagnosis, grade))
