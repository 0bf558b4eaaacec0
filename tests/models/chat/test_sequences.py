import pytest
import torch

from lmod_train.models.chat.sequences import IGNORED, training_sequences


def test_the_loss_falls_on_answers_alone():
    made = training_sequences([[1, 5, 6], [1, 0]], [[7, 2], [8, 0, 9, 2]], pad=0)
    assert made["input_ids"].tolist() == [[1, 5, 6, 7, 2, 0], [1, 0, 8, 0, 9, 2]]
    assert made["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
    assert made["labels"].tolist() == [[IGNORED] * 3 + [7, 2, IGNORED], [IGNORED] * 2 + [8, 0, 9, 2]]


def test_an_end_token_that_is_also_the_pad_token_is_learnt():
    made = training_sequences([[1], [1, 4]], [[7, 2], [8, 2]], pad=2)
    assert made["labels"].tolist() == [[IGNORED, 7, 2, IGNORED], [IGNORED, IGNORED, 8, 2]]


def test_an_answer_without_a_token_is_refused():
    with pytest.raises(ValueError, match="no tokens"):
        training_sequences([[1]], [[]], pad=0)


def test_all_is_of_whole_numbers_on_the_device():
    made = training_sequences([[1]], [[2]], pad=0, device="meta")
    assert {(t.dtype, t.device.type) for t in made.values()} == {(torch.int64, "meta")}
