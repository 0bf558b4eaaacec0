"""Linear probe and nearest neighbours: fitted, saved, loaded and scored through Lightning, against scikit-learn."""

import math
import shutil
import socket

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from PIL import Image
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from lmod_train.datamodules.records import RecordsDataModule
from lmod_train.errors import BadArgument, WeightsMismatch
from lmod_train.modules.frozen_features import LinearProbe, NearestNeighbour
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.vision.feature_table import Encoder
from tests.modules import two_ranks
from tests.tiny import record, trainer, write_curated

TINY = Encoder("random", "tiny", 32)
TASK = Glaucoma()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """24 training and 12 test pictures: those with glaucoma are brighter, in noise."""
    records = [
        record(f"glaucoma/p/{i:02}", image=[f"{i:02}.png"], answer=TASK.choices[i % 2],
               split="test" if i >= 24 else "train") for i in range(36)
    ]  # fmt: skip
    place = write_curated(tmp_path_factory.mktemp("curated"), records)
    noise = np.random.default_rng(1)
    for i in range(36):
        pixels = noise.normal(110 - 40 * (i % 2), 50, (32, 32, 3)).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"{i:02}.png")
    return place


class Take(Callback):
    """Keeps the replies."""

    def __init__(self):
        self.replies = []

    def on_test_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.replies += outputs


def data(folder):
    return RecordsDataModule(folder, [TASK], batch_size=24, seed=0)


def fitted(module, folder, place, epochs=60):
    torch.manual_seed(0)
    quick = trainer(place, max_epochs=epochs, limit_val_batches=0)
    quick.fit(module, datamodule=data(folder))
    quick.save_checkpoint(place / "last.ckpt")
    return place / "last.ckpt"


def replies_of(module, folder, place, checkpoint=None):
    take = Take()
    options = {"ckpt_path": checkpoint, "weights_only": True} if checkpoint else {}
    trainer(place, callbacks=[take]).test(module, datamodule=data(folder), verbose=False, **options)
    return {reply.id: reply for reply in take.replies}


def halves(module):
    """Features and classes of the training and of the test split, in id order."""
    table = module.dialect.table
    order = sorted(table.names, key=lambda crop: crop.image)
    features, classes = table.take(order), np.arange(36) % 2
    return features[:24], classes[:24], features[24:], classes[24:]


def right(replies):
    return sum(reply.reply == TASK.choices[int(id[-2:]) % 2] for id, reply in replies.items())


def test_the_probe_answers_as_logistic_regression_and_its_checkpoint_brings_the_same(folder, tmp_path):
    module = LinearProbe(TINY, TASK.choices, weight_decay=0.0)
    checkpoint = fitted(module, folder, tmp_path)
    train, known, test, _ = halves(module)
    scale = StandardScaler().fit(train)
    expected = LogisticRegression(C=1e3, max_iter=5000).fit(scale.transform(train), known)
    said = replies_of(LinearProbe(TINY, TASK.choices), folder, tmp_path, checkpoint)
    assert {r.step for r in said.values()} == {60} and len(said) == 12
    same = replies_of(module, folder, tmp_path)
    assert {i: r.reply for i, r in same.items()} == {i: r.reply for i, r in said.items()}
    theirs = [TASK.choices[c] for c in expected.predict(scale.transform(test))]
    assert sum(said[i].reply == t for i, t in zip(sorted(said), theirs, strict=True)) >= 11
    assert right(said) >= 10


def test_the_neighbours_vote_as_scikit_learn_s(folder, tmp_path):
    module = NearestNeighbour(TINY, TASK.choices, neighbours=5, temperature=0.5)
    checkpoint = fitted(module, folder, tmp_path, epochs=1)
    train, known, test, _ = halves(module)

    def weights(distances):
        return np.exp(-distances / 0.5)  # cosine distance is 1 - cosine

    expected = KNeighborsClassifier(5, weights=weights, metric="cosine").fit(train, known).predict_proba(test)
    fresh = NearestNeighbour(TINY, TASK.choices, neighbours=5, temperature=0.5)
    for said in (replies_of(module, folder, tmp_path), replies_of(fresh, folder, tmp_path, checkpoint)):
        found = [[math.exp(said[i].likelihoods[c]) for c in TASK.choices] for i in sorted(said)]
        assert np.allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("temperature", [1e-6, 0.001, 0.07, 1e6])
@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_votes_are_a_softmax_over_the_neighbours_whatever_temperature_and_sign_of_the_cosines(temperature, turned):
    random = np.random.default_rng(5)
    centre = np.ones(8)
    bank, asked = centre + random.normal(0, 0.3, (9, 8)), turned * (centre + random.normal(0, 0.3, (6, 8)))
    targets = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
    module = NearestNeighbour(TINY, TASK.choices, neighbours=9, temperature=temperature)
    module.bank = {"features": torch.tensor(bank).float(), "targets": torch.tensor(targets)}
    found = module.scores(torch.tensor(asked).float()).exp().numpy()
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (asked, bank)]
    cosine = unit[0] @ unit[1].T
    for row, shares in zip(cosine, found, strict=True):
        weights = softmax(row / temperature)
        assert shares == pytest.approx([weights[targets == c].sum() for c in (0, 1)], abs=2e-3)


