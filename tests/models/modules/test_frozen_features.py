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

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.linear_probe import LinearProbe
from lmod_train.models.modules.nearest_neighbour import NearestNeighbour
from lmod_train.models.vision.feature_table import Encoder
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from tests.models.modules import two_ranks
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


def fitted(module, folder, place, epochs=1, records=None, seed=0, **options):
    torch.manual_seed(seed)
    quick = trainer(place, max_epochs=epochs, limit_val_batches=0, **options)
    quick.fit(module, datamodule=records or data(folder))
    quick.save_checkpoint(place / "last.ckpt")
    return place / "last.ckpt"


def replies_of(module, folder, place, checkpoint=None, precision="32-true"):
    take = Take()
    options = {"ckpt_path": checkpoint, "weights_only": True} if checkpoint else {}
    trainer(place, callbacks=[take], precision=precision).test(
        module, datamodule=data(folder), verbose=False, **options
    )
    return {reply.id: reply for reply in take.replies}


def halves(module):
    """Features and classes of the training and of the test split, in id order."""
    table = module.dialect.table
    order = sorted(table.names, key=lambda crop: crop.image)
    features, classes = table.take(order), np.arange(36) % 2
    return features[:24], classes[:24], features[24:], classes[24:]


def right(replies):
    return sum(reply.reply == TASK.choices[int(id[-2:]) % 2] for id, reply in replies.items())


def scikit_learn_s(module, c, **options):
    """Features standardised and fitted by scikit-learn in float64: its coefficients, and the test split's shares."""
    train, known, test, _ = halves(module)
    scale = StandardScaler().fit(train.astype(np.float64))
    model = LogisticRegression(C=c, tol=1e-10, max_iter=10_000, **options).fit(scale.transform(train), known)
    return model.coef_[0], model.predict_proba(scale.transform(test))


def shares(replies):
    return [[math.exp(replies[i].likelihoods[choice]) for choice in TASK.choices] for i in sorted(replies)]


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
def test_the_probe_is_scikit_learn_s_logistic_regression_and_its_checkpoint_brings_the_same(c, folder, tmp_path):
    module = LinearProbe(TINY, TASK.choices, c=c)
    checkpoint = fitted(module, folder, tmp_path)
    coefficients, expected = scikit_learn_s(module, c)
    weight = module.head.weight.detach().numpy()
    assert module.result.converged and np.abs(weight[1] - weight[0] - coefficients).max() < 1e-4
    said = replies_of(LinearProbe(TINY, TASK.choices), folder, tmp_path, checkpoint)
    assert {r.step for r in said.values()} == {1} and len(said) == 12
    assert np.abs(np.array(shares(said)) - expected).max() < 1e-4
    assert shares(replies_of(module, folder, tmp_path)) == shares(said) and right(said) >= 10


@pytest.fixture(scope="module")
def lopsided(tmp_path_factory):
    """36 pictures, of which every third has another class, in a folder with the same features."""
    records = [
        record(f"glaucoma/p/{i:02}", image=[f"{i:02}.png"], answer=TASK.choices[int(i % 3 == 0)],
               split="test" if i >= 24 else "train") for i in range(36)
    ]  # fmt: skip
    return write_curated(tmp_path_factory.mktemp("lopsided"), records, side=32)


def test_inverse_class_weights_are_scikit_learn_s_balanced_ones(lopsided, tmp_path):
    module = LinearProbe(TINY, TASK.choices, c=0.1, class_weights="inverse")
    fitted(module, lopsided, tmp_path)
    table = module.dialect.table
    train = StandardScaler().fit_transform(
        table.take(sorted(table.names, key=lambda crop: crop.image))[:24].astype(float)
    )
    model = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000, class_weight="balanced")
    model.fit(train, np.arange(24) % 3 == 0)
    weight = module.head.weight.detach().numpy()
    assert np.abs(weight[1] - weight[0] - model.coef_[0]).max() < 1e-4
    plain = LinearProbe(TINY, TASK.choices, c=0.1)
    fitted(plain, lopsided, tmp_path)
    assert not torch.allclose(plain.head.weight, module.head.weight, atol=1e-3)


def test_seed_order_batches_and_epochs_do_not_matter(folder, tmp_path):
    def weight(seed, batch, epochs):
        module, records = (
            LinearProbe(TINY, TASK.choices),
            RecordsDataModule(folder, [TASK], batch_size=batch, seed=seed),
        )
        fitted(module, folder, tmp_path, epochs, records, seed)
        assert module.global_step == 1
        return module.head.weight

    assert torch.equal(weight(0, 24, 1), weight(5, 7, 3))


