"""Figures of the grounding audit: coverage of its intervals, wrong verdicts, and planted models on phantoms.

    python scripts/benchmarks/grounding.py simulate [--runs 1000]
    python scripts/benchmarks/grounding.py planted --out DIR [--n 200] [--seed 5]

`simulate` draws answers of known probabilities: how often the 95 % intervals of changes and grounded shares hold the
truth, and how often a verdict is wrong. `planted` draws phantoms, curates them, and answers with models whose looking
is known: by the words alone, the border of the image, the disc (of all eyes, of half of them), and at random.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.curated import Curated
from lmod_train.core.types import Prediction, Record, Reply
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.refuge import Refuge
from lmod_train.extensions.looking.scores import AGAIN, AS_IS, ELSEWHERE, EVIDENCE, OTHER, REDRAWN, findings, judged
from lmod_train.extensions.looking.task import Grounding
from lmod_train.phantom.eye import Eye
from lmod_train.phantom.folders import refuge
from lmod_train.scoring.items import Item, items_of
from lmod_train.tasks.glaucoma import Glaucoma

FILL = "biharmonic"
GONE, LIKE = f"{EVIDENCE}.{FILL}", f"{ELSEWHERE}.{FILL}"
Changes = dict[str, float]


def drawn(rng: np.random.Generator, n: int, chances: Changes, right: float = 0.8, pairs: float = 0.3) -> list[Item]:
    """Return the items of `n` questions of one true answer, each variant changed with its own chance.

    Args:
        rng: Generator.
        n: Number of images.
        chances: What is shown -> chance that the answer changes.
        right: Chance that the answer to the image as it is is right.
        pairs: Share of the images that are the second eye of a patient, which changes as the first does in half.
    """
    shown = list(chances)
    changed = rng.random((n, len(shown))) < np.array([chances[name] for name in shown])
    second = np.arange(1, n, 2)[rng.random(n // 2) < 2 * pairs]
    alike = second[rng.random(len(second)) < 0.5]
    for at in alike:  # a patient's two eyes are alike; chances stay as they are
        changed[at] = changed[at - 1]
    patient = np.arange(n)
    patient[second] = patient[second - 1]
    truths = np.where(rng.random(n) < right, "yes", "no")
    items = []
    for at in range(n):
        for place, name in ((-1, AS_IS), *enumerate(shown)):
            flip = place >= 0 and changed[at, place]
            answer = str(truths[at]) if not flip else {"yes": "no", "no": "yes"}[str(truths[at])]
            key = f"t/s/{at:04d}/{name}"
            items.append(Item(key, "answered", answer, "yes", ("yes", "no"), group=f"p{patient[at]}", variant=name))
    return items


def covered(effect: object, truth: float) -> bool:
    """Return whether an interval holds the truth; one without ends holds nothing."""
    low, high = getattr(effect, "low", None), getattr(effect, "high", None)
    return low is not None and high is not None and low - 1e-12 <= truth <= high + 1e-12


def coverage(runs: int, n: int, seed: int) -> Iterator[str]:
    """Yield a row for each setting: coverage of changes, specific effect and grounded share."""
    rng = np.random.default_rng(seed)
    yield "| n | floor | evidence | elsewhere | other | change | specific | grounded |"
    grid = itertools.product((0.0, 0.05, 0.2), ((0.02, 0.02), (0.3, 0.1), (0.9, 0.05), (0.98, 0.3)), (0.05, 0.5, 0.95))
    for floor, (gone, like), other in grid:
        held: Counter[str] = Counter()
        for _ in range(runs):
            chances = {AGAIN: floor, GONE: gone, LIKE: like, OTHER: other}
            (found,) = findings("t", drawn(rng, n, chances))
            held["change"] += covered(found.changes[OTHER], other - floor)
            held["specific"] += covered(found.specific[FILL], gone - like)
            held["grounded"] += covered(found.grounded[FILL], gone * (1 - like))
        shares = " | ".join(f"{held[name] / runs:.3f}" for name in ("change", "specific", "grounded"))
        yield f"| {n} | {floor} | {gone} | {like} | {other} | {shares} |"


def false_verdicts(runs: int, n: int, seed: int) -> Iterator[str]:
    """Yield how often a verdict is given that is wrong, at the edge where it is most often wrong."""
    rng = np.random.default_rng(seed)
    yield "| wrong verdict | floor | chances | rate |"
    for floor in (0.0, 0.02, 0.1):
        for gone in (0.0, 0.3):
            chances = {AGAIN: floor, GONE: max(gone, floor), LIKE: max(gone, floor), OTHER: floor + 0.05}
            yield _rate("does not look", chances, runs, n, rng)
    for floor, both in itertools.product((0.0, 0.1), (0.02, 0.1, 0.5)):
        chances = {AGAIN: floor, GONE: both, LIKE: both, OTHER: 0.9}
        yield _rate("looks at the evidence", chances, runs, n, rng)
    for both in (0.0, 0.05, 0.3):
        chances = {AGAIN: 0.0, GONE: both + 0.05, LIKE: both, OTHER: 0.9}
        yield _rate("looks, not at the evidence", chances, runs, n, rng)


def _rate(verdict: str, chances: Changes, runs: int, n: int, rng: np.random.Generator) -> str:
    given = sum(judged(findings("t", drawn(rng, n, chances)))[0].verdict == verdict for _ in range(runs))
    told = ", ".join(f"{name.partition('_')[0]} {chance:.2f}" for name, chance in chances.items() if name != AGAIN)
    return f"| {verdict} | {chances[AGAIN]} | {told} | {given / runs:.3f} |"


Model = Callable[[Record, Image.Image, Eye], str]


def planted(out: Path, n: int, seed: int) -> Iterator[str]:
    """Yield the verdicts on models whose looking is known, beside the change under the counterfactual."""
    curated, task = curated_phantoms(out, n, seed), Grounding(Glaucoma())
    eyes = {f"{key}": eye for key, eye in refuge.truth(n, seed)}
    records = read_records(curated / "records")
    yield "| model | true answer | n | verdict | counterfactual | specific | grounded |"
    for name, model in models(curated, records, eyes).items():
        for one in judged(findings(task.name, answered(task, curated, records, eyes, model))):
            found = one.finding
            told = (found.changes[REDRAWN], found.specific[FILL], found.grounded[FILL])
            ends = " | ".join(f"{e.value:+.3f} ({e.low:+.3f} to {e.high:+.3f})" for e in told if e.value is not None)
            yield f"| {name} | {found.truth} | {found.n} | {one.verdict} {one.why} | {ends} |"


def curated_phantoms(out: Path, n: int, seed: int) -> Path:
    """Return a folder curated from phantoms with counterfactuals; the same folder again is not made again."""
    refuge.write(out / "raw", n, seed)
    refuge.write_counterfactuals(out / "raw", n, seed)
    source = Refuge(out / "raw" / "REFUGE")
    curate([source], [Grounding(Glaucoma())], out / "look", ratios=(0, 0, 1), balance=[], progress=False)
    return out / "look"


def models(curated: Path, records: Sequence[Record], eyes: dict[str, Eye]) -> dict[str, Model]:
    """Return models by what they look at; the disc's is fitted on the images as they are."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    own, images = [r for r in records if r.variant == AS_IS], Curated(curated)
    shown = [disc(images.rgb(r.image[0]), eyes[r.key]) for r in own]
    seen = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=3000)).fit(
        shown, [r.answer for r in own]
    )
    middle = float(np.median([border(images.rgb(r.image[0])) for r in own]))
    words = ("GLAUCOMA", "NON-GLAUCOMA")

    def by_disc(record: Record, image: Image.Image, eye: Eye) -> str:
        return str(seen.predict([disc(image, eye)])[0])

    return {
        "words alone": lambda record, image, eye: words[0],
        "border": lambda record, image, eye: words[border(image) > middle],
        "disc": by_disc,
        "disc in half": lambda record, image, eye: by_disc(record, image, eye) if _drawn(record.key) else words[0],
        "at random": lambda record, image, eye: words[_drawn(record.id)],
    }


