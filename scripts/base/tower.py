"""Train the vision tower of the small base to predict the content of each patch and facts about the image.

A vision transformer trained from scratch learns measurements slowly from sentences; with labels of each patch it learns
them in minutes. The two linear heads are discarded afterwards.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from marked import GRID, INPUT, MEAN, STD, VARIANTS, load
from pictures import modality_of
from shown import CHANNELS, FACTS, NUMBERS, SIGNS, SPOTS
from torch import Tensor, distributed, multiprocessing, nn
from torch.nn import functional
from tqdm import tqdm
from transformers import CLIPVisionConfig, CLIPVisionModel

from lmod_train.phantom.instruments import INSTRUMENTS

CONFIG = CLIPVisionConfig(
    image_size=INPUT,
    patch_size=INPUT // GRID,
    hidden_size=160,
    num_hidden_layers=6,
    num_attention_heads=5,
    intermediate_size=640,
    projection_dim=160,
    hidden_act="gelu",
)
LR = 1.5e-3
HEADS = "heads.pt"
WEIGHTS = {"cup to disc": 40.0, "hole width": 12.0, "haze": 6.0, "blue": 6.0, "microaneurysms": 4.0, "gap": 6.0}
WEIGHTS |= {"blots above": 3.0, "blots below": 3.0, "exudates": 2.0, "exudates near": 2.0, "ring": 6.0}
WEIGHTS |= dict.fromkeys(INSTRUMENTS, 6.0) | dict.fromkeys(SIGNS, 2.0)
"""Weights of facts that vary little or are hard to see; edges of boxes have weight 2, all others 1."""
THIN = dict.fromkeys((*INSTRUMENTS, *SPOTS), 3.0)
"""Weights of channels of thin or small structures; all others have weight 1."""
FAINT = {
    "microaneurysms",
    "view right",
    "view left",
    "gauge",
    "spatula",
    "abnormal vessels",
    "hypertensive retinopathy",
}
"""Facts that are learnt late and have a larger weight in a second round (`--faint`), as the channels `SPOTS`."""
SHARES = {"CFP": 0.41, "SS": 0.36, "LP": 0.09, "OCT": 0.08, "SLO": 0.06}
"""Share of each modality in training, by the number of its findings."""
NUMBERED = {"CFP": 0.28, "SS": 0.40, "LP": 0.13, "OCT": 0.13, "SLO": 0.06}
"""Shares when numbers are learnt: half of the fundi and nearly all other images have boxes."""


def normalise(images: Tensor) -> Tensor:
    """Return uint8 images (B, 3, S, S) as the tower's normalised input."""
    mean, std = torch.tensor(MEAN).view(1, 3, 1, 1), torch.tensor(STD).view(1, 3, 1, 1)
    return (images.float() / 255 - mean) / std


def augment(images: Tensor) -> Tensor:
    """Return images with slightly changed colour gain and brightness."""
    gain = (1 + 0.04 * torch.randn(len(images), 3, 1, 1)) * (1 + 0.12 * torch.randn(len(images), 1, 1, 1))
    return (images.float() * gain.clamp(0.5, 1.6)).clamp(0, 255)


class Heads(nn.Module):
    """Linear heads on each patch token and on the mean token; discarded after training."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Linear(CONFIG.hidden_size, len(CHANNELS))
        self.fact = nn.Linear(CONFIG.hidden_size, len(FACTS))

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Map patch tokens (B, GRID * GRID, width) to (B, channels, GRID, GRID) and (B, facts)."""
        patch = self.patch(tokens).transpose(1, 2).unflatten(2, (GRID, GRID))
        return patch, self.fact(tokens.mean(1))


def fact_weights(faint: float) -> Tensor:
    """Return the weight of each fact, shape (facts,)."""
    edges = [2.0 if name.startswith("box ") and name[-2:-1] in "xy" else WEIGHTS.get(name, 1.0) for name in FACTS]
    return torch.tensor(edges) * torch.tensor([faint if name in FAINT else 1.0 for name in FACTS])


def channel_weights(numbers: float) -> Tensor:
    """Return the weight of each channel, shape (channels,)."""
    return torch.tensor([numbers if name in NUMBERS else 1.0 for name in CHANNELS])


