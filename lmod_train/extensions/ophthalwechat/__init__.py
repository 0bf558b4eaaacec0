"""OphthalWeChat: the same questions in Chinese and English."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="ophthalwechat",
    about="OphthalWeChat's questions in Chinese and English",
    configs="lmod_train.extensions.ophthalwechat.configs",
    sources=("lmod_train.extensions.ophthalwechat.source",),
    phantoms={"ophthalwechat": "lmod_train.extensions.ophthalwechat.phantom"},
    sections={
        "lmod_train.extensions.ophthalwechat.sections.Languages": "Chains Provenance",
        "lmod_train.extensions.ophthalwechat.composition.Composition": "Languages",
    },
    rows=("lmod_train.extensions.ophthalwechat.results:rows",),
)
