"""Masks against a drawing, and FlexAttention's blocks against the dense mask of the same rule."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.masks import (
    attention_masks,
    attention_used,
    dense,
    image_blocks,
    rule,
    sliceable,
    sliced_attention,
)
from lmod_train.models.chat.sequences import pack

IMAGE = 9
PROMPTS, ANSWERS = [[1, IMAGE, IMAGE, 5], [1, IMAGE, IMAGE, 6], [4]], [[2], [2], [7, 2]]
CPU = torch.device("cpu")


def drawn(sees, made, row=0):
    return ["".join(".x"[int(seen)] for seen in line) for line in dense(sees, *made.input_ids.shape, CPU)[row, 0]]


@pytest.fixture
def made():
    return pack([[0, 1], [2]], PROMPTS, ANSWERS, [(0,), (0,), ()], pad=0)


def test_a_question_sees_the_shared_part_and_itself(made):
    assert drawn(rule(made), made) == ["x......", "xx.....", "xxx....", "xxxx...", "xxxxx..", "xxx..x.", "xxx..xx"]


def test_padding_changes_nothing_and_no_token_sees_nothing(made):
    lines = drawn(rule(made), made, row=1)
    assert lines[:3] == ["x......", "xx.....", "xxx...."]
    assert all("x" in line for line in lines)


def test_tokens_of_an_image_see_one_another(made):
    sees = rule(made, blocks=image_blocks(made.input_ids == IMAGE))
    assert drawn(sees, made)[:3] == ["x......", "xxx....", "xxx...."]
    assert drawn(sees, made)[3:] == drawn(rule(made), made)[3:]


def test_a_window_counts_places(made):
    # both questions stand behind the image, so both see its last token and themselves
    assert drawn(rule(made, window=3), made)[3:] == [".xxx...", "..xxx..", ".xx..x.", "..x..xx"]


def test_slices_give_what_the_dense_mask_gives(tiny):
    lengths, questions = (
        (5, 7),
        (((0, 3), (3, 4), (4, 8)), ((0, 2), (2, 5))),
    )  # the second row has padding: three columns
    place, segment = torch.arange(7).repeat(2, 1), torch.tensor([[0] * 5 + [-1] * 2, [0] * 7])
    columns = [[n + 1 for n, (begin, end) in enumerate(own) for _ in range(begin, end)] for own in questions]
    segment = torch.cat([segment, torch.tensor([(own + [-1] * 8)[:8] for own in columns])], 1)
    query, key, value = (torch.randn(2, heads, n, 4) for heads, n in ((6, 8), (3, 15), (3, 15)))
    sees = dense(rule(SimpleNamespace(place=place, segment=segment)), 2, 15, CPU, last=8)
    expected = scaled_dot_product_attention(query, key, value, sees, scale=0.3, enable_gqa=True).transpose(1, 2)
    network = load(tiny).eval()
    text = network.config.get_text_config()
    with sliced_attention(network):
        attend = ALL_ATTENTION_FUNCTIONS[text._attn_implementation]
    found, _ = attend(None, query, key, value, None, scaling=0.3, spans=list(zip(lengths, questions, strict=True)))
    real = segment[:, 7:] > 0
    torch.testing.assert_close(found[real], expected[real])
    assert not found[~real].any(), "later masks rely on numbers in the padding"
    assert sliceable(network, 1000)
    text._attn_implementation = "eager"
    assert not sliceable(network, 1000)


def test_images_that_touch_text_only_are_blocks_of_their_own():
    assert image_blocks(torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0]]).bool()).tolist() == [[0, 0, -1, 1], [-1] * 4]


@pytest.mark.parametrize("window", [None, 3])
def test_the_same_rule_in_blocks(made, window):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 2, made.input_ids.shape[1], 16) for _ in range(3))
    sees = rule(made, window, image_blocks(made.input_ids == IMAGE))
    expected = scaled_dot_product_attention(query, key, value, attn_mask=dense(sees, *made.input_ids.shape, CPU))
    network = in_blocks(made, window)
    # torch's kernel has no backward on CPU
    ours = flex_attention(query, key, value, block_mask=attention_masks(network, made)["sliding_attention"])
    assert torch.allclose(ours, expected, atol=1e-5)


class Named:
    """A network's settings alone."""

    def __init__(self, **values):
        self.__dict__ |= values


def in_blocks(made, window):
    text = Named(
        model_type="gemma3_text",
        layer_types=["sliding_attention", "full_attention"],
        sliding_window=window,
        _attn_implementation="flex_attention",
    )
    return Named(config=Named(model_type="gemma3", image_token_id=IMAGE, get_text_config=lambda: text))


@pytest.mark.parametrize("asked", [None, "eager", "flex_attention"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_attention_that_is_used_is_told_with_the_reason(tiny, asked, device):
    told = attention_used(load(tiny, attention=asked), asked, torch.device(device))
    assert told.startswith(f"attention {asked or 'sdpa'}, {'as asked for' if asked else 'the choice of transformers'}")
    if asked == "flex_attention":
        assert told.endswith("it skips what is masked")
    else:
        assert told.endswith("on a GPU only" if device == "cpu" else "flex_attention` skips what is masked")
