"""Names for servers against those of the checkpoints that the families were published with."""

import json
import re

import pytest
import torch
from safetensors import safe_open

from lmod_train.chat.checkpoint import load
from lmod_train.chat.server_names import SERVER, rename_for_servers
from tests.families import MODEL_TYPES, write_tiny

PUBLISHED = {
    "llava": r"language_model\.(model|lm_head)\.|multi_modal_projector\.|vision_tower\.vision_model\.(emb|enc|p)",
    "llava_next": r"language_model\.(model|lm_head)\.|multi_modal_projector\.|image_newline$"
    r"|vision_tower\.vision_model\.(emb|enc|p)",
    "gemma3": r"language_model\.(model|lm_head)\.|multi_modal_projector\.|vision_tower\.vision_model\.(emb|enc|p|head)",
    "internvl": r"language_model\.(model|lm_head)\.|multi_modal_projector\.|vision_tower\.(emb|enc)",
    "qwen2_5_vl": r"model\.(layers|norm|embed_tokens)|lm_head\.|visual\.",
    "qwen3_vl": r"model\.(language_model|visual)\.|lm_head\.",
}
"""What each name of the checkpoints on the hub begins with (llava-hf/llava-1.5-7b-hf, llava-v1.6-mistral-7b-hf,
google/gemma-3-4b-it, OpenGVLab/InternVL3-8B-hf, Qwen/Qwen2.5-VL-7B-Instruct, Qwen/Qwen3-VL-8B-Instruct)."""


def names(folder):
    found = []
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="pt") as opened:
            found += list(opened.keys())
    return found


@pytest.mark.parametrize("kind", MODEL_TYPES)
@pytest.mark.parametrize("sharded", [False, True])
def test_servers_find_the_published_names_and_transformers_the_same_weights(tmp_path, kind, sharded):
    if sharded and kind != "llava":
        pytest.skip("the same code for all families")
    folder = write_tiny(tmp_path, kind)
    before = load(folder)
    if sharded:
        for file in folder.glob("*.safetensors"):
            file.unlink()
        before.save_pretrained(folder, max_shard_size="100KB")
        assert len(list(folder.glob("*.safetensors"))) > 1
    renamed = rename_for_servers(folder)
    assert bool(renamed) == bool(SERVER[kind])
    strange = [name for name in names(folder) if not re.match(PUBLISHED[kind], name)]
    assert not strange
    after = dict(load(folder).named_parameters())
    assert all(torch.equal(after[name], p) for name, p in before.named_parameters())
    for index in folder.glob("*.index.json"):
        assert sorted(json.loads(index.read_text())["weight_map"]) == sorted(names(folder))
    assert rename_for_servers(folder) == 0, "renamed once, not twice"


def test_every_family_says_what_servers_call_its_tensors():
    assert set(SERVER) == set(MODEL_TYPES)
