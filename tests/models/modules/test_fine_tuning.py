"""RETFound's recipe under Lightning: first loss, learning rates as they are at each step, resuming, and the replies."""

import itertools
import math
import warnings
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
import timm
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from PIL import Image, ImageOps
from sklearn.utils.class_weight import compute_class_weight
from timm.loss import LabelSmoothingCrossEntropy

from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch, WeightsNotFound
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import FineTuning, LayerDecay, inverse_frequencies
from lmod_train.models.vision.augmentation import Augmentation, eval_transform
from lmod_train.models.vision.picture_batch import PictureBatch
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.staging import Staging
from lmod_train.training.callbacks.saliency import Explaining, Saliency, spread
from tests.tiny import record, trainer, write_curated

WORDS = Glaucoma.choices


def tuning(choices=WORDS, **options):
    torch.manual_seed(0)
    module = FineTuning("random", choices, size="tiny", image_size=32, **options)
    module.configure_model()
    module.log = lambda *a, **k: None
    return module


def saying(task, scores):
    """A module whose network says these scores, whatever it sees."""
    module = tuning(task.choices)
    module.model.forward = lambda images: torch.tensor(scores, dtype=images.dtype)[: len(images)]
    return module


def glaucoma(i, answer=None, split="train"):
    return record(f"glaucoma/p/{i:02}", image=[f"{i:02}.png"], answer=answer or WORDS[i % 2], split=split)


