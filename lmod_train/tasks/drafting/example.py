"""A small draft for the examples and tests of the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmod_train.core.types import Record
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafts.draft import Draft
from lmod_train.tasks.drafts.facts import Facts
from lmod_train.tasks.prompt import prompt


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
