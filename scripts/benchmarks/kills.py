"""Kill commands at random moments or fill their disk, run them again, and compare with an undisturbed run.

Nothing may be lost or done twice, and the result must be the same: bytes of the curated folder, one reply per record,
equal scores, trained tensors and merged weights. `fit` may lose at most the steps between two checkpoints. Every folder
of `--work` is tested; name two on different file systems, e.g. one below /dev/shm.

    python scripts/benchmarks/kills.py --work build/kills /dev/shm/kills --n 48

Commands end by SIGKILL or SIGTERM to the command and all its children (`--signals`), or by a full disk (`--full`, a
small tmpfs, which needs root to mount).

Commands are forked from this process, which has imported everything, so that kills hit their work and not the import of
torch. The last run of each series is a new process with another hash seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from forked import end, finish, lmod, load, quiet, run
from lightning import Callback

from lmod_train.core.artifacts.scores import read_scores

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
EVERY = 2
"""Steps between two checkpoints of `fit`."""
SEEDS = 2
"""Seeds of the series that is disturbed."""


class Steps(Callback):
    """Callback that writes each training step to a file, to count the steps that a resumed run repeats."""

    def on_train_batch_end(self, trainer: Any, *arguments: Any) -> None:
        """Append the number of the step, preceded by a line with the steps before the start of this process."""
        with (Path(trainer.default_root_dir) / "steps.txt").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {trainer.global_step}\n")


@dataclass
class Tally:
    """Number of kills of a command, and their results."""

    kills: Counter[str] = field(default_factory=Counter)
    over: int = 0
    compared: int = 0
    went: list[int] = field(default_factory=list)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def digest(folder: Path, *but: str) -> str:
    """Return one hash over names and bytes of all files but those with the names in `but`."""
    total = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in but):
        total.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def figures(run: Path) -> list[object]:
    """Return the scores of a run without its name."""
    return [score for _, _, score in read_scores(run / "scores.csv")]


def lines(run: Path) -> list[dict[str, Any]]:
    """Return every stored reply of a run."""
    texts = [line for f in (run / "replies").glob("*.jsonl") for line in f.read_text(encoding="utf-8").splitlines()]
    return [json.loads(text) for text in texts]


def asked_twice(run: Path) -> int:
    """Return the number of replies for records that had a reply of the same weights already."""
    keys = Counter((row["id"], row["step"], row.get("asked", "")) for row in lines(run))
    return sum(keys.values()) - len(keys)


def back(run: Path) -> list[int]:
    """Return the number of steps that each resumed process of a `fit` repeated."""
    steps = [line.split() for line in (run / "steps.txt").read_text(encoding="utf-8").splitlines()]
    return [int(before[1]) - (int(after[1]) - 1) for before, after in pairwise(steps) if before[0] != after[0]]


def tensors(run: Path) -> dict[str, object]:
    """Return the trained tensors of a run's last checkpoint as bytes."""
    import torch

    state = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    return {k: v.numpy().tobytes() for k, v in state.items()}


