"""Fine-tuning as here against the original program: its numbers, on tensors that both build from one formula.

``retfound_reference.json`` holds what the functions of the original repository (commit f5ab012 of June 2024, timm
0.3.2, float32 on a CPU) returned in a process of their own for a transformer of width 64, 4 blocks, 4 heads, patches of
16 and images of 64 pixels. Its training loop, schedule, parameter groups, scaler and transforms ran unchanged.
"""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning import Callback, LightningDataModule, Trainer
from PIL import Image
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.utils.data import DataLoader

from lmod_train.core.curated import Curated
from lmod_train.core.types import Record
from lmod_train.models.modules.fine_tuning import FineTuning, LayerDecay, factor, layer_groups, scaled_lr
from lmod_train.models.vision.augmentation import Augmentation, eval_transform, train_transform
from lmod_train.models.vision.picture_batch import PictureBatch
from lmod_train.models.vision.retfound import vision_transformer
from lmod_train.models.vision.strict_loading import resize_positions
from tests.formula import noise
from tests.scoring.make import record

REFERENCE = json.loads(Path(__file__).with_name("retfound_reference.json").read_text())
SCHEDULE = REFERENCE["schedule"]


def filled(**how) -> VisionTransformer:
    """Return the small transformer with formula weights of about their usual sizes, the head's too."""
    model = vision_transformer("tiny", 4, image_size=64, drop_path=0.0, **how)
    with torch.no_grad():
        for key, (name, weight) in enumerate(sorted(model.named_parameters())):
            value = noise(tuple(weight.shape), key)
            if name in ("cls_token", "pos_embed"):
                value = 0.5 * value
            elif weight.ndim > 1:
                value = value * np.sqrt(3 / np.prod(weight.shape[1:]))
            else:
                value = 0.1 * value + ("norm" in name and name.endswith("weight"))
            weight.copy_(torch.from_numpy(value))
    return model


def images(count: int, key: int) -> Tensor:
    return torch.from_numpy(noise((count, 3, 64, 64), key)).float()


def labels(key: int) -> Tensor:
    return torch.from_numpy(np.floor((noise((16,), key + 0.5) + 1) * 2).astype(np.int64))


def optimiser(model: nn.Module, lr: float, warmup: int, steps: int):
    """Return AdamW on the layers' groups, as `FineTuning` builds it, and its scheduler."""
    settings = LayerDecay()
    adamw = torch.optim.AdamW(layer_groups(model, lr, settings), lr=lr, betas=settings.betas, eps=settings.eps)
    return adamw, torch.optim.lr_scheduler.LambdaLR(adamw, factor(settings, lr, warmup=warmup, steps=steps))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_same_weights_give_the_same_logits(pooling):
    with torch.no_grad():
        logits = filled(pooling=pooling).eval()(images(8, 500))
    assert logits.std() > 0.3
    torch.testing.assert_close(logits, torch.tensor(REFERENCE["logits"][pooling]), rtol=0, atol=1e-5)


def test_every_parameter_has_the_originals_scale_decay_and_learning_rates():
    model = filled()
    steps, warmup = (SCHEDULE[key] * SCHEDULE["iterations"] for key in ("epochs", "warm_up_epochs"))
    adamw, scheduler = optimiser(model, scaled_lr(SCHEDULE["base_lr"], SCHEDULE["batch"]), warmup, steps)
    names = {id(p): name for name, p in model.named_parameters()}
    points, ours = {0: "first", warmup: "warm_up_end", steps - 1: "last"}, {name: {} for name in names.values()}
    trace = []
    for step in range(steps):
        trace.append(max(group["lr"] for group in adamw.param_groups))
        for group in adamw.param_groups if step in points else ():
            for p in group["params"]:
                same = {key: group[key] for key in ("lr_scale", "weight_decay")}
                ours[names[id(p)]] |= {points[step]: group["lr"], **same}
        adamw.step()
        scheduler.step()
    theirs = {
        name: {key: value for key, value in group.items() if key != "names"}
        for group in SCHEDULE["groups"]
        for name in group["names"]
    }
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert ours[name] == pytest.approx(values, rel=1e-7), name
    assert trace == pytest.approx(SCHEDULE["learning_rates"], rel=1e-7)


def test_24_blocks_have_the_originals_52_groups():
    deep = VisionTransformer(img_size=32, embed_dim=16, depth=24, num_heads=1, num_classes=4, global_pool="avg")
    ours = [[g["lr_scale"], g["weight_decay"], len(g["params"])] for g in layer_groups(deep, 1.0, LayerDecay())]
    assert len(ours) == 52
    for group, theirs in zip(sorted(ours), sorted(REFERENCE["depth_24"]), strict=True):
        assert group == pytest.approx(theirs, rel=1e-7)


