"""Models draft questions and judge replies; people review them."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="drafting",
    about="Drafts, judges and reviews",
    commands={
        "draft review": "lmod_train.extensions.drafting.reviewing:review",
        "draft review-captions": "lmod_train.extensions.drafting.reviewing:review_captions",
    },
    asking={
        "draft ask": "lmod_train.extensions.drafting.commands:ask_questions",
        "draft captions": "lmod_train.extensions.drafting.commands:captions",
        "draft judge": "lmod_train.extensions.drafting.commands:judge_captions",
        "judge": "lmod_train.extensions.drafting.commands:judge",
    },
    configs="lmod_train.extensions.drafting.configs",
    replies=("lmod_train.extensions.drafting.judges:Judgements",),
    sections={
        "lmod_train.extensions.drafting.judges.Judges": "Readers Provenance",
        "lmod_train.extensions.drafting.judges.Agreement": "Judges",
    },
)
