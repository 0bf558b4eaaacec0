"""Converted checkpoints compute what the original code does, and whoever names a wrong folder is told what to do."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor

from lmod_train.core.errors import NotConvertible
from lmod_train.core.files import sha256_of
from lmod_train.extensions.weights.convert import convert
from lmod_train.models.chat.checkpoint import find, load
from lmod_train.models.chat.delta import apply_delta, make_delta
from lmod_train.models.chat.dialect import Dialect
from tests import originals, published
from tests.originals import IMAGE, Tensors
from tests.published import GRIDS, HEADS, KEYS, SIDE, TOWER_HEADS

TOWER = "model.vision_tower.vision_tower.vision_model."
CLOSE = 1e-5
SIZES = ((90, 60), (50, 120))
"""Width and height of two pictures, which are cut into tiles of different shapes."""


def llava_features(t: Tensors, tower: Tensors, prefix: str, tiles: Tensor) -> list[Tensor]:
    """Return the projected patches of each tile."""
    made = []
    for tile in tiles:
        x = originals.clip(tower, prefix, tile, TOWER_HEADS, -2)[1:]
        if "model.mm_projector.weight" in t:
            made.append(originals.linear(t, "model.mm_projector", x))
            continue
        x = torch.nn.functional.gelu(originals.linear(t, "model.mm_projector.0", x))
        made.append(originals.linear(t, "model.mm_projector.2", x))
    return made


@dataclass
class Case:
    """A converted checkpoint beside the forward of its original.

    Attributes:
        out: Folder of the converted checkpoint.
        rows: Size of the original vocabulary.
        forward: Returns the original's logits for token ids with `IMAGE` in place of each picture, and for what the
            processor made of the pictures.
        tensors: Of the original.
    """

    out: Path
    rows: int
    forward: Callable[[list[int], dict[str, Tensor]], Tensor]
    tensors: Tensors


def llava_case(t: Tensors, tower: Tensors, prefix: str, out: Path, keys: int, theta: float = 1e4) -> Case:
    def forward(ids: list[int], made: dict[str, Tensor]) -> Tensor:
        pictures = llava_features(t, tower, prefix, made.get("pixel_values", ()))
        x = originals.spliced(ids, t["model.embed_tokens.weight"], pictures)
        return originals.llama(t, "model.", x, HEADS, keys, theta) @ t["lm_head.weight"].T

    return Case(out, len(t["lm_head.weight"]), forward, t)


def next_case(t: Tensors, out: Path) -> Case:
    def forward(ids: list[int], made: dict[str, Tensor]) -> Tensor:
        pictures = []
        for tiles, (high, wide) in zip(
            made.get("pixel_values", ()), made.get("image_sizes", torch.empty(0)).tolist(), strict=True
        ):
            grid = originals.best_grid((wide, high), [tuple(g) for g in GRIDS])
            count = 1 + (grid[0] // SIDE) * (grid[1] // SIDE)  # further tiles are padding of the batch
            features = llava_features(t, t, TOWER, tiles[:count])
            newline = t["model.image_newline"]
            pictures.append(originals.any_resolution(features, (wide, high), GRIDS, SIDE, newline))
        x = originals.spliced(ids, t["model.embed_tokens.weight"], pictures)
        return originals.llama(t, "model.", x, HEADS, KEYS) @ t["lm_head.weight"].T

    return Case(out, len(t["lm_head.weight"]), forward, t)


def internvl_case(t: Tensors, out: Path) -> Case:
    def tile_features(tile: Tensor) -> Tensor:
        x = originals.shuffled(originals.intern_vit(t, tile, HEADS)[1:])
        x = originals.linear(t, "mlp1.1", originals.layer_norm(t, "mlp1.0", x, 1e-5))
        return originals.linear(t, "mlp1.3", torch.nn.functional.gelu(x))

    def forward(ids: list[int], made: dict[str, Tensor]) -> Tensor:
        tiles = [tile_features(tile) for tile in made.get("pixel_values", ())]
        pictures = [torch.cat([tiles.pop(0) for _ in range(count)]) for count in made["tiles"]]
        if "language_model.output.weight" in t:
            x = originals.spliced(ids, t["language_model.model.tok_embeddings.weight"], pictures)
            return (
                originals.internlm2(t, "language_model.model.", x, HEADS, KEYS, 1e6)
                @ t["language_model.output.weight"].T
            )
        x = originals.spliced(ids, t["language_model.model.embed_tokens.weight"], pictures)
        return originals.llama(t, "language_model.model.", x, HEADS, KEYS, 1e6) @ t["language_model.lm_head.weight"].T

    head = t.get("language_model.output.weight", t.get("language_model.lm_head.weight"))
    return Case(out, len(head), forward, t)


def make(name: str, root: Path) -> Case:
    """Write a tiny original of a layout, convert it, and return both sides."""
    torch.manual_seed(0)
    folder, out, clip = root / name, root / f"{name}-hf", root / "clip"
    if name.startswith("internvl"):
        t = published.write_internvl(folder, name.partition("_")[2] or "InternLM2ForCausalLM")
        convert(folder, out)
        return internvl_case(t, out)
    t = getattr(published, f"write_{name}")(folder)
    inside = any(key.startswith(TOWER) for key in t)
    tower = {} if inside else published.write_tower(clip)
    convert(folder, out, None if inside else clip)
    if name == "llava_1_6":
        return next_case(t, out)
    keys, theta = (KEYS, 1e6) if name == "llava_med_1_5" else (HEADS, 1e4)
    return llava_case(t, t if inside else tower, TOWER if inside else "vision_model.", out, keys, theta)


LAYOUTS = (
    "llava_1_0",
    "llava_1_5",
    "llava_med_1_5",
    "sharegpt4v",
    "llava_1_6",
    "internvl",
    "internvl_LlamaForCausalLM",
    "internvl_Qwen2ForCausalLM",
    "internvl_Qwen3ForCausalLM",
)


@pytest.fixture(scope="module", params=LAYOUTS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return make(request.param, tmp_path_factory.mktemp(request.param))


def pictures() -> list[Image.Image]:
    noise = torch.Generator().manual_seed(1)
    sides = [(*size[::-1], 3) for size in SIZES]
    return [Image.fromarray(torch.randint(0, 255, s, generator=noise).byte().numpy()) for s in sides]


def asked(case: Case, count: int) -> tuple[dict[str, Any], list[int], dict[str, Tensor]]:
    """Return a prompt as the converted processor makes it, and as the original's forward takes it."""
    dialect = Dialect(case.out)
    shown = [dialect.shaped(picture) for picture in pictures()[:count]]
    content = [{"type": "image", "image": picture} for picture in shown]
    turns = [{"role": "user", "content": [*content, {"type": "text", "text": "What is in the eye?"}]}]
    made = dialect.processor.apply_chat_template(
        turns, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    image, ids, runs = dialect.family.image_token_id, [], []
    for token in made["input_ids"][0].tolist():
        if token == image and ids and ids[-1] == IMAGE:
            runs[-1] += 1
            continue
        ids.append(IMAGE if token == image else token)
        runs += [1] if token == image else []
    per_tile = (SIDE // published.PATCH) ** 2 // 4
    extra = {"tiles": [run // per_tile for run in runs]}
    return made, ids, {**{k: made[k] for k in ("pixel_values", "image_sizes") if k in made}, **extra}


@pytest.mark.parametrize("count", [0, 1, 2])
@torch.no_grad()
def test_logits_are_those_of_the_original_code(case, count):
    made, ids, inputs = asked(case, count)
    theirs = load(find(str(case.out))).eval()(**made).logits[0]
    ours = case.forward(ids, inputs)
    assert ours.shape == (len(theirs), case.rows)
    assert ids.count(IMAGE) == count and ours.std() > 0.1
    assert (theirs[:, : case.rows] - ours).abs().max() < CLOSE


@torch.no_grad()
def test_greedy_replies_are_those_of_the_original_code_token_for_token(case):
    made, ids, inputs = asked(case, 1)
    model, count = load(find(str(case.out))).eval(), len(made["input_ids"][0])
    reply = model.generate(**made, max_new_tokens=12, min_new_tokens=12, do_sample=False)[0][count:].tolist()
    ends, said = model.generation_config.eos_token_id, list[int]()
    for _ in reply:
        logits = case.forward([*ids, *said], inputs)[-1]
        logits[ends] = float("-inf")  # as the least length of the reply asks
        said.append(int(logits.argmax()))
    assert reply == said and len(set(reply)) > 1


@torch.no_grad()
def test_rows_that_were_added_are_never_the_most_likely_token(case):
    made, _, _ = asked(case, 1)
    logits = load(case.out)(**made).logits[0]
    new = logits[:, case.rows :]
    assert new.shape[1] <= 1
    assert torch.allclose(new, logits[:, : case.rows].mean(1, keepdim=True).expand_as(new), atol=1e-4)


def test_no_tensor_is_lost_and_none_invented(case):
    """Each number of the original is in the result, and nothing else but an identity and rows of means."""
    kept = {k: v for k, v in case.tensors.items() if "inv_freq" not in k}
    result = {}
    for file in case.out.glob("*.safetensors"):
        result |= load_file(file)
    total = sum(v.numel() for v in kept.values())
    tower = sum(v.numel() for k, v in result.items() if "vision_tower" in k)
    apart = 0 if any("vision" in k for k in kept) else tower
    width = published.WIDTH
    single = width * width + width if "model.mm_projector.weight" in kept else 0
    rows = next(len(v) for k, v in result.items() if k.endswith("embed_tokens.weight")) - case.rows
    assert sum(v.numel() for v in result.values()) == total + apart + single + 2 * rows * width


def test_the_card_names_every_file_with_its_hash_and_what_was_left_out(case):
    card = (case.out / "README.md").read_text(encoding="utf-8")
    for file in case.out.iterdir():
        assert file.name == "README.md" or f"| {file.name} | {sha256_of(file)} |" in card
    source = next((case.out.parent / case.out.name.removesuffix("-hf")).glob("*0001-of*"), None)
    assert source is None or sha256_of(source) in card
    assert "Licence: not stated" in card and "no weight is random" in card
    assert ("inv_freq" in card) == any("inv_freq" in name for name in case.tensors)
    assert ("identity" in card) == ("model.mm_projector.weight" in case.tensors)


def test_a_result_in_several_files_is_the_same_and_no_file_is_larger_than_it_should_be(tmp_path):
    torch.manual_seed(0)
    published.write_llava_med_1_5(tmp_path / "a")
    for out, limit in (("one", 2**30), ("many", 200_000)):
        convert(tmp_path / "a", tmp_path / out, shard=limit)
    whole, files = load_file(tmp_path / "one" / "model.safetensors"), sorted((tmp_path / "many").glob("*.safetensors"))
    assert len(files) > 5 and all(file.stat().st_size < 200_000 + 40_000 for file in files)
    parts = [load_file(file) for file in files]
    assert sum(map(len, parts)) == len(whole)
    assert all(torch.equal(whole[name], t) for part in parts for name, t in part.items())
    one, many = (load(find(str(tmp_path / out))).state_dict() for out in ("one", "many"))
    assert all(torch.equal(one[name], many[name]) for name in one)


def test_types_are_those_of_the_source(tmp_path):
    torch.manual_seed(0)
    half = {name: t.bfloat16() for name, t in published.write_llava_med_1_5(tmp_path / "a").items()}
    published._write_safe(tmp_path / "a", half)
    convert(tmp_path / "a", tmp_path / "b")
    assert {t.dtype for t in load_file(tmp_path / "b" / "model.safetensors").values()} == {torch.bfloat16}
    assert json.loads((tmp_path / "b" / "config.json").read_text())["dtype"] == "bfloat16"


@torch.no_grad()
def test_a_delta_is_applied_then_converted_and_computes_what_the_whole_model_did(tmp_path):
    """LLaVA-Med 1.0 as it is published: a delta of LLaMA in pickled shards, in the layout of LLaVA 1.0."""
    torch.manual_seed(0)
    whole, base, delta = tmp_path / "whole", tmp_path / "llama", tmp_path / "llava-med-7b-delta"
    t, tower = published.write_llava_1_0(whole), published.write_tower(tmp_path / "clip")
    base.mkdir()
    rows = len(t["lm_head.weight"]) - 3  # LLaMA's own, without the tokens around an image
    language = {k: v for k, v in t.items() if "projector" not in k and "inv_freq" not in k}
    language = {k: v[:rows] if k in ("lm_head.weight", "model.embed_tokens.weight") else v for k, v in language.items()}
    torch.save({k: v * 0.97 for k, v in language.items()}, base / "pytorch_model.bin")
    make_delta(whole, base, delta)
    with pytest.raises(NotConvertible, match=r"is a delta .*\nNext: `python -m lmod_train weights apply-delta --delta"):
        convert(delta, tmp_path / "early", tmp_path / "clip")
    apply_delta(delta, base, tmp_path / "applied")
    convert(tmp_path / "applied", tmp_path / "out", tmp_path / "clip")
    case = llava_case(t, tower, "vision_model.", tmp_path / "out", HEADS)
    made, ids, inputs = asked(case, 1)
    assert (load(case.out)(**made).logits[0][:, : case.rows] - case.forward(ids, inputs)).abs().max() < CLOSE
