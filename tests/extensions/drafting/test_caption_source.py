"""Released questions as a source: nothing without a review, damaged rows and changed images are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core import raw
from lmod_train.core.errors import ArtifactError, BadArgument, LeavesFolder
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Dropped, Sample
from lmod_train.extensions.drafting.caption_files import RELEASED, Accepted, ReviewedCaptions, write_released
from lmod_train.extensions.drafting.captions import Caption
from tests.extensions.drafting.example import open_question, single_choice, statement


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.jpg").write_bytes(b"an image")
    digest = sha256_of(tmp_path / "images" / "1.jpg")
    caption = Caption("1", "images/1.jpg", "x", digest, "p1", "CFP", "mine", {"a": "b"})
    items = [statement(1), statement(3, true=False), single_choice(1), open_question(1)]
    items = [type(item)(item.caption, caption.image, item.number, item.pair) for item in items]
    write_released(tmp_path / RELEASED, [Accepted(item, "sampled") for item in items], {"1": caption})
    return tmp_path


def test_each_image_is_a_sample_with_both_halves_of_its_questions(folder: Path):
    source = ReviewedCaptions(folder)
    source.verify()
    (sample,) = source.samples()
    assert isinstance(sample, Sample)
    assert (sample.key, sample.group, sample.modality, sample.licence) == ("1.jpg", "p1", "CFP", "mine")
    asked = {(q.task, q.variant): q for q in sample.asked}
    assert sorted(variant for task, variant in asked if task == "binary_question") == ["1-en", "1-zh", "2-en", "2-zh"]
    assert asked["binary_question", "2-zh"].answer == "错"
    single = asked["single_choice_question", "1-en"]
    assert single.messages[0].parts[1].text.startswith("Which finding? A: drusen B: ") and single.answer == "drusen"
    assert single.tags == {"a": "b", "language": "en", "review": "sampled"}
    assert asked["open_question", "1-zh"].choices == ()
    assert source.inputs()["review"] == {"sampled": 4}


def test_a_changed_image_is_left_out_and_damaged_rows_are_named(folder: Path):
    (folder / "images" / "1.jpg").write_bytes(b"another")
    (dropped,) = ReviewedCaptions(folder).samples()
    assert isinstance(dropped, Dropped) and dropped.reason == "image_changed"
    good = (folder / RELEASED).read_text(encoding="utf-8")
    for bad in (good.replace("binary_question", "chain"), good.replace('"True"', '"Perhaps"', 1), "{}", "no json"):
        (folder / RELEASED).write_text(bad, encoding="utf-8")
        with pytest.raises(ArtifactError, match="cannot be read"):
            list(ReviewedCaptions(folder).samples())


def test_a_path_outside_the_folder_is_not_read_and_nothing_is_released_without_a_review(folder: Path):
    outside = (folder / RELEASED).read_text(encoding="utf-8").replace("images/1.jpg", "images/../../1.jpg")
    (folder / RELEASED).write_text(outside, encoding="utf-8")
    with pytest.raises(LeavesFolder):
        list(ReviewedCaptions(folder).samples())
    write_released(folder / RELEASED, [], {})
    with pytest.raises(BadArgument, match="draft review-captions"):
        ReviewedCaptions(folder).verify()


def test_a_line_that_is_too_long_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(raw, "MOST_LINE", 3000)
    assert len(list(ReviewedCaptions(folder).samples())) == 1
    with (folder / RELEASED).open("a", encoding="utf-8") as file:
        file.write('{"id": "' + "x" * 5000 + '"}\n')
    with pytest.raises(ArtifactError, match="more than 3,000 bytes"):
        list(ReviewedCaptions(folder).samples())