def test_the_identity_has_all_that_changes_the_vote_and_not_where_features_are_kept():
    changes = [{"neighbours": 5}, {"temperature": 0.5}, {"neighbours": 5, "temperature": 0.5}]
    changes += [{"choices": TASK.choices[::-1]}, {"encoder": Encoder("random", "tiny", 32, pooling="cls")}]
    plain, *others = [NearestNeighbour(**{"encoder": TINY, "choices": TASK.choices, **c}) for c in ({}, *changes)]
    settings = [module.identity().settings for module in (plain, *others)]
    assert all(one != other for i, one in enumerate(settings) for other in settings[:i])
    assert NearestNeighbour(TINY, TASK.choices, cache="memory").identity() == plain.identity()


def test_neighbours_come_from_the_checkpoint_and_not_from_the_folder(folder, tmp_path):
    module = NearestNeighbour(TINY, TASK.choices)
    checkpoint = fitted(module, folder, tmp_path, epochs=1)
    state = torch.load(checkpoint, weights_only=True)
    state["bank"]["targets"] = torch.zeros_like(state["bank"]["targets"])
    torch.save(state, checkpoint)
    said = replies_of(NearestNeighbour(TINY, TASK.choices), folder, tmp_path, checkpoint)
    assert {reply.reply for reply in said.values()} == {TASK.choices[0]}
    assert {TASK.parse(reply, record(i)) for i, reply in said.items()} == {TASK.choices[0]}


def test_without_a_checkpoint_the_training_split_votes(folder, tmp_path):
    assert right(replies_of(NearestNeighbour(TINY, TASK.choices, neighbours=100), folder, tmp_path)) >= 8


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_the_checkpoint_of_another_encoder_is_refused(kind, folder, tmp_path):
    checkpoint = fitted(kind(TINY, TASK.choices), folder, tmp_path, epochs=1)
    other = kind(Encoder("random", "tiny", 32, pooling="cls"), TASK.choices)
    with pytest.raises(WeightsMismatch, match="encoder it was fitted with"):
        replies_of(other, folder, tmp_path, checkpoint)


@pytest.mark.parametrize(("option", "value"), [("neighbours", 0), ("temperature", 0.0)])
def test_values_out_of_range_are_refused(option, value):
    with pytest.raises(BadArgument, match=option):
        NearestNeighbour(TINY, TASK.choices, **{option: value})


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_several_tasks_are_refused(kind):
    with pytest.raises(BadArgument, match="exactly one task"):
        kind(TINY)


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_several_questions_about_one_picture_are_refused(kind, tmp_path):
    asked = [
        record(
            f"conditions/p/1/{word}",
            image=["1.png"],
            task="conditions",
            choices=("TRUE", "FALSE"),
            answer=answer,
            variant=word,
        )
        for word, answer in (("drusen", "DRUSEN TRUE"), ("scar", "SCAR FALSE"))
    ]
    both = RecordsDataModule(write_curated(tmp_path, asked), [Conditions()], batch_size=2)
    with pytest.raises(BadArgument, match=r"data\.variant"):
        trainer(tmp_path, max_epochs=1).fit(kind(TINY, ("TRUE", "FALSE")), datamodule=both)
    one = RecordsDataModule(tmp_path, [Conditions()], batch_size=2, variant="drusen")
    trainer(tmp_path, max_epochs=1, limit_val_batches=0).fit(kind(TINY, ("TRUE", "FALSE")), datamodule=one)


def test_two_processes_compute_the_features_together(folder, tmp_path):
    records = len(list(folder.glob("*.png")))
    place = tmp_path / "curated"
    shutil.copytree(folder, place, ignore=shutil.ignore_patterns("cache"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (fast, bias, found), (slow, same_bias, same) = two_ranks.run(place, tmp_path, port)
    assert (fast[0], slow[0]) == ("00.png", "18.png"), "each begins with its share"
    assert set(fast) | set(slow) == {f.name for f in place.glob("*.png")}
    assert len(fast) > records / 2 > len(slow) >= two_ranks.PIECE, "who is faster does more, and nobody waits"
    assert len(fast) + len(slow) <= records + 2 * two_ranks.PIECE, "hardly anything is computed twice"
    alone = LinearProbe(TINY, TASK.choices, cache="memory")
    fitted(alone, folder, tmp_path / "alone", epochs=1)
    table = alone.dialect.table
    assert np.array_equal(found, same) and np.allclose(found, table.take(sorted(table.names)), atol=1e-5)
    assert bias == same_bias != [0.0, 0.0], "one fit"
