"""Diagnosis (DD): diseases that a source labels as present or absent."""

from __future__ import annotations

from lmod_train.core.option_letters import named_in
from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.case import retinopathy, shows_hole
from lmod_train.tasks.chain.stages.posed import Missing, Posed, drawn, pair

DIAGNOSES = {
    "cataract": "cataract of the lens",
    "diabetic retinopathy": "diabetic retinopathy",
    "glaucoma": "glaucomatous changes",
    "normal": "normal (no findings)",
}
HOLES = ("macula with no hole", "lamellar hole alone", "impending hole only", "full-thickness hole")
CATARACT = ("without cataract", "cataract present")
GLAUCOMA = ("without glaucoma", "glaucoma present")
OTHERS = ("age-related macular degeneration", "vascular occlusion", "hypertensive retinopathy", "myopic fundus")
"""Diseases of which one, drawn by the sample's key, is asked for beside diabetic retinopathy."""

QUESTION = "What is the diagnosis, as far as {} and {} are concerned?"

_HOLE_LEVELS = {HOLES[2]: ("1",), HOLES[3]: ("2", "3", "4")}
"""Kind of a macular hole -> its stages (Gass 1995)."""
_MANAGED = {HOLES[2]: "macular hole", HOLES[3]: "macular hole", GLAUCOMA[0]: "no glaucoma", GLAUCOMA[1]: "glaucoma"}
"""Diagnosis -> its name in the management table."""

_RETINOPATHY, _EDEMA = "diabetic retinopathy", "a risk of macular edema"


def pose(sample: Sample) -> Posed | Missing:
    """Return a question about the diagnosis."""
    labels = sample.labels
    if "cataract" in labels:
        return _yes_or_no("cataract", labels["cataract"], CATARACT)
    if labels.get("diagnosis") in DIAGNOSES:
        question = "What is the most likely diagnosis?"
        return Posed(question, tuple(DIAGNOSES.values()), DIAGNOSES[labels["diagnosis"]], "labels", "A")
    if "macular_hole_stage" in labels:
        return shows_hole(sample) or _hole(labels["macular_hole_stage"])
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


def _hole(stage: str) -> Posed:
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
    return pair(QUESTION.format(_RETINOPATHY, other), [(_RETINOPATHY, ill), (other, has_other)], "labels")
