"""Questions in English and Chinese, as OphthalWeChat asks them."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="ophthalwechat",
    about="questions in English and Chinese, as OphthalWeChat asks them",
    sections={
        "lmod_train.report.sections.languages.Languages": "Chains Provenance",
        "lmod_train.report.sections.language_models.LanguageModels": "Languages",
        "lmod_train.report.sections.wechat_tables.WechatTables": "LanguageModels",
        "lmod_train.report.sections.language_groups.LanguageGroups": "WechatTables",
        "lmod_train.report.sections.language_prior.LanguagePrior": "LanguageGroups",
    },
    rows=("lmod_train.report.languages:rows",),
)
