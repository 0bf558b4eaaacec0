"""Three-axis positions against numbers by hand."""

import pytest
import torch
from transformers import AutoModelForImageTextToText

from lmod_train.models.chat.sequences import pack
from lmod_train.models.chat.shared_prefix import three_axes
from tests.models.chat.written_once import write_tiny


@pytest.mark.parametrize("model_type", ["qwen2_5_vl", "qwen3_vl"])
def test_each_question_continues_where_the_image_ends(tmp_path, model_type):
    network = AutoModelForImageTextToText.from_pretrained(write_tiny(tmp_path, model_type))
    image = network.config.image_token_id
    start = [5, *[image] * 6]  # one word, then an image of 2 x 3 tokens (4 x 6 patches), which takes 3 positions
    prompts, answers = [[*start, 6, 7], [*start, 8], [3], [4, 4]], [[2], [9, 2], [2], [2]]
    made = pack([[0, 1], [2, 3]], prompts, answers, [(0,), (0,), (), ()], pad=0)
    positions = three_axes(network, made, torch.tensor([[1, 4, 6]]))
    questions = [4, 5, 6, 4, 5, 6]
    assert positions[0, 0].tolist() == [0, *[1] * 6, *questions]
    assert positions[1, 0].tolist() == [0, 1, 1, 1, 2, 2, 2, *questions]
    assert positions[2, 0].tolist() == [0, 1, 2, 3, 1, 2, 3, *questions]
    assert positions[:, 1, :5].tolist() == [[0, 1, 0, 1, 2]] * 3
