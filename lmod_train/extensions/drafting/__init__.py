"""Drafts of questions, captions, and judges of replies."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="drafting",
    about="drafts of questions from reports and captions, and judges of open replies",
    replies=("lmod_train.report.attacks:Judgements",),
)
