"""OphthalWeChat: the same questions in Chinese and English."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="ophthalwechat",
    about="OphthalWeChat's questions in Chinese and English",
    sources=("lmod_train.data.sources.ophthalwechat.source",),
    phantoms={"ophthalwechat": "lmod_train.phantom.folders.ophthalwechat"},
)
