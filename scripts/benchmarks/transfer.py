"""Transfer and forgetting: one model before and after it is tuned on LMOD+, asked the same held-out questions.

    python scripts/benchmarks/transfer.py --work build/transfer [--before MODEL] [--after MODEL] [--small]

Five sets of questions: phantoms of LMOD+, which the model is tuned on; phantoms of OphthalWeChat in Chinese and in
English; X-PCR's chains from phantoms, each question alone; general text without an image (`general_text.csv`, 60
questions that were written for this project, under its licence); and 60 requests to repeat an answer
(`repeated_text.csv`), which the small base was trained on, so that it can forget how. By default the model is the small
base as shipped, and tuned by the quick start's `fit`, whose held-out split is the first set.

A row is a set and a metric: accuracy (of regions F1), token F1 of open answers, and the log-likelihood per token of the
reference answer, which also shows a change where no answer is right. All differences are paired by question, after
minus before, with a 95 % interval over patients (of text, questions). p is the exact McNemar test by patient; of token
F1 and likelihoods the same test of which of the two is higher (a sign test). Holm is p adjusted for all rows.

Questions are asked by `test` into run folders: the same command again continues. `--small` draws few phantoms, to try
the script.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lmod_train.core.artifacts.records import read_run_records  # noqa: E402
from lmod_train.core.artifacts.run import Run  # noqa: E402
from lmod_train.core.files import sha256_of, write_durably  # noqa: E402
from lmod_train.models.chat.answer_loss import batch_loss  # noqa: E402
from lmod_train.models.chat.checkpoint import find, load  # noqa: E402
from lmod_train.models.chat.dialect import Dialect  # noqa: E402
from lmod_train.report.paired_runs import by_question, paired, pairs  # noqa: E402
from lmod_train.report.results import read_outcomes  # noqa: E402
from lmod_train.scoring.comparison import holm, paired_test  # noqa: E402
from lmod_train.scoring.item_score import item_score  # noqa: E402
from lmod_train.scoring.items import Item  # noqa: E402
from lmod_train.scoring.text import word_columns  # noqa: E402

TASKS = ROOT / "configs" / "task"
TEXTS = Path(__file__).parent
DONE = ".done"
LIKELIHOODS = "log_likelihoods.json"
NO_LIMIT = sys.maxsize
EXACT = "exact match"
TUNING = "LMOD+"


@dataclass(frozen=True)
class Asked:
    """A set of questions.

    Attributes:
        name: Name in the table.
        folder: Name of its folders.
        tasks: Configs of its tasks, in `configs/task`.
        curation: Config in `configs/curate`; empty for text without images.
        seed: Seed of its phantoms.
        sources: Phantoms to draw.
        eyes: Phantoms of each source.
        few: The same with `--small`.
        text: File of questions and answers without images, beside this script.
    """

    name: str
    folder: str
    tasks: tuple[str, ...]
    curation: str = ""
    seed: int = 0
    sources: str = ""
    eyes: int = 0
    few: int = 0
    text: str = ""


KINDS = ("binary_question", "single_choice_question_in_words", "open_question")
SETS = (
    Asked(TUNING, "lmod_plus", ("anatomy", "glaucoma", "four_way"), "quickstart", 0, "eye_diseases,refuge", 600, 24),
    Asked("OphthalWeChat", "ophthalwechat", KINDS, "ophthalwechat_phantoms", 6, "ophthalwechat", 24, 3),
    Asked("X-PCR", "chains", ("chain_in_words",), "xpcr_phantoms", 3, "oimhs,brset", 15, 2),
    Asked("general text", "general", ("conversation",), text="general_text.csv"),
    Asked("repeated text", "repeated", ("conversation",), text="repeated_text.csv"),
)
HELD_OUT = ("--ratios", "[0.0, 0.0, 1.0]")


@dataclass(frozen=True)
class Place:
    """Folders of this benchmark, and how much is asked.

    Attributes:
        work: Folder of everything.
        small: Whether to try the script only.
    """

    work: Path
    small: bool

    def curated(self, asked: Asked) -> Path:
        """Return the curated folder of a set."""
        return self.work / "curated" / asked.folder

    def run(self, when: str, asked: Asked) -> Path:
        """Return the run of a set ``before`` or ``after``."""
        return self.work / "runs" / when / asked.folder


@dataclass(frozen=True)
class Row:
    """A row of the table; `low`, `high` and `p` are None where there is none."""

    name: str
    metric: str
    n: int
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: float | None


def lmod(*options: object) -> None:
    """Run a command of lmod_train; its output goes to standard error, and an error ends this script."""
    words = [sys.executable, "-m", "lmod_train", *map(str, options)]
    subprocess.run(words, check=True, cwd=ROOT, env=os.environ | {"WANDB_MODE": "offline"}, stdout=sys.stderr)


def curate(place: Place, asked: Asked) -> None:
    """Draw and curate the phantoms of a set, all but those of LMOD+ for the test split."""
    raw, out = place.work / "raw" / asked.folder, place.curated(asked)
    named = ("--n", asked.few if place.small else asked.eyes, "--seed", asked.seed, "--sources", asked.sources)
    lmod("phantom", "--out", raw, *named)
    held_out = () if asked.name == TUNING else HELD_OUT
    lmod("curate", "--raw", raw, "--out", out, "--config", f"configs/curate/{asked.curation}.yaml", *held_out)


def import_text(place: Place, asked: Asked) -> None:
    """Write questions without images as a file of LLaVA's conversations, and import it."""
    folder = place.work / "raw" / asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    with write_durably(folder / "conversations.json") as part:
        items = [conversation(number, row) for number, row in enumerate(read_text(asked.text))]
        part.write_text(json.dumps(items), encoding="utf-8")
    licence = ("--licence", "Apache-2.0", "--redistributable", "true", "--name", asked.folder)
    lmod(
        "import", folder / "conversations.json", "--images", folder, "--out", place.curated(asked), *HELD_OUT, *licence
    )


