"""What comes out of the folder is what the tower makes, for every family that has a tower of its own."""

import errno
import os
import socket
import time

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from transformers import AutoModelForImageTextToText

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_class, family_of
from lmod_train.models.chat.tower_features import TowerFeatures, weights_key
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.tasks.glaucoma import Glaucoma
from tests.families import MODEL_TYPES
from tests.models.chat import sharded_tower
from tests.models.chat.quick import few
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, trainer, write_curated

INSIDE = [t for t in MODEL_TYPES if family_class(t).projector[0].startswith(f"{family_class(t).tower}.")]
TILES = ["internvl", "idefics3"]
SEPARATE = [t for t in MODEL_TYPES if t not in INSIDE]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(model_type):
        if model_type not in made:
            made[model_type] = write_tiny(tmp_path_factory.mktemp(model_type), model_type)
        return made[model_type]

    return folder


def load(folder, **options):
    network = AutoModelForImageTextToText.from_pretrained(folder, local_files_only=True, **options)
    return network.requires_grad_(False)


def joined(network, images):
    return family_of(network).joined(images.items)


def pixels(network, *seeds):
    """Return an image of noise a seed, as the family's network takes one; of some in tiles."""
    side, names = network.config.vision_config.image_size, family_of(network).tensors
    side = side if isinstance(side, int) else side[0]
    made = []
    for seed in seeds:
        draw = torch.Generator().manual_seed(seed)
        tiles = 3 if "image_sizes" in names else 1 + seed % 2 if network.config.model_type in TILES else 1
        item = {"pixel_values": torch.rand(tiles, 3, side, side, generator=draw)}
        item |= {"image_sizes": torch.tensor([[side, 2 * side]])} if "image_sizes" in names else {}
        item |= {"batch_num_images": torch.tensor([1])} if "batch_num_images" in names else {}
        if "pixel_attention_mask" in names:
            item["pixel_attention_mask"] = torch.ones(1, tiles, side, side, dtype=torch.int64)
        if len(item) > 1:  # tiles are the second axis
            item["pixel_values"] = item["pixel_values"][None]
        made.append(item)
    return Images(made)


def tower_of(network):
    return network.get_submodule(family_of(network).tower)


def states_of(network, images):
    """All hidden states of the tower itself, of a network whose tower takes pixels alone."""
    tower = tower_of(network)
    with torch.no_grad():
        forward = type(tower).forward.__get__(tower)
        return forward(
            joined(network, images)["pixel_values"].to(network.dtype), output_hidden_states=True
        ).hidden_states


def projector_of(network):
    return network.get_submodule(family_of(network).projector[0])


@pytest.mark.parametrize("model_type", few(("gemma3", "idefics3", "llava"), SEPARATE))
def test_the_folder_answers_as_the_tower_does_and_spares_its_forward(folders, tmp_path, model_type):
    network = load(folders(model_type))
    images, more = pixels(network, 1, 2, 3), pixels(network, 3, 4, 1)
    truth, further = encode(network, images).features, encode(network, more).features
    features = TowerFeatures(network, tmp_path)
    first = encode(network, images).features
    tiles = features.computed
    assert features.found == 0 and tiles >= 3
    again = encode(network, images).features
    assert (features.found, features.computed) == (tiles, tiles)
    for a, b, c in zip(truth, first, again, strict=True):
        assert torch.equal(a, b) and torch.equal(b, c)
    for a, b in zip(further, encode(network, more).features, strict=True):  # two known, one new: computed alone
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    assert features.computed == tiles + len(joined(network, pixels(network, 4))["pixel_values"].flatten(0, -4))


@pytest.mark.parametrize("model_type", few(("gemma3", "idefics3", "llava"), SEPARATE))
def test_another_run_finds_them_and_gradients_reach_the_projector_alike(folders, tmp_path, model_type):
    gradients = []
    for kept in (False, True, True):
        network = load(folders(model_type))
        features = TowerFeatures(network, tmp_path) if kept else None
        projector_of(network).requires_grad_(True)
        torch.cat([f.flatten() for f in encode(network, pixels(network, 1, 2)).features]).square().mean().backward()
        gradients.append([p.grad for p in projector_of(network).parameters()])
    assert features.computed == 0 and features.found >= 2
    for separate, first, second in zip(*gradients, strict=True):
        assert torch.equal(separate, first) and torch.equal(first, second)


