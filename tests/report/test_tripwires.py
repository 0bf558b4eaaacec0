"""The picture of a training's probe."""

import json

import numpy as np
import pytest
from PIL import Image

from lmod_train.core import raw
from lmod_train.core.errors import ArtifactError
from lmod_train.report.probe_curves import SIGNS, draw_probes, read_probes


def probe(step, tripped=(), **shares):
    words = {"true": {"GLAUCOMA": 3, "NON-GLAUCOMA": 3}, "answered": {"GLAUCOMA": 1, "unparsed": 5}}
    own = dict.fromkeys((*SIGNS, "right", "right_shuffled"), 0.0) | shares
    return {"step": step, "n": 6, "tripped": list(tripped), "answers": {"glaucoma": words}, **own}


def write(run, *probes):
    (run / "tripwires.jsonl").write_text("".join(json.dumps(p) + "\n" for p in probes))
    return run


def test_steps_come_in_order_and_the_later_line_of_a_step_counts(tmp_path):
    found = read_probes(write(tmp_path, probe(20), probe(0), probe(20, right=1.0)))
    assert [(p["step"], p["right"]) for p in found] == [(0, 0.0), (20, 1.0)]


def test_a_line_cut_off_by_a_crash_is_left_out_and_a_broken_one_told(tmp_path):
    file = write(tmp_path, probe(0)) / "tripwires.jsonl"
    file.write_text(file.read_text() + '{"step": 20, "n"')
    assert len(read_probes(tmp_path)) == 1
    file.write_text('{"step"\n' + file.read_text())
    with pytest.raises(ArtifactError, match="line 1"):
        read_probes(tmp_path)


def test_nothing_is_drawn_of_a_run_without_probes(tmp_path):
    assert draw_probes(tmp_path) is None and not list(tmp_path.iterdir())


def test_a_probe_past_its_limit_is_marked(tmp_path):
    shown = []
    for tripped in ([], ["empty"]):
        picture = draw_probes(write(tmp_path, probe(0), probe(20, tripped, empty=1.0)))
        shown.append(np.asarray(Image.open(picture).convert("RGB")).astype(int))
    red = [((p - np.array([0xB0, 0x00, 0x20])) ** 2).sum(-1) < 60 for p in shown]
    assert red[0].sum() == 0 and red[1].sum() > 20


def test_a_line_that_is_too_long_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MOST_LINE", 1000)
    write(tmp_path, probe(0), probe(1, note="x" * 2000), probe(2))
    with pytest.raises(ArtifactError, match=r"line 2 is not valid JSON \(more than 1,000 bytes\)"):
        read_probes(tmp_path)
