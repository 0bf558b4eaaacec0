"""Whether a model looks at the image: changed images, none, and shortcuts."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="looking",
    about="whether a model looks at the image: changed images, none, and shortcuts",
    sections={
        "lmod_train.report.sections.shortcuts.Shortcuts": "Agreement Provenance",
        "lmod_train.report.sections.looking.Looking": "ErrorTypes",
        "lmod_train.report.sections.robustness.Robustness": "Looking",
    },
    pages={"findings": "lmod_train.report.looks:cautions"},
)
