"""Models draft questions and judge replies; people review them."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="drafting",
    about="Drafts, judges and reviews",
    commands={
        "draft review": "lmod_train.cli.review:review",
        "draft review-captions": "lmod_train.cli.review_captions:review_captions",
    },
    asking={
        "draft ask": "lmod_train.cli.drafts:ask_questions",
        "draft captions": "lmod_train.cli.captions:captions",
        "draft judge": "lmod_train.cli.judge_captions:judge_captions",
        "judge": "lmod_train.cli.judge:judge",
    },
    replies=("lmod_train.report.attacks:Judgements",),
    sections={
        "lmod_train.report.sections.judges.Judges": "Readers Provenance",
        "lmod_train.report.sections.agreement.Agreement": "Judges",
    },
)
