"""Released drafts as a source: questions of one chain an image, and images that are no longer the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Dropped, Need, Prediction, Reply, Sample
from lmod_train.extensions.drafting.drafts import drafted_of
from lmod_train.extensions.drafting.review import SAMPLED, DraftedQuestions, Released
from tests.drafted import TRUTHS, curated, drafting_records, good


def released(folder: Path, images: int) -> list[Released]:
    records = [replace(r, image_sha256=(sha256_of(folder / r.image[0]),)) for r in drafting_records(images)]
    return [
        Released(one, SAMPLED) for one in drafted_of([Prediction(r, Reply(r.id, ""), good(r).text) for r in records])
    ]


def test_the_drafts_of_an_image_are_one_chain_in_the_order_of_the_stages(tmp_path: Path):
    own = [r for r in released(curated(tmp_path, 2), 2) if r.drafted.stage != "LC"]
    first, second = [s for s in DraftedQuestions(tmp_path, own, confidence=False).samples() if isinstance(s, Sample)]
    assert (first.key, second.key, first.group) == ("phantom/eye0", "phantom/eye1", "phantom/p0")
    steps = [q.chain_step for q in first.asked]
    assert steps == [stage for stage in TRUTHS if stage != "LC"]
    for place, question in enumerate(first.asked):
        assert question.needs == tuple(Need(step) for step in steps[:place])
        assert options_in(question.messages)[question.answer[-1]] == TRUTHS[question.chain_step]
        assert "confidence" not in str(question.messages)
        assert question.tags["review"] == SAMPLED


def test_an_image_that_has_changed_or_is_gone_is_left_out_and_listed(tmp_path: Path):
    own = released(curated(tmp_path, 3), 3)
    (tmp_path / "eye0.png").write_bytes(b"another")
    (tmp_path / "eye1.png").unlink()
    found = list(DraftedQuestions(tmp_path, own).samples())
    assert [(d.key, d.reason) for d in found if isinstance(d, Dropped)] == [
        ("phantom/eye0", "image_changed"),
        ("phantom/eye1", "image_changed"),
    ]
    assert [s.key for s in found if isinstance(s, Sample)] == ["phantom/eye2"]


def test_a_perturbed_image_of_one_stage_is_a_sample_of_its_own(tmp_path: Path):
    own = released(curated(tmp_path, 2), 1)
    other = replace(own[3].drafted.record, image=("eye1.png",), image_sha256=(sha256_of(tmp_path / "eye1.png"),))
    own[3] = replace(own[3], drafted=replace(own[3].drafted, record=other))
    keys = [s.key for s in DraftedQuestions(tmp_path, own).samples() if isinstance(s, Sample)]
    assert keys == ["phantom/eye0", "phantom/eye0/eye1"]


def test_no_released_draft_is_an_error_and_licences_are_those_of_the_images(tmp_path: Path):
    with pytest.raises(BadArgument, match="at least one released draft"):
        DraftedQuestions(tmp_path, []).verify()
    source = DraftedQuestions(tmp_path, released(curated(tmp_path, 1), 1))
    assert (source.licence, source.redistributable, source.is_phantom) == ("CC0-1.0", False, False)
    assert source.inputs()["review"] == {SAMPLED: 6} and not DraftedQuestions.found_in(tmp_path)
