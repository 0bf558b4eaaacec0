"""The prompt by which a model drafts a question of one stage."""

from __future__ import annotations

from lmod_train.tasks.drafts.facts import Facts
from lmod_train.tasks.drafts.listing import form_of, listings

OPTIONS = 4
"""Number of options of a question."""

PROMPT = """You write one single-choice question about this image of an eye, for a test of physicians. The question is \
of stage {stage} of six: IQA image quality, AL localisation, LC lesion characterization, DD diagnosis, SG severity, \
CD decision.

The facts below were taken from labels and masks of the image. They are true and complete: state no other place, \
number, measurement, finding, diagnosis or grade.

{facts}

The template of this stage, question and answer:

{listing}

Write four options of like length. Exactly one is right and states the true answer of this stage. The others are \
wrong for this image, and none of them states the true answer in other words. Do not name the true answer in the \
question, and do not mark the right option. Use at most 40 words for the question and 20 for an option.

Reply in this form and write nothing else:

Question: ...
Options:
A. ...
B. ...
C. ...
D. ...
Right letter: {letter}
Answer: {form}"""
"""Prompt of this package, version 1; the templates in it are the supplement's."""


def words_for(facts: Facts, letter: str) -> str:
    """Return the prompt for one draft.

    Args:
        facts: What is known of the image.
        letter: Letter that the right option shall have, so that right options are balanced over the letters.
    """
    place = {"stage": facts.stage, "facts": facts.text, "listing": listings()[facts.stage].text}
    return PROMPT.format(**place, letter=letter, form=form_of(facts.stage))
