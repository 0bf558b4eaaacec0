"""Where in a model is the information about an image lost?"""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="dissection",
    about="Where in a model an image is lost",
    asking={"dissect": "lmod_train.extensions.dissection.command:dissect"},
    sections={"lmod_train.extensions.dissection.sections.WhereItIsLost": "Robustness ErrorTypes"},
)
