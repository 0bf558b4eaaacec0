"""Where between the image and the reply an answer is lost."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="dissection",
    about="where between the image and the reply an answer is lost",
    sections={
        "lmod_train.report.sections.dissection.WhereItIsLost": "Robustness ErrorTypes",
    },
)
