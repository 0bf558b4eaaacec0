"""Check that lesion, diagnosis, severity and decision of one image agree."""

from __future__ import annotations

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import SIGNS
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.meaning import asserted_in, graded, severities_in
from lmod_train.tasks.drafts.draft import parts_of
from lmod_train.tasks.drafts.facts import LESIONS

_DISEASES = frozenset(term.name for term in CONDITIONS) - SIGNS

ASSERTED = {
    "DD": ("primary diagnosis",),
    "SG": ("contributing factors",),
    "CD": ("primary intervention", "rationale"),
}
"""Stage -> parts of the long answer that assert a diagnosis; the others name alternatives."""
EVIDENCE = "supporting evidence from lc"


def contradictions(one: Drafted) -> list[str]:
    r"""Return what a draft of stage DD, SG or CD asserts against the truths of its image's other stages.

    Compared are the right option, and the parts of `ASSERTED`: diseases with the truth of DD, grades (in SG and CD)
    with that of SG. In DD, lesions of the evidence are compared with the truth of LC and the boxes. What is denied is
    not compared, nor is a stage without a truth.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> truths = {"DD": "glaucoma", "CD": "refer"}
        >>> answer = "Primary intervention: refer\nRationale: diabetic retinopathy threatens sight."
        >>> contradictions(drafted("CD", truth="refer", truths=truths, answer=answer))
        ['diabetic retinopathy instead of glaucoma']
    """
    if one.stage not in ASSERTED:
        return []
    parts = parts_of(one.draft.answer)
    texts = [one.draft.right, *(parts.get(label, "") for label in ASSERTED[one.stage])]
    return [*_diseases(one, texts), *_grades(one, texts), *_lesions(one, parts.get(EVIDENCE, ""))]


def _diseases(one: Drafted, texts: list[str]) -> list[str]:
    truth = one.truths.get("DD", "")
    known = {name for text in one.truths.values() for name in asserted_in(text)}
    named = {name for text in texts for name in asserted_in(text) & _DISEASES}
    return [f"{name} instead of {truth}" for name in sorted(named - known)] if truth else []


def _grades(one: Drafted, texts: list[str]) -> list[str]:
    truth = one.truths.get("SG", "")
    known = severities_in(graded(truth))
    named = {grade for text in texts for grade in severities_in(graded(text))} if one.stage in ("SG", "CD") else set()
    return [f"{grade} instead of {truth}" for grade in sorted(named - known)] if known else []


def _lesions(one: Drafted, evidence: str) -> list[str]:
    known = asserted_in(one.truths.get("LC", "")) | ({*one.facts.boxes} & {*LESIONS})
    named = asserted_in(evidence) & {*LESIONS} if one.stage == "DD" else frozenset()
    return [f"evidence {name}, which is not among the lesions" for name in sorted(named - known)] if known else []