def _drawn(text: str) -> int:
    """Return 0 or 1, drawn by a text."""
    return hashlib.sha256(text.encode()).digest()[0] % 2


def disc(image: Image.Image, eye: Eye) -> NDArray[np.float64]:
    """Return the brightness of the disc relative to its surroundings, 16 x 16 pixels: its place is known."""
    (x, y), (wide, high) = eye.disc, eye.disc_radii
    box = [round(side * image.width) for side in (x - wide, y - high, x + wide, y + high)]
    grey = image.convert("L")
    inside = np.asarray(grey.crop((box[0], box[1], box[2], box[3])).resize((16, 16)), dtype=np.float64)
    relative: NDArray[np.float64] = inside - np.asarray(grey, dtype=np.float64).max() / 2
    return relative.ravel()


def border(image: Image.Image) -> float:
    """Return the mean red of the outermost part of the field."""
    rows, columns = np.indices((image.height, image.width))
    away = np.hypot(rows / image.height - 0.5, columns / image.width - 0.5)
    return float(np.asarray(image)[(away > 0.42) & (away < 0.45)][:, 0].mean())


def answered(
    task: Grounding, curated: Path, records: Sequence[Record], eyes: dict[str, Eye], model: Model
) -> list[Item]:
    """Return the items of a model's replies."""
    images, predictions = Curated(curated), []
    for record in records:
        name = record.image[0]
        key = name.removeprefix("images/refuge/").removesuffix(".jpg").partition(".")[0]
        reply = Reply(record.id, model(record, images.rgb(name), eyes.get(key, eyes[record.key])))
        predictions.append(Prediction(record, reply, task.parse(reply, record)))
    return items_of(predictions, task.truth)


def main() -> None:
    """Print the figures of one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("simulate", "planted"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("grounding"))
    args, started = parser.parse_args(), time.monotonic()
    if args.part == "simulate":
        for part in (coverage(args.runs, args.n // 2, args.seed), false_verdicts(args.runs, args.n // 2, args.seed)):
            print("\n".join(part))
    else:
        print("\n".join(planted(args.out, args.n, args.seed)))
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
