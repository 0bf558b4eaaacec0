"""Is an explanation true of this eye?"""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="reason",
    about="Is an explanation true of this eye",
    phantoms={"refuge_rims": "lmod_train.extensions.reason.phantom"},
    sections={"lmod_train.extensions.reason.sections.Reasons": "Looking ErrorTypes"},
    configs="lmod_train.extensions.reason.configs",
    formats={"trl_grpo": "lmod_train.extensions.reason.grpo"},
    pages={"findings": "lmod_train.extensions.reason.sections:findings"},
)