def test_a_file_holds_the_layer_that_is_read_and_no_other(folders, tmp_path):
    network = load(folders("llava"), dtype=torch.bfloat16)
    for layer, name in ((-1, "hidden_states.2.3"), (-2, "hidden_states.1.3"), (1, "hidden_states.1.3")):
        network.config.vision_feature_layer = layer
        truth = encode(network, pixels(network, 1)).features[0]
        folder = tmp_path / str(layer)
        features = TowerFeatures(network, folder)
        made = [encode(network, pixels(network, 1)).features[0] for _ in range(2)]
        assert all(torch.equal(truth, m) for m in made) and features.computed == 1
        (file,) = folder.rglob("*.npy")
        opened = np.load(file)
        assert opened.dtype.names == (name,)
        state = torch.from_numpy(opened[name]).view(torch.bfloat16)
        assert torch.equal(state, states_of(network, pixels(network, 1))[int(name.split(".")[1])][0])
        assert file.stat().st_size < state.numel() * 2 + 200
        tower_of(network).forward = type(tower_of(network)).forward.__get__(tower_of(network))


def test_other_weights_pixels_or_types_are_never_taken_for_these(folders, tmp_path):
    network = load(folders("llava"))
    features = TowerFeatures(network, tmp_path)
    encode(network, pixels(network, 1))
    near = pixels(network, 1)
    near.items[0]["pixel_values"][0, 0, 0, 0] += 1e-6
    encode(network, near)
    with torch.autocast("cpu", torch.bfloat16):
        network.get_image_features(**joined(network, pixels(network, 1)))
    assert (features.found, features.computed) == (0, 3)
    other = load(folders("llava"))
    with torch.no_grad():
        next(tower_of(other).parameters()).view(-1)[0] += 1e-3
    assert weights_key(tower_of(other)) != weights_key(tower_of(load(folders("llava"))))
    fresh = TowerFeatures(other, tmp_path)
    encode(other, pixels(other, 1))
    assert fresh.found == 0
    assert weights_key(tower_of(load(folders("llava"), dtype=torch.bfloat16))) != weights_key(tower_of(network))


