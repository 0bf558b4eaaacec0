"""Speed of the linear probe, as ratios within one run of alternating rounds; medians are compared.

    python scripts/benchmarks/probe.py --work build/probe [--features FILE.npz] [--only fit|seeds]

(a) the fit of `LinearProbe` from stored features against scikit-learn's ``StandardScaler`` and ``LogisticRegression``
    on the same ones, both in float64 and to the same largest component of the gradient, so that both have the same
    coefficients; their largest difference is printed. The limit is the ratio that a fit without any cost but its matrix
    products would give: features times coefficients, and derivatives times features, as often as in our fit.
(b) ``fit --seeds 5`` against ``fit --seeds 1`` as whole commands, features stored before. ``other / ours`` is that of
    one seed over five, above 1/5 if five take less than five times as long. The limit is 1, as if only the start took
    time.

Features are drawn: ReLU of a few hundred correlated factors and noise, moved by class, as many as --n photographs of
--classes classes have behind an EfficientNet-Lite0. ``FILE.npz`` holds others, `features` (rows, width) and `targets`.
`others` is the number of cores kept busy by other processes: results are only valid if it is near 0.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rounds import CLOCKS, Round, Rounds
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from supervised import curated
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lmod_train.core.artifacts.records import write_records
from lmod_train.models.vision.logistic_regression import TOLERANCE, Fit, logistic_regression

SEEDS = 5

Data = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


def drawn(rows: int, width: int, classes: int, apart: float) -> Data:
    """Return features (rows, width) and classes (rows), the same in every call."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(200, width)) * np.exp(-np.arange(200) / 40)[:, None]
    targets = random.integers(0, classes, rows)
    inner = random.normal(size=(rows, 200)) @ mixing + 0.3 * random.normal(size=(rows, width))
    features = np.maximum(inner + apart * random.normal(size=(classes, width))[targets], 0)
    return features.astype(np.float32), targets


def given(file: Path) -> Data:
    """Return the features and classes of a file."""
    stored = np.load(file)
    return stored["features"].astype(np.float32), stored["targets"].astype(np.int64)


def ours(data: Data, c: float) -> Fit:
    """Standardise and fit as `LinearProbe` does."""
    features = data[0].astype(np.float64)
    std = features.std(0)
    standard = (features - features.mean(0)) / np.where(std > 1e-6, std, 1)
    return logistic_regression(standard, data[1], int(data[1].max()) + 1, c)


def theirs(data: Data, c: float) -> LogisticRegression:
    """Standardise and fit as scikit-learn does, to the gradient at which our fit ends."""
    rows, classes = len(data[0]), int(data[1].max()) + 1
    size = (data[0].shape[1] + 1) * (1 if classes == 2 else classes)
    standard = StandardScaler().fit_transform(data[0].astype(np.float64))
    model = LogisticRegression(C=c, tol=TOLERANCE / (c * rows * np.sqrt(size)), max_iter=20_000)
    return model.fit(standard, data[1])


def products(data: Data, times: int) -> None:
    """Multiply the matrices of our fit, `times` times."""
    features, classes = data[0].astype(np.float64), int(data[1].max()) + 1
    own = 1 if classes == 2 else classes
    weight, slopes = np.ones((own, features.shape[1])), np.ones((own, len(features)))
    for _ in range(times):
        _, _ = weight @ features.T, slopes @ features


def timed(run: Callable[[], Any], clock: str) -> Round:
    """Return a function that runs once and returns its seconds."""
    now = CLOCKS[clock]

    def once() -> float:
        began = now()
        run()
        return now() - began

    return once


def fit(a: argparse.Namespace) -> None:
    """Measure (a), after a check that both have the same coefficients."""
    data = given(a.features) if a.features else drawn(a.n, a.width, a.classes, a.apart)
    fitted, reference = ours(data, a.c), theirs(data, a.c)
    own = fitted.weight[-len(reference.coef_) :]
    print(
        f"(a) {data[0].shape[0]} x {data[0].shape[1]} features, {fitted.iterations} iterations, scikit-learn's "
        f"{reference.n_iter_[0]}, largest difference of coefficients {abs(own - reference.coef_).max():.1e}"
    )
    sides: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(data, a.c),
        "sklearn": lambda: theirs(data, a.c),
        "product": lambda: products(data, fitted.iterations),
    }
    took = Rounds(a.rounds, False, **{name: timed(side, a.clock) for name, side in sides.items()})
    limit = f"{took.median('sklearn') / took.median('product'):.2f}"
    took.print_row("(a) fit, scikit-learn", "ours", "sklearn", "0.9", limit)


def command(work: Path, seeds: int) -> Round:
    """Return a whole `fit` of several seeds, in a new run folder each time."""
    experiment = ["--config", "cnn_glaucoma", "--model", "linear_probe", "--trainer.max_epochs", "1"]
    encoder = ["--model.init_args.encoder.weights", "random", "--model.init_args.encoder.size", "tiny"]
    quiet = ["--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
    often = ["--trainer.check_val_every_n_epoch", "1", "--data.curated", str(work), "--seeds", str(seeds)]

    def once() -> float:
        run = work / "run"
        shutil.rmtree(run, ignore_errors=True)
        began = time.perf_counter()
        line = [sys.executable, "-m", "lmod_train", "fit", *experiment, *encoder, *quiet, *often, "--run", str(run)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"fit failed: {done.stdout[-1000:]}{done.stderr[-2000:]}")
        return time.perf_counter() - began

    return once


def seeds(a: argparse.Namespace) -> None:
    """Measure (b), with features stored by an uncounted round."""
    shutil.rmtree(a.work, ignore_errors=True)
    _, wholes = curated(a.work, a.pictures, 64)
    split = [replace(r, split="val" if i % 5 > 2 else "train") for i, r in enumerate(wholes)]
    write_records(a.work / "records" / "glaucoma.parquet", split)
    took = Rounds(a.rounds, True, several=command(a.work, SEEDS), one=command(a.work, 1))
    took.print_row(f"(b) fit --seeds {SEEDS}, one seed", "several", "one", f"{1 / SEEDS:.2f}", "1")
    print(f"(b) {SEEDS} seeds take {took.median('several') / took.median('one'):.2f} x one seed")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=1000, help="rows of the drawn features")
    parser.add_argument("--width", type=int, default=1280, help="their length")
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--apart", type=float, default=0.1, help="distance of the classes")
    parser.add_argument("--features", type=Path, help="an .npz file of features and targets in place of drawn ones")
    parser.add_argument("--c", type=float, default=1.0, help="inverse strength of the penalty")
    parser.add_argument("--pictures", type=int, default=60, help="pictures of (b)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="of (a); processor needs --threads 1")
    parser.add_argument("--only", choices=("fit", "seeds"), help="one part alone")
    a = parser.parse_args(arguments)
    if a.clock == "processor" and a.threads != 1:
        parser.error("--clock processor counts the time that threads wait for each other; add --threads 1")
    print("| what | ours | other | other / ours | spread | wanted | limit | others |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with threadpool_limits(a.threads):
        for name, part in (("fit", fit), ("seeds", seeds)):
            if a.only in (None, name):
                part(a)


if __name__ == "__main__":
    main()
