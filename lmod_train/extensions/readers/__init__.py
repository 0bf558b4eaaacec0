"""People who answer the questions of a run."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="readers",
    about="people who answer the questions of a run",
    sections={
        "lmod_train.report.sections.readers.Readers": "Provenance",
    },
)
