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
)
