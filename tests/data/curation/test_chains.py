"""Chains of questions: needs become ids, what is missing leaves out what depends on it."""

from dataclasses import replace

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError
from lmod_train.core.types import Need
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.cases import SETTINGS, Changed, N, Staged, drops, words


def test_a_need_that_is_not_asked_leaves_out_all_that_depends_on_it(source, tmp_path):
    def change(sample):
        asked = [q for q in sample.asked if sample.key != "cfp/1" or q.chain_step != "IQA"]
        return replace(sample, asked=tuple(asked))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert drops(tmp_path / "out") == [("cfp/1", "needed_question_missing", "part")] * 2
    records = read_records(tmp_path / "out" / "records")
    assert "cfp/1" not in {r.key for r in records} and len(records) == N * 3 + 16 - 3


def test_questions_that_need_each_other_are_left_out(source, tmp_path):
    def change(sample):
        asked = [replace(q, needs=(Need("LC"),)) if q.chain_step == "IQA" else q for q in sample.asked]
        return replace(sample, asked=tuple(asked))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert len(drops(tmp_path / "out")) == N * 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"messages": words("?", 2)}, "2 image places"),
        ({"images": (1,)}, "1 images"),
        ({"messages": words("{answer 3}")}, "answer 3"),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error_that_names_it(source, tmp_path, changed, said):
    def change(sample):
        asked = [replace(q, **changed) if q.chain_step == "AL" else q for q in sample.asked]
        return replace(sample, asked=tuple(asked))

    with pytest.raises(LmodError, match=said):
        curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
