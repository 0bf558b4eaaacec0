"""Zero-shot classification by the similarity of image and words."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="clip",
    about="Zero-shot classification by CLIP models",
    configs="lmod_train.extensions.clip.configs",
)
