"""What the methods and results of a paper need from a report: two tables, a flow diagram and checklists."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="manuscript",
    about="Tables, flow diagram and checklists for your paper",
    options={"report --paper": "lmod_train.extensions.manuscript.command:paper"},
    sections={"lmod_train.extensions.manuscript.sections.ForPaper": ""},
)