SPLITS = ["train"] * 14 + ["val"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    records = [glaucoma(i, split=split) for i, split in enumerate(SPLITS)]
    return write_curated(tmp_path_factory.mktemp("curated"), records, side=40)


def data(folder, batch_size=3, task=None, **options):
    return RecordsDataModule(folder, [task or Glaucoma()], batch_size=batch_size, **options)


def quick(folder, **options):
    return trainer(folder, **{"max_epochs": 2, "limit_val_batches": 0, **options})


# ---------------------------------------------------------------------------------------------------------------- loss


@pytest.mark.parametrize("task", [Glaucoma(), FourWay(), Staging("icdr")])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_loss_is_the_logarithm_of_the_classes(task, weighted):
    module, classes = tuning(task.choices), len(task.choices)
    torch.manual_seed(1)
    targets = torch.arange(16).square() % classes
    module._class_weights = inverse_frequencies(targets.bincount(minlength=classes).tolist()) if weighted else None
    first = module.loss(module(torch.randn(16, 3, 32, 32)), targets)
    assert first.item() == pytest.approx(math.log(classes), abs=0.01)


def test_the_loss_is_timm_s_with_label_smoothing(folder):
    module = tuning().eval()
    torch.nn.init.normal_(module.model.head.weight)
    batch = module.collate([glaucoma(i) for i in range(6)], folder)
    expected = LabelSmoothingCrossEntropy(0.1)(module(batch.images), batch.targets)
    assert module.training_step(batch, 0).item() == pytest.approx(expected.item(), abs=1e-6)
    assert expected.item() != pytest.approx(math.log(2), abs=0.01)


def test_rare_classes_weigh_as_scikit_learn_balances_them():
    truth = np.repeat([0, 1, 2], [30, 10, 5])
    ours, theirs = inverse_frequencies([30, 10, 5]), compute_class_weight("balanced", classes=np.arange(3), y=truth)
    assert ours.numpy() == pytest.approx(theirs) and ours[truth].mean().item() == pytest.approx(1)
    module, logits, targets = tuning(FourWay.choices[:3]), torch.randn(45, 3), torch.from_numpy(truth)
    module._class_weights = ours
    each = [LabelSmoothingCrossEntropy(0.1)(logits[i : i + 1], targets[i : i + 1]).item() for i in range(45)]
    weighed = np.average(each, weights=theirs[truth])
    assert module.loss(logits, targets).item() == pytest.approx(weighed, abs=1e-5)
    alone = [module.loss(logits[i : i + 1], targets[i : i + 1]).item() for i in range(45)]
    assert np.mean(alone) == pytest.approx(weighed, abs=1e-5), "batches of one image come to the same"


def test_a_batch_of_one_image_weighs_as_its_class():
    module, logits = tuning(), torch.zeros(1, 2)
    module._class_weights = inverse_frequencies([90, 10])
    often, rarely = (module.loss(logits, torch.tensor([i])).item() for i in (0, 1))
    assert rarely == pytest.approx(9 * often) and (90 * often + 10 * rarely) / 100 == pytest.approx(math.log(2))


def test_the_weights_are_those_of_the_training_split(tmp_path):
    records = [glaucoma(i, WORDS[i < 2]) for i in range(8)] + [glaucoma(9, WORDS[1], "val")]
    module = FineTuning("random", WORDS, size="tiny", image_size=32, class_weights="inverse")
    quick(tmp_path, max_epochs=1).fit(module, datamodule=data(write_curated(tmp_path, records)))
    assert module._class_weights.tolist() == pytest.approx([8 / 12, 8 / 4])  # 6 and 2 images


# ------------------------------------------------------------------------------------------------------ learning rates


class Rates(Callback):
    """Notes, at every batch, the step and the learning rates that it is taken with."""

    def __init__(self):
        self.seen, self.names = [], {}

    def on_train_start(self, trainer, pl_module):
        self.names = {id(p): n for n, p in pl_module.model.named_parameters()}

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        groups = trainer.optimizers[0].param_groups
        rates = {self.names[id(p)]: g["lr"] for g in groups for p in g["params"]}
        self.seen.append((trainer.global_step, rates))


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 5), (2, 3)])  # 14 images in batches of 3: 5 batches an epoch
def test_every_layer_s_rate_follows_the_schedule_at_every_optimiser_step(folder, accumulate, steps):
    watch, settings = Rates(), LayerDecay(base_lr=0.05, warmup_epochs=2, min_lr=1e-5)
    module = FineTuning("random", WORDS, size="tiny", image_size=32, optimisation=settings)
    quick(folder, max_epochs=5, accumulate_grad_batches=accumulate, callbacks=[watch]).fit(
        module, datamodule=data(folder)
    )
    assert [step for step, _ in watch.seen] == [e * steps + b // accumulate for e in range(5) for b in range(5)]
    top, scales = (
        0.05 * 3 * accumulate / 256,
        {"patch_embed.proj.weight": 5, "blocks.1.attn.qkv.bias": 3, "head.bias": 0},
    )
    for step, rates in watch.seen:
        epoch = step / steps  # as the original counts: a fraction of an epoch
        rate = top * epoch / 2 if epoch < 2 else 1e-5 + (top - 1e-5) * 0.5 * (1 + math.cos(math.pi * (epoch - 2) / 3))
        for name, below in scales.items():
            assert rates[name] == pytest.approx(rate * 0.65**below, rel=1e-9, abs=1e-15), (step, name)
    rates = dict(watch.seen)
    assert (rates[0]["head.bias"], rates[2 * steps]["head.bias"]) == (0, pytest.approx(top))


def test_the_warm_up_moves_nothing_at_its_first_step_and_the_stem_least_later(folder):
    module = tuning(optimisation=LayerDecay(base_lr=1.0, warmup_epochs=1, decay=0.5), drop_path=0.0)
    before = {n: p.detach().clone() for n, p in module.model.named_parameters()}

    def moved():
        return {n: (p.detach() - before[n]).abs().max().item() for n, p in module.model.named_parameters()}

    quick(folder, max_steps=1, max_epochs=-1).fit(module, datamodule=data(folder))
    assert max(moved().values()) == 0
    quick(folder, max_epochs=3).fit(module, datamodule=data(folder))
    last = moved()
    moving = [last["patch_embed.proj.bias"], *(last[f"blocks.{i}.mlp.fc2.bias"] for i in range(4))]
    assert moving[0] > 0
    assert all(deeper > 1.3 * shallower for shallower, deeper in itertools.pairwise(moving)), moving


def test_a_run_without_an_end_and_one_within_its_warm_up(folder):
    with pytest.raises(BadArgument, match=r"trainer\.max_epochs=-1"):
        quick(folder, max_epochs=-1, max_steps=-1, max_time={"seconds": 1}).fit(
            FineTuning("random", WORDS, size="tiny", image_size=32), datamodule=data(folder)
        )
    with pytest.warns(UserWarning, match="ends after 5 steps, within its warm-up of 50"):
        quick(folder, max_epochs=1).fit(tuning(), datamodule=data(folder))


# ------------------------------------------------------------------------------------------------------------ resuming


class Watch(Callback):
    """Notes what each step was asked and its loss; raises before the step that it is told."""

    def __init__(self, kill_at=None):
        self.seen, self.kill_at = [], kill_at

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self.kill_at is not None and trainer.global_step == self.kill_at:
            raise KilledError

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pixels = float(batch.images.double().sum())
        self.seen.append((trainer.current_epoch, [r.id for r in batch.records], pixels, float(outputs["loss"])))


class KilledError(Exception): ...


def test_a_killed_run_goes_on_with_the_same_pictures_and_losses(folder, tmp_path):
    def run(name, watch, **options):
        saved = ModelCheckpoint(tmp_path / name, save_last=True, every_n_train_steps=1)
        module = tuning(optimisation=LayerDecay(base_lr=0.5, warmup_epochs=0.2, decay=0.9), class_weights="inverse")
        fit = quick(tmp_path, callbacks=[watch, saved], enable_checkpointing=True).fit
        fit(module, datamodule=data(folder), **options)

    steady, killed, resumed = Watch(), Watch(kill_at=7), Watch()  # in the middle of the second epoch
    run("steady", steady)
    assert len(steady.seen) == 10 and len({loss for *_, loss in steady.seen}) == 10
    first, second = [{tuple(ids): pixels for epoch, ids, pixels, _ in steady.seen if epoch == e} for e in (0, 1)]
    assert not set(first.values()) & set(second.values()), "every epoch is augmented anew"
    with pytest.raises(KilledError):
        run("killed", killed)
    torch.rand(5), np.random.rand(5)
    run("killed", resumed, ckpt_path=tmp_path / "killed" / "last.ckpt", weights_only=True)
    assert killed.seen + resumed.seen == steady.seen


QUICKLY = [(1, (7, 12)), (5, (6, 7, 11))]


@pytest.mark.parametrize(
    ("every", "kills"),
    [
        pytest.param(*chosen, marks=[] if chosen in QUICKLY else pytest.mark.slow)
        for chosen in itertools.product((1, 2, 5), ((5, 10), (7, 12), (6, 7, 11)))
    ],
)
def test_a_run_that_is_killed_repeatedly_makes_the_steps_of_one_that_was_not(folder, tmp_path, every, kills):
    def run(name, watch, **options):
        saved = ModelCheckpoint(tmp_path / name, save_last=True, every_n_train_steps=every)
        loop = quick(tmp_path, max_epochs=3, callbacks=[watch, saved], enable_checkpointing=True)
        loop.fit(tuning(), datamodule=data(folder), weights_only=True, **options)
        return loop.current_epoch, loop.global_step

    def steps(watch, end):
        return dict(zip(range(end - len(watch.seen) + 1, end + 1), watch.seen, strict=True))

    steady, last = Watch(), tmp_path / "killed" / "last.ckpt"
    assert run("steady", steady) == (3, 15)
    seen = {}
    for kill in kills:
        watch = Watch(kill_at=kill)
        with pytest.raises(KilledError):
            run("killed", watch, ckpt_path=last if last.exists() else None)
        seen |= steps(watch, kill)
    watch = Watch()
    assert run("killed", watch, ckpt_path=last) == (3, 15)
    assert seen | steps(watch, 15) == steps(steady, 15)


# ------------------------------------------------------------------------------------------------------------- replies


@pytest.mark.parametrize(
    ("task", "form"),
    [(Glaucoma(), ""), (FourWay(), "DISEASE: "), (Staging("icdr"), "Stage: "), (Conditions(), "DRUSEN ")],
    ids=lambda v: getattr(v, "name", ""),
)
def test_replies_are_read_by_the_task_s_own_parser_and_carry_likelihoods(folder, task, form):
    words = task.choices
    asked = [record(str(i), image=[f"{i:02}.png"], task=task.name, answer=form + w) for i, w in enumerate(words)]
    wrong = np.roll(np.eye(len(words)), 1, axis=1)
    replies = (module := saying(task, wrong.tolist())).respond(module.collate(asked, folder))
    assert [r.reply for r in replies] == [form + w for w in (*words[1:], words[0])]
    assert [task.parse(r, a) for r, a in zip(replies, asked, strict=True)] == [*words[1:], words[0]]
    assert list(replies[0].likelihoods) == list(words)
    assert sum(np.exp(list(replies[0].likelihoods.values()))) == pytest.approx(1, abs=1e-4)
    assert {(r.model, r.step) for r in replies} == {("retfound", 0)}


def test_two_records_about_one_picture_get_the_same_likelihoods_and_none_get_none(folder):
    module = tuning().eval()
    one, other = record("a", image=["00.png"]), record("b", image=["00.png"], answer=WORDS[1])
    first, second = module.respond(module.collate([one, other], folder))
    assert first.likelihoods == second.likelihoods and (first.id, second.id) == ("a", "b")
    assert module.respond(module.collate([], folder)) == []


def certain(**options):
    """A module whose random network says different things of an image and its mirror image."""
    module = tuning(**options).eval()
    torch.manual_seed(3)
    torch.nn.init.normal_(module.model.head.weight, std=3)
    return module


def likelihoods(replies):
    return np.array([list(reply.likelihoods.values()) for reply in replies])


def test_two_views_have_the_mean_probability_of_a_picture_and_its_mirrored_file(folder, tmp_path):
    asked = [glaucoma(i) for i in range(6)]
    for record_ in asked:
        ImageOps.mirror(Image.open(folder / record_.image[0])).save(tmp_path / record_.image[0])
    alone, both = certain(), certain(views="flip")
    first, second = (likelihoods(alone.respond(alone.collate(asked, place))) for place in (folder, tmp_path))
    replies = both.respond(both.collate(asked, folder))
    mean = (np.exp(first) + np.exp(second)) / 2
    assert np.exp(likelihoods(replies)) == pytest.approx(mean, abs=1e-4)
    assert abs(np.exp(first) - mean).max() > 0.01, "the views differ"
    assert [r.reply for r in replies] == [WORDS[i] for i in mean.argmax(axis=1)]
    assert replies[0].rendered == "<32 px picture and its mirror image>"


def test_one_view_answers_as_before_bit_for_bit_and_is_no_setting(folder):
    module, asked = certain(), [glaucoma(i) for i in range(4)]
    batch = module.collate(asked, folder)
    expected = torch.log_softmax(module(batch.images).float(), dim=1)
    assert likelihoods(module.respond(batch)).tolist() == [[round(v.item(), 6) for v in row] for row in expected]
    assert "views" not in module.identity().settings, "hashes of earlier replies hold"
    assert tuning(views="flip").identity().settings == {**module.identity().settings, "views": "flip"}


def test_views_that_change_an_answer_are_refused_before_the_network_is_built(tmp_path):
    with pytest.raises(BadArgument, match=r"views='flip': .*\(LEFT, RIGHT\)"):
        FineTuning("random", ("LEFT", "RIGHT"), views="flip")
    asked = [record("glaucoma/p/1", text="Has the left eye glaucoma?", split="val")]
    own = data(write_curated(tmp_path, asked))
    refused = {"flip": "glaucoma/p/1 names a side", "none": "head of FineTuning is untrained"}
    for views, why in refused.items():
        module = FineTuning("random", WORDS, size="tiny", image_size=32, views=views)
        with pytest.raises(LmodError, match=why):
            quick(tmp_path, limit_val_batches=1).validate(module, datamodule=own, verbose=False)
        assert (module.model is None) == (views == "flip")


def test_it_learns_to_tell_white_from_black(tmp_path):
    for name, colour in zip(WORDS, ("white", "black"), strict=True):
        Image.new("RGB", (32, 32), colour).save(tmp_path / f"{name}.png")
    module = tuning()
    records = [record(name, image=[f"{name}.png"], answer=name) for name in WORDS]
    batch, optimiser = module.collate(records, tmp_path), torch.optim.AdamW(module.parameters(), 1e-3)
    for _ in range(30):
        optimiser.zero_grad()
        module.training_step(batch, 0).backward()
        optimiser.step()
    assert [r.reply for r in module.eval().respond(batch)] == list(WORDS)


# ------------------------------------------------------------------------------------------------------------ refusals


def test_several_tasks_and_bad_values_are_refused():
    with pytest.raises(BadArgument, match="exactly one task"):
        FineTuning("random")
    with pytest.raises(BadArgument, match="label_smoothing=1"):
        FineTuning("random", WORDS, label_smoothing=1)


def test_no_file_is_no_random_backbone(tmp_path):
    module = FineTuning(str(tmp_path / "RETFound_cfp_weights.pth"), WORDS, size="tiny", image_size=32)
    with pytest.raises(WeightsNotFound, match="random"):
        module.configure_model()


def fitted(folder, records, task=None, **options):
    write_curated(folder, records)
    module = FineTuning("random", (task or Glaucoma()).choices, size="tiny", image_size=32)
    quick(folder, max_epochs=1).fit(module, datamodule=data(folder, task=task, **options))
    return module


def test_several_questions_are_refused_and_one_variant_of_them_is_not(tmp_path):
    records = [
        record(
            f"conditions/phantom/{i}/{name}",
            key=str(i),
            task="conditions",
            image=[f"{i}.png"],
            answer=answer,
            variant=name,
        )
        for i in range(4)
        for name, answer in (("drusen", f"DRUSEN {'TRUE' if i % 2 else 'FALSE'}"), ("scar", "SCAR FALSE"))
    ]
    with pytest.raises(BadArgument, match=r"these records ask 2: DRUSEN , SCAR .*\n.*--data\.variant"):
        fitted(tmp_path, records, Conditions())
    fitted(tmp_path, records, Conditions(), variant="drusen")
    with pytest.raises(BadArgument, match="at least two classes"):
        fitted(tmp_path, records, Conditions(), variant="scar")


def test_too_few_pictures_and_an_absent_class_are_warned_of(tmp_path):
    with pytest.warns(UserWarning) as said:
        fitted(tmp_path, [glaucoma(i) for i in range(4)], batch_size=16)
    assert any("4 training images are fewer than one batch of 16" in str(w.message) for w in said)
    icdr = [
        record(f"icdr/p/{i}", task="icdr", image=[f"{i}.png"], answer=f"Stage: {i % 2 * 3}", choices=())
        for i in range(4)
    ]
    with pytest.warns(UserWarning, match="no training image of 1, 2, 4"):
        fitted(tmp_path, icdr, Staging("icdr"))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(fewer than one batch|no training image).*")
        fitted(tmp_path, [glaucoma(i) for i in range(4)], batch_size=4)


# ------------------------------------------------------------------------------------- outside fit, and checkpoints


def answering(folder, module, loop="validate", **options):
    """Run the loop on the folder's validation pictures, and return what was said and answered."""
    said, answered = [], []
    module.print = lambda *words: said.append(" ".join(map(str, words)))
    module.respond, respond = lambda batch: answered.extend(replies := respond(batch)) or replies, module.respond
    quick = trainer(folder, limit_val_batches=1, limit_test_batches=1, limit_predict_batches=1)
    quiet = {} if loop == "predict" else {"verbose": False}
    getattr(quick, loop)(module, datamodule=data(folder, split="val"), **quiet, **options)
    return said, answered


def saved(folder, place, choices=WORDS, **options):
    """Fit one epoch and return the checkpoint."""
    module = FineTuning("random", choices, size="tiny", image_size=32, **options)
    loop = quick(place, max_epochs=1)
    loop.fit(module, datamodule=data(folder))
    loop.save_checkpoint(place / "last.ckpt")
    return place / "last.ckpt"


@pytest.mark.parametrize("loop", ["validate", "test", "predict"])
def test_a_head_that_has_learned_nothing_is_not_scored(folder, tmp_path, loop):
    with pytest.raises(LmodError, match=r"FineTuning is untrained.*\nNext: .*--ckpt_path RUN/checkpoints/best\.ckpt"):
        answering(folder, tuning(), loop)
    said, answered = answering(folder, tuning(), loop, ckpt_path=saved(folder, tmp_path), weights_only=True)
    assert answered and {r.step for r in answered} == {5}
    assert said == [f"weights: {tmp_path / 'last.ckpt'}, after 5 optimiser steps"]


def test_the_cnn_s_too_and_what_was_fitted_just_now_is_scored(folder, tmp_path):
    with pytest.raises(LmodError, match="head of Classifier is untrained"):
        answering(folder, Classifier(WORDS, side=8, cache="none"))
    module = tuning()
    quick(tmp_path, max_epochs=1).fit(module, datamodule=data(folder))
    said, answered = answering(folder, module)
    assert answered and said[0].startswith("weights: random: ")


def test_a_checkpoint_of_other_classes_or_in_another_order_is_refused(folder, tmp_path):
    file = saved(folder, tmp_path)
    with pytest.raises(WeightsMismatch, match=r"\['NON-GLAUCOMA', 'GLAUCOMA'\].*unexpected: .*\['GLAUCOMA', 'NON-GL"):
        answering(folder, tuning(WORDS[::-1]), ckpt_path=file, weights_only=True)
    kept = torch.load(file, weights_only=True)
    assert kept.pop("choices") == list(WORDS)
    torch.save(kept, file)
    with pytest.raises(WeightsMismatch, match=r"unexpected: choices \[\]"):
        answering(folder, tuning(), ckpt_path=file, weights_only=True)


LITE = {"architecture": "tf_efficientnet_lite0", "image_size": 32}
OTHERWISE = {
    "architecture": {"architecture": "efficientnet_lite0"},  # the same tensors, other padding
    "image_size": {"image_size": 64},
    "mean": {"mean": (0.1, 0.2, 0.3)},
    "std": {"std": (0.1, 0.2, 0.3)},
    "augmentation.square": {"augmentation": Augmentation(square="pad")},
}


@pytest.mark.parametrize("changed", OTHERWISE)
def test_a_checkpoint_of_otherwise_prepared_pictures_is_refused(changed):
    def made(**options):
        module = FineTuning("random", WORDS, **LITE | options)
        module.configure_model()
        return module

    kept = {"state_dict": (trained := made()).state_dict(), "global_step": 1}
    trained.on_save_checkpoint(kept)
    made().on_load_checkpoint(kept)
    other = made(**OTHERWISE[changed])
    with pytest.raises(WeightsMismatch, match=rf"(?s)missing: {changed} [^;]*; unexpected: {changed} .*config\.yaml"):
        other.on_load_checkpoint(kept)
    del kept["input"]
    with pytest.raises(WeightsMismatch, match=rf"missing: [^;]*{changed}"):
        other.on_load_checkpoint(kept)


def test_a_checkpoint_of_ours_is_no_fine_tuned_file_of_the_original_program(folder, tmp_path):
    file = saved(folder, tmp_path)
    module = FineTuning(str(file), WORDS, "tiny", 32, finetuned=True, finetuned_classes=list(WORDS))
    with pytest.raises(WeightsMismatch, match=rf"(?s)checkpoint of lmod_train.*--ckpt_path {file}"):
        module.configure_model()


def finetuned_file(place, rows=range(2), **arguments):
    """A file as the original program writes it, with the head's rows in this order; and the network of it."""
    torch.manual_seed(4)
    truth = tuning().model
    for parameter in truth.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    tensors = dict(truth.state_dict())
    tensors |= {name: tensors[name][list(rows)] for name in ("head.weight", "head.bias")}
    torch.save({"model": tensors, "args": Namespace(global_pool=True, nb_classes=2, **arguments)}, place)
    return place, truth


def test_a_norm_applied_twice_is_so_behind_the_checkpoint_too(folder, tmp_path):
    file, _ = finetuned_file(tmp_path / "best.pth", model="RETFound_mae")
    twice = FineTuning(str(file), WORDS, "tiny", 32, finetuned=True, finetuned_classes=list(WORDS))
    twice.configure_model()
    kept = {"state_dict": twice.state_dict(), "global_step": 1}
    twice.on_save_checkpoint(kept)
    again, images = tuning(), torch.randn(2, 3, 32, 32)
    again.on_load_checkpoint(kept)
    again.load_state_dict(kept["state_dict"])
    assert torch.equal(again.eval()(images), twice.eval()(images))
    with pytest.raises(WeightsMismatch, match=r"missing: double_norm False; unexpected: double_norm True"):
        tuning(double_norm=False).on_load_checkpoint(kept)
    again.on_load_checkpoint(kept | {"double_norm": False})
    assert not torch.allclose(again(images), twice(images), atol=1e-2)


STAGES = FourWay.choices


def test_the_rows_of_a_fine_tuned_head_are_put_in_the_order_of_the_choices(folder, tmp_path):
    file, truth = finetuned_file(tmp_path / "best.pth", rows=(1, 0))
    module = FineTuning(str(file), WORDS, "tiny", 32, finetuned=True, finetuned_classes=list(WORDS[::-1]))
    module.configure_model()
    images = torch.randn(4, 3, 32, 32)
    # rows in another order are another matrix product to the last bit, on some processors
    assert torch.allclose(module.eval()(images), truth.eval()(images), atol=1e-5) and truth(images).std() > 0.01
    said, answered = answering(folder, module)
    assert answered and "tensors loaded" in said[0], "it needs no checkpoint"


def test_three_rows_go_where_they_belong(tmp_path):
    words, classes = STAGES[:3], [STAGES[2], STAGES[0], STAGES[1]]
    tensors = tuning(words).model.state_dict() | {"head.bias": torch.tensor([2.0, 0.0, 1.0])}
    torch.save({"model": tensors}, tmp_path / "best.pth")
    module = FineTuning(str(tmp_path / "best.pth"), words, "tiny", 32, finetuned=True, finetuned_classes=classes)
    module.configure_model()
    assert module.model.head.bias.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("finetuned", "classes"),
    [
        (True, None),
        (True, ["a_normal", "b_glaucoma"]),
        (True, [*WORDS, WORDS[0]]),
        (True, [WORDS[0]] * 2),
        (False, list(WORDS)),
    ],
)
def test_classes_of_a_fine_tuned_file_that_are_not_the_choices_are_refused(finetuned, classes):
    with pytest.raises(BadArgument, match=r"finetuned_classes=.*\nNext: set model\.init_args"):
        FineTuning("best.pth", WORDS, "tiny", 32, finetuned=finetuned, finetuned_classes=classes)