class Trial:
    """One folder in which every command is disturbed.

    Args:
        work: Folder to work in; emptied first.
        raw: Folder of phantoms.
        random: Generator of the moments of kills.
        kills: Number of kills per command.
        signals: Signals to use, alternately.
    """

    def __init__(self, work: Path, raw: Path, random: random.Random, kills: int, signals: Sequence[str]) -> None:
        self.work, self.raw, self._random, self._kills, self._signals = work, raw, random, kills, signals
        self.quiet, self.spoiled = work / "quiet", work / "spoiled"
        self.tallies: dict[str, Tally] = {}
        shutil.rmtree(work, ignore_errors=True)

    def survive(self, name: str, make: Callable[[Path], list[str]], same: Callable[[], None], product: str) -> None:
        """Run a command undisturbed, then elsewhere kill it at random moments within its time, and let it finish.

        If it finished before it could be killed, its result is compared and removed, and it starts again.
        """
        tally = self.tallies[name] = Tally(seconds=quiet(make(self.quiet)))
        while tally.kills.total() < self._kills and tally.over < 2 * self._kills:
            how = signal.Signals[self._signals[tally.kills.total() % len(self._signals)]]
            status = end(make(self.spoiled), self._random.uniform(0.02, 0.95) * tally.seconds, how)
            if not status:  # None, or 0 if it finished at the same moment
                tally.over += 1
                self._compare(tally, same)
                shutil.rmtree(self.spoiled / product)
                continue
            tally.kills[how.name] += 1
            if status not in {signal.SIGKILL: (-9,), signal.SIGTERM: (-15, 143)}[how]:
                tally.wrong.append(f"status {status} after {how.name}")
        finish(make(self.spoiled))
        self._compare(tally, same)

    @staticmethod
    def _compare(tally: Tally, same: Callable[[], None]) -> None:
        tally.compared += 1
        same()

    def check(self, name: str, what: str, held: bool) -> None:
        """Store a check that failed."""
        if not held:
            self.tallies[name].wrong.append(what)

    def both(self, what: Callable[[Path], object], *parts: str) -> bool:
        """Return whether a property of both folders is equal."""
        return what(self.quiet.joinpath(*parts)) == what(self.spoiled.joinpath(*parts))

    def curating(self) -> None:
        """Disturb `curate`."""
        self.survive("curate", lambda at: curate(self.raw, at / "curated"), self._same_curated, "curated")

    def _same_curated(self) -> None:
        but = ("manifest.json",)  # contains the command line and so the folder's name
        self.check("curate", "every image, record and drop", self.both(lambda f: digest(f, *but), "curated"))
        manifests = [(f / "curated" / "manifest.json").read_text(encoding="utf-8") for f in (self.quiet, self.spoiled)]
        self.check("curate", "manifest", manifests[0] == manifests[1].replace(str(self.spoiled), str(self.quiet)))

    def validating(self) -> None:
        """Disturb a zero-shot `validate`."""
        curated = self.quiet / "curated"
        self.survive("validate", lambda at: validate(curated, at / "untuned"), self._same_replies, "untuned")

    def _same_replies(self) -> None:
        self.check("validate", "every score", self.both(figures, "untuned"))
        self.check("validate", "a record was asked twice", asked_twice(self.spoiled / "untuned") == 0)
        self.check("validate", "a reply for each record", self.both(lambda run: len(lines(run)), "untuned"))

    def fitting(self) -> None:
        """Disturb a `fit` of a model that writes."""
        self.survive("fit", lambda at: fit(self.quiet / "curated", at / "fit"), self._same_training, "fit")

    def _same_training(self) -> None:
        went = back(self.spoiled / "fit")
        self.tallies["fit"].went += went
        self.check("fit", "every trained tensor, to the bit", self.both(tensors, "fit"))
        self.check("fit", f"at most {EVERY} steps back (went {went})", all(0 <= steps <= EVERY for steps in went))
        self.check("fit", "a record was asked twice", self.both(asked_twice, "fit"))
        self.check("fit", "every score", self.both(figures, "fit"))

    def fitting_seeds(self) -> None:
        """Disturb a `fit` of several seeds; complete ones stay as they are."""
        self.survive(
            "fit --seeds", lambda at: fit_seeds(self.quiet / "curated", at / "series"), self._same_seeds, "series"
        )

    def _same_seeds(self) -> None:
        for seed in range(SEEDS):
            same = self.both(tensors, "series", f"seed_{seed}")
            self.check("fit --seeds", f"every trained tensor of seed {seed}, to the bit", same)
            self.check("fit --seeds", f"every score of seed {seed}", self.both(figures, "series", f"seed_{seed}"))

    def merging(self) -> None:
        """Disturb `weights merge`, which writes its result atomically and can be run again until it has finished."""

        def make(at: Path) -> list[str]:
            if at == self.spoiled and (at / "merged").exists():  # killed between its last write and its exit
                same()
                shutil.rmtree(at / "merged")
            return lmod(
                "weights", "merge", "--ckpt", self.quiet / "fit" / "checkpoints" / "last.ckpt", "--out", at / "merged"
            )

        def same() -> None:
            self.check("merge", "the same files", self.both(digest, "merged"))

        self.survive("merge", make, same, "merged")

    def rescoring(self) -> None:
        """Disturb `rescore` of the replies of the undisturbed `validate`."""

        def same() -> None:
            self.check("rescore", "every score", self.both(figures, "again"))
            self.check(
                "rescore", "every prediction", self.both(lambda f: digest_of(f / "predictions.parquet"), "again")
            )

        def make(at: Path) -> list[str]:
            if not (at / "again").exists():
                shutil.copytree(self.quiet / "untuned", at / "again")  # with the same seconds per reply
            return lmod("rescore", at / "again")

        self.survive("rescore", make, same, "again")

    def reporting(self) -> None:
        """Disturb `report`."""

        def same() -> None:
            names = [sorted(p.name for p in (f / "report").rglob("*")) for f in (self.quiet, self.spoiled)]
            self.check("report", "the same files", names[0] == names[1])
            self.check("report", "the same tables", self.both(lambda f: digest(f, "report.html"), "report"))

        untuned = self.quiet / "untuned"
        self.survive("report", lambda at: lmod("report", untuned, "--out", at / "report"), same, "report")

    def everything(self) -> bool:
        """Disturb all commands, print the results, and return whether all checks passed."""
        for part in (
            self.curating, self.validating, self.rescoring, self.reporting, self.fitting, self.fitting_seeds,
            self.merging,
        ):  # fmt: skip
            part()
            name, tally = list(self.tallies.items())[-1]
            verdict = "nothing lost, nothing twice" if not tally.wrong else f"WRONG: {'; '.join(tally.wrong)}"
            ends = ", ".join(f"{how} {n}" for how, n in tally.kills.items())
            went = f", went back {tally.went} steps" if tally.went else ""
            print(
                f"{self.work} {name}: {ends} ({tally.over} too late), {tally.compared} times compared{went}, "
                f"{tally.seconds:.1f} s undisturbed: {verdict}",
                flush=True,
            )
        return not any(tally.wrong for tally in self.tallies.values())


