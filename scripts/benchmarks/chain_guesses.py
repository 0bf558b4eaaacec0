"""What chains of questions give away without their images: guessers learned on train, tried on val and test.

    python -m lmod_train phantom --sources oimhs,brset,refuge --n 480 --out RAW
    python -m lmod_train curate --config configs/curate/xpcr_own.yaml --raw RAW --out CHAINS
    python scripts/benchmarks/chain_guesses.py CHAINS       # a minute
    python scripts/benchmarks/chain_guesses.py CHAINS --by-modality

The constant rule answers every question with what was most often right in training: one option for each list of
options (column `list`), one option for each list and wording of the question (`wording`: the decisions on a macular
hole and on glaucoma have one list of options), or one letter; guessers are compared with the best of these in training.
Beside it, for each stage: *blind*, a linear classifier of the words of question and options; *options*, the option that
was right most often of the times it was listed; *longest* and *shortest* option. A guesser gives something away if it
is right where the constant rule is wrong more often than the other way round (exact one-sided McNemar test on the
discordant questions, Holm over stages and guessers). With `--by-modality`, guessers are learned and tried on the
questions of each modality on their own, and Holm is over modalities, too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Record
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.scoring.comparison import holm

Guesser = Callable[[Record], str]
Kind = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A guesser at a stage: held-out questions, accuracies, and the p value of being better than the best constant."""

    modality: str
    stage: str
    guesser: str
    n: int
    by_list: float
    by_wording: float
    accuracy: float
    p: float


def truth(record: Record) -> str:
    """Return the text of the right option."""
    return record.choices[LETTERS.index(record.answer[-1])]


def constant_of(train: Sequence[Record], kind: Callable[[Record], Kind]) -> Guesser:
    """Return the rule that gives one option to all questions of a kind, and A to kinds that training lacks."""
    texts: defaultdict[Kind, Counter[str]] = defaultdict(Counter)
    for record in train:
        texts[kind(record)][truth(record)] += 1
    best = {key: max(sorted(counts), key=lambda text: counts[text]) for key, counts in texts.items()}
    return lambda record: best.get(kind(record), record.choices[0])


def letter_of(train: Sequence[Record]) -> Guesser:
    """Return the rule that gives one letter to all questions."""
    best = Counter(record.answer[-1] for record in train).most_common(1)[0][0]
    return lambda record: record.choices[min(LETTERS.index(best), len(record.choices) - 1)]


def listed(record: Record) -> Kind:
    """Return the options without their order."""
    return tuple(sorted(record.choices))


def worded(record: Record) -> Kind:
    """Return the question and the options without their order."""
    return (asked(record), *listed(record))


def asked(record: Record) -> str:
    """Return the words of the question before the options."""
    return record.messages[-1].parts[-1].text.partition("\nA. ")[0]


def right_of(guess: Guesser, records: Sequence[Record]) -> list[bool]:
    """Return which records a guesser gets right."""
    return [guess(record) == truth(record) for record in records]


def blind_of(train: Sequence[Record]) -> Guesser:
    """Return a linear classifier of the words of the question and of the options, restricted to those listed."""
    model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=500))
    model.fit([words(record) for record in train], [truth(record) for record in train])
    classes = list(model.classes_)

    def guess(record: Record) -> str:
        shares = dict(zip(classes, model.predict_proba([words(record)])[0], strict=True))
        return max(record.choices, key=lambda text: shares.get(text, 0))

    return guess


def words(record: Record) -> dict[str, float]:
    """Return the words of the question, the options, and the letter of each option."""
    clues = {f"word {word}": 1.0 for word in asked(record).split()} | {f"option {text}": 1.0 for text in record.choices}
    return clues | {f"{letter} {text}": 1.0 for letter, text in zip(LETTERS, record.choices, strict=False)}


def options_of(train: Sequence[Record]) -> Guesser:
    """Return the rule that takes the option which was right most often of the times it was listed."""
    right = Counter(truth(record) for record in train)
    seen = Counter(text for record in train for text in record.choices)
    return lambda record: max(record.choices, key=lambda text: right[text] / max(1, seen[text]))


GUESSERS: dict[str, Callable[[Sequence[Record]], Guesser]] = {
    "blind": blind_of,
    "options": options_of,
    "longest": lambda train: lambda record: max(record.choices, key=len),
    "shortest": lambda train: lambda record: min(record.choices, key=len),
}


def rows_of(records: Sequence[Record], modality: str = "all") -> list[Row]:
    """Return one row a stage and guesser; `modality` is what the rows are named."""
    rows = []
    for stage in STAGE_NAMES:
        train = [r for r in records if r.chain_step == stage and r.split == "train"]
        held = [r for r in records if r.chain_step == stage and r.split != "train"]
        if not train or not held:  # a modality that lacks the stage
            continue
        by_list, by_wording = (constant_of(train, kind) for kind in (listed, worded))
        constant = max(by_wording, by_list, letter_of(train), key=lambda rule: sum(right_of(rule, train)))
        base = right_of(constant, held)
        for name, learn in GUESSERS.items():
            right = right_of(learn(train), held)
            won, lost = (sum(a > b for a, b in zip(*two, strict=True)) for two in ((right, base), (base, right)))
            p = float(binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0
            of_list, of_wording, own = (
                sum(of_rule) / len(held) for of_rule in (right_of(by_list, held), right_of(by_wording, held), right)
            )
            rows.append(Row(modality, stage, name, len(held), of_list, of_wording, own, p))
    return rows


def main() -> int:
    """Print the table; return 1 if a guesser is better than the constant rule at a level of 5 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curated", type=Path, help="folder written by curate --config configs/curate/xpcr_own.yaml")
    parser.add_argument("--by-modality", action="store_true", help="guess in each modality on its own")
    given = parser.parse_args()
    records = [record for record in read_records(given.curated / "records") if record.task == "chain"]
    names = sorted({record.modality for record in records}) if given.by_modality else ["all"]
    rows = [row for name in names for row in rows_of([r for r in records if name in ("all", r.modality)], name)]
    adjusted = holm([row.p for row in rows])
    print("modality  stage  guesser      n   list  wording  guesser       p  p (Holm)")
    for row, p in zip(rows, adjusted, strict=True):
        figures = f"{row.n:4d}  {row.by_list:5.3f}  {row.by_wording:7.3f}  {row.accuracy:7.3f}  {row.p:6.3f}  {p:8.3f}"
        print(f"{row.modality:8s}  {row.stage:5s}  {row.guesser:8s}  {figures}")
    letters = {s: Counter(r.answer[-1] for r in records if r.chain_step == s) for s in STAGE_NAMES}
    for stage, counts in letters.items():
        print(f"letters of {stage}: " + ", ".join(f"{letter} {n}" for letter, n in sorted(counts.items())))
    return int(min(p for p in adjusted if p is not None) < 0.05)


if __name__ == "__main__":
    sys.exit(main())