def read_text(file: str) -> list[dict[str, str]]:
    """Return the rows of a file of questions: kind, question, answer."""
    with (TEXTS / file).open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def conversation(number: int, row: Mapping[str, str]) -> dict[str, object]:
    """Return a question and its answer as LLaVA's training file has them."""
    turns = [{"from": "human", "value": row["question"]}, {"from": "gpt", "value": row["answer"]}]
    return {"id": f"{row['kind']}-{number:02}", "conversations": turns}


def subset(place: Place) -> tuple[object, ...]:
    """Draw 120 held-out questions of LMOD+, stratified, and return the option that asks these."""
    curated, n = place.curated(SETS[0]), 12 if place.small else 120
    lmod("subset", curated, "--n", n, "--split", "test")
    return ("--data.subset", *(curated / "subsets").iterdir())


def tuned(place: Place) -> Path:
    """Tune the small base as the quick start does, unless it has been, and return the checkpoint."""
    run, few = place.work / "fit", ("--trainer.max_epochs", 1) if place.small else ()
    if not (run / DONE).exists():  # a finished `fit` that is started again writes its checkpoint again
        lmod("fit", "--config", "configs/quickstart.yaml", "--data.curated", place.curated(SETS[0]), *few, "--run", run)
        (run / DONE).touch()
    return run / "checkpoints" / "last.ckpt"


def whole(place: Place, model: Path) -> str:
    """Return a model as a folder in transformers layout, or its name in the package; merge a checkpoint of `fit`."""
    if not model.is_file():
        return str(find(str(model)))
    out = place.work / "models" / sha256_of(model)[:12]
    if not out.exists():
        lmod("weights", "merge", "--ckpt", model, "--out", out)
    return str(out)


def ask(place: Place, asked: Asked, when: str, model: str) -> None:
    """Ask a model the questions of a set, and compute the likelihoods of their reference answers."""
    tasks = ", ".join(str(TASKS / f"{task}.yaml") for task in asked.tasks)
    data = ("--data.curated", place.curated(asked), "--data.tasks", f"[{tasks}]", "--data.eval_batch_size", 32)
    backend = ("--model.init_args.backend.init_args.checkpoint", model)
    tokens = ("--model.init_args.backend.init_args.max_new_tokens", 80)
    few = subset(place) if asked.name == TUNING else ()
    run = place.run(when, asked)
    lmod("test", "--config", "configs/zero_shot.yaml", *backend, *tokens, *data, *few, "--run", run)
    if not (run / LIKELIHOODS).exists():
        found = likelihoods(Path(model), run, place.curated(asked))
        with write_durably(run / LIKELIHOODS) as part:
            part.write_text(json.dumps(found), encoding="utf-8")


@torch.no_grad()
def likelihoods(model: Path, run: Path, curated: Path) -> dict[str, float]:
    """Return record id -> mean log-likelihood in nats of the tokens of the reference answer and its end token."""
    dialect, network = Dialect(model), load(model).eval()
    pad = int(dialect.tokenizer.pad_token_id)
    records = tqdm(read_run_records(Run(run).records), disable=None)
    return {r.id: -float(batch_loss(network, dialect([r], curated), pad, NO_LIMIT, False)) for r in records}


