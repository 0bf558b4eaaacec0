"""Two processes under each strategy against one process: losses, uneven evaluations, resuming, loading, merging."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch
from lmod_train.extensions.weights.merging import merge
from lmod_train.models.chat.encoding import encode
from lmod_train.models.strategies import sharding, sharding_deepspeed
from lmod_train.models.strategies.saved import by_number, read
from lmod_train.models.strategies.sharding import Sharded, load_whole, shape_of, whole_tensors
from lmod_train.models.strategies.sharding_fsdp import FullyShard
from tests import forks
from tests.models.modules import sharded
from tests.tiny import record, write_tiny

KINDS = ("lora", "full")
PLAIN = """
import json, sys
from pathlib import Path
from transformers import AutoModelForImageTextToText, AutoProcessor
from PIL import Image
import torch
picture, question, *folders = sys.argv[1:]
turns = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question}]}]
images = [Image.open(picture).convert("RGB")]
for folder in folders:
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype="float32").eval()
    processor = AutoProcessor.from_pretrained(folder)
    prompt = processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    inputs = processor(text=prompt, images=images, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1].tolist()
        out = model.generate(**inputs, do_sample=False, max_new_tokens=5)[0, inputs["input_ids"].shape[1]:]
    print(json.dumps({"logits": logits, "reply": processor.tokenizer.decode(out, skip_special_tokens=True).strip()}))
"""
"""Loads merged folders; it does not import this package."""


def test_whole_tensors_are_copies_and_load_again():
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    taken = whole_tensors(first.named_parameters())
    load_whole(second, taken)
    assert torch.equal(first.weight, second.weight) and shape_of(second.weight) == (2, 3)
    taken["weight"].zero_()
    assert first.weight.abs().sum() > 0


def test_parameters_are_gathered_in_order_and_in_groups_of_limited_size(monkeypatch):
    monkeypatch.setattr(sharding_deepspeed, "AT_ONCE", 10)
    sizes = [4, 6, 1, 30, 2]
    groups = sharding_deepspeed._few([nn.Parameter(torch.zeros(n)) for n in sizes])
    assert [[p.numel() for p in group] for group in groups] == [[4, 6], [1], [30], [2]]


class Alone(Sharded):
    """One process, nothing sharded."""

    is_global_zero = True
    broadcast = staticmethod(lambda path: path)
    barrier = staticmethod(lambda name: None)
    reduce_boolean_decision = staticmethod(lambda decision, all: decision)


@pytest.mark.parametrize("before", ["last.ckpt", "last.ckpt.before"])
def test_a_complete_checkpoint_exists_until_the_next_one_replaces_it(tmp_path, before):
    last = tmp_path / "last.ckpt"
    (tmp_path / before).mkdir()
    (tmp_path / before / "step").write_text("1")
    with Alone().replacing(last) as beside:
        assert (tmp_path / before / "step").read_text() == "1"
        (beside / "step").write_text("2")
    assert {f.name: (f / "step").read_text() for f in tmp_path.iterdir()} == {"last.ckpt": "2", "last.ckpt.before": "1"}
    with Alone().replacing(last) as beside:
        assert {f.name for f in tmp_path.iterdir()} == {"last.ckpt", "last.ckpt.partial"}, "two at a time, not three"
        (beside / "step").write_text("3")
    assert (last / "step").read_text() == "3" and (tmp_path / "last.ckpt.before" / "step").read_text() == "2"


def test_shards_on_disks_of_several_machines_are_refused(tmp_path, monkeypatch):
    class Another(Alone):
        is_global_zero = False  # the folder that rank 0 makes is on another disk

    monkeypatch.setattr(sharding, "PATIENCE", 1)
    with pytest.raises(BadArgument, match="all nodes share"), Another().replacing(tmp_path / "r" / "c" / "last.ckpt"):
        raise AssertionError("nothing is written")


def test_fsdp2_writes_shards_unless_one_file_is_configured():
    assert isinstance(sharded.strategy("fsdp2"), FullyShard)
    assert FullyShard()._save_distributed_checkpoint and not FullyShard(False)._save_distributed_checkpoint


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a tiny base and curated records."""
    folder = tmp_path_factory.mktemp("sharded")
    (folder / "tiny").mkdir()
    write_tiny(folder / "tiny")
    sharded.curated(folder / "curated")
    return folder


@pytest.fixture(scope="module")
def alone(place):
    """Return a function from a kind of tuning to the losses and replies of one process."""

    @functools.cache
    def fitted(kind):
        return sharded.fit(place / f"one-{kind}", place / "curated", place / "tiny", "one", kind, {})

    return fitted


def job_options(base, name, kind, **more):
    return {
        "curated": base / "curated",
        "tiny": base / "tiny",
        "name": name,
        "kind": kind,
        "trainer_options": {},
        **more,
    }


