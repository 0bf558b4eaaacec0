"""The six stages of X-PCR, with the context that the answer to each gives to later questions."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.scoring.steps import ALIASES, step_named


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


STAGES = (
    Stage("IQA", "image quality", "Image quality: {}.", "Image quality: {}."),
    Stage("AL", "localisation", "Location: {}.", "Characterize the lesions you identified at {}."),
    Stage("LC", "lesion", "Findings: {}.", "Given the {}, answer the question."),
    Stage("DD", "diagnosis", "Diagnosis: {}.", "Grade the severity of {} based on observed findings."),
    Stage("SG", "severity", "Severity: {}.", "Severity: {}."),
    Stage("CD", "decision", "Decision: {}.", "Decision: {}."),
)
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
