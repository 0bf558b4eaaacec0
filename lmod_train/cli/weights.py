"""Commands about weights. They need torch, which is imported when they run."""

from __future__ import annotations

from pathlib import Path


def apply_delta(*, delta: Path, base: Path, out: Path) -> None:
    """Put a model together from delta weights and the language model they were subtracted from.

    Args:
        delta: Folder of the delta weights, e.g. llava-med-7b-delta.
        base: Folder of the language model that the delta's model card names, e.g. LLaMA 7B.
        out: Folder to write; it must not exist.
    """
    from lmod_train.models import delta as weights

    weights.apply_delta(delta, base, out)
    gain = weights.mean_gain(out)
    print(f"wrote {out}" + ("" if gain is None else f": mean gain of its norms {gain:.3f}"))
