"""Drafts of questions from reports and captions, and judges of open replies."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="drafting",
    about="drafts of questions from reports and captions, and judges of open replies",
    sections={
        "lmod_train.report.sections.judges.Judges": "Readers Provenance",
        "lmod_train.report.sections.agreement.Agreement": "Judges",
    },
    replies=("lmod_train.report.attacks:Judgements",),
)
