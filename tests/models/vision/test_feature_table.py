"""Features of frozen transformers: equal to the network's, found again, and keyed by all that determines them."""

from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torchvision.transforms import functional as reference

from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.types import Box, Region
from lmod_train.models.vision import feature_table as module
from lmod_train.models.vision.augmentation import Augmentation, eval_transform
from lmod_train.models.vision.crop_table import crops_of
from lmod_train.models.vision.feature_table import Encoder, FeatureDialect, feature_table
from tests.tiny import record, write_curated

TINY = Encoder("random", "tiny", 32)
REGIONS = (Region("optic disc", Box(2, 2, 12, 12), 1), Region("optic cup", Box(0, 0, 16, 9), 2))
RECORDS = [
    record("anatomy/p/0", image=["a.png"], answer="Region ID: 1; Type: disc\nRegion ID: 2; Type: cup", regions=REGIONS),
    record("anatomy/p/1", image=["b.png"], answer="Region ID: 2; Type: cup", regions=REGIONS[1:]),
    record("anatomy/p/2", image=["a.png"], answer="disc"),
]


@pytest.fixture
def folder(tmp_path):
    return write_curated(tmp_path, RECORDS)


def table(folder, encoder=TINY, place="disk", logged=None, records=RECORDS):
    messages = [] if logged is None else logged
    return feature_table(records, folder, encoder, torch.device("cpu"), place, messages.append)


def equal(one, other):
    return one.names == other.names and np.array_equal(one.take(one.names), other.take(other.names))


def by_hand(folder, box):
    picture = Image.open(folder / "a.png").crop(box).resize((32, 32), Image.Resampling.BICUBIC)
    pixels = reference.normalize(reference.to_tensor(picture), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    with torch.no_grad():
        return TINY.build()[0](pixels[None])[0]


def test_features_are_those_of_the_network(folder):
    found = table(folder)
    assert found.take(found.names).shape == (4, 64)
    boxes = [(2, 2, 12, 12), (0, 0, 16, 9), (0, 0, 16, 16)]
    for crop, box in zip([*crops_of(RECORDS[0]), *crops_of(RECORDS[2])], boxes, strict=True):
        assert torch.allclose(torch.from_numpy(found.take([crop]))[0], by_hand(folder, box), atol=1e-5)


@pytest.mark.parametrize("size", [(40, 24), (24, 40), (30, 31), (16, 16)])
@pytest.mark.parametrize("square", ["pad", "crop"])
def test_whole_images_are_made_square_as_in_fine_tuning(tmp_path, square, size):
    records = [record("glaucoma/p/0", image=["wide.png"]), record("anatomy/p/0", image=["wide.png"], regions=REGIONS)]
    write_curated(tmp_path, records)
    noise = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "wide.png")
    encoder = replace(TINY, square=square)
    found = table(tmp_path, encoder, records=records)
    seen = eval_transform(Augmentation(square=square, fill=(0, 0, 0)), 32)(Image.fromarray(noise))
    with torch.no_grad():
        expected = encoder.build()[0](seen[None])[0]
    assert torch.allclose(torch.from_numpy(found.take(crops_of(records[0])))[0], expected, atol=1e-5)
    boxes, padded = crops_of(records[1]), table(tmp_path, records=records)
    assert np.array_equal(found.take(boxes), padded.take(boxes)), "boxes are stretched in either case"


def test_only_crop_counts_in_the_key():
    assert replace(TINY, square="pad").key() == TINY.key() != replace(TINY, square="crop").key()


def test_they_are_computed_once_and_again_after_any_change(folder, monkeypatch):
    logged = []
    first = table(folder, logged=logged)
    assert len(logged) == 1 and "no pre-training, as requested" in logged[0]
    assert equal(table(folder, logged=logged), first) and len(logged) == 1
    table(folder, replace(TINY, image_size=48), logged=logged)
    table(folder, replace(TINY, pooling="cls"), logged=logged)
    table(folder, logged=logged, records=RECORDS[:1])  # they are among those that are stored
    Image.new("RGB", (16, 16), "white").save(folder / "a.png")
    assert not equal(table(folder, logged=logged), first)
    assert len(logged) == 4 == len(list((folder / "cache").glob("features-*/000-of-001.npy")))
    monkeypatch.setattr(module, "SCHEMA_VERSION", 0)
    table(folder, place="memory", logged=logged)
    assert len(logged) == 5 and len(list((folder / "cache").iterdir())) == 4


