"""A caption with what its table states."""

from __future__ import annotations

from lmod_train.extensions.drafting.captions import Caption


def test_only_key_image_and_text_are_required():
    one = Caption("1", "images/1.jpg", "Drusen.")
    assert (one.group, one.modality, dict(one.tags), one.phantom) == ("", "", {}, False)
