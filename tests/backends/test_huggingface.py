import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lmod_train.backends.huggingface import HuggingFace
from lmod_train.chat.checkpoint import load
from lmod_train.chat.generation import Decoding, respond
from lmod_train.errors import WeightsMismatch, WeightsNotFound
from tests import families
from tests.tiny import record, write_curated

RECORDS = [record("1", image=["a.png"]), record("2", "What is an eye?", image=[])]


def test_it_answers_as_the_network_does(tiny, tmp_path):
    write_curated(tmp_path, RECORDS)
    backend = HuggingFace(str(tiny), max_new_tokens=5)
    batch = backend.collate(RECORDS, tmp_path)
    with pytest.raises(RuntimeError, match="prepare"):
        backend.respond(batch)
    backend.prepare(torch.device("cpu"))
    found = backend.respond(batch)
    expected = respond(load(tiny).eval(), backend.collate, batch, Decoding(5), str(tiny))
    assert [(r.reply, r.tokens_out, r.model) for r in found] == [(r.reply, r.tokens_out, r.model) for r in expected]
    half = HuggingFace(str(tiny), max_new_tokens=5, dtype="bfloat16")
    half.prepare("cpu")
    assert len(half.respond(batch)) == 2


def test_likelihoods_go_with_the_same_replies_and_are_part_of_what_is_asked(tiny, tmp_path):
    write_curated(tmp_path, RECORDS)
    bare, ranked = HuggingFace(str(tiny), 5), HuggingFace(str(tiny), 5, likelihoods="sum")
    first, second = (_replies(backend, tmp_path) for backend in (bare, ranked))
    assert [r.reply for r in first] == [r.reply for r in second]
    assert [list(r.likelihoods) for r in first] == [[], []]
    assert [list(r.likelihoods) for r in second] == [list(r.choices) for r in RECORDS]
    assert bare.identity() != ranked.identity() and bare.identity() == HuggingFace(str(tiny), 5).identity()


def _replies(backend, folder):
    backend.prepare("cpu")
    return backend.respond(backend.collate(RECORDS, folder))


@pytest.mark.parametrize("model_type", ["qwen3_vl", "gemma3"])
def test_other_families_answer_too(model_type, tmp_path):
    write_curated(tmp_path, RECORDS, side=90)
    (tmp_path / "model").mkdir()
    backend = HuggingFace(str(families.write_tiny(tmp_path / "model", model_type)), max_new_tokens=3)
    backend.prepare("cpu")
    replies = backend.respond(backend.collate(RECORDS, tmp_path))
    assert [(r.id, r.tokens_out) for r in replies] == [("1", 3), ("2", 3)] and replies[0].reply != replies[1].reply


def test_a_missing_checkpoint_is_refused_before_it_is_asked():
    with pytest.raises(WeightsNotFound, match="no/such"):
        HuggingFace("no/such")


def test_a_processor_of_other_weights_is_refused(tiny, monkeypatch):
    backend = HuggingFace(str(tiny))
    backend.collate.processor.num_additional_image_tokens = 2
    with pytest.raises(WeightsMismatch, match="image tokens"):
        backend.prepare("cpu")


def test_the_shipped_base_loads_whole_and_answers(tmp_path):
    write_curated(tmp_path, RECORDS, side=120)
    backend = HuggingFace("small_base", max_new_tokens=4)
    backend.prepare("cpu")
    replies = backend.respond(backend.collate(RECORDS, tmp_path))
    assert {r.model for r in replies} == {"small_base"} and all(0 < r.tokens_out <= 4 for r in replies)


@pytest.mark.slow
def test_the_benchmark_runs_small(tmp_path):
    script = Path(__file__).parents[2] / "scripts" / "benchmarks" / "zero_shot.py"
    small = ["--images", "1", "--images-alone", "2", "--tokens", "3", "--rounds", "1", "--threads", "1"]
    small += ["--side", "56", "--width", "64", "--layers", "2", "--cases", "12 questions an image", "alone"]
    command = [sys.executable, str(script), "--work", str(tmp_path), *small]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "lmms-eval: not measured" in done.stdout
    rows = [line.split(" | ") for line in done.stdout.splitlines() if "| ours |" in line]
    assert [row[7] for row in rows] == ["12 of 12", "2 of 2"]
