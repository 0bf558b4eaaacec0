"""Recomputes what the printed results of OphthalWeChat show about one another, from `lmod_train/extensions/papers`.

    python scripts/benchmarks/ophthalwechat_arithmetic.py

Table 1 has accuracies of three models over all questions, by language and by kind; the sizes of the six subsets are not
printed. Closed questions are 21,350, open ones 4,385 a language, so that a language has 15,060 questions if both have
equally many. What follows is bounded over all sizes and roundings that the printed numbers allow.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from scipy.stats import beta

from lmod_train.extensions.papers.printed import find
from lmod_train.scoring.association import independence

QUESTIONS, CLOSED, OPEN = 15_060, 10_675, 4_385
"""Questions of a language, if both have equally many: all, closed, open."""
ROUNDING = 0.0005
"""Half a unit of the last printed digit."""
LANGUAGES = {"CN": "chinese", "EN": "english"}
TRUE_BEFORE, REWRITTEN = 0.712, 0.212
"""Share of statements that were true, and share that was rewritten to be false (Methods, balance)."""
PAIRS = 100
"""Pairs of answers that a reader compared with the judge, all in agreement."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values that printed numbers allow."""

    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Return whether a value printed with three decimals can be one of them."""
        return self.low - ROUNDING <= value <= self.high + ROUNDING


def value(table: str, model: str, subset: str, metric: str = "accuracy") -> float:
    """Return a printed number of a model."""
    (cell,) = find("ophthalwechat", table, model=model, dataset_or_subset=subset, metric=metric)
    return float(cell.value)


def models() -> list[str]:
    """Return the models of Table 1 in their order."""
    return list(dict.fromkeys(cell.model for cell in find("ophthalwechat", "Table 1A") if cell.model))


def implied(model: str, language: str, least: float = 0.0, most: float = 1.0) -> Bounds:
    """Return the overall accuracy in a language that the three subsets allow.

    Args:
        model: As printed.
        language: ``CN`` or ``EN``.
        least: Least share of binary questions among the closed ones.
        most: Largest share of them.
    """
    binary, single = (value("Table 1B", model, f"{kind}_{language}") for kind in ("Binary", "Single-choice"))
    spoken = value("Table 1C" if language == "CN" else "Table 1D", model, f"Open-ended_{language}")
    means = [(CLOSED * (share * binary + (1 - share) * single) + OPEN * spoken) / QUESTIONS for share in (least, most)]
    return Bounds(min(means) - ROUNDING, max(means) + ROUNDING)


def binary_share(model: str, language: str) -> Bounds | None:
    """Return the shares of binary questions among the closed ones with which the printed overall accuracy agrees.

    None if no share does.
    """
    printed = value("Table 1A", model, LANGUAGES[language])
    fitting = [k / 1000 for k in range(1001) if implied(model, language, k / 1000, k / 1000).contains(printed)]
    return Bounds(fitting[0], fitting[-1]) if fitting else None


def p_of_languages(chinese: float, english: float) -> float:
    """Return the p value of the chi-square test of two accuracies over `QUESTIONS` questions each."""
    found = independence([round(chinese * QUESTIONS), round(english * QUESTIONS)], [QUESTIONS, QUESTIONS])
    assert found is not None
    return found.p_chi_square


def p_bounds(chinese: float, english: float) -> Bounds:
    """Return the p values that two printed accuracies allow, each up to half a unit of its last digit away."""
    ends = (-ROUNDING, ROUNDING)
    found = [p_of_languages(chinese + a, english + b) for a in ends for b in ends]
    crossing = abs(chinese - english) <= 2 * ROUNDING
    return Bounds(min(found), 1.0 if crossing else max(found))


def english_of(model: str) -> float:
    """Return the English accuracy that follows from the overall one and the Chinese one."""
    return 2 * value("Table 1A", model, "overall") - value("Table 1A", model, "chinese")


def true_after(reading: str) -> float:
    """Return the share of true statements after the rewriting.

    Args:
        reading: ``points_of_all`` if 21.2 % of all statements were rewritten, ``share_of_true`` if of the true ones.
    """
    return TRUE_BEFORE - (REWRITTEN if reading == "points_of_all" else REWRITTEN * TRUE_BEFORE)


def combinations() -> tuple[int, int, int]:
    """Return the rows of Supplementary Table 6 that are combinations, the distinct ones, and the rows of one modality.

    A combination is the set of its parts: CFP+Slitlamp and Slitlamp+CFP are one.
    """
    cells = [cell for cell in find("ophthalwechat", "Supplementary Table 6") if cell.modality != "all"]
    rows = [cell.modality for cell in cells if "combination" in cell.note]
    sets = {frozenset(part.strip() for part in row.split("+")) for row in rows}
    return len(rows), len(sets), len(cells) - len(rows)


def agreement_bounds(agreeing: int = PAIRS, pairs: int = PAIRS) -> Bounds:
    """Return the exact 95 % interval of a judge's agreement (Clopper & Pearson 1934)."""
    low = float(beta.ppf(0.025, agreeing, pairs - agreeing + 1)) if agreeing else 0.0
    high = float(beta.ppf(0.975, agreeing + 1, pairs - agreeing)) if agreeing < pairs else 1.0
    return Bounds(low, high)


def report() -> Iterator[str]:
    """Yield a line for each check."""
    for model in models():
        for language, subset in LANGUAGES.items():
            bounds, share = implied(model, language, 0.5, 0.6), binary_share(model, language)
            printed = value("Table 1A", model, subset)
            shares = f"{share.low:.3f} to {share.high:.3f}" if share else "no"
            yield (
                f"{model} {language}: printed {printed:.3f}; the subsets give {bounds.low:.4f} to {bounds.high:.4f} "
                f"for 50 to 60 % binary; consistent with {shares} binary questions of the closed ones"
            )
        chinese, english = (value("Table 1A", model, subset) for subset in LANGUAGES.values())
        (cell,) = find("ophthalwechat", "Table 1A", model=model, metric="p_value_cn_vs_en")
        p = p_bounds(chinese, english)
        allowed = f"{p.low:.2g} to {p.high:.2g}"
        yield f"{model}: the accuracies allow P of {allowed} between the languages, printed {cell.value}"
        again = english_of(model)
        yield f"{model}: English {again:.3f} from overall and Chinese, P {p_of_languages(chinese, again):.3f}"
    for reading in ("points_of_all", "share_of_true"):
        after = true_after(reading)
        yield f"21.2 % as {reading}: {100 * after:.1f} % true, {100 - 100 * after:.1f} % false"
    yield f"half of each needs {100 * (TRUE_BEFORE - 0.5) / TRUE_BEFORE:.1f} % of the true statements rewritten"
    rows, distinct, single = combinations()
    yield f"Supplementary Table 6: {single} modalities, {rows} combinations, {distinct} distinct ones"
    bounds = agreement_bounds()
    yield f"judge: {PAIRS} of {PAIRS} pairs agree, exact 95 % interval {bounds.low:.3f} to {bounds.high:.0f}"


def main() -> None:
    """Print the checks."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for line in report():
        print(line)


if __name__ == "__main__":
    main()