# ------------------------------------------------------------------------------------------------------------ saliency

SEEN = {"pad": ((64, 128), (0, 0), 32), "crop": ((73, 146), (4, 41), 16)}
"""For each way to a square of 64 px: a picture's height and width, where what the network sees begins, and how large
one of its patches is there."""
THREE = (*WORDS, "NEITHER")


def squares(n, shape, corner, patch, seed):
    """Noise (n, *shape, 3) with a blue square and, in two of three, a red or green one that decides; and where it is.

    Pictures without one keep the network from telling green by the absence of red, which has no place.
    """
    rng = np.random.default_rng(seed)
    pictures = rng.integers(60, 180, (n, *shape, 3), dtype=np.uint8)
    places = (shape[0] - 2 * corner[0]) // patch * 4
    decide = []
    for i, picture in enumerate(pictures):
        for place, colour in zip(rng.choice(places, 2, replace=False), (2, i % 3), strict=True):
            y, x = corner[0] + place // 4 * patch, corner[1] + place % 4 * patch
            if colour != 2 or i % 3 != 2 or not (picture == 255).any():
                picture[y : y + patch, x : x + patch] = 255 * np.eye(3, dtype=np.uint8)[colour]
        decide.append((y, x))
    return pictures, decide


def looking(pooling, square, dtype=torch.float32):
    torch.manual_seed(0)
    settings = Augmentation(square=square)
    module = FineTuning("random", THREE, "tiny", 64, drop_path=0.0, pooling=pooling, augmentation=settings)
    module.configure_model()
    return module.to(dtype).eval()


