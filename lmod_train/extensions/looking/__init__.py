"""Does a model look at the image, or answer without it?"""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="looking",
    about="Does a model look at the image",
    commands={
        "blind": "lmod_train.cli.looking:blind",
    },
    options={
        "curate --sheet": "lmod_train.cli.looking:curate_with_sheet",
        "phantom --counterfactuals": "lmod_train.cli.looking:phantom_with_counterfactuals",
    },
    variants=("lmod_train.tasks.grounding:Grounding",),
    sections={
        "lmod_train.report.sections.shortcuts.Shortcuts": "Agreement Provenance",
        "lmod_train.report.sections.looking.Looking": "ErrorTypes",
        "lmod_train.report.sections.robustness.Robustness": "Looking",
    },
    pages={"findings": "lmod_train.report.looks:cautions"},
)
