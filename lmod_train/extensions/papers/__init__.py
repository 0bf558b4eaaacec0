"""The tables of the papers, and what in them cannot be."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="papers",
    about="Published tables beside your runs",
    options={"report --published": "lmod_train.cli.papers:published"},
    sections={
        "lmod_train.report.sections.published.PublishedScores": "Shortcuts Provenance",
        "lmod_train.report.sections.paper_tables.PaperTables": "",
    },
    published=("lmod_train.report.papers.scores:published",),
)
