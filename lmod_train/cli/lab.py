"""The command `collapse-lab`."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.errors import BadArgument


def collapse_lab(
    *, out: Path, seeds: int = 1, steps: int = 120, lr: float = 2e-3, max_new_tokens: int = 64, n: int = 160
) -> None:
    """Demonstrate how fine-tuning on delta weights collapses a model's replies; takes minutes on a CPU.

    Fine-tunes the small base from its complete weights and, by mistake, from delta weights, with the same data, order,
    steps and learning rate, on short, long and varied answers, and compares the replies. Writes collapse.md,
    collapse.csv and collapse.png; the same command again continues. The limits of the demonstration are stated below
    its table.

    Args:
        out: Folder to write to.
        seeds: Number of repetitions of each training, each with another seed.
        steps: Optimiser steps of each training.
        lr: Peak learning rate.
        max_new_tokens: Maximum length of a reply in tokens.
        n: Number of phantoms of each of three sources.
    """
    if seeds < 1 or steps < 1 or n < 16:
        raise BadArgument("--seeds, --steps, --n", (seeds, steps, n), "at least 1, 1 and 16", "use the defaults")
    from lmod_train.core.files import write_durably
    from lmod_train.core.lock import locked
    from lmod_train.training.lab.collapse import Recipe, losses_of
    from lmod_train.training.lab.collapse import collapse_lab as experiment
    from lmod_train.training.lab.picture import draw, table

    with locked(out, "--out"):
        outcomes = experiment(out, seeds, Recipe(steps, lr, max_new_tokens), n)
        text = table(outcomes)
        with write_durably(out / "collapse.md") as beside:
            beside.write_text(text, encoding="utf-8")
        picture = draw(outcomes, losses_of(out, outcomes), out)
    print(text)
    print(f"wrote {picture}, {out / 'collapse.md'} and {out / 'collapse.csv'}")
