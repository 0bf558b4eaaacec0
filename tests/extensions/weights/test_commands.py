"""Commands about weights, as they are typed."""

import re
import shlex

import pytest
import torch
from PIL import Image

from lmod_train.cli import main
from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.delta import make_delta, mean_gain
from tests import published
from tests.tiny import record


def test_a_delta_is_applied_and_its_gain_told(tmp_path, capsys):
    base, out = SHIPPED / "small_base", tmp_path / "whole"
    make_delta(base, base, tmp_path / "delta")
    assert (
        main(["weights", "apply-delta", "--delta", str(tmp_path / "delta"), "--base", str(base), "--out", str(out)])
        == 0
    )
    assert f"mean gain of its norms {mean_gain(base):.3f}" in capsys.readouterr().out
    again = ["weights", "apply-delta", "--delta", str(tmp_path / "delta"), "--base", str(base), "--out", str(out)]
    assert main(again) == 2 and "out=" in capsys.readouterr().err
    whole = ["weights", "apply-delta", "--delta", str(out), "--base", str(base), "--out", str(tmp_path / "other")]
    assert main(whole) == 2 and "expected delta weights" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_published_layout_is_converted_and_then_runs(tmp_path, capsys):
    torch.manual_seed(0)
    published.write_llava_med_1_5(tmp_path / "llava-med")
    out = tmp_path / "llava-med-hf"
    with pytest.raises(WeightsMismatch, match="original LLaVA code") as refused:
        HuggingFace(str(tmp_path / "llava-med"))
    typed = re.search(r"`python -m lmod_train (weights convert [^`]*)`", str(refused.value))[1]
    assert main(shlex.split(typed)) == 0
    said = capsys.readouterr().out
    assert "found LLaVA 1.5, two-layer projector: 80 tensors written" in said and f"wrote {out}" in said
    backend = HuggingFace(str(out), max_new_tokens=4)
    backend.prepare("cpu")
    Image.new("RGB", (60, 40), "red").save(tmp_path / "eye.png")
    (reply,) = backend.respond(backend.collate([record()], tmp_path))
    assert reply.finish_reason in ("stop", "length") and reply.tokens_out and not reply.error
    assert reply.rendered == "<s>[INST] <image>\nDoes this eye have glaucoma? [/INST]"
    assert main(shlex.split(typed)) == 2 and "a new or empty folder" in capsys.readouterr().err
