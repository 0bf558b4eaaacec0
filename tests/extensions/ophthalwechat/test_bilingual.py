"""From drawn workbooks to scores: planted numbers of right replies come out exactly, with and without images."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.types import Record
from lmod_train.extensions.ophthalwechat.sections import prior
from lmod_train.report.results import read_results

SHARES = {
    ("binary_question", "zh"): 3 / 4, ("binary_question", "en"): 1 / 2,
    ("single_choice_question", "zh"): 1 / 3, ("single_choice_question", "en"): 2 / 3,
    ("open_question", "zh"): 1 / 4, ("open_question", "en"): 1 / 2,
}  # fmt: skip
"""Planted share of right replies with the image; without it, half as many."""
WRONG = {"zh": "人工晶状体", "en": "an intraocular lens"}
QUIET = ("--trainer.enable_progress_bar", "false")


def wrong(record: Record) -> str:
    """Another answer in the form that is asked for."""
    if record.answer in "ABCD":
        return "ABCD"[("ABCD".index(record.answer) + 1) % 4]
    return next((choice for choice in record.choices if choice != record.answer), WRONG[record.language])


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, str], tuple[int, int]]]:
    """A run of planted replies, and (task, language) -> number of right replies and of questions."""
    at = tmp_path_factory.mktemp("bilingual")
    assert cli.main(["phantom", "--out", str(at / "raw"), "--n", "6", "--sources", "ophthalwechat"]) == 0
    config = "ophthalwechat"
    curated = ["--config", config, "--raw", str(at / "raw"), "--out", str(at / "curated")]
    assert cli.main(["curate", *curated, "--workers", "1"]) == 0
    places: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for file in sorted((at / "curated" / "records").glob("*.parquet")):
        for record in read_records(file):
            places[record.task, record.language].append(record)
    counts, lines = {}, []
    for (task, language), own in places.items():
        share = SHARES[task.removesuffix("_probe"), language] / (2 if task.endswith("_probe") else 1)
        counts[task, language] = right, _ = int(share * len(own)), len(own)
        lines += [{"id": r.id, "reply": r.answer if k < right else wrong(r)} for k, r in enumerate(own)]
    (at / "replies.jsonl").write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    (at / "model.yaml").write_text(
        "class_path: lmod_train.models.modules.frozen.Frozen\ninit_args:\n  backend:\n"
        "    class_path: lmod_train.models.backends.scripted.Scripted\n"
        f"    init_args: {{replies: {at / 'replies.jsonl'}}}\n",
        "utf-8",
    )
    config = "ophthalwechat_blind"
    asked = ["--config", config, "--data.curated", str(at / "curated"), *QUIET]
    assert cli.main(["validate", *asked, "--model", str(at / "model.yaml"), "--run", str(at / "run")]) == 0
    return at / "run", counts


def test_scores_of_every_subset_are_the_planted_ones(planted):
    run, counts = planted
    found = {(s.task, s.subset, s.metric): s for *_, s in read_scores(run / "scores.csv")}
    assert len(counts) == 12, "six subsets, with and without the image"
    for (task, language), (right, n) in counts.items():
        own = "accuracy_own_image" if task.endswith("_probe") else "accuracy_strict"
        score = found[task, f"language={language}", "exact_match" if "open" in task else own]
        assert 0 < right < n or task.endswith("_probe")
        assert (score.n, score.value) == (n, pytest.approx(right / n, abs=1e-6)), (task, language)
        assert found[task, f"language={language}", "share_answered"].value == 1


def test_blind_accuracy_stands_beside_that_with_the_image(planted):
    run, counts = planted
    (_, shown) = prior(read_results([run]))
    heads = [column.head for column in shown.columns]
    rows = {row[1]: dict(zip(heads, row, strict=True)) for row in shown.rows}
    assert list(rows) == ["Binary_CN", "Binary_EN", "Single-choice_CN", "Single-choice_EN"], "open ones need a judge"
    for name, place in (
        ("Binary_CN", ("binary_question", "zh")),
        ("Single-choice_EN", ("single_choice_question", "en")),
    ):
        (right, n), (blind, _) = counts[place], counts[f"{place[0]}_probe", place[1]]
        row = rows[name]
        assert (row["n"], row["with image"], row["without"]) == (n, right / n, pytest.approx(blind / n, abs=1e-6))
        assert row["difference"] == pytest.approx((right - blind) / n, abs=1e-6)
        assert row["chance"] == (0.5 if "Binary" in name else 0.25)