@pytest.fixture(scope="module")
def taught(request):
    """Pooling, and the weights of a small module that tells a red square in noise from a green one and from none."""
    module = looking(request.param, "pad")
    pictures, _ = squares(480, (64, 64), (0, 0), 16, seed=0)
    images = torch.stack([eval_transform(Augmentation(square="pad"), 64)(Image.fromarray(p)) for p in pictures])
    targets, optimiser = torch.arange(480) % 3, torch.optim.AdamW(module.parameters(), 3e-3)
    for step in range(200):
        optimiser.zero_grad()
        part = torch.arange(30) + step % 16 * 30
        loss = module.loss(module(images[part]), targets[part])
        loss.backward()
        optimiser.step()
        if loss < 0.33:  # label smoothing of 0.1 leaves 0.29
            return request.param, module.state_dict()
    raise AssertionError(f"not learned: {loss.item():.3f}")


def shown(place, module, square, n=48):
    """Save held-out pictures, and return the batch of those with a square that decides, and where it is."""
    shape, corner, patch = SEEN[square]
    pictures, places = squares(n, shape, corner, patch, seed=9)
    kept = [i for i in range(n) if i % 3 < 2]
    records = [record(str(i), image=[f"{i}.png"], answer=THREE[i % 3], choices=THREE) for i in kept]
    for own in records:
        Image.fromarray(pictures[int(own.id)]).save(place / own.image_plain[0])
    module._trainer = SimpleNamespace(datamodule=data(place), state=SimpleNamespace(fn="test"))
    return module.collate(records, place), [places[i] for i in kept]


