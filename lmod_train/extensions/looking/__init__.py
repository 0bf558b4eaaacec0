"""Does a model look at the image, or answer without it?"""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="looking",
    about="Does a model look at the image",
    commands={"blind": "lmod_train.extensions.looking.command:blind"},
    options={
        "curate --sheet": "lmod_train.extensions.looking.command:curate_with_sheet",
        "phantom --counterfactuals": "lmod_train.extensions.looking.command:phantom_with_counterfactuals",
    },
    configs="lmod_train.extensions.looking.configs",
    variants=("lmod_train.extensions.looking.task:Grounding",),
    sections={
        "lmod_train.extensions.looking.sections.Shortcuts": "Agreement Provenance",
        "lmod_train.extensions.looking.sections.Looking": "ErrorTypes",
    },
    rows=("lmod_train.extensions.looking.command:rows",),
    pages={"findings": "lmod_train.extensions.looking.results:cautions"},
)
