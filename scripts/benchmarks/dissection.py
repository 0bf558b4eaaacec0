"""Faults planted in a tuned small base, and what `dissect` finds: right, undecided, or wrong.

    python scripts/benchmarks/dissection.py --fits FIT_1 FIT_2 FIT_3 --curated CUR_1 CUR_2 CUR_3 --work build/dissection
    python scripts/benchmarks/dissection.py --fits FIT --curated CUR --work W --null 400 --kinds    false findings

Each fit is a run of `fit --config quickstart` on phantoms of its own seed. Every kind of fault is planted at three
strengths in the loaded network, never in files. The exchanges of the next fit's healthy model are the reference, by
which a prior is told from an image that is not used. A plant counts if it lowers its own place by 10 points or more
against the healthy model. Both names of a loss that is left open, and one behind an earlier loss, are undecided.
``--null`` resamples patients of the healthy models' cached readings, and counts how often a loss is
named. Finished cells are not computed again.

    python scripts/benchmarks/dissection.py --cost small_base --curated CUR --work W    time and size an image
    python scripts/benchmarks/dissection.py --coverage 1000                             intervals of the steps
    python scripts/benchmarks/dissection.py --probes 4000 45056                         probes of as many images, values
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from dissection_faults import KINDS, Planted

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lmod_train.data.datamodules.folder_tasks import rebuilt_tasks  # noqa: E402
from lmod_train.data.datamodules.records import RecordsDataModule  # noqa: E402
from lmod_train.extensions.dissection.callback import Dissection  # noqa: E402
from lmod_train.extensions.dissection.command import reference_of  # noqa: E402
from lmod_train.extensions.dissection.linear_reading import read_places  # noqa: E402
from lmod_train.extensions.dissection.scores import (  # noqa: E402
    ACTS_LIKE,
    BEST,
    CEILING,
    CORRECTED,
    LAST,
    LIKELIHOOD,
    PROJECTOR,
    READ,
    REPLY,
    TOWER,
    Finding,
    mean_recall,
    named,
    steps,
)
from lmod_train.extensions.dissection.sections import dissected_runs  # noqa: E402
from lmod_train.extensions.dissection.state_files import Dissected  # noqa: E402
from lmod_train.report.results import read_results  # noqa: E402
from lmod_train.scoring.linear_probe import STRENGTHS, DividedRecords, divided, probe  # noqa: E402
from lmod_train.tasks.building import build  # noqa: E402
from lmod_train.training.evaluation import evaluate  # noqa: E402

TASK = "four_way"
ENOUGH = 0.10
"""Fall of its own place, from which a plant counts."""

HEALTHY = "healthy"


def dissected(fit: Path, curated: Path, out: Path, kind: str, strength: float, pairs: int) -> Path:
    """Return the run folder of a planted model, computed if it is missing."""
    done = out / "dissection" / "answers.parquet"
    if done.exists():
        return out
    task = rebuilt_tasks(curated, [TASK])[TASK]
    data = RecordsDataModule(curated, [build(*task)], eval_batch_size=64, split="held_out")
    module = Planted("small_base", max_new_tokens=64, **_options(fit))
    data.setup("validate")
    module.data = data
    module.configure_model()
    weights = torch.load(fit / "checkpoints" / "last.ckpt", map_location="cpu", weights_only=False)["state_dict"]
    missing = module.load_state_dict(weights, strict=False)
    assert not missing.unexpected_keys, missing.unexpected_keys
    if kind != HEALTHY:
        KINDS[kind].plant(module.network, module, strength)
    module.eval()
    quiet: dict[str, Any] = {
        "accelerator": "cpu",
        "devices": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    evaluate(module, data, out, callbacks=[Dissection(pairs=pairs)], **quiet)
    (items,) = read_results([out]).items.values()
    well = out.parent / HEALTHY
    read_places(out, items[TASK], None if kind == HEALTHY else {CEILING: _ceiling(well)}, permutations=0)
    return out


def _ceiling(healthy: Path) -> dict[str, str]:
    """Return record id -> what the probe of the healthy tower reads, the ceiling of a planted model."""
    rows = pd.read_parquet(healthy / "dissection" / "answers.parquet")
    choices = json.loads((healthy / "dissection" / "places.json").read_text(encoding="utf-8"))["choices"]
    own = rows[rows["place"] == TOWER]
    return {record: choices[read] for record, read in zip(own["id"], own["read"], strict=True)}


def _options(fit: Path) -> dict[str, Any]:
    import yaml

    from lmod_train.models.chat.adapters import Lora

    stored = yaml.safe_load((fit / "config.yaml").read_text(encoding="utf-8"))["model"]["init_args"]
    return {"lora": Lora(**stored["lora"])} if stored.get("lora") else {"lora": None}


def found(out: Path, reference: Path | None = None) -> tuple[Finding, dict[str, float]]:
    """Return the finding of a run against the exchanges of a reference, and place -> balanced accuracy."""
    if reference is not None:
        Dissected(out).keep(Dissected(out).reference, reference_of(reference, TASK))
    (own,) = dissected_runs(read_results([out]))
    return own.finding, {place: score.value or 0.0 for place, score in own.scores.items()}


def table_of(out: Path) -> tuple[np.ndarray, list[str], dict[str, np.ndarray]]:
    """Return truths, patients and the classes read at each place, by record id."""
    rows = pd.read_parquet(out / "dissection" / "answers.parquet").sort_values("id", kind="stable")
    places = {str(p): own["read"].to_numpy(np.intp) for p, own in rows.groupby("place", sort=False)}
    one = rows[rows["place"] == TOWER]
    return one["truth"].to_numpy(np.intp), one["group"].tolist(), places


def cells(
    fits: Sequence[Path], folders: Sequence[Path], work: Path, pairs: int, kinds: Sequence[str], levels: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield a row a kind, strength and fit. The reference is the healthy model of the next fit, its own without one."""
    healthy_runs = [
        dissected(fit, curated, work / fit.name / HEALTHY, HEALTHY, 0, pairs)
        for fit, curated in zip(fits, folders, strict=True)
    ]
    for i, (fit, curated) in enumerate(zip(fits, folders, strict=True)):
        own_work, well, reference = work / fit.name, healthy_runs[i], healthy_runs[(i + 1) % len(fits)]
        _, healthy = found(well)
        for kind, level in [(kind, level) for kind in kinds for level in levels]:
            began, own = time.perf_counter(), KINDS[kind]
            strength = own.strengths[LEVELS.index(level)]
            out = dissected(fit, curated, own_work / f"{kind.replace(' ', '_')}_{level}", kind, strength, pairs)
            finding, scores = found(out, reference if pairs else None)
            fall = healthy[own.place] - scores[own.place]
            name = finding.loss.name if finding.loss else ""
            hedged = not name or name == ACTS_LIKE or finding.behind is not None
            verdict = "right" if name in own.truth else "undecided" if hedged else "wrong"
            yield {
                "fit": i,
                "kind": kind,
                "level": level,
                "fall": round(fall, 3),
                "found": name,
                "result": verdict if fall >= ENOUGH else "not planted",
                "reason": finding.reason,
                "scores": {place: round(scores[place], 2) for place in SHOWN},
                "seconds": round(time.perf_counter() - began),
            }


