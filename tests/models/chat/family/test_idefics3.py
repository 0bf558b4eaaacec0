"""Idefics3's tiles: how they are named in the prompt, and which of them the network leaves out."""

import pytest
import torch

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_of
from tests.models.chat.written_once import write_tiny
from tests.tiny import record


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("idefics3"), "idefics3")


def test_each_tile_is_announced_by_its_row_and_column_and_the_overview_comes_last(folder, eyes):
    dialect = Dialect(folder)
    batch = dialect([record(image=["a.png"]), record("2", image=["tall.png"])], eyes)
    wide, tall = (dialect.tokenizer.decode(ids) for ids in batch.prompt_ids)
    names = ["<row_1_col_1>", "<row_1_col_2>", "<row_2_col_1>", "<row_2_col_2>", "<global-img>"]
    places = [wide.index(name) for name in names]
    assert places == sorted(places)
    assert [name in tall for name in names] == [True, False, True, False, True]
    unknown = dialect.tokenizer.convert_tokens_to_ids("<none>")
    assert unknown not in dialect.tokenizer.convert_tokens_to_ids(names)
    assert batch.rendered[0].count("<image>") == 1


def test_a_tile_without_a_value_is_counted_as_the_network_counts_it(folder):
    network = load(folder).eval()
    pixels = torch.rand(1, 3, 3, 48, 48)
    pixels[0, 1] = 0
    mask = torch.ones(1, 3, 48, 48, dtype=torch.int64)
    item = {"pixel_values": pixels, "pixel_attention_mask": mask}
    with torch.no_grad():
        assert encode(network, Images([item])).tokens == [family_of(network).image_tokens(item)] == [8]
        with pytest.raises(WeightsMismatch, match=r"8 image tokens \(network\).*12 image tokens \(processor\)"):
            encode(network, Images([item], [12]))
