"""The table of the stages: who finds the truth of which, from a sample's own annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages import al, cd, dd, iqa, lc, sg
from lmod_train.tasks.chain.stages.posed import Missing, Posed

POSES: Mapping[str, Callable[[Sample], Posed | Missing]] = {
    "AL": al.pose,
    "LC": lc.pose,
    "DD": dd.pose,
    "SG": sg.pose,
    "CD": cd.pose,
}
"""Stage after IQA -> function from a sample to the question with options and truth, or the reason why there is none.

Question, options (the distractor rule) and level are stated in the module of each stage; name, aliases and context in
`lmod_train.tasks.chain.stages.stage`.
"""


def poses(sample: Sample, perturbed: float = 0.0) -> dict[str, Posed | Missing]:
    """Return what each stage asks of a sample, in the order of the stages.

    Args:
        sample: With regions and size.
        perturbed: Share of the samples without quality flags that are shown with an added defect, 0 to 1.
    """
    return {"IQA": iqa.pose(sample, perturbed)} | {stage: pose(sample) for stage, pose in POSES.items()}