def digest_of(file: Path) -> str:
    """Return the hash of one file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def curate(raw: Path, out: Path) -> list[str]:
    """Return a command that curates."""
    return lmod("curate", "--raw", raw, "--out", out, "--config", CONFIGS / "curate" / "quickstart.yaml")


def validate(curated: Path, run: Path) -> list[str]:
    """Return a command that evaluates an untuned model."""
    options = ("--data.curated", curated, "--data.eval_batch_size", 4, "--data.split", "all")
    return lmod("validate", "--config", CONFIGS / "zero_shot.yaml", *options, "--run", run)


def fit(curated: Path, run: Path) -> list[str]:
    """Return a command that tunes."""
    options = ("--data.batch_size", 2, "--checkpoint.every_n_train_steps", EVERY, "--trainer.callbacks+=kills.Steps")
    short = ("--trainer.max_epochs", 1, "--trainer.check_val_every_n_epoch", 1)
    shared = ("--config", CONFIGS / "quickstart.yaml", "--data.curated", curated)
    return lmod("fit", *shared, *options, *short, "--run", run)


def fit_seeds(curated: Path, run: Path) -> list[str]:
    """Return a command that trains the CNN once for each of several seeds."""
    short = ("--trainer.max_epochs", 4, "--trainer.check_val_every_n_epoch", 4, "--data.batch_size", 4)
    often = ("--checkpoint.every_n_train_steps", EVERY, "--seeds", SEEDS)
    return lmod(
        "fit", "--config", CONFIGS / "cnn_glaucoma.yaml", "--data.curated", curated, *short, *often, "--run", run
    )


def full(trial: Trial, mounted: Path, shares: Sequence[float]) -> bool:
    """Fill the disk so that a command has only a share of what it needs, then free it and run the command again."""
    mounted.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "none", str(mounted)], check=True)
    places: list[tuple[str, Callable[[Path], list[str]], Path, Callable[[Path, Path], bool]]] = [
        ("curate", lambda at: curate(trial.raw, at), trial.quiet / "curated", same_curated),
        ("validate", lambda at: validate(trial.quiet / "curated", at), trial.quiet / "untuned", same_scores),
        ("fit", lambda at: fit(trial.quiet / "curated", at), trial.quiet / "fit", same_weights),
    ]
    held = True
    try:
        for name, make, model, same in places:
            need = sum(f.stat().st_size for f in model.rglob("*") if f.is_file())
            for share in shares:
                held &= _on_a_full_disk(mounted, name, make, (model, need, share), same)
    finally:
        subprocess.run(["umount", str(mounted)], check=True)
    return held


def _on_a_full_disk(
    mounted: Path,
    name: str,
    make: Callable[[Path], list[str]],
    about: tuple[Path, int, float],
    same: Callable[[Path, Path], bool],
) -> bool:
    model, need, share = about
    at, filler = mounted / name, mounted / "filler"
    shutil.rmtree(at, ignore_errors=True)
    free = shutil.disk_usage(mounted).free
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, free - int(need * share)))
    first, words = run(make(at))
    filler.unlink()
    second, then = run(make(at))
    held = first == 2 and second == 0 and same(model, at)
    verdict = "the same in the end" if held else f"WRONG: then {second} {then[-300:]}"
    print(
        f"full disk, {share:.0%} of what {name} needs: status {first} {words.strip().splitlines()[-2:]}, {verdict}",
        flush=True,
    )
    return held


def same_curated(first: Path, second: Path) -> bool:
    """Return whether two curated folders are equal, except for the command in the manifest."""
    return digest(first, "manifest.json") == digest(second, "manifest.json")


def same_scores(first: Path, second: Path) -> bool:
    """Return whether two runs have equal scores and no record was asked twice."""
    return figures(first) == figures(second) and not asked_twice(second)


def same_weights(first: Path, second: Path) -> bool:
    """Return whether two runs have equal trained tensors."""
    return tensors(first) == tensors(second)


def main() -> None:
    """Disturb every command in every folder; exit with 1 if anything was lost or differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, nargs="+", required=True, help="folders of their own; emptied first")
    parser.add_argument("--n", type=int, default=48, help="phantoms a source")
    parser.add_argument("--kills", type=int, default=5, help="for each command in each folder")
    parser.add_argument("--signals", nargs="+", default=["SIGKILL", "SIGKILL", "SIGTERM"], help="taken in turn")
    parser.add_argument("--full", type=float, nargs="*", default=[], help="shares of the disk space a command needs")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    rng, held, raw = random.Random(a.seed), True, a.work[0].resolve().with_name("kills-raw")
    load()
    quiet(lmod("phantom", "--out", raw, "--n", a.n, "--seed", a.seed))
    for work in a.work:
        trial = Trial(work.resolve(), raw, rng, a.kills, a.signals)
        held &= trial.everything()
    if a.full:
        held &= full(trial, a.work[0].resolve().with_name("kills-full"), a.full)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
