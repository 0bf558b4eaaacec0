"""How fine-tuning on delta weights makes replies collapse."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="collapse",
    about="How delta weights make replies collapse",
    commands={"collapse-lab": "lmod_train.extensions.collapse.command:collapse_lab"},
)