def loss_of(
    seen: tuple[Tensor, Tensor], patches: Tensor, facts: Tensor, channels: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the weighted cross-entropy of patch coverage plus the squared error of the facts that apply."""
    dense = functional.binary_cross_entropy_with_logits(
        seen[0].float(), patches, pos_weight=torch.tensor(4.0), reduction="none"
    )
    known = ~facts.isnan()
    error = (seen[1].float() - facts.nan_to_num()).square() * weights * known
    return (dense.mean((0, 2, 3)) * channels).sum(), error.sum() / len(facts)


def tokens_of(tower: Any, images: Tensor) -> Tensor:
    """Return the tower's patch tokens, shape (B, GRID * GRID, width)."""
    with torch.autocast("cpu", torch.bfloat16, enabled=torch.is_grad_enabled()):
        tokens: Tensor = tower(normalise(images), output_hidden_states=True).hidden_states[-1][:, 1:]
    return tokens.float()


def train(
    rank: int,
    workers: int,
    pictures: Path,
    out: Path,
    start: Path | None,
    steps: int,
    batch: int,
    faint: float,
    numbers: float,
) -> None:
    """Train in one of several processes for a fixed number of steps; the first saves the tower.

    Each process has one thread and a part of the batch, and gradients are averaged in every step. On shared cores this
    is many times faster than threads that wait for each other in every matrix product.
    """
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    distributed.init_process_group("gloo", init_method=f"file://{out.resolve()}/meeting", rank=rank, world_size=workers)
    arrays = load(pictures)
    count, held_out = len(arrays["image"]), len(arrays["image"]) - 1000
    torch.manual_seed(0)
    tower: Any = CLIPVisionModel(CONFIG)
    tower.set_attn_implementation("eager")  # on a CPU its backward pass takes a quarter of the fused one's time
    heads, channels, weights = Heads(), channel_weights(numbers), fact_weights(faint)
    if start is not None:
        tower.load_state_dict(CLIPVisionModel.from_pretrained(start).state_dict())
        heads.load_state_dict(torch.load(start / HEADS, weights_only=True))
    torch.manual_seed(rank)
    parameters = [*tower.parameters(), *heads.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=LR, weight_decay=0.02, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LR, steps, pct_start=0.08)
    rng = np.random.default_rng(rank)
    chances = chances_of(held_out, NUMBERED if numbers else SHARES)
    bar = tqdm(range(steps), desc="tower", mininterval=10, disable=rank > 0)
    for step in bar:
        images, patches, facts = rows_of(arrays, rng.choice(held_out, batch // workers, p=chances), faint)
        dense, error = loss_of(heads(tokens_of(tower, augment(images))), patches, facts, channels, weights)
        optimiser.zero_grad(set_to_none=False)
        (dense + error).backward()
        average([p.grad for p in parameters if p.grad is not None], workers)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()
        if rank == 0 and step % 25 == 24:
            tqdm.write(f"step {step + 1} dense {dense.item():.3f} facts {error.item():.3f}")
        if rank == 0 and (step % 200 == 199 or step + 1 == steps):
            report(tower, heads, arrays, np.arange(held_out, count)[:: 1 if step + 1 == steps else 5], faint)
    if rank == 0:  # only at the end, as an existing tower counts as finished
        torch.save(heads.state_dict(), out / HEADS)  # for a second round
        tower.save_pretrained(out)


def chances_of(rows: int, shares: dict[str, float]) -> np.ndarray:
    """Return the sampling probability of each row, so that modalities occur in the given shares."""
    modalities = np.array([modality_of(row // VARIANTS) for row in range(rows)])
    chances = np.zeros(rows)
    for modality, share in shares.items():
        chances[modalities == modality] = share / (modalities == modality).sum()
    total: np.ndarray = chances / chances.sum()
    return total


def average(gradients: list[Tensor], workers: int) -> None:
    """Replace each gradient by its mean over all processes."""
    flat = torch.cat([g.flatten() for g in gradients])
    distributed.all_reduce(flat)
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient) / workers)


def rows_of(arrays: dict[str, Any], rows: np.ndarray, faint: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return images (uint8, (B, 3, S, S)), patches (0 to 1) and facts of some rows."""
    images = torch.from_numpy(arrays["image"][rows]).permute(0, 3, 1, 2)
    counts = [THIN.get(name, 1.0) * (faint if name in SPOTS else 1.0) for name in CHANNELS]
    thin = torch.tensor(counts).view(1, -1, 1, 1)
    patches = (torch.from_numpy(arrays["patches"][rows]) * (thin / 255)).clamp(max=1)
    return images, patches, torch.from_numpy(arrays["facts"][rows])


@torch.no_grad()
def report(tower: Any, heads: Heads, arrays: dict[str, Any], rows: np.ndarray, faint: float) -> None:
    """Print overlap of each channel and explained variance of each fact on held-out images."""
    outs, truths = [], []
    for part in np.array_split(rows, max(1, len(rows) // 100)):
        images, patches, facts = rows_of(arrays, part, faint)
        outs.append(heads(tokens_of(tower, images)))
        truths.append((patches, facts))
    seen, fact = torch.cat([o[0] for o in outs]).sigmoid(), torch.cat([o[1] for o in outs])
    patches, facts = torch.cat([t[0] for t in truths]), torch.cat([t[1] for t in truths])
    seen = seen / (4 - 3 * seen)  # undo the weighting of positive patches
    overlap = torch.minimum(seen, patches).sum((0, 2, 3)) / torch.maximum(seen, patches).sum((0, 2, 3))
    overlaps = " ".join(f"{n}={v:.2f}" for n, v in zip(CHANNELS, overlap.tolist(), strict=True))
    known = ~facts.isnan()
    mean = facts.nan_to_num().sum(0) / known.sum(0)
    error = ((fact - facts).nan_to_num().square().sum(0), ((facts - mean).nan_to_num()).square().sum(0))
    explained = " ".join(f"{n}={v:.2f}" for n, v in zip(FACTS, (1 - error[0] / error[1]).tolist(), strict=True))
    tqdm.write(f"overlap: {overlaps}\nexplained: {explained}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, default=None, help="folder of an earlier round to continue from")
    parser.add_argument("--faint", type=float, default=1.0, help="weight factor of faint findings")
    parser.add_argument("--numbers", type=float, default=0.0, help="weight of the box numbers")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32, help="over all processes")
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "meeting").unlink(missing_ok=True)
    load(a.pictures)  # joins the files once, before several processes read them
    multiprocessing.spawn(  # type: ignore[attr-defined,no-untyped-call]
        train, (a.workers, a.pictures, a.out, a.start, a.steps, a.batch, a.faint, a.numbers), a.workers
    )
