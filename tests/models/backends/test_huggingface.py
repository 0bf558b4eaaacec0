import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from lmod_train.core.errors import WeightsMismatch, WeightsNotFound
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.tasks.asked import asked
from tests.models.chat import written_once
from tests.models.chat.written_once import write_other
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


OPTIONS = {
    "template": {"prompt": Prompting(template="mistral_instruct")},
    "system_prompt": {"prompt": Prompting(system_prompt="Reply in one word.")},
    "stop": {"prompt": Prompting(stop=("a",))},
    "fit": {"images": Pictures(fit="crop")},
    "decoding": {"decoding": "model"},
    "seed": {"decoding": "model", "seed": 1},
    "attention": {"attention": "eager"},
    "likelihoods": {"likelihoods": "sum"},
    "max_new_tokens": {"max_new_tokens": 6},
}


def test_every_option_is_part_of_what_is_asked(tmp_path):
    """Each of them can change a reply, so that replies of two settings are never taken for one another."""
    folder = written_once.write_tiny(tmp_path, "llava")

    def hashed(**options):
        who = HuggingFace(str(folder), **options).identity()
        return asked(RECORDS[0], "weights", who.template, who.settings)

    found = {name: hashed(**options) for name, options in OPTIONS.items()}
    assert len({*found.values(), hashed()}) == len(OPTIONS) + 1
    assert hashed(prompt=Prompting(), images=Pictures(), decoding="papers", seed=0, attention=None) == hashed()
    other = written_once.write_tiny(tmp_path, "qwen2_5_vl")
    limits = [HuggingFace(str(other), images=Pictures(max_pixels=n)).identity() for n in (48 * 48, 64 * 64)]
    assert limits[0] != limits[1] != HuggingFace(str(other)).identity()


@pytest.mark.parametrize("name", ["template", "system_prompt", "stop", "fit"])
def test_an_option_changes_what_is_asked_or_replied(name, tmp_path):
    write_curated(tmp_path, RECORDS, side=30)
    Image.effect_noise((90, 30), 99).convert("RGB").save(tmp_path / "a.png")
    (tmp_path / "model").mkdir()
    folder = str(written_once.write_tiny(tmp_path / "model", "llava"))
    bare, other = (_replies(HuggingFace(folder, 12, **o), tmp_path) for o in ({}, _known(name, folder, tmp_path)))
    assert bare[0].reply != other[0].reply
    assert (bare[0].rendered != other[0].rendered) == (name in ("template", "system_prompt"))


def _known(name, folder, curated):
    """The option, with a stop word that the model does say."""
    if name != "stop":
        return OPTIONS[name]
    said = _replies(HuggingFace(folder, 12), curated)[0].reply
    return {"prompt": Prompting(stop=(next(c for c in said[1:] if c.isascii() and c.isalpha()),))}


@pytest.mark.parametrize("state", [{"patch_size": None, "vision_feature_select_strategy": None}, {"patch_size": None}])
def test_the_processor_of_huatuogpt_vision_is_repaired(state, tmp_path):
    """Its -hf checkpoints state no patch size, and one of them no number of tokens that the tower adds."""
    write_curated(tmp_path, RECORDS, side=90)
    folder = written_once.write_tiny(tmp_path, "llava")
    options = {"max_new_tokens": 6, "prompt": Prompting(template="huatuogpt_vision")}
    whole = _replies(HuggingFace(str(folder), **options), tmp_path)
    file = folder / "processor_config.json"
    stated = json.loads(file.read_text())
    file.write_text(json.dumps(stated | state | {"num_additional_image_tokens": 0}))
    repaired = _replies(HuggingFace(str(folder), **options), tmp_path)
    assert [r.reply for r in repaired] == [r.reply for r in whole]
    assert repaired[0].rendered == f"<|user|>\n<image>\n{RECORDS[0].messages[0].parts[1].text}\n<|assistant|>\n"


def test_a_class_of_its_own_is_evaluated_in_16_bits_too(tmp_path):
    write_curated(tmp_path, RECORDS, side=90)
    (tmp_path / "model").mkdir()
    folder = str(write_other(tmp_path / "model", "deepseek_vl"))
    backend = HuggingFace(folder, 5, dtype="bfloat16", likelihoods="sum")
    replies = _replies(backend, tmp_path)
    assert [r.tokens_out for r in replies] == [5, 5] and all(r.likelihoods for r in replies)


def test_weights_of_a_class_of_its_own_load_whole_or_not_at_all(tmp_path):
    folder = write_other(tmp_path, "mllama")
    tensors = load_file(folder / "model.safetensors")
    lost = next(name for name in tensors if "projector.weight" in name)
    save_file({name: t for name, t in tensors.items() if name != lost}, folder / "model.safetensors")
    with pytest.raises(WeightsMismatch, match=r"missing: [\w.]*projector\.weight"):
        HuggingFace(str(folder)).prepare("cpu")


def _replies(backend, folder):
    backend.prepare("cpu")
    return backend.respond(backend.collate(RECORDS, folder))


@pytest.mark.parametrize("model_type", ["qwen3_vl", "gemma3"])
def test_other_families_answer_too(model_type, tmp_path):
    write_curated(tmp_path, RECORDS, side=90)
    (tmp_path / "model").mkdir()
    backend = HuggingFace(str(written_once.write_tiny(tmp_path / "model", model_type)), max_new_tokens=3)
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
    script = Path(__file__).parents[3] / "scripts" / "benchmarks" / "zero_shot.py"
    small = ["--images", "1", "--images-alone", "2", "--tokens", "3", "--rounds", "1", "--threads", "1"]
    small += ["--side", "56", "--width", "64", "--layers", "2", "--cases", "12 questions an image", "alone"]
    command = [sys.executable, str(script), "--work", str(tmp_path), *small]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "lmms-eval: not measured" in done.stdout
    rows = [line.split(" | ") for line in done.stdout.splitlines() if "| ours |" in line]
    assert [row[7] for row in rows] == ["12 of 12", "2 of 2"]


@pytest.mark.slow
def test_the_benchmark_of_a_gpu_tries_itself_small():
    script = Path(__file__).parents[3] / "scripts" / "benchmarks" / "gpu.py"
    small = ["--small", "--device", "cpu", "--images", "1", "--tokens", "3", "--families", "llava", "qwen2_5_vl"]
    done = subprocess.run([sys.executable, str(script), *small], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("12 of 12") == 2 and done.stdout.count("a step of full tuning") == 2