def hits(batch, maps, places, square):
    """The share of maps whose largest value, laid over the picture as it is drawn, is on the square that decides."""
    shape, _, patch = SEEN[square]
    found = []
    for own, map, (y, x) in zip(batch.records, maps.numpy().astype(float), places, strict=True):
        over = spread(own, map[None], shape[::-1])
        peak = np.unravel_index(over.argmax(), shape)
        found.append(over.max() > 0 and y <= peak[0] < y + patch and x <= peak[1] < x + patch)
    return np.mean(found)


MAPS = [
    ("mean", "pad", torch.float32, 12),
    ("cls", "crop", torch.float32, 12),
    pytest.param("mean", "pad", torch.bfloat16, 6, marks=pytest.mark.slow),
    *(
        pytest.param(pooling, square, dtype, 48, marks=pytest.mark.slow)
        for pooling in ("mean", "cls")
        for square, dtype in (("pad", torch.float32), ("crop", torch.float32), ("pad", torch.bfloat16))
    ),
]
"""Pooling, way to a square and type of the network, and how many pictures are looked at; a third has no square."""


@pytest.mark.parametrize(("taught", "square", "dtype", "n"), MAPS, indirect=["taught"])
def test_a_map_s_peak_is_on_the_square_that_decides(taught, tmp_path, square, dtype, n):
    pooling, weights = taught
    module = looking(pooling, square, dtype)
    module.load_state_dict(weights)
    batch, places = shown(tmp_path, module, square, n)
    told = {reply.id: reply.reply for reply in module.respond(batch)}
    assert len(batch) == n // 3 * 2 and np.mean([told[own.id] == own.answer for own in batch.records]) >= 0.9
    with torch.inference_mode():
        maps = module.saliency(batch)
    assert (
        maps.shape == (len(batch), 64, 64)
        and maps.dtype == torch.float32
        and maps.min() >= 0
        and 0.99 < maps.max() <= 1
    )
    assert hits(batch, maps, places, square) >= 0.9
    seen = (maps.amax(dim=0) > 0).nonzero()
    side = 64 if square == "pad" else round(64 * 64 / 73 / 2)  # 64 of 73 px of the half that the shorter side is
    assert (seen.amax(dim=0) - seen.amin(dim=0) + 1).max() <= side and isinstance(module, Explaining)


