"""Keys that cannot be paths are named with their reason."""

from pathlib import Path

from lmod_train.core.types import ImageFile, Sample
from lmod_train.data.curation.sample_keys import LONGEST_NAME, key_problem, unusable_key
from tests.tabled import tabled


@tabled("key", ["", "a//b", "/a", "a/../b", ".", "a\\b", "a\0", "x.marked", "x" * (LONGEST_NAME + 1)])
def test_a_key_that_is_no_path_is_unusable(key):
    reason, detail = key_problem(key)
    assert reason == "key_unusable" and "keys become paths" in detail


def test_a_key_of_other_bytes_is_named_as_such():
    assert key_problem("\udcff")[0] == "not_utf8"


def test_keys_of_all_images_count_and_that_of_a_sample_without_image_does_not():
    sample = Sample("s", "a//b", "CFP", None, "g", "CC0")
    assert unusable_key(sample) is None
    shared = (ImageFile(Path("a.png"), "good"), ImageFile(Path("b.png"), "../bad"))
    found = unusable_key(Sample("s", "a", "CFP", None, "g", "CC0", shared_images=shared))
    assert (found.key, found.reason, found.file) == ("a", "key_unusable", "")
