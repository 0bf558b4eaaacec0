"""LLaVA-OneVision's own rule for large images, against its processor and its network."""

import torch
from PIL import Image

from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from tests.models.chat.written_once import write_tiny


def test_an_image_of_too_many_tiles_is_scaled_down_in_network_and_processor_alike(tmp_path):
    write_tiny(tmp_path, "llava_onevision")
    dialect, network = Dialect(tmp_path), load(tmp_path).eval()
    images = dialect.images([Image.effect_noise(size, 50).convert("RGB") for size in ((96, 96), (96, 48))])
    with torch.no_grad():
        made = encode(network, images).tokens
    assert made == images.tokens == [16 + 5 * 6, 16 + 4 * 9]  # 8 x 8 made 5 x 5 (a line has an end), 4 x 8 as it is
    network.config.vision_aspect_ratio = "anyres_max_9"
    assert family_of(network).image_tokens(images.items[0]) == 16 + 8 * 9
