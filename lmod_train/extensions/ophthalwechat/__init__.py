"""OphthalWeChat: the same questions in Chinese and English."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="ophthalwechat",
    about="OphthalWeChat's questions in Chinese and English",
    sources=("lmod_train.data.sources.ophthalwechat.source",),
    phantoms={"ophthalwechat": "lmod_train.phantom.folders.ophthalwechat"},
    sections={
        "lmod_train.report.sections.languages.Languages": "Chains Provenance",
        "lmod_train.report.sections.language_models.LanguageModels": "Languages",
        "lmod_train.report.sections.wechat_tables.WechatTables": "LanguageModels",
        "lmod_train.report.sections.language_groups.LanguageGroups": "WechatTables",
        "lmod_train.report.sections.language_prior.LanguagePrior": "LanguageGroups",
    },
    rows=("lmod_train.report.languages:rows",),
)
