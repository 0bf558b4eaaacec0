"""Check of the pixels that the vision tower gets, against the image processor's own mean and std."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from lmod_train.core.types import Record
from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.subject import Subject

LOOKED_AT = 8
"""Number of images whose pixels are measured, drawn evenly over the records."""
LEAST_STD = 0.05
"""Least std of a card in units of 0 to 1: those of CLIP, SigLIP, ImageNet and of fundus photographs are 0.1 to 0.5."""
OUTSIDE = 0.5
"""Distance of pixels from the range of the card that resampling may explain, in its stds."""
FLAT = 0.25
"""Share of the pictures' own range below which the tower gets nearly one grey value; resampling takes less of it."""
DARK = -0.3
"""Value of black below which pixels that are never below 0 were not normalised."""
MOST_CROPPED = 0.1
"""Share of the pictures' area that may be cropped without a warning."""


def preprocessing(subject: Subject) -> Iterator[CheckResult]:
    """Process some training images, and compare their range and spread with those that mean and std allow."""
    shown = [r for r in subject.records() if r.image]
    if subject.module is None or subject.data is None or not shown:
        yield CheckResult("preprocessing", "skip", "no processor or no images")
        return
    dialect, images_of = subject.module.dialect, subject.data.images
    names = list(dict.fromkeys(r.image[0] for r in shown[:: len(shown) // LOOKED_AT + 1]))
    pictures = [images_of.rgb(name) for name in names]
    images = dialect.processor.image_processor
    mean, std = (
        _three(getattr(images, name, None), default) for name, default in (("image_mean", 0), ("image_std", 1))
    )
    problems = list(_card(mean, std))
    if not problems:
        made = [dialect.family.processed(p, dialect.processor, False)["pixel_values"] for p in pictures]
        values = torch.cat([torch.as_tensor(np.asarray(m)).float().flatten() for m in made])
        problems += _pixels(values, [dialect.shaped(p) for p in pictures], mean, std)
    problems += _cropped(subject, pictures, shown)
    yield from problems
    if not problems:
        what = f"pixels from {values.min():.2f} to {values.max():.2f}, mean {values.mean():.2f}, std {values.std():.2f}"
        yield CheckResult("preprocessing", "ok", f"{what}, as the processor's mean and std let expect")


def _three(given: Any, default: float) -> np.ndarray[Any, Any]:
    """Return a processor's values of the three channels; it may state one, or none."""
    values = np.atleast_1d(np.asarray(default if given is None else given, dtype=float))
    return np.broadcast_to(values, 3)


def _card(mean: np.ndarray[Any, Any], std: np.ndarray[Any, Any]) -> Iterator[CheckResult]:
    if (mean < 0).any() or (mean > 1).any() or (std < LEAST_STD).any() or (std > 1).any():
        what = f"image_mean {mean.tolist()}, image_std {std.tolist()}: pixels are between 0 and 1 when these apply"
        why = "the tower gets values far from those it was trained on, and its features say nothing"
        cure = "use the processor files published with these weights (CLIP: mean 0.48, 0.46, 0.41; std 0.27)"
        yield CheckResult("preprocessing", "fail", what, why, cure)


def _pixels(
    values: torch.Tensor, pictures: Sequence[Image.Image], mean: np.ndarray[Any, Any], std: np.ndarray[Any, Any]
) -> Iterator[CheckResult]:
    """Yield a result for pixels outside the range of the card, of hardly any range, or that are not centred.

    Args:
        values: Pixels after the image processor.
        pictures: The pictures before it.
        mean: Of the card, by channel.
        std: Of the card, by channel.
    """
    low, high = (-mean / std).min(), ((1 - mean) / std).max()
    raw = np.concatenate([(np.asarray(p.resize((32, 32)), dtype=float) / 255).reshape(-1, 3) for p in pictures])
    expected = (raw - mean) / std
    span = float(values.max() - values.min())
    found = f"pixels from {values.min():.3g} to {values.max():.3g}, mean {values.mean():.3g}, std {values.std():.2g}"
    card = f"mean and std of the processor allow {low:.2f} to {high:.2f}, and these images mean {expected.mean():.2f}"
    why = "the tower gets values that it was never trained on, and its features say little"
    cure = "do_rescale, rescale_factor and do_normalize as published with these weights (processor_config.json)"
    if values.min() > -1e-3 and FLAT < values.max() <= 1.001 and expected.min() < DARK:
        yield CheckResult("preprocessing", "warn", f"{found}: not normalised; {card}", why, cure)
    elif values.min() < low - OUTSIDE or values.max() > high + OUTSIDE or span < FLAT * np.ptp(expected):
        yield CheckResult("preprocessing", "fail", f"{found}; {card}", why, cure)


def _cropped(subject: Subject, pictures: Sequence[Image.Image], shown: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a warning where pictures lose a part that regions may lie in."""
    if subject.module is None or subject.module.dialect.family.fit != "crop":
        return
    lost = sum(1 - min(p.size) / max(p.size) for p in pictures) / len(pictures)
    if lost > MOST_CROPPED:
        marked = sum(bool(r.regions) for r in shown)
        what = f"images.fit crop cuts {lost:.0%} off the pictures; {marked} of {len(shown)} records ask about regions"
        why = "what lies at the sides is asked about and not shown"
        yield CheckResult("preprocessing", "warn", what, why, "leave out model.init_args.images.fit, for pad")
