"""Where pre-trained weights come from, read without torch, is what timm itself states."""

from __future__ import annotations

import timm
from timm.models import get_pretrained_cfg

from lmod_train.models.vision.published_weights import repository_of


def test_a_repository_read_from_the_text_is_that_of_the_card():
    names = timm.list_pretrained()[::25]
    read = {name: repository_of(name) for name in names}
    told = {name: repository for name, repository in read.items() if repository}
    assert len(told) > len(names) / 2
    assert told == {name: get_pretrained_cfg(name).hf_hub_id for name in told}


def test_what_the_text_leaves_open_is_not_guessed():
    for name in ("vit_huge_patch14_gap_224.in22k_ijepa", "davit_base_fl.msft_florence2", "gcvit_tiny.in1k"):
        assert get_pretrained_cfg(name).hf_hub_id != f"timm/{name}"
        assert repository_of(name) is None
    assert repository_of("efficientnet_lite0") is None and repository_of("no.such") is None
