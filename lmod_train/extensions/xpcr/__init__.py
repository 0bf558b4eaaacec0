"""Chains of questions about one eye, as X-PCR asks them."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="xpcr",
    about="chains of questions about one eye, as X-PCR asks them",
    sections={
        "lmod_train.report.sections.chains.Chains": "PublishedScores Provenance",
    },
    rows=("lmod_train.report.chain_table:rows",),
)