def test_a_continued_run_fits_once_more_to_its_own_records_and_counts_one_step(folder, lopsided, tmp_path):
    checkpoint = fitted(LinearProbe(TINY, TASK.choices), lopsided, tmp_path)
    module, expected = LinearProbe(TINY, TASK.choices), LinearProbe(TINY, TASK.choices)
    trainer(tmp_path, max_epochs=2, limit_val_batches=0).fit(
        module, datamodule=data(folder), ckpt_path=checkpoint, weights_only=True
    )
    fitted(expected, folder, tmp_path)
    standard = StandardScaler().fit(halves(module)[0])
    assert module.global_step == 1 and np.allclose(module.mean, standard.mean_, atol=1e-5)
    assert torch.equal(module.head.weight, expected.head.weight)


def test_a_class_without_a_training_picture_is_named_and_never_answered(folder, tmp_path):
    words = (*TASK.choices, "UNCERTAIN")
    module = LinearProbe(TINY, words)
    with pytest.warns(UserWarning, match="no training image of UNCERTAIN"):
        fitted(module, folder, tmp_path)
    two = LinearProbe(TINY, TASK.choices)
    fitted(two, folder, tmp_path)
    features = torch.from_numpy(halves(two)[2])
    assert torch.equal(module.scores(features).exp()[:, 2], torch.zeros(12))
    assert torch.allclose(module.scores(features)[:, :2], two.scores(features), atol=1e-6)


def test_a_fit_that_stops_early_warns(folder, tmp_path):
    module = LinearProbe(TINY, TASK.choices, iterations=2)
    with pytest.warns(UserWarning, match=r"not converged after 2 iterations.*Next: raise model\.init_args\.iterations"):
        fitted(module, folder, tmp_path)
    assert not module.result.converged


def test_the_logged_loss_is_the_mean_cross_entropy(folder, tmp_path):
    module = LinearProbe(TINY, TASK.choices)
    torch.manual_seed(0)
    quick = trainer(tmp_path, max_epochs=1, limit_val_batches=0)
    quick.fit(module, datamodule=RecordsDataModule(folder, [TASK], batch_size=5))
    train, known, _, _ = halves(module)
    shown = module.scores(torch.from_numpy(train)).detach()[range(24), known]
    assert float(quick.callback_metrics["train/loss"]) == pytest.approx(-float(shown.mean()), abs=1e-5)


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_balanced_drawing_is_refused_as_all_records_are_used_once(kind, folder, tmp_path):
    records = RecordsDataModule(folder, [TASK], balance="class")
    with pytest.raises(BadArgument, match=r"(?s)data\.balance.*class_weights: inverse"):
        fitted(kind(TINY, TASK.choices), folder, tmp_path, records=records)


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
@pytest.mark.parametrize("name", ["", "dinov2_probe"])
def test_replies_name_the_model(kind, name, folder, tmp_path):
    default = {LinearProbe: "linear_probe", NearestNeighbour: "nearest_neighbour"}[kind]
    module = kind(TINY, TASK.choices, **({"name": name} if name else {}))
    checkpoint = fitted(module, folder, tmp_path)
    assert {r.model for r in replies_of(module, folder, tmp_path, checkpoint).values()} == {name or default}


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


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_mixed_precision_changes_no_reply(kind, folder, tmp_path):
    checkpoint = fitted(kind(TINY, TASK.choices), folder, tmp_path, precision="bf16-mixed")
    whole, mixed = (replies_of(kind(TINY, TASK.choices), folder, tmp_path, checkpoint, precision)
                    for precision in ("32-true", "bf16-mixed"))  # fmt: skip
    assert mixed == whole and len(whole) == 12


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
    with pytest.raises(WeightsMismatch, match=r"missing: encoder .*unexpected: encoder "):
        replies_of(other, folder, tmp_path, checkpoint)


OUT_OF_RANGE = [(NearestNeighbour, "neighbours", 0), (NearestNeighbour, "temperature", 0.0), (LinearProbe, "c", 0.0),
                (LinearProbe, "c", math.inf), (LinearProbe, "iterations", 0)]  # fmt: skip


@pytest.mark.parametrize(("kind", "option", "value"), OUT_OF_RANGE)
def test_values_out_of_range_are_refused(kind, option, value):
    with pytest.raises(BadArgument, match=option):
        kind(TINY, TASK.choices, **{option: value})


def test_one_class_alone_is_refused(tmp_path):
    records = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=TASK.choices[0]) for i in range(4)]
    with pytest.raises(BadArgument, match="at least two classes"):
        fitted(LinearProbe(TINY, TASK.choices), write_curated(tmp_path, records), tmp_path)


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_several_tasks_are_refused(kind):
    with pytest.raises(BadArgument, match="exactly one task"):
        kind(TINY)


@pytest.mark.parametrize("kind", [LinearProbe, NearestNeighbour])
def test_several_questions_about_one_picture_are_refused(kind, tmp_path):
    asked = [
        record(
            f"conditions/p/{i}/{word}",
            image=[f"{i}.png"],
            task="conditions",
            choices=("TRUE", "FALSE"),
            answer=answer,
            variant=word,
        )
        for i, word, answer in ((1, "drusen", "DRUSEN TRUE"), (2, "drusen", "DRUSEN FALSE"), (1, "scar", "SCAR FALSE"))
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