@pytest.mark.parametrize("pooling", ["mean", pytest.param("cls", marks=pytest.mark.slow)])
def test_a_network_that_has_learned_nothing_does_not_find_it(tmp_path, pooling):
    module = looking(pooling, "pad")
    batch, places = shown(tmp_path, module, "pad", 24)
    assert hits(batch, module.saliency(batch), places, "pad") < 0.7


def test_only_pictures_that_are_asked_about_are_looked_at_each_once(folder):
    module, seen = tuning(augmentation=Augmentation(square="pad")), []
    module.model.register_forward_hook(lambda _, images, __: seen.append(len(images[0])))
    batch = module.collate([glaucoma(i) for i in (0, 1, 2)], folder)
    some = PictureBatch([*batch.records[1:], batch.records[1]], batch.images, batch.targets, [1, 2, 1])
    maps = module.saliency(some)
    assert sum(seen) == 2 * 220 and maps.shape == (3, 32, 32) and torch.equal(maps[0], maps[2])
    assert module.saliency(module.collate([], folder)).shape == (0, 32, 32)


def test_a_run_writes_its_maps_as_pictures(folder, tmp_path):
    module = tuning(augmentation=Augmentation(square="crop"))
    module.trained = True  # what its maps show does not matter here
    trainer(tmp_path, callbacks=[Saliency(first=2)]).validate(module, data(folder, split="val"), verbose=False)
    assert sorted(p.name for p in (tmp_path / "saliency").iterdir()) == ["glaucoma_p_14.png", "glaucoma_p_15.png"]