@pytest.mark.parametrize("damage", [b"", b"no array"])
def test_a_damaged_file_is_computed_again(folder, damage):
    table(folder)
    next((folder / "cache").rglob("*.npy")).write_bytes(damage)
    assert equal(table(folder), table(folder, place="memory"))


def test_the_key_follows_the_bytes_of_the_weights(tmp_path):
    keys = []
    for name, text in (("a", b"1"), ("b", b"1"), ("a", b"2")):
        (tmp_path / name).write_bytes(text)
        keys.append(Encoder(str(tmp_path / name)).key())
    assert keys[0] == keys[1] != keys[2]
    with pytest.raises(WeightsNotFound, match=r"no such file"):
        Encoder("nowhere.pth").key()


def test_a_random_encoder_is_the_same_every_time_and_leaves_the_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, second = (TINY.build()[0].state_dict() for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_dialect_collates_one_row_per_crop(folder):
    computed = table(folder)
    batch = FeatureDialect(("disc", "cup"), computed)(RECORDS, folder)
    assert batch.features.shape == (4, 64)
    assert (batch.targets.tolist(), batch.owners) == ([0, 1, 1, 0], [0, 0, 1, 2])
    assert torch.equal(batch.features[3], torch.from_numpy(computed.take(crops_of(RECORDS[2])))[0])
    assert FeatureDialect(("disc", "cup"), computed)([], folder).features.shape == (0, 64)
    with pytest.raises(RuntimeError, match="setup"):
        FeatureDialect(("disc", "cup"))(RECORDS, folder)


def test_no_records_give_no_features(folder):
    assert table(folder, records=[]).take([]).shape == (0, 64)
    assert not (folder / "cache").exists()


def test_the_file_is_read_once_for_all_checkpoints(tmp_path, monkeypatch):
    file = tmp_path / "weights.pth"
    file.write_bytes(b"1")
    encoder, read, original = Encoder(str(file)), [], module.hashlib.file_digest
    monkeypatch.setattr(module.hashlib, "file_digest", lambda *a: read.append(1) or original(*a))
    assert encoder.key() == encoder.key() and len(read) == 1


def test_the_published_pooling_has_the_same_key_as_null():
    for family, same, other in (("mae", "mean", "cls"), ("dinov2", "cls", "mean")):
        null = replace(TINY, family=family)
        assert null.key() == replace(null, pooling=same).key() != replace(null, pooling=other).key()


@pytest.mark.parametrize("library", ["torch", "timm"])
def test_another_release_draws_other_random_weights_and_reads_the_same_file(library, tmp_path, monkeypatch):
    file = tmp_path / "weights.pth"
    file.write_bytes(b"1")
    before = [Encoder(name, "tiny").key() for name in ("random", str(file))]
    monkeypatch.setattr(getattr(module, library), "__version__", "0.0")
    after = [Encoder(name, "tiny").key() for name in ("random", str(file))]
    assert before[0] != after[0] and before[1] == after[1]


def test_features_of_a_network_of_timm_are_normalised_by_its_card(folder, tmp_path):
    torch.manual_seed(4)
    torch.save(timm.create_model("test_efficientnet").state_dict(), tmp_path / "weights.pth")
    encoder = Encoder(str(tmp_path / "weights.pth"), image_size=32, architecture="test_efficientnet")
    found = table(folder, encoder)
    network, report = encoder.build()
    mean, std = (timm.get_pretrained_cfg("test_efficientnet").to_dict()[name] for name in ("mean", "std"))
    picture = Image.open(folder / "a.png").resize((32, 32), Image.Resampling.BICUBIC)
    with torch.no_grad():
        expected = network(reference.normalize(reference.to_tensor(picture), mean, std)[None])[0]
    assert torch.allclose(torch.from_numpy(found.take(crops_of(RECORDS[2])))[0], expected, atol=1e-5)
    assert found.take(found.names).shape == (4, encoder.width) and "its head was dropped" in report
    others = [replace(encoder, mean=(0.1, 0.1, 0.1)), replace(encoder, architecture="test_efficientnet_ln")]
    assert len({e.key() for e in (encoder, *others)}) == 3
