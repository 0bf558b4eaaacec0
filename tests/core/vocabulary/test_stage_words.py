"""Words of options of each stage: they compile, and cover the options of our own chains and those the paper prints."""

from __future__ import annotations

import pytest

from lmod_train.core.vocabulary.stage_words import STAGE_WORDS
from lmod_train.extensions.drafting.checks import unknown_options
from lmod_train.extensions.drafting.drafts import STAGES, drafted
from lmod_train.extensions.xpcr import stages as al
from lmod_train.extensions.xpcr import stages as dd
from lmod_train.extensions.xpcr import stages as lc
from lmod_train.extensions.xpcr.stages import CLASSES

PRINTED = {
    "IQA": ("Yes, clearly visible.", "No, too blurred.", "No, severe shadowing.", "No, overexposure."),
    "SG": ("No cataract.", "Mild cataract with minimal lens opacities and a clear red reflex."),
    "CD": ("Definitive surgical treatment.", "Prescribe topical antibiotic eye drops.", "No intervention."),
    "DD": ("Acute angle-closure glaucoma with corneal edema.", "Endophthalmitis with hypopyon formation."),
}
"""Options of figure 3 of X-PCR."""
OURS = {
    "AL": (*al.QUADRANTS, *al.DIRECTIONS, *al.SHIFTS, *al.STRUCTURES),
    "DD": (*dd.DIAGNOSES.values(), *dd.HOLES, *dd.GLAUCOMA, *dd.CATARACT, *dd.OTHERS),
    "LC": (*lc.LESION_KINDS, *lc.INSTRUMENTS, *lc.FLAGS.values()),
    "CD": CLASSES,
    "SG": ("ICDR grade 2", "cup grade 3", "Gass stage 1"),
}


def test_every_stage_has_words():
    assert tuple(STAGE_WORDS) == STAGES


@pytest.mark.parametrize("options", [PRINTED, OURS], ids=["printed", "ours"])
def test_options_of_figure_3_and_of_our_chains_are_known(options):
    for stage, texts in options.items():
        assert unknown_options(drafted(stage, truth="-", options=texts)) == [], stage
        assert unknown_options(drafted(stage, truth="-", options=("flurb the wug",))) == ["flurb the wug"]