def mean(found):
    return [(a + b) / 2 for a, b in zip(*(f["losses"] for f in found), strict=True)]


def merged_over_ranks(found):
    return found[0]["replies"] | found[1]["replies"]


def test_fsdp2_gives_the_losses_and_replies_of_one_process(place, alone):
    """Eleven records, five batches of uneven length a rank: a rank that waits for the other would hang.

    Few logits are held at once, so that the sharded head computes the losses, and again in the backward pass.
    """
    jobs = [("fit", "fit", job_options(place, "fsdp2", "lora", place=place / "quick", at_once=300))]
    found = sharded.run(place / "quick-out", jobs)["fit"]
    assert [f["in_chunks"] for f in found] == [[True], [True]]
    assert mean(found) == pytest.approx(alone("lora")["losses"], rel=1e-5)
    assert merged_over_ranks(found) == alone("lora")["replies"]
    assert min(f["compared"] for f in found) > 0, "its first checkpoint was read back as it is"


@pytest.mark.slow
@pytest.mark.parametrize("over", ["answer", "token"])
def test_two_ranks_with_gradient_accumulation_give_the_losses_of_one_process_without(place, over):
    """Twelve records, eight a step: the last step of an epoch accumulates one batch instead of two."""
    options = {"loss_over": over}
    one = sharded.fit(place / f"whole-{over}", place / "curated", place / "tiny", "one", "lora", {}, size=8, **options)
    parts = job_options(place, "ddp", "lora", place=place / f"parts-{over}", size=4, **options)
    parts["trainer_options"] = {"accumulate_grad_batches": 2}
    found = sharded.run(place / f"parts-out-{over}", [("fit", "fit", parts)])["fit"]
    a, b, c, d, e, f = mean(found)  # Lightning halves each
    assert [a + b, c, d + e, f] == pytest.approx(one["losses"], rel=1e-4)
    assert merged_over_ranks(found) == one["replies"]


@pytest.mark.parametrize(("fn", "refused"), [("fit", True), ("test", False)])
def test_fsdp2_refuses_to_resume_from_an_optimiser_state_by_index(tmp_path, monkeypatch, fn, refused):
    layer = nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    torch.save({"state_dict": layer.state_dict(), "optimizer_states": [optimiser.state_dict()]}, tmp_path / "ddp.ckpt")
    strategy, asked = FullyShard(), SimpleNamespace(trainer=SimpleNamespace(state=SimpleNamespace(fn=fn)))
    monkeypatch.setattr(FullyShard, "lightning_module", asked)
    monkeypatch.setattr(FullyShard, "broadcast", lambda self, path: path)
    monkeypatch.setattr(FullyShard.__mro__[2], "load_checkpoint", lambda *a, **k: "loaded")
    if refused:
        with pytest.raises(LmodError, match="written by another strategy"):
            strategy.load_checkpoint(tmp_path / "ddp.ckpt")
    else:
        assert strategy.load_checkpoint(tmp_path / "ddp.ckpt") == "loaded"
    by_name = {"optimizer_states": [{"state": {"weight": {}}, "param_groups": []}]}
    assert by_number(torch.load(tmp_path / "ddp.ckpt")) and not by_number(by_name) and not by_number({})


def learnt(place, curated, tiny, name, batch, at_once, out):
    """Return what steps of `at_once` batches have trained and their gradients' norms, validation left out."""
    # not clipped, which would hide how long a gradient is
    quick = {"accumulate_grad_batches": at_once, "limit_val_batches": 0, "gradient_clip_val": None}
    options = {"curated": curated, "tiny": tiny, "name": name, "kind": "lora", "trainer_options": quick, "size": batch}
    if name == "one":
        found = sharded.fit(place=place, **options)
    else:
        found = sharded.run(out, [("fit", "fit", {"place": place, **options})])["fit"][0]
    return read(place / "last.ckpt") | {"norms": found["norms"]}


def same(first, second):
    ours, theirs = first["state_dict"], second["state_dict"]
    assert first["global_step"] == second["global_step"] and ours.keys() == theirs.keys()
    assert first["norms"] == pytest.approx(second["norms"], rel=1e-3) and len(first["norms"]) == first["global_step"]
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-5, rtol=1e-3) for name in ours)


@pytest.mark.parametrize(
    ("batch", "at_once"),
    [
        pytest.param(3, 3, marks=pytest.mark.slow, id="the last step has one batch of three"),
        pytest.param(5, 2, id="the last step has one batch, and that is smaller"),
        pytest.param(2, 5, id="the last step has one batch of five"),
    ],
)
def test_gradient_accumulation_gives_the_weights_of_one_large_batch(place, tmp_path, batch, at_once):
    """Twelve records, two epochs, and of each the last step holds fewer."""
    arguments = place / "curated", place / "tiny", "one"
    one = learnt(tmp_path / "one", *arguments, batch * at_once, 1, None)
    same(learnt(tmp_path / "several", *arguments, batch, at_once, None), one)


