"""The tables of the papers, and what in them cannot be."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="papers",
    about="Published tables beside your runs",
    configs="lmod_train.extensions.papers.configs",
    sources=("lmod_train.extensions.papers.sample",),
    options={"report --published": "lmod_train.extensions.papers.command:published"},
    sections={
        "lmod_train.extensions.papers.sections.PublishedScores": "Shortcuts Provenance",
        "lmod_train.extensions.papers.sections.PaperTables": "",
        "lmod_train.extensions.papers.sections.ImagesAndBoxes": "",
        "lmod_train.extensions.papers.ledger.Ledger": "",
        "lmod_train.extensions.papers.related.RelatedBenchmarks": "",
        "lmod_train.extensions.papers.related.Hyperparameters": "",
    },
    published=("lmod_train.extensions.papers.printed:published",),
)
