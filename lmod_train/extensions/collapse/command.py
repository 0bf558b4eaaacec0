"""The command `collapse-lab`."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.errors import BadArgument


def collapse_lab(
    *,
    out: Path,
    seeds: int = 5,
    steps: int = 120,
    lr: float = 2e-3,
    max_new_tokens: int = 64,
    n: int = 160,
    quick: bool = False,
    workers: int = 2,
) -> None:
    """Demonstrate how fine-tuning on delta weights collapses a model's replies, with the controls of a sceptic.

    Fine-tunes the small base from its complete weights and, by mistake, from delta weights, on short, long and varied
    answers, and compares the replies. Controls: a language model with random weights, the base before its tuning, the
    rate of each start chosen on validation records, and three times the steps for the delta. Writes collapse.md,
    collapse.csv, rates.csv and collapse.png in an hour or more on two cores; the same command again continues. What
    remains of the claim, and the limits of the demonstration, are stated below its table.

    Args:
        out: Folder to write to.
        seeds: Number of repetitions of each training, each with another seed.
        steps: Optimiser steps of each training.
        lr: Peak learning rate; with controls, a quarter of it and four times it are tried too.
        max_new_tokens: Maximum length of a reply in tokens.
        n: Number of phantoms of each of three sources.
        quick: Leave the controls out: complete weights and delta at the same rate, about five minutes per seed.
        workers: Number of trainings at a time, each on a core of its own.
    """
    if seeds < 1 or steps < 1 or n < 16:
        raise BadArgument("--seeds, --steps, --n", (seeds, steps, n), "at least 1, 1 and 16", "use the defaults")
    from lmod_train.core.files import write_durably
    from lmod_train.core.lock import locked
    from lmod_train.extensions.collapse.lab import Recipe
    from lmod_train.extensions.collapse.lab import collapse_lab as experiment
    from lmod_train.extensions.collapse.results import draw, table

    with locked(out, "--out"):
        recipe = Recipe(steps, lr, max_new_tokens)
        results = experiment(out, seeds, recipe, n, controls=not quick, workers=workers)
        text = table(results)
        with write_durably(out / "collapse.md") as beside:
            beside.write_text(text, encoding="utf-8")
        picture = draw(results, out)
    print(text)
    print(f"wrote {picture}, {out / 'collapse.md'} and {out / 'collapse.csv'}")