@pytest.mark.parametrize(
    "name", ["ddp", *(pytest.param(n, marks=pytest.mark.slow) for n in ("fsdp2", "zero1", "zero2", "zero3"))]
)
def test_gradient_accumulation_on_two_processes_gives_the_same_weights(place, tmp_path, name):
    """Twelve records in batches of four, two to a step: the last step of an epoch holds one."""
    if name.startswith("zero"):
        pytest.importorskip("deepspeed")
    arguments = place / "curated", place / "tiny"
    one = learnt(tmp_path / "one", *arguments, "one", 8, 1, None)
    same(learnt(tmp_path / name, *arguments, name, 4, 2, tmp_path / "out"), one)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sharded.STRATEGIES)
def test_every_strategy_trains_resumes_loads_and_merges_the_same(place, alone, name, kind):
    pytest.importorskip("deepspeed")
    here, one = place / f"{name}-{kind}", alone(kind)
    last = here / "run" / "last.ckpt"
    jobs = [
        ("fit", "fit", job_options(place, name, kind, place=here / "run")),
        ("half", "fit", job_options(place, name, kind, place=here / "half", stop_at=4)),
        ("rest", "fit", job_options(place, name, kind, place=here / "half", ckpt=str(here / "half" / "half.ckpt"))),
        ("validate", "validate", job_options(place, name, kind, place=here / "val", ckpt=str(last))),
        ("chunks", "fit", job_options(place, name, kind, place=here / "chunks", at_once=300)),
    ]
    found = sharded.run(here / "out", jobs)
    assert mean(found["fit"]) == pytest.approx(one["losses"], rel=1e-4)
    assert merged_over_ranks(found["fit"]) == one["replies"]
    assert mean(found["chunks"]) == pytest.approx(one["losses"], rel=1e-4), "few logits at once"
    assert [f["in_chunks"] for f in found["chunks"]] == [[True], [True]] != [f["in_chunks"] for f in found["fit"]]
    assert min(f["compared"] for label in ("fit", "half", "rest") for f in found[label]) > 0, "read back as it is"
    for half, rest, whole in zip(found["half"], found["rest"], found["fit"], strict=True):
        assert half["losses"] + rest["losses"] == whole["losses"], "resumed in the middle of the second epoch"
    assert merged_over_ranks(found["validate"]) == one["replies"]
    elsewhere = sharded.validate(here / "one", place / "curated", place / "tiny", "one", kind, str(last), {})
    assert elsewhere["replies"] == one["replies"]
    merge(last, here / "merged", str(place / "tiny"))
    merged = sharded.validate(here / "again", place / "curated", here / "merged", "one", "full", None, {})
    assert merged["replies"] == one["replies"]


def anew(arguments):
    """Run in an interpreter that starts anew, which takes seconds."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def forked(arguments):
    """Run in a process in which this package is imported already, though the program does not ask for it."""
    done = forks.run(arguments, Path.cwd())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("run", [forked, pytest.param(anew, marks=pytest.mark.slow)])
def test_transformers_loads_merged_folders_in_another_process(place, alone, run):
    lasts, outs = {}, {kind: place / f"merged-{run.__name__}-{kind}" for kind in KINDS}
    for kind, out in outs.items():
        alone(kind)
        lasts[kind] = place / f"one-{kind}" / "last.ckpt"
        merge(lasts[kind], out, str(place / "tiny"))
    one = record("glaucoma/v/x", "Does it? ", ["0.png"])
    arguments = [str(place / "curated" / "0.png"), "Does it? ", *map(str, outs.values())]
    printed = [json.loads(line) for line in run(["-c", PLAIN, *arguments]).splitlines() if line.startswith("{")]
    for (kind, out), theirs in zip(outs.items(), printed, strict=True):
        module = sharded.module(place / "tiny", kind)
        module.configure_model()
        load_whole(module, read(lasts[kind])["state_dict"])
        batch = module.eval().collate([one], place / "curated")
        with torch.no_grad():
            inputs = torch.tensor([batch.prompt_ids[0]])
            images = encode(module.network, batch.images).select([0])
            ours = module.network(input_ids=inputs, mm_encoder_outputs=images).logits[0, -1]
        assert theirs["logits"] == pytest.approx(ours.tolist(), abs=2e-4)
        assert theirs["reply"] == module.respond(batch)[0].reply
        card = (out / "README.md").read_text()
        assert "license: apache-2.0" in card or "Licence: not stated" in card


def test_the_checkpoint_of_another_base_does_not_merge(place, alone, tmp_path):
    alone("lora")
    write_tiny(tmp_path, seed=1)
    with pytest.raises(WeightsMismatch, match="fingerprint"):
        merge(place / "one-lora" / "last.ckpt", place / "not", str(tmp_path))
    assert not (place / "not").exists()
