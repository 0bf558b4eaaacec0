"""Options of pictures: each changes what the network is given, or is refused by name."""

import pytest
import torch
from PIL import Image
from transformers import AutoProcessor

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.pictures import Pictures, crops
from lmod_train.models.chat.plain_dialect import PlainDialect
from tests.models.chat.written_once import write_other, write_tiny

WIDE = Image.new("RGB", (192, 64))
WIDE.paste((255, 0, 0), (0, 0, 20, 64))  # at the left edge, which a crop of the centre loses


def items(folder, **options):
    return Dialect(folder, pictures=Pictures(**options)).images([WIDE])


def pixels(folder, **options):
    return items(folder, **options).items[0]["pixel_values"]


def test_a_llava_is_shown_the_edge_unless_it_is_cropped(tmp_path):
    folder = write_tiny(tmp_path, "llava")
    padded, cropped = pixels(folder), pixels(folder, fit="crop")
    assert padded.std() > 0.1 and cropped.std(dim=(-1, -2)).max() < 1e-6, "the centre is black"
    own = AutoProcessor.from_pretrained(folder).image_processor([WIDE], return_tensors="pt")["pixel_values"]
    assert torch.equal(cropped, own), "cropped as transformers alone does"
    assert torch.equal(pixels(folder, fit="pad"), padded)


def test_a_class_that_is_no_family_is_shown_what_its_own_processor_shows(tmp_path):
    folder = write_other(tmp_path, "vipllava")
    own = AutoProcessor.from_pretrained(folder).image_processor([WIDE], return_tensors="pt")["pixel_values"]
    made = {}
    for fit in (None, "crop", "pad"):
        dialect = PlainDialect(folder, pictures=Pictures(fit=fit))
        made[fit] = dialect.inputs(dialect.probes(["?"], WIDE), [0])["pixel_values"]
    assert torch.equal(made[None], own) and torch.equal(made["crop"], own)
    assert made["pad"].std() > 0.1 > made[None].std(dim=(-1, -2)).max(), "padded, it is shown the edge"


def test_the_default_is_stated_where_it_differs_from_that_of_a_family(tmp_path):
    for name in ("vipllava", "deepseek_vl", "llava"):
        (tmp_path / name).mkdir()
    crops_, pads = write_other(tmp_path / "vipllava", "vipllava"), write_other(tmp_path / "deepseek_vl", "deepseek_vl")
    assert PlainDialect(crops_).pictures.settings() == {"fit": "crop"}
    assert PlainDialect(crops_, pictures=Pictures(fit="pad")).pictures.settings() == {}
    assert PlainDialect(pads).pictures.settings() == {}
    known = write_tiny(tmp_path / "llava", "llava")
    assert Dialect(known).pictures.settings() == PlainDialect(known).pictures.settings() == {}
    assert PlainDialect(known).pictures.fit == "pad"


@pytest.mark.parametrize("model_type", ["qwen2_5_vl", "qwen3_vl"])
def test_pixel_limits_change_the_number_of_tokens(model_type, tmp_path):
    folder = write_tiny(tmp_path, model_type)
    usual, few = items(folder).tokens[0], items(folder, max_pixels=48 * 48).tokens[0]
    many = items(folder, min_pixels=120 * 120, max_pixels=160 * 160).tokens[0]
    assert few < usual < many and few * 256 <= 48 * 48 and many * 256 >= 120 * 120


def test_pixel_limits_of_a_class_of_its_own(tmp_path):
    folder = write_other(tmp_path, "glm4v_moe")
    counted = [
        len(PlainDialect(folder, pictures=p).processor.image_processor([WIDE], return_tensors="pt")["pixel_values"])
        for p in (Pictures(), Pictures(max_pixels=48 * 48 * 2))
    ]
    assert counted[1] < counted[0]


def test_tiles_are_limited(tmp_path):
    for name in ("internvl", "mllama"):
        (tmp_path / name).mkdir()
    folder = write_tiny(tmp_path / "internvl", "internvl")
    usual, few = (len(pixels(folder, **options)) for options in ({}, {"tiles": 1}))
    assert usual > few == 1, "one tile is its own overview"
    folder = write_other(tmp_path / "mllama", "mllama")
    made = [
        PlainDialect(folder, pictures=p).processor.image_processor([[WIDE]], return_tensors="pt")["num_tiles"]
        for p in (Pictures(), Pictures(tiles=1))
    ]
    assert [int(tiles[0][0]) for tiles in made] == [3, 1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tiles": 4}, "images.tiles=4.*such as InternVL's; this one is a LlavaImageProcessor"),
        ({"max_pixels": 4096}, "images.max_pixels=4096.*such as Qwen2.5-VL's"),
        ({"min_pixels": 4096}, "images.min_pixels=4096.*such as Qwen2.5-VL's"),
    ],
)
def test_what_a_llava_has_not_is_refused(options, named, tmp_path):
    with pytest.raises(BadArgument, match=named):
        Dialect(write_tiny(tmp_path, "llava"), pictures=Pictures(**options))


@pytest.mark.parametrize("model_type", ["qwen2_5_vl", "internvl", "llava_next"])
def test_cropping_is_refused_where_nothing_is_cropped(model_type, tmp_path):
    folder = write_tiny(tmp_path, model_type)
    assert not crops(AutoProcessor.from_pretrained(folder).image_processor)
    with pytest.raises(BadArgument, match=r"images.fit='?crop'?.*a processor that crops the centre"):
        Dialect(folder, pictures=Pictures(fit="crop"))


def test_numbers_are_checked_and_defaults_state_nothing():
    assert Pictures().settings() == {} == Pictures(fit="pad").settings()
    assert Pictures(fit="crop", tiles=2).settings() == {"fit": "crop", "tiles": 2}
    for options in ({"tiles": 0}, {"max_pixels": -1}, {"min_pixels": 9, "max_pixels": 8}, {"fit": "cut"}):
        with pytest.raises(BadArgument, match=r"images\."):
            Pictures(**options)
