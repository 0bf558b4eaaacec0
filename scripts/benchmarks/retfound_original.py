"""Speed of the original RETFound program's own fine-tuning, in float32 on a CPU, in a process of its own.

    git clone https://github.com/rmaphoh/RETFound_MAE ORIGINAL && git -C ORIGINAL checkout f5ab012
    pip install --no-deps --target EXTRA timm==0.3.2 pycm art
    python scripts/benchmarks/retfound_original.py --original ORIGINAL --extra EXTRA --data FOLDER

FOLDER has its layout, ``train/<class>/<image>``. Transforms, data set, parameter groups, schedule, loop and scaler of
the original run unchanged; only a smaller transformer of its class is used, and names are restored that newer releases
of torch, numpy and Pillow have dropped. One JSON object is printed, with times in seconds per step (one batch):
``epoch`` from JPEG files (with the first step and the start of workers), ``step`` the median time between updates,
``load`` reading and augmenting only, ``compute`` the same loop on tensors in memory, ``epoch_processor`` the processor
time of `epoch` in this process, which depends less on the machine's load (without workers). This package is not
imported: the script runs with any Python that has torch, torchvision and scikit-learn.
"""

from __future__ import annotations

import argparse
import collections.abc
import contextlib
import io
import itertools
import json
import math
import statistics
import sys
import time
import types
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

SIZES = {"tiny": (64, 4, 4), "small": (192, 6, 3), "large": (1024, 24, 16)}  # width, depth, heads
RECIPE = argparse.Namespace(
    aa="rand-m9-mstd0.5-inc1", color_jitter=None, reprob=0.25, remode="pixel", recount=1, accum_iter=1,
    epochs=50, warmup_epochs=10, min_lr=1e-6, drop_path=0.2, layer_decay=0.65, weight_decay=0.05, smoothing=0.1,
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", type=Path, required=True, help="its repository at commit f5ab012")
    parser.add_argument("--extra", type=Path, help="folder with timm 0.3.2, pycm and art, if this Python lacks them")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds train/<class>/<image>")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2, help="measured epochs, after one that warms up")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    sys.path[:0] = [str(path.resolve()) for path in (chosen.original, chosen.extra) if path]
    _restore_dropped_names()
    with contextlib.redirect_stdout(io.StringIO()):
        figures = measure(chosen)
    given = {key: value for key, value in vars(chosen).items() if not isinstance(value, Path)}
    print(json.dumps(given | figures | {"torch": torch.__version__}))


def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds per step of the epoch, the median step, loading only and computing only."""
    from util.datasets import build_dataset

    RECIPE.input_size, RECIPE.data_path = chosen.image_size, str(chosen.data)
    RECIPE.lr = 5e-3 * chosen.batch / 256
    data = build_dataset(is_train="train", args=RECIPE)
    loader = torch.utils.data.DataLoader(
        data,
        sampler=torch.utils.data.DistributedSampler(data, num_replicas=1, rank=0, shuffle=True),
        batch_size=chosen.batch,
        num_workers=chosen.workers,
        drop_last=True,
    )
    held = [batch for _, batch in zip(range(4), loader, strict=False)]
    train = _training(chosen, classes=len(data.classes))
    train(held)
    start = time.perf_counter()
    steps = sum(1 for _ in loader)
    load = (time.perf_counter() - start) / steps
    used = time.process_time()
    whole, updates = zip(*(train(loader) for _ in range(chosen.epochs)), strict=True)
    used = time.process_time() - used
    between = [b - a for times in updates for a, b in itertools.pairwise(times)]
    return {
        "epoch": statistics.median(whole) / steps,
        "epoch_processor": used / chosen.epochs / steps,
        "step": statistics.median(between),
        "load": load,
        "compute": statistics.median(train(held)[0] / len(held) for _ in range(3)),
        "steps": steps,
    }


def _training(chosen: argparse.Namespace, classes: int) -> Any:
    """Return a function that trains one epoch on batches and returns its seconds and the times of its updates."""
    from engine_finetune import train_one_epoch
    from models_vit import VisionTransformer
    from timm.loss import LabelSmoothingCrossEntropy  # type: ignore[attr-defined]
    from util.lr_decay import param_groups_lrd
    from util.misc import NativeScalerWithGradNormCount

    torch.manual_seed(0)
    width, depth, heads = SIZES[chosen.size]
    model = VisionTransformer(
        img_size=chosen.image_size, patch_size=16, embed_dim=width, depth=depth, num_heads=heads, mlp_ratio=4,
        qkv_bias=True, norm_layer=partial(torch.nn.LayerNorm, eps=1e-6), num_classes=classes,
        drop_path_rate=RECIPE.drop_path, global_pool=True,
    )  # fmt: skip
    groups = param_groups_lrd(model, RECIPE.weight_decay, model.no_weight_decay(), RECIPE.layer_decay)
    optimizer = torch.optim.AdamW(groups, lr=RECIPE.lr)
    criterion: Any = LabelSmoothingCrossEntropy(smoothing=RECIPE.smoothing)  # type: ignore[no-untyped-call]
    scaler, updates = NativeScalerWithGradNormCount(), []
    optimizer.register_step_post_hook(lambda *_: updates.append(time.perf_counter()))

    def train(batches: Iterable[Any]) -> tuple[float, list[float]]:
        updates.clear()
        start = time.perf_counter()
        train_one_epoch(model, criterion, batches, optimizer, torch.device("cpu"), 12, scaler, None, args=RECIPE)
        return time.perf_counter() - start, list(updates)

    return train


def _restore_dropped_names() -> None:
    """Restore names of torch 1.8, numpy 1.19 and Pillow 8, and make GPU synchronisation do nothing."""
    warnings.filterwarnings("ignore")
    six = types.ModuleType("torch._six")
    vars(six).update(inf=math.inf, string_classes=(str, bytes), int_classes=int)
    sys.modules["torch._six"] = six
    vars(six).update(container_abcs=collections.abc)
    vars(np).setdefault("float", float)
    vars(Image).update({name: Image.Resampling(value) for name, value in (("LINEAR", 2), ("CUBIC", 3))})
    ImageOps.posterize = partial(_posterise, ImageOps.posterize)
    if not torch.cuda.is_available():
        vars(torch.cuda).update(synchronize=lambda *_: None)


def _posterise(today: Any, picture: Image.Image, bits: int) -> Image.Image:
    """Keep a number of bits; 0 gives black as in Pillow 8, while newer releases raise (one image in 670)."""
    return today(picture, bits) if bits else Image.new(picture.mode, picture.size)


if __name__ == "__main__":
    main()
