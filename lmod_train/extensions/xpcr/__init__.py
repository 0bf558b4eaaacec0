"""X-PCR: chains of clinical questions, each after the answers to earlier ones."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="xpcr",
    about="X-PCR's chains of clinical questions",
    sources=("lmod_train.data.sources.xpcr.source",),
    phantoms={"xpcr": "lmod_train.phantom.folders.xpcr"},
    sections={"lmod_train.report.sections.chains.Chains": "PublishedScores Provenance"},
    rows=("lmod_train.report.chain_table:rows",),
)
