"""Answers of people to the questions that a model is asked."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="readers",
    about="Answers of people",
    commands={"answers": "lmod_train.extensions.readers.command:answers"},
    sections={"lmod_train.extensions.readers.sections.Readers": "Provenance"},
)
