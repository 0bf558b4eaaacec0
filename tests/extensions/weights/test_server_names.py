"""Names for servers against those of the checkpoints that the families were published with."""

import json
import re

import pytest
import torch
from safetensors import safe_open

from lmod_train.extensions.weights.server_names import rename_for_servers
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.family import family_class
from tests.families import MODEL_TYPES, TINY
from tests.models.chat.written_once import write_tiny


def names(folder):
    found = []
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="pt") as opened:
            found += list(opened.keys())
    return found


@pytest.mark.parametrize(("kind", "sharded"), [*((kind, False) for kind in MODEL_TYPES), ("llava", True)])
def test_servers_find_the_published_names_and_transformers_the_same_weights(tmp_path, kind, sharded):
    folder = write_tiny(tmp_path, kind)
    before = load(folder)
    if sharded:
        for file in folder.glob("*.safetensors"):
            file.unlink()
        before.save_pretrained(folder, max_shard_size="100KB")
        assert len(list(folder.glob("*.safetensors"))) > 1
    renamed = rename_for_servers(folder)
    assert bool(renamed) == bool(family_class(kind).server_names)
    strange = [name for name in names(folder) if not re.match(TINY[kind].published, name)]
    assert not strange
    after = dict(load(folder).named_parameters())
    assert all(torch.equal(after[name], p) for name, p in before.named_parameters())
    for index in folder.glob("*.index.json"):
        assert sorted(json.loads(index.read_text())["weight_map"]) == sorted(names(folder))
    assert rename_for_servers(folder) == 0, "renamed once, not twice"
