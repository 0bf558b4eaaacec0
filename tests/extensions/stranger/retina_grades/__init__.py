"""Grades of one clinic's fundus photographs."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="retina_grades",
    about="Grades of a clinic",
    commands={"retina-grades count": "retina_grades.command:count"},
    sources=("retina_grades.source",),
    sections={"retina_grades.section.Grades": "Scores"},
    phantoms={"retina_grades": "retina_grades.source"},
)