def test_the_norm_is_applied_twice_in_a_training_of_2025(tmp_path):
    once, twice = tuning(), tuning(double_norm=True)
    for module in (once, twice):
        torch.nn.init.normal_(module.model.head.weight, generator=torch.Generator().manual_seed(1))
        torch.nn.init.uniform_(module.model.fc_norm.weight, 0.5, 2.0)
        torch.nn.init.uniform_(module.model.fc_norm.bias)
        module.eval()
    twice.model.load_state_dict(once.model.state_dict())
    images = torch.randn(2, 3, 32, 32)
    pooled = once.model.forward_features(images)[:, 1:].mean(dim=1)
    expected = once.model.head(once.model.fc_norm(once.model.fc_norm(pooled)))
    assert torch.allclose(twice(images), expected, atol=1e-5) and not torch.allclose(once(images), expected, atol=1e-2)
    checkpoint = {}
    twice._trainer = None
    twice.on_save_checkpoint(checkpoint)
    assert checkpoint["double_norm"] and once.identity() != twice.identity()
    with pytest.raises(BadArgument, match="double_norm=True: expected a model with mean pooling"):
        tuning(double_norm=True, pooling="cls")


# ---------------------------------------------------------------------------------------------------- networks of timm


class Take(Callback):
    """Keeps the replies."""

    def __init__(self):
        self.replies = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.replies += outputs