def test_what_a_killed_run_or_a_crash_left_is_computed_again(folders, tmp_path):
    network = load(folders("llava"))
    TowerFeatures(network, tmp_path)
    truth = encode(network, pixels(network, 1, 2)).features
    cut, _ = sorted(tmp_path.rglob("*.npy"))
    cut.write_bytes(cut.read_bytes()[:-100])
    old, new = cut.with_name(".0.part"), cut.with_name(".1.part")
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    again = load(folders("llava"))
    features = TowerFeatures(again, tmp_path)
    made = encode(again, pixels(again, 1, 2)).features
    assert (features.found, features.computed) == (1, 1) and not old.exists() and new.exists()
    for a, b in zip(truth, made, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_another_mask_of_the_same_pixels_is_another_image(folders, tmp_path):
    network = load(folders("idefics3"))
    whole, cut = pixels(network, 1, 1).items
    cut["pixel_attention_mask"][..., 24:] = 0
    truth = [encode(network, Images([item])).features[0] for item in (whole, cut)]
    assert not torch.allclose(*truth)
    features = TowerFeatures(network, tmp_path)
    encode(network, Images([whole]))
    both = encode(network, Images([cut, whole])).features
    assert (features.found, features.computed) == (2, 4)
    torch.testing.assert_close(both, truth[::-1], rtol=1e-5, atol=1e-5)


def test_the_same_image_twice_in_a_batch_is_computed_once(folders, tmp_path):
    network = load(folders("gemma3"))
    features = TowerFeatures(network, tmp_path)
    one, two, three = encode(network, pixels(network, 1, 2, 1)).features
    assert features.computed == 2 and torch.equal(one, three) and not torch.equal(one, two)


@pytest.mark.parametrize("model_type", INSIDE)
def test_a_tower_that_holds_the_projector_is_refused_with_the_reason(folders, tmp_path, model_type):
    with pytest.raises(BadArgument, match=r"(?s)tower_features=.*contains the projector .*model.visual.merger.*null"):
        TowerFeatures(load(folders(model_type)), tmp_path)


def test_a_tower_that_learns_and_a_folder_that_is_none_are_refused(folders, tmp_path):
    network = load(folders("llava"))
    (tmp_path / "file").write_text("")
    with pytest.raises(BadArgument, match=r"(?s)file.*can be written to.*tower_features DIR"):
        TowerFeatures(network, tmp_path / "file")
    next(tower_of(network).parameters()).requires_grad_(True)
    with pytest.raises(BadArgument, match=r"(?s)a tower that is frozen.*tune_tower"):
        TowerFeatures(network, tmp_path)


def test_a_full_disk_names_the_option_and_leaves_no_half_file(folders, tmp_path, monkeypatch):
    def full(stream, *_, **__):
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    network = load(folders("llava"))
    TowerFeatures(network, tmp_path)
    monkeypatch.setattr(np, "save", full)
    with pytest.raises(BadArgument, match=r"(?s)tower_features=.*No space left.*tower_features DIR"):
        encode(network, pixels(network, 1))
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == []


def test_of_two_runs_that_compute_one_image_at_once_the_first_file_stays(folders, tmp_path):
    first, second = load(folders("llava")), load(folders("llava"))
    slow, fast = TowerFeatures(first, tmp_path), TowerFeatures(second, tmp_path)
    places = []
    compute = slow._forward

    def overtaken(*args, **options):
        encode(second, pixels(second, 1))  # the other run, while this one computes
        places.extend((f.name, f.stat().st_ino) for f in tmp_path.rglob("*.npy"))
        return compute(*args, **options)

    slow._forward = overtaken
    made = encode(first, pixels(first, 1)).features
    assert (slow.computed, fast.computed, len(places)) == (1, 1, 1)
    assert [(f.name, f.stat().st_ino) for f in tmp_path.rglob("*") if f.is_file()] == places
    assert torch.equal(made[0], encode(second, pixels(second, 1)).features[0]) and fast.found == 1


def test_a_file_of_something_else_is_computed_again(folders, tmp_path):
    network = load(folders("llava"))
    features = TowerFeatures(network, tmp_path)
    truth = encode(network, pixels(network, 1)).features[0]
    (file,) = tmp_path.rglob("*.npy")
    for other in (np.zeros((3, 4), np.float32), np.zeros((), [("other", "<f4", (2,))])):
        np.save(file, other)
        assert torch.equal(encode(network, pixels(network, 1)).features[0], truth)
    assert (features.found, features.computed) == (0, 3)


def test_a_training_with_kept_features_has_the_losses_of_one_without(tmp_path):
    images = [f"{i}.png" for i in range(4)]
    answers = ("GLAUCOMA", "NON-GLAUCOMA")
    asked = [
        record(f"glaucoma/phantom/{i}/{q}", f"Question {q}?", [name], answers[(i + q) % 2])
        for i, name in enumerate(images)
        for q in range(2)
    ]
    curated, checkpoint = write_curated(tmp_path / "curated", asked), tmp_path / "llava"
    checkpoint.mkdir()
    write_tiny(checkpoint, "llava")

    def losses(**options):
        torch.manual_seed(0)
        seen = Losses()
        module = VisionLanguageModel(str(checkpoint), Lora(rank=2, dropout=0.0), **options)
        data = RecordsDataModule(curated, [Glaucoma()], batch_size=4)
        trainer(tmp_path, max_epochs=3, limit_val_batches=0, callbacks=[seen]).fit(module, datamodule=data)
        return module, seen.losses

    _, separate = losses()
    _, first = losses(tower_features=tmp_path / "features")
    module, again = losses(tower_features=tmp_path / "features")
    assert len(separate) == 6 and separate[0] > separate[-1]
    assert first == pytest.approx(separate, rel=1e-5) and again == pytest.approx(separate, rel=1e-5)
    kept = module.network.model.vision_tower.forward
    assert kept.computed == 0 and kept.found == 12, "4 images in 3 epochs"
    with pytest.raises(BadArgument, match=r"(?s)a tower that is frozen.*tune_tower"):
        losses(tower_features=tmp_path / "features", tune_tower=True)


class Losses(Callback):
    """Notes the loss of each step."""

    def __init__(self):
        self.losses = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))


def test_processes_that_divide_a_tower_run_it_together_or_not_at_all(folders, tmp_path):
    network = load(folders("llava"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for rank, (images, made, found, computed) in enumerate(sharded_tower.run(folders("llava"), tmp_path, port)):
        truth = torch.stack(list(network.get_image_features(images, return_dict=True).pooler_output))
        torch.testing.assert_close(made, truth, rtol=1e-5, atol=1e-5)
        assert (found, computed) == ((2, 1), (1, 2))[rank]
