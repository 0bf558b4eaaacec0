"""Teach the small base's tower to see: coverage of each finding in each patch, and a few facts of the whole picture.

A vision transformer that starts from nothing learns measurements slowly from sentences alone; told what each patch
holds, it learns them in minutes. The two linear heads are thrown away, the tower stays.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from marked import GRID, findings, load
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm
from transformers import CLIPVisionConfig, CLIPVisionModel

CONFIG = CLIPVisionConfig(
    image_size=120,
    patch_size=12,
    hidden_size=160,
    num_hidden_layers=6,
    num_attention_heads=5,
    intermediate_size=640,
    projection_dim=160,
)
FACT_WEIGHTS = (2.0, 40.0, 10.0, 2.0, 2.0, 4.0, 8.0, 4.0, 8.0, 4.0, 8.0)
"""The cup-to-disc ratio varies least and is the hardest to see."""
MEAN, STD = (0.32, 0.17, 0.09), (0.28, 0.16, 0.10)


def normalise(images: Tensor) -> Tensor:
    """Map uint8 (B, 3, S, S) to the tower's input."""
    mean, std = torch.tensor(MEAN).view(1, 3, 1, 1), torch.tensor(STD).view(1, 3, 1, 1)
    return (images.float() / 255 - mean) / std


def augment(images: Tensor, patches: Tensor, facts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Flip left and right (the eye's side flips with it), change colour gain and brightness a little."""
    flip = torch.rand(len(images)) < 0.5
    images = torch.where(flip.view(-1, 1, 1, 1), images.flip(-1), images)
    patches = torch.where(flip.view(-1, 1, 1, 1), patches.flip(-1), patches)
    facts = facts.clone()
    facts[:, 0] = torch.where(flip, 1 - facts[:, 0], facts[:, 0])
    gain = (1 + 0.12 * torch.randn(len(images), 3, 1, 1)) * (1 + 0.15 * torch.randn(len(images), 1, 1, 1))
    return (images.float() * gain.clamp(0.5, 1.6)).clamp(0, 255), patches, facts


class Heads(nn.Module):
    """What is thrown away: a linear map a patch, and one of the mean patch."""

    def __init__(self, patch_outputs: int, fact_outputs: int) -> None:
        super().__init__()
        self.patch = nn.Linear(CONFIG.hidden_size, patch_outputs)
        self.fact = nn.Linear(CONFIG.hidden_size, fact_outputs)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Map patch tokens (B, 100, width) to (B, outputs, GRID, GRID) and (B, outputs)."""
        patch = self.patch(tokens).transpose(1, 2).unflatten(2, (GRID, GRID))
        return patch, self.fact(tokens.mean(1))


def loss_of(seen: tuple[Tensor, Tensor], patches: Tensor, facts: Tensor) -> Tensor:
    """Cross-entropy of soft coverage, rare findings weighted up, and squared error of the facts."""
    dense = functional.binary_cross_entropy_with_logits(seen[0], patches, pos_weight=torch.tensor(4.0))
    return 4 * dense + ((seen[1] - facts).square() * torch.tensor(FACT_WEIGHTS)).mean()


def train(pictures: Path, out: Path, steps: int, batch: int, seed: int) -> None:
    """Train for a fixed number of steps and save the tower."""
    torch.manual_seed(seed)
    images, patches, facts = load(pictures)
    tower = CLIPVisionModel(CONFIG)
    heads = Heads(patches.shape[1], facts.shape[1])
    parameters = [*tower.parameters(), *heads.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=1.5e-3, weight_decay=0.02, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1.5e-3, steps, pct_start=0.06)
    held_out = len(images) - len(images) // 20
    rng = np.random.default_rng(seed)
    bar = tqdm(range(steps), desc="tower")
    for step in bar:
        rows = torch.from_numpy(rng.integers(0, held_out, batch))
        seen_images, seen_patches, seen_facts = augment(images[rows], patches[rows].float() / 255, facts[rows])
        tokens = tower(normalise(seen_images), output_hidden_states=True).hidden_states[-1][:, 1:]
        loss = loss_of(heads(tokens), seen_patches, seen_facts)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            bar.set_postfix(loss=f"{loss.item():.3f}")
        if step % 500 == 499 or step + 1 == steps:
            report(tower, heads, images[held_out:], patches[held_out:], facts[held_out:])
            tower.save_pretrained(out)


@torch.no_grad()
def report(tower: CLIPVisionModel, heads: Heads, images: Tensor, patches: Tensor, facts: Tensor) -> None:
    """Print how well pictures kept apart are seen."""
    parts = [tower(normalise(part), output_hidden_states=True).hidden_states[-1][:, 1:] for part in images.split(100)]
    outs = [heads(tokens) for tokens in parts]
    dense, fact = torch.cat([o[0] for o in outs]).sigmoid(), torch.cat([o[1] for o in outs])
    truth = patches.float() / 255
    tqdm.write(
        "coverage error "
        + " ".join(f"{n}={v:.3f}" for n, v in zip(findings(), (dense - truth).abs().mean((0, 2, 3)), strict=True))
        + " | facts error "
        + " ".join(f"{v:.3f}" for v in (fact - facts).abs().mean(0))
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    train(a.pictures, a.out, a.steps, a.batch, a.seed)