@pytest.mark.parametrize("architecture", ["test_vit", "test_efficientnet"])
def test_a_network_of_timm_trains_from_a_file_and_its_checkpoint_brings_the_same_replies(
    folder, tmp_path, architecture
):
    torch.manual_seed(2)
    torch.save(timm.create_model(architecture).state_dict(), tmp_path / "weights.pth")
    options = {"architecture": architecture, "image_size": 64, "drop_path": 0.1, "name": "mine"}

    def made():
        return FineTuning(str(tmp_path / "weights.pth"), WORDS, **options)

    module, take = made(), [Take(), Take()]
    fitting = quick(tmp_path)
    fitting.fit(module, datamodule=data(folder))
    assert "its head was dropped" in module.weights_origin
    fitting.save_checkpoint(tmp_path / "last.ckpt")
    trainer(tmp_path, callbacks=[take[0]]).validate(module, datamodule=data(folder), verbose=False)
    checkpoint = {"ckpt_path": tmp_path / "last.ckpt", "weights_only": True}
    trainer(tmp_path, callbacks=[take[1]]).validate(made(), datamodule=data(folder), verbose=False, **checkpoint)
    assert [r.likelihoods for r in take[0].replies] == [r.likelihoods for r in take[1].replies]
    assert {r.model for r in take[1].replies} == {"mine"} and len(take[1].replies) == 3


def test_pixels_are_normalised_by_the_architecture_s_card_or_as_asked(folder):
    card = FineTuning("random", WORDS, architecture="test_vit", image_size=32)
    own = FineTuning("random", WORDS, architecture="test_vit", image_size=32, mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 4.0))
    images = [module.collate([glaucoma(0)], folder).images[0] for module in (card, own)]
    raw = images[0] * torch.tensor(card.dialect.std).view(3, 1, 1) + torch.tensor(card.dialect.mean).view(3, 1, 1)
    expected = (raw - torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)) / torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1)
    assert torch.allclose(images[1], expected, atol=1e-5)
    assert card.identity() != own.identity()


def test_training_that_mirrors_sides_is_refused_and_its_evaluation_is_not(tmp_path):
    module = FineTuning("random", ("LEFT", "RIGHT"), size="tiny", image_size=32)
    module.trainer = trainer(tmp_path)
    module.setup("test")
    with pytest.raises(BadArgument, match=r"augmentation.flip=0.5: .*\(LEFT, RIGHT\)"):
        module.setup("fit")
    own = FineTuning("random", ("LEFT", "RIGHT"), size="tiny", image_size=32, augmentation=Augmentation(flip=0))
    own.trainer = trainer(tmp_path)
    own.setup("fit")