LEVELS = ("weak", "middle", "strong")
SHOWN = (TOWER, PROJECTOR, BEST, LAST, READ, CORRECTED, LIKELIHOOD, REPLY)


def null(healthy: Sequence[Path], draws: int) -> None:
    """Print how often a loss is named in resamples of the patients of healthy models."""
    noise = np.random.default_rng(0)
    named_in = total = 0
    for run in healthy:
        before = named_in
        truth, groups, read = table_of(run)
        names, place = np.unique(groups, return_inverse=True)
        members = [np.flatnonzero(place == j) for j in range(len(names))]
        for _ in range(draws):
            drawn = noise.integers(0, len(members), len(members))
            rows = np.concatenate([members[j] for j in drawn])
            own = [f"{k}" for k, j in enumerate(drawn) for _ in members[j]]
            finding = named(steps(truth[rows], {p: r[rows] for p, r in read.items()}, own, 4))
            named_in, total = named_in + (finding.loss is not None), total + 1
        print(f"{run}: {named_in - before} of {draws}", flush=True)
    print(f"a loss is named in {named_in} of {total} resamples of healthy models ({named_in / total:.1%}; at most 2 %)")


def coverage(simulations: int) -> None:
    """Print how often the interval of a step holds its true change, and how often a change is found where none is.

    Records are right before a step with a probability, and change with others; two records of a patient agree in half
    of their changes.
    """
    print("records  classes  per patient  right before  gained  lost  coverage (at least 93 %)  0 outside")
    noise = np.random.default_rng(0)
    for n, classes, each, right, gain, loss in CELLS_OF_COVERAGE:
        held = rejected = 0
        for _ in range(simulations):
            truth = noise.integers(0, classes, n // each).repeat(each)
            before = noise.random(n) < right
            shared, draws = noise.random(n // each).repeat(each), noise.random(n)
            draws = np.where(noise.random(n) < 0.5, shared, draws) if each > 1 else draws
            after = before ^ (draws < np.where(before, loss, gain))
            read = {p: np.where(own, truth, (truth + 1) % classes) for p, own in ((TOWER, before), (PROJECTOR, after))}
            _, step = steps(truth, read, [f"{i // each}" for i in range(n)], classes)
            change = (1 - right) * gain - right * loss
            held += step.low is not None and step.low - 1e-9 <= change <= (step.high or 0.0) + 1e-9
            rejected += step.low is not None and not step.low <= 0 <= (step.high or 0.0)
        cell = "  ".join(f"{value:g}" for value in (n, classes, each, right, gain, loss))
        print(f"{cell}  {held / simulations:.3f}  {rejected / simulations:.3f}")


CELLS_OF_COVERAGE = (
    (60, 2, 1, 0.8, 0.2, 0.05),
    (60, 2, 1, 0.8, 0.1, 0.3),
    (200, 2, 1, 0.8, 0.2, 0.05),
    (200, 2, 2, 0.8, 0.2, 0.05),
    (200, 4, 1, 0.9, 0.0, 0.0),
    (200, 4, 1, 0.95, 0.0, 0.1),
    (200, 4, 2, 0.9, 0.27, 0.03),
    (400, 4, 2, 0.9, 0.1, 0.1),
)
"""Records, classes, records a patient, probability of a right one in front of the step, and of each change."""


def cost(checkpoint: str, curated: Path, work: Path, device: str, dtype: str, count: int) -> None:
    """Print the time of reading and storing states beside one forward pass with likelihoods, image by image in turn."""
    from lmod_train.core.cache import Cache
    from lmod_train.extensions.dissection.callback import shortcuts_of
    from lmod_train.extensions.dissection.states import alone, joined, states_of
    from lmod_train.models.chat.chat_batch import ChatBatch
    from lmod_train.models.chat.checkpoint import find_any, load
    from lmod_train.models.chat.decoding import choice_likelihoods
    from lmod_train.models.chat.dialect import Dialect
    from lmod_train.models.chat.encoding import encode

    folder = find_any(checkpoint, None)
    network: Any = load(folder, getattr(torch, dtype), None).eval().to(device)
    dialect = Dialect(folder)
    data = RecordsDataModule(curated, [build(*rebuilt_tasks(curated, [TASK])[TASK])], split="all")
    data.setup("validate")
    records = data.records("all")[: count + 3]
    cache = Cache(work / "cost", "--work", str(work), "name another folder")
    spent = {"forward": 0.0, "dissected": 0.0}
    gpu = device.startswith("cuda")
    for i, record in enumerate(records):
        one = alone(ChatBatch.of(dialect([record], data.images).to(device)), 0)
        for way in spent:
            began = time.perf_counter()
            if way == "forward":
                choice_likelihoods(network, dialect, one, encode(network, one.images), "sum")
            else:
                cache.keep(f"{i}", joined(shortcuts_of(record, data.images) | states_of(network, dialect, one)))
            if gpu:
                torch.cuda.synchronize()
            spent[way] += (time.perf_counter() - began) if i >= 3 else 0.0
    size = (work / "cost" / f"{count}.npy").stat().st_size / 2**20
    peak = f"; peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if gpu else ""
    ratio = spent["dissected"] / spent["forward"]
    each = ", ".join(f"{way} {1000 * s / count:.1f} ms" for way, s in spent.items())
    print(f"{checkpoint}: {each} an image of {count}: {ratio:.2f} times (at most 1.3); {size:.2f} MiB an image{peak}")


def probes(n: int, width: int, places: int) -> None:
    """Print the processor time of a probe beside scikit-learn's own pipeline, and how their balanced accuracies differ.

    Features are correlated, with a spectrum that falls as a power; two records are of a patient.
    """
    noise = np.random.default_rng(0)
    patient = np.arange(n) // 2
    truth = noise.choice(4, patient[-1] + 1, p=[0.55, 0.25, 0.13, 0.07])[patient]
    own = divided(truth, [f"{p}" for p in patient])
    for signal in (1.0, 0.3, 0.0):
        features = drawn(noise, truth, patient, width, signal)
        began = time.process_time()
        score = mean_recall(truth, probe(features, own, 4).probabilities.argmax(1))
        fitted, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        seconds = fitted - began
        print(
            f"{n} records, {width} values, signal {signal}: {seconds:.1f} s a probe, "
            f"{places * seconds / 60:.1f} min for {places} (at most 60), peak memory {peak:.1f} GiB",
            flush=True,
        )
        plain = mean_recall(truth, pipeline(features, own))
        print(
            f"  scikit-learn's pipeline {time.process_time() - fitted:.1f} s; balanced accuracy {plain:.4f}, "
            f"difference {abs(score - plain):.4f} (at most 0.01)",
            flush=True,
        )


def pipeline(features: np.ndarray, own: DividedRecords) -> np.ndarray:
    """Return the classes that scikit-learn's pipeline reads, its strength chosen as the probe's is."""
    from sklearn.decomposition import KernelPCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    read, root = np.zeros_like(own.truth), np.sqrt(features.shape[1])
    for (fit, rest), inner in zip(own.folds, own.inner, strict=True):
        reducing = make_pipeline(StandardScaler(), KernelPCA(eigen_solver="dense", remove_zero_eig=True))
        x, y = reducing.fit_transform(features[fit].astype(float)) / root, own.truth[fit]
        models = [LogisticRegression(C=c, class_weight="balanced", max_iter=50_000, tol=1e-8) for c in STRENGTHS]
        losses = []
        for model in models:
            each = []
            for a, b in inner:
                log = model.fit(x[a], y[a]).predict_log_proba(x[b])[np.arange(len(b)), y[b]]
                each.append(-np.mean([log[y[b] == k].mean() for k in np.unique(y[b])]))
            losses.append(np.mean(each))
        best = models[int(np.argmin(losses))].fit(x, y)
        read[rest] = best.predict(reducing.transform(features[rest].astype(float)) / root)
    return read


def drawn(
    noise: np.random.Generator, truth: np.ndarray, patient: np.ndarray, width: int, signal: float
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return correlated features of 200 hidden values, some of which know the class, some the patient."""
    hidden = noise.normal(size=(len(truth), 200)) + 0.7 * noise.normal(size=(patient[-1] + 1, 200))[patient]
    hidden[:, 5:60] += 0.25 * signal * noise.normal(size=(4, 55))[truth]
    hidden *= np.arange(1, 201) ** -0.6
    features: np.ndarray[Any, np.dtype[np.float32]] = hidden.astype(np.float32) @ noise.normal(
        size=(200, width)
    ).astype(np.float32)
    np.tanh(features, out=features)
    features *= noise.lognormal(size=width).astype(np.float32)
    for column in range(0, width, 4096):
        own = features[:, column : column + 4096]
        own += 0.5 * noise.normal(size=own.shape) + 3 * noise.normal(size=own.shape[1])
    return features


def main() -> None:
    """Plant, dissect and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--fits", type=Path, nargs="+", default=[])
    parser.add_argument("--curated", type=Path, nargs="+", default=[])
    parser.add_argument("--work", type=Path, default=Path("build/dissection"))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--levels", nargs="*", default=list(LEVELS))
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--null", type=int, default=0)
    parser.add_argument("--coverage", type=int, default=0, help="Simulations of each cell, instead.")
    parser.add_argument("--probes", type=int, nargs=2, default=(), help="Images and values an image, instead.")
    parser.add_argument("--places", type=int, default=30, help="Number of places of --probes.")
    parser.add_argument("--cost", default="", help="Checkpoint whose states are timed instead.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--images", type=int, default=100)
    given = parser.parse_args()
    if given.coverage:
        coverage(given.coverage)
        return
    if given.probes:
        probes(given.probes[0], given.probes[1], given.places)
        return
    if given.cost:
        cost(given.cost, given.curated[0], given.work, given.device, given.dtype, given.images)
        return
    rows = []
    for row in cells(given.fits, given.curated, given.work, given.pairs, given.kinds, given.levels):
        print(json.dumps(row), flush=True)
        rows.append(row)
    if rows:
        tell(pd.DataFrame(rows))
    if given.null:
        null([given.work / fit.name / HEALTHY for fit in given.fits], given.null)


def tell(table: pd.DataFrame) -> None:
    """Print the verdicts by kind and strength, and the two limits."""
    print(table.groupby(["kind", "level"], sort=False)["result"].value_counts().unstack(fill_value=0).to_string())
    strong = table[(table["level"] == "strong") & (table["result"] != "not planted")]
    right, wrong = (strong["result"] == "right").mean(), (table["result"] == "wrong").sum()
    print(
        f"strong: {right:.0%} right of {len(strong)} (at least 90 %); wrong, all levels: {wrong} of {len(table)} (none)"
    )


if __name__ == "__main__":
    main()
