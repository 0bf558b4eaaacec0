"""The table of the stages: who finds the truth of which, from a sample's own annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lmod_train.tasks.stages import al, cd, dd, iqa, lc, sg
from lmod_train.tasks.stages.posed import Missing, Posed
from lmod_train.types import Sample

Pose = Callable[[Sample], Posed | Missing]

POSES: Mapping[str, Pose] = {
    "IQA": iqa.pose,
    "AL": al.pose,
    "LC": lc.pose,
    "DD": dd.pose,
    "SG": sg.pose,
    "CD": cd.pose,
}
"""Stage -> function from a sample to its question with options and truth, or the reason why there is none.

Question, options (the distractor rule) and level are stated in the module of each stage; name, aliases and context in
`lmod_train.tasks.stages.stage`.
"""


def poses(sample: Sample) -> dict[str, Posed | Missing]:
    """Return what each stage asks of a sample, in the order of the stages."""
    return {stage: pose(sample) for stage, pose in POSES.items()}
