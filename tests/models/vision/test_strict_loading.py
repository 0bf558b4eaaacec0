"""Filling is all or nothing: the differences are named, and the report accounts for every tensor."""

from pathlib import Path

import pytest
import torch
from torch import nn

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.vision.strict_loading import LoadReport, fill, fitted, refuse
from lmod_train.models.vision.weights_file import WeightsFile

FILE = WeightsFile(Path("w.pth"), {}, {}, "0" * 64)


def test_fill_loads_all_but_the_fresh_names():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    fill(model, FILE, {"0.weight": torch.ones(2, 2), "0.bias": torch.ones(2)}, {"1.weight", "1.bias"})
    assert model[0].weight.tolist() == [[1, 1], [1, 1]] and model[1].weight.abs().max() < 1


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"weight": torch.ones(2, 2)}, "missing: bias; unexpected: none"),
        ({"weight": torch.ones(2, 3), "bias": torch.ones(2)}, r"weight \(2, 2\), which is \(2, 3\) in the file"),
        ({"weight": torch.ones(2, 2).long(), "bias": torch.ones(2)}, r"weight torch.float32, which is torch.int64"),
        ({"weight": torch.ones(2, 2), "bias": torch.ones(2), "more": torch.ones(1)}, "unexpected: more"),
    ],
)
def test_fill_refuses_whatever_differs(tensors, message):
    model = nn.Linear(2, 2)
    before = model.weight.clone()
    with pytest.raises(WeightsMismatch, match=message):
        fill(model, FILE, tensors, set())
    assert torch.equal(model.weight, before)


def test_a_network_without_positions_has_nothing_to_resize():
    tensors = {"pos_embed": torch.ones(1, 5, 2)}
    assert fitted(nn.Linear(2, 2), tensors) == (tensors, ())


def test_refuse_names_the_file_the_reason_and_the_cure():
    with pytest.raises(WeightsMismatch, match=r"w\.pth: a reason: .*missing: a; unexpected: b, c.*\nNext: a cure"):
        refuse(FILE, ["a"], ["c", "b"], "a reason", "a cure")


def test_the_report_counts_tensors():
    report = LoadReport("w.pth", ("a", "b"), ("b resized",), ("c",), ("head.bias",), ("a note",))
    assert str(report) == "w.pth: 2 tensors loaded, 1 dropped; new: head.bias; b resized; a note"
