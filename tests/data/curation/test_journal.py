from dataclasses import replace

import pytest

from lmod_train.core import raw
from lmod_train.core.errors import ArtifactError, CurationConflict
from lmod_train.core.types import Box, Dropped, Region
from lmod_train.data.curation.journal import NAME, Journal
from lmod_train.data.curation.prepare import Prepared

HEAD = {"settings": {"seed": 0, "ratios": [0.8, 0.15, 0.05]}, "inputs": {"s": {"samples": 2}}}
DONE = Prepared(
    "s",
    "a/ü",
    (30, 20),
    ("f0", "f1"),
    (Region("cup", Box(1, 2, 3, 4), 1),),
    (("disc", "too_small"),),
    0.5,
    "p",
    "m",
    "h",
)
LOST = Prepared("s", "b", files=("f2",), dropped=Dropped("s", "b", "b.jpg", "read", "image_unreadable", "cut"))


def test_what_was_done_is_known_at_the_next_start(tmp_path):
    first = Journal(tmp_path, HEAD)
    first.append([DONE, LOST])
    first.close()
    second = Journal(tmp_path, HEAD)
    for journal in (first, second):
        assert journal.done == {("s", "a/ü"): replace(DONE, thumbnail=""), ("s", "b"): LOST}
        assert dict(journal.thumbnails) == {("s", "a/ü"): "h"}


def test_an_image_that_is_damaged_by_now_has_no_thumbnail_of_an_earlier_start(tmp_path):
    first = Journal(tmp_path, HEAD)
    first.append([DONE])
    first.append([replace(LOST, key=DONE.key)])
    first.close()
    assert dict(first.thumbnails) == dict(Journal(tmp_path, HEAD).thumbnails) == {}


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_forgotten_and_the_next_one_is_whole(tmp_path, cut):
    first = Journal(tmp_path, HEAD)
    first.append([DONE, LOST])
    first.close()
    data = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(data[:-cut])
    second = Journal(tmp_path, HEAD)
    assert list(second.done) == [("s", "a/ü")]
    second.append([LOST])
    second.close()
    assert (tmp_path / NAME).read_bytes() == data


def test_a_torn_header_is_begun_anew(tmp_path):
    (tmp_path / NAME).write_bytes(b'{"settings": {"se')
    Journal(tmp_path, HEAD).close()
    assert Journal(tmp_path, HEAD).done == {}


def test_other_settings_are_named(tmp_path):
    Journal(tmp_path, HEAD).close()
    other = {"settings": {"seed": 3, "ratios": [0.8, 0.15, 0.05]}, "inputs": {"s": {"samples": 5}}}
    with pytest.raises(CurationConflict) as error:
        Journal(tmp_path, other)
    assert "settings.seed: 0 -> 3" in str(error.value) and "inputs.s.samples: 2 -> 5" in str(error.value)
    assert "ratios" not in str(error.value) and "--out DIR" in str(error.value)


def test_a_damaged_line_is_not_passed_over(tmp_path):
    Journal(tmp_path, HEAD).close()
    with (tmp_path / NAME).open("a") as file:
        file.write("{oops\n")
    with pytest.raises(ArtifactError, match="damaged"):
        Journal(tmp_path, HEAD)


def test_a_line_that_is_too_long_is_damaged_and_a_long_last_one_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MOST_LINE", 1000)
    Journal(tmp_path, HEAD).close()
    with (tmp_path / NAME).open("a") as file:
        file.write("x" * 5000)
    Journal(tmp_path, HEAD).close()
    with (tmp_path / NAME).open("a") as file:
        file.write('{"x": "' + "x" * 5000 + '"}\n')
    with pytest.raises(ArtifactError, match="more than 1,000 bytes"):
        Journal(tmp_path, HEAD)
