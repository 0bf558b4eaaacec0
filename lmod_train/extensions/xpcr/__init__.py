"""X-PCR: chains of clinical questions, each after the answers to earlier ones."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="xpcr",
    about="X-PCR's chains of clinical questions",
    configs="lmod_train.extensions.xpcr.configs",
    sources=("lmod_train.extensions.xpcr.source",),
    phantoms={"xpcr": "lmod_train.extensions.xpcr.phantom"},
    sections={
        "lmod_train.extensions.xpcr.sections.Chains": "PublishedScores Provenance",
        "lmod_train.extensions.xpcr.sections.SourcesAndDiseases": "Chains",
    },
    rows=("lmod_train.extensions.xpcr.scores:rows",),
)
