"""Phrases of requests, of textbook text and of text about an image do not capture, and tell their kinds apart."""

import re

from lmod_train.core.vocabulary.explaining import (
    ABOUT_THIS_EN,
    ABOUT_THIS_ZH,
    ASKED_FOR,
    FILLERS_EN,
    FILLERS_ZH,
    REFUSALS_OTHER,
    TEXTBOOK_EN,
    TEXTBOOK_ZH,
)
from lmod_train.tasks.glaucoma import PARAPHRASES, PROMPT
from lmod_train.tasks.staging import PROMPTS


def test_no_phrase_captures():
    phrases = (ASKED_FOR, FILLERS_ZH, *TEXTBOOK_EN, *TEXTBOOK_ZH, *ABOUT_THIS_EN, *ABOUT_THIS_ZH, *REFUSALS_OTHER)
    assert all(re.compile(phrase).groups == 0 for phrase in phrases)


def test_prompts_that_ask_for_reasons_are_told_from_the_others():
    asks = [re.search(ASKED_FOR, text, re.IGNORECASE) is not None for text in (PROMPT, *PARAPHRASES)]
    assert all(asks)
    assert re.search(ASKED_FOR, PROMPTS["lmod_naacl"], re.IGNORECASE)
    assert not re.search(ASKED_FOR, PROMPTS["lmod_plus"], re.IGNORECASE)


def test_words_that_give_a_reason_are_no_fillers():
    assert not {"cup", "rim", "disc", "haemorrhage", "drusen", "enlarged", "thin", "pale"} & FILLERS_EN
