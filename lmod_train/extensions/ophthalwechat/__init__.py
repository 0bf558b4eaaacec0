"""Questions in English and Chinese, as OphthalWeChat asks them."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="ophthalwechat",
    about="questions in English and Chinese, as OphthalWeChat asks them",
    rows=("lmod_train.report.languages:rows",),
)