def items_of(place: Place, asked: Asked, when: str) -> dict[str, list[Item]]:
    """Return the items of a run by the name of their row: of questions in two languages, each language has its own."""
    found: dict[str, list[Item]] = {}
    for task, items in read_outcomes(place.run(when, asked)).items.items():
        several = len({item.language for item in items}) > 1
        for item in by_question(items).values():
            found.setdefault(f"{asked.name}: {task}{f', {item.language}' if several else ''}", []).append(item)
    return found


def rows(place: Place) -> list[Row]:
    """Return the rows of all sets."""
    return [row for asked in SETS for row in rows_of(place, asked)]


def rows_of(place: Place, asked: Asked) -> Iterator[Row]:
    """Yield the rows of a set: of each task accuracy or F1, token F1 of open answers, and likelihood."""
    before, after = (items_of(place, asked, when) for when in ("before", "after"))
    known = [json.loads((place.run(w, asked) / LIKELIHOODS).read_text(encoding="utf-8")) for w in ("before", "after")]
    for pair in pairs(paired({"after": after, "before": before})):
        both, score = (before[pair.task], after[pair.task]), pair.difference
        own = [float(np.mean([item_score(item) for item in items])) for items in both]
        metric = headline(both[0][0])
        yield Row(pair.task, metric, score.n, own[0], own[1], score.value or 0.0, score.low, score.high, pair.p)
        if metric == EXACT:
            yield compared(pair.task, "token F1", both, [word_columns(items)["f1"].tolist() for items in both])
        values = [[found[item.id] for item in items] for found, items in zip(known, both, strict=True)]
        yield compared(pair.task, "log-likelihood", both, values, bounded=False)


def headline(item: Item) -> str:
    """Return the name of what `item_score` is the mean of."""
    if isinstance(item.truth, Mapping):
        return "F1 of regions"
    return "accuracy" if item.choices else EXACT


def compared(
    name: str, metric: str, both: Sequence[Sequence[Item]], values: Sequence[Sequence[float]], bounded: bool = True
) -> Row:
    """Return the row of a metric with a value for each question; p is that of the difference.

    Args:
        name: Name of the row.
        metric: Name of the metric.
        both: The same questions before and after.
        values: Their values before and after.
        bounded: Whether these lie in [0, 1]; else the interval is that of values divided by the largest change, and
            there is none if nothing changed.
    """
    before, after = (np.array(own) for own in values)
    groups, lead = [item.group for item in both[0]], after - before
    unit = 1.0 if bounded else float(np.abs(lead).max())
    score, p = paired_test(name, (after / (unit or 1.0)).tolist(), (before / (unit or 1.0)).tolist(), groups)
    low, high = (None if end is None or not unit else end * unit for end in (score.low, score.high))
    return Row(name, metric, score.n, float(before.mean()), float(after.mean()), float(lead.mean()), low, high, p)


def print_table(found: Sequence[Row]) -> None:
    """Print the rows, and p adjusted for all of them."""
    heads = ("set", "metric", "n", "before", "after", "difference", "95 % interval", "p", "Holm")
    print(f"| {' | '.join(heads)} |\n|---|---|{'--:|' * 4}---|{'--:|' * 2}")
    for row, adjusted in zip(found, holm([row.p for row in found]), strict=True):
        interval = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
        numbers = (str(row.n), f"{row.before:.3f}", f"{row.after:.3f}", f"{row.difference:+.3f}")
        print(f"| {' | '.join((row.name, row.metric, *numbers, interval, p_text(row.p), p_text(adjusted)))} |")


def p_text(p: float | None) -> str:
    """Return a p value with three digits."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def main() -> None:
    """Ask all sets before and after, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of everything that is written")
    model = "checkpoint of `fit` (a file), folder in transformers layout, or name in the package; default: "
    parser.add_argument("--before", type=Path, default=Path("small_base"), help=f"{model}small_base")
    parser.add_argument("--after", type=Path, help=f"{model}small_base tuned by the quick start's fit")
    parser.add_argument("--small", action="store_true", help="few phantoms and one epoch, to try the script")
    a = parser.parse_args()
    place = Place(a.work.resolve(), a.small)
    for asked in SETS:
        if not (place.curated(asked) / "manifest.json").exists():
            (curate if asked.curation else import_text)(place, asked)
    models = {"before": whole(place, a.before), "after": whole(place, a.after or tuned(place))}
    for when, name in models.items():
        for asked in SETS:
            ask(place, asked, when, name)
    print_table(rows(place))


if __name__ == "__main__":
    main()
