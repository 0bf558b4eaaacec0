"""Spellings of X-PCR's names, and those that a user adds."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.xpcr.questions import KINDS, ROW_FIELDS, STAGES, renamed, unknown_fields, words
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.stages import STAGES as CHAIN_STAGES
from tests.tabled import tabled


def test_every_spelling_stands_for_one_name():
    known = words()
    assert set(known["stages"].values()) == set(STAGES) and set(known["kinds"].values()) == set(KINDS)
    assert not set(known["stages"]) & set(known["kinds"])
    assert sum(len(others) + 1 for others in STAGES.values()) == len(known["stages"])


@tabled(("spelling", "stage"), [("IQA", "IQA"), ("qa", "IQA"), ("Image_Quality", "IQA"), ("PF", "LC"), ("DR", "DD")])
def test_names_of_the_paper_and_its_figure(spelling, stage):
    known = words(categories={"clinical quality": "IQA"})
    assert known["stages"]["".join(c for c in spelling.lower() if c.isalnum())] == stage
    assert known["stages"]["clinicalquality"] == "IQA"


def test_stages_are_those_of_the_chain():
    assert tuple(STAGES) == STAGE_NAMES
    known = words()["stages"]
    assert all(known[alias.lower()] == stage.name for stage in CHAIN_STAGES for alias in stage.aliases)


def test_a_users_spelling_must_stand_for_a_name():
    with pytest.raises(BadArgument, match="IQA, AL"):
        words(categories={"Quality": "QUALITY"})


def test_fields_are_renamed_and_others_listed():
    known = words(fields={"qas": "qa_pairs"})["fields"]
    row = {"ID": "a", "id": "b", "qas": [], "camera": 3, 7: 1}
    assert renamed(row, ROW_FIELDS, known) == {"id": "a", "qa_pairs": []}
    assert unknown_fields(row, ROW_FIELDS, known) == ["'camera'", "7"]
