"""The records of drafts from a curated folder: sizes and hashes of its images, chosen stages, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument, CuratedDamaged
from lmod_train.core.files import sha256_of
from lmod_train.extensions.drafting.model_runs import DraftData
from lmod_train.extensions.drafting.review import Drafting
from lmod_train.tasks.glaucoma import Glaucoma
from tests.drafted import curated, drafting_records, facts_of


def test_records_are_those_of_the_task_with_the_hash_of_each_plain_image(tmp_path: Path):
    data = DraftData(curated(tmp_path, 2), [Drafting()])
    data.setup("validate")
    records = data.asked("validate")
    assert [r.id for r in records] == [r.id for r in drafting_records(2)]
    assert [facts_of(r) for r in records] == [facts_of(r) for r in drafting_records(2)]
    assert all(r.image_sha256 == (sha256_of(tmp_path / r.image[0]),) for r in records)


def test_stages_are_chosen_and_the_limit_is_of_drafts(tmp_path: Path):
    data = DraftData(curated(tmp_path, 3), [Drafting()], stages=["DD", "SG"], limit=4)
    data.setup("validate")
    assert [r.chain_step for r in data.asked("validate")] == ["DD", "SG", "DD", "SG"]


def test_an_unreadable_image_and_another_task_are_refused(tmp_path: Path):
    folder = curated(tmp_path, 1)
    with pytest.raises(BadArgument, match="draft ask"):
        DraftData(folder, [Glaucoma()]).setup("validate")
    (folder / "eye0.png").write_bytes(b"no image")
    with pytest.raises(CuratedDamaged, match=r"eye0\.png.*cannot be read"):
        DraftData(folder, [Drafting()]).setup("validate")
