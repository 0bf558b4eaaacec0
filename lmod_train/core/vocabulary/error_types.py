"""Failures that rules find in replies, and the failure modes and error types of the papers that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

TITLES = {
    "empty": "empty reply",
    "loop": "loop",
    "special_tokens": "special tokens",
    "template": "form not filled in",
    "generic": "textbook text",
    "abstention": "abstention",
    "unexplained": "no explanation",
    "contradiction": "answer against its explanation",
    "unknown_region": "region that does not exist",
    "foreign_structure": "structure that is no option",
    "unknown_stage": "stage that does not exist",
    "negation_flip": "negation flip",
}
"""Rule -> what its failure is called in a report."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A failure mode or error type of a paper.

    Attributes:
        name: Name in the paper.
        definition: The paper's definition, shortened.
        rules: Rules whose failures belong to it; the first type whose rule fires counts where a reply has one type.
    """

    name: str
    definition: str
    rules: tuple[str, ...] = ()


LMOD_MODES = (
    ErrorType("misclassification", "another condition or stage than the true one"),
    ErrorType("failure to abstain", "an answer to an irrelevant image or one that does not suffice"),
    ErrorType("inconsistent reasoning", "explanations that contradict the prediction", ("contradiction",)),
    ErrorType("hallucination", "details that are not in the image", ("unknown_region", "foreign_structure")),
    ErrorType("assertion", "a prediction without the explanation that was asked for", ("unexplained",)),
    ErrorType("lack of domain-specific knowledge", "medically inaccurate, as a stage that does not exist",
              ("unknown_stage",)),
)  # fmt: skip
"""The six failure modes of LMOD (section 4.4, E1 to E6; appendix I). A reply can have several. The first two follow
from the answer and from what was shown, not from the words."""

LMOD_PLUS_TYPES = (
    ErrorType("text generation failure", "a breakdown of text generation: repetition, visible special tokens, no text",
              ("empty", "loop", "special_tokens")),
    ErrorType("inconsistent reasoning", "the prediction contradicts its evidence, or statements contradict each other",
              ("contradiction",)),
    ErrorType("medical knowledge error", "features of another disease, misused terms, wrong anatomy",
              ("unknown_stage", "foreign_structure", "unknown_region")),
    ErrorType("absent visual processing", "no description of the image: textbook text, avoidance, referral",
              ("template", "generic", "abstention")),
    ErrorType("misinterpreted visual features", "features of the image are described and wrongly interpreted"),
)  # fmt: skip
"""The five error types of LMOD+ (its Table 8). A reply has one; where several rules fire, the first type counts. No
rule finds the last: a judge or people do."""

NO_ERROR = "no error"
ERROR_LABELS = (NO_ERROR, *(kind.name for kind in LMOD_PLUS_TYPES))
"""Labels of a judge of errors; the first counts as right."""


def type_called(words: str) -> str | None:
    """Return the error type of LMOD+ of a name, of a rule or its title; None for other words.

    Example:
        >>> type_called("Loop"), type_called("medical knowledge error"), type_called("odd")
        ('text generation failure', 'medical knowledge error', None)
    """
    plain = " ".join(words.replace("_", " ").casefold().split())
    for kind in LMOD_PLUS_TYPES:
        called = {kind.name, f"{kind.name}s", *(TITLES[rule] for rule in kind.rules)}
        if plain in called | {rule.replace("_", " ") for rule in kind.rules}:
            return kind.name
    return NO_ERROR if plain == NO_ERROR else None
