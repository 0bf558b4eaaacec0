import pytest
import torch

from lmod_train.models.chat.sequences import IGNORED, Sequences, pack


def alone(prompts: list[list[int]], answers: list[list[int]], pad: int = 0, device: str = "cpu") -> Sequences:
    """Return sequences of one record each."""
    return pack([[i] for i in range(len(prompts))], prompts, answers, [()] * len(prompts), pad, device)


def test_the_loss_falls_on_answers_alone():
    made = alone([[1, 5, 6], [1, 0]], [[7, 2], [8, 0, 9, 2]], pad=0)
    assert made.input_ids.tolist() == [[1, 5, 6, 7, 2, 0], [1, 0, 8, 0, 9, 2]]
    assert (made.segment >= 0).tolist() == [[True] * 5 + [False], [True] * 6]
    assert made.labels.tolist() == [[IGNORED] * 3 + [7, 2, IGNORED], [IGNORED] * 2 + [8, 0, 9, 2]]


def test_an_end_token_that_is_also_the_pad_token_is_learnt():
    made = alone([[1], [1, 4]], [[7, 2], [8, 2]], pad=2)
    assert made.labels.tolist() == [[IGNORED, 7, 2, IGNORED], [IGNORED, IGNORED, 8, 2]]


def test_an_answer_without_a_token_is_refused():
    with pytest.raises(ValueError, match="no tokens"):
        alone([[1]], [[]], pad=0)


def test_all_is_of_whole_numbers_on_the_device():
    made = alone([[1]], [[2]], pad=0, device="meta")
    assert {(t.dtype, t.device.type) for t in (made.input_ids, made.labels, made.place, made.segment)} == {
        (torch.int64, "meta")
    }