class FormulaData(LightningDataModule):
    """The batches of a run of the reference, the same every epoch, as a datamodule of records hands them out."""

    def __init__(self, run: dict) -> None:
        super().__init__()
        self.run, self.batch_size, self.images = run, run["batch"], Curated(".")

    def records(self, split: str) -> list[Record]:
        return [record(c, f"Stage: {c}", image=f"{c}.png") for c in range(4) for _ in range(self.batch_size)]

    def train_dataloader(self) -> DataLoader:
        batches = []
        for key in range(1000, 1000 + self.run["iterations"]):
            asked = self.records("train")[: self.batch_size]
            batches.append(PictureBatch(asked, images(self.batch_size, key), labels(key), range(self.batch_size)))
        return DataLoader(batches, batch_size=None)


class Trace(Callback):
    """Keeps the loss of each batch, and the head's learning rate for it."""

    def __init__(self) -> None:
        self.losses, self.rates = [], []

    def on_train_batch_start(self, trainer, *_) -> None:
        self.rates.append(max(group["lr"] for group in trainer.optimizers[0].param_groups))

    def on_train_batch_end(self, trainer, module, outputs, *_) -> None:
        self.losses.append(outputs["loss"].item() * trainer.accumulate_grad_batches)


@pytest.mark.parametrize("run", ["training", "accumulated"])
def test_twenty_steps_under_lightning_lose_what_the_originals_loop_lost(run):
    run = REFERENCE[run]
    accumulate, trace = run.get("accumulate", 1), Trace()
    base_lr = run["lr"] * 256 / (run["batch"] * accumulate)
    optimisation = LayerDecay(base_lr=base_lr, warmup_epochs=run["warm_up_epochs"], min_lr=run["min_lr"])
    module = FineTuning(
        "random", ("0", "1", "2", "3"), "tiny", 64, 0.0, optimisation=optimisation, label_smoothing=run["smoothing"]
    )
    module.model = filled()
    trainer = Trainer(
        max_epochs=run["epochs"],
        accumulate_grad_batches=accumulate,
        accelerator="cpu",
        devices=1,
        callbacks=[trace],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, datamodule=FormulaData(run))
    assert len(trace.losses) == 20
    assert trace.rates == pytest.approx(run["learning_rates"], rel=1e-7)
    assert trace.losses == pytest.approx(run["losses"], rel=0, abs=2e-5)  # seen: 5e-7; eps 1e-6 for 1e-8: 4e-5
    with torch.no_grad():
        logits = module.model.eval()(images(8, 500))
    torch.testing.assert_close(logits, torch.tensor(run["logits_after"]), rtol=0, atol=1e-3)


@pytest.mark.parametrize("side", [20, 7])
def test_a_position_table_is_resized_as_the_original_resizes_it(side):
    resized = resize_positions(torch.from_numpy(noise((1, 197, 2), 900)).float(), (side, side))
    theirs = torch.tensor(REFERENCE["position_embedding"][str(side)])
    torch.testing.assert_close(resized[0], theirs, rtol=0, atol=1e-6)


def photograph() -> Image.Image:
    y, x = np.mgrid[:150, :200]
    channels = [128 + 100 * np.sin(x / 9), 128 + 100 * np.cos(y / 7), (x + y) % 256]
    return Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8))


def seen(pixels: Tensor) -> Tensor:
    return pixels[:, REFERENCE["transforms"]["from"] :: 16, REFERENCE["transforms"]["from"] :: 16].flatten()


@pytest.mark.parametrize("seed", REFERENCE["transforms"]["train"])
def test_the_same_draws_augment_a_picture_alike(seed):
    """Seed 234 posterises to no bits at all, which Pillow 8 answered with black and newer ones with an error."""
    random.seed(int(seed))
    np.random.seed(int(seed))
    torch.manual_seed(int(seed))
    pixels = train_transform(Augmentation(), REFERENCE["transforms"]["input_size"])(photograph())
    theirs = torch.tensor(REFERENCE["transforms"]["train"][seed])
    torch.testing.assert_close(seen(pixels), theirs, rtol=0, atol=0.02)  # a grey level is 0.017


def test_a_picture_is_evaluated_alike():
    pixels = eval_transform(Augmentation(), REFERENCE["transforms"]["input_size"])(photograph())
    torch.testing.assert_close(seen(pixels), torch.tensor(REFERENCE["transforms"]["eval"]), rtol=0, atol=0.02)
