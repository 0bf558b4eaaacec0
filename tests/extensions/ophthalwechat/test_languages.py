"""Every figure of Table 1's shape is the planted one, exactly."""

from dataclasses import replace

import pytest

from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.core.types import Score
from lmod_train.extensions.ophthalwechat.results import (
    COLUMNS,
    RULES,
    language_rows,
    language_tables,
    rule_rows,
    verdicts,
)
from lmod_train.extensions.ophthalwechat.sections import Languages
from lmod_train.report.results import read_results
from tests.report.bilingual import OPTIONS, REFUSAL, judge_of, judged_results, planted_run

HEADS = [c if isinstance(c, str) else c.head for c in COLUMNS]
BY_RULE = [c if isinstance(c, str) else c.head for c in RULES]
RIGHT = {
    ("binary_question", "zh"): 45, ("binary_question", "en"): 50,
    ("single_choice_question", "zh"): 30, ("single_choice_question", "en"): 24,
    ("open_question", "zh"): 16, ("open_question", "en"): 20,
}  # fmt: skip
SIZES = {"binary_question": 80, "single_choice_question": 60, "open_question": 40}
NAMES = {
    ("binary_question", "zh"): "Binary_CN", ("binary_question", "en"): "Binary_EN",
    ("single_choice_question", "zh"): "Single-choice_CN", ("single_choice_question", "en"): "Single-choice_EN",
    ("open_question", "zh"): "Open-ended_CN", ("open_question", "en"): "Open-ended_EN",
}  # fmt: skip
UNREADABLE, REFUSED, TURNED = 5, 3, 4


def plan():
    """Right answers first; then unreadable replies and refusals, then answers in the other language, then wrong ones.

    A closed answer in the other language is read as no option; an open one is wrong by the rules.
    """
    made = {}
    for (task, language), right in RIGHT.items():
        other = {"zh": "en", "en": "zh"}[language]
        odd = ["I see an eye." if language == "en" else "这是一只眼睛。"] * UNREADABLE + [REFUSAL[language]] * REFUSED
        odd += [OPTIONS[other][0] + ("。" if other == "zh" else ".")] * TURNED
        made[task, language] = [True] * right + odd + [False] * (SIZES[task] - right - len(odd))
    return made


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return judged_results(tmp_path_factory.mktemp("runs") / "planted", plan(), [judge_of("j", {"zh": 12, "en": 18})])


def by_subset(results):
    rows = list(language_rows(results.runs[0], results.outcomes[results.names[0]]))
    assert all(len(row) == len(HEADS) for row in rows)
    return {row[0]: dict(zip(HEADS, row, strict=True)) for row in rows}


def test_closed_subsets(results):
    rows = by_subset(results)
    for (task, language), right in RIGHT.items():
        if task == "open_question":
            continue
        row, n = rows[NAMES[task, language]], SIZES[task]
        chance = 0.5 if task == "binary_question" else 0.25
        lost = UNREADABLE + REFUSED + TURNED
        assert (row["n"], row["accuracy"]) == (n, pytest.approx(right / n))
        assert row["answered only"] == pytest.approx(right / (n - lost), abs=1e-6)
        assert row["chance filled"] == pytest.approx((right + chance * lost) / n, abs=1e-6)
        assert row["chance"] == row["majority"] == chance
        assert row["unparsed"] == pytest.approx((UNREADABLE + TURNED) / n, abs=1e-6) and row[
            "refused"
        ] == pytest.approx(REFUSED / n)
        assert row["other language"] == pytest.approx(TURNED / n, abs=1e-6)
        low, high = row["95 % interval"]
        assert low < row["accuracy"] < high


def test_every_way_in_which_an_answer_is_lost_has_a_column(results):
    lost = {"share_unparsed": 0.1, "share_refused": 0.2, "share_truncated": 0.4}
    scores = [replace(s, value=lost.get(s.metric, s.value)) for s in results.runs[0].scores]
    run, outcomes = replace(results.runs[0], scores=tuple(scores)), results.outcomes[results.names[0]]
    rows = [dict(zip(HEADS, row, strict=True)) for row in language_rows(run, outcomes)]
    kinds = [row for row in rows if row["subset"] in NAMES.values()]
    assert len(kinds) == 6 and all(
        row[metric.removeprefix("share_")] == v for row in kinds for metric, v in lost.items()
    )


def test_open_subsets_are_judged(results):
    rows = by_subset(results)
    for language, name, right in (("zh", "Open-ended_CN", 12), ("en", "Open-ended_EN", 18)):
        row = rows[name]
        assert (row["judged by"], row["n"], row["accuracy"]) == ("j", 40, right / 40), language
        items = results.outcomes["planted"].items["open_question"]
        answered = sum(item.status == "answered" and item.language == language for item in items)
        assert row["answered only"] == pytest.approx(right / answered, abs=1e-6) and row["chance"] is None


def test_overall_is_weighted_by_items_and_as_the_mean_of_subsets(results):
    rows = by_subset(results)
    judged = RIGHT | {("open_question", "zh"): 12, ("open_question", "en"): 18}
    for name, languages in (("Overall CN", "zh"), ("Overall EN", "en"), ("Overall", "zh en")):
        own = {place: right for place, right in judged.items() if place[1] in languages}
        assert rows[name]["accuracy"] == pytest.approx(sum(own.values()) / sum(SIZES[task] for task, _ in own))
        mean = sum(right / SIZES[task] for (task, _), right in own.items()) / len(own)
        assert rows[f"{name}, mean of subsets"]["accuracy"] == pytest.approx(mean)
        assert rows[name]["n"] == sum(SIZES[task] for task, _ in own)
    closed = {place: right for place, right in RIGHT.items() if place[0] != "open_question"}
    assert rows["Close-ended"]["accuracy"] == pytest.approx(sum(closed.values()) / 280)


def test_open_answers_by_rules_stand_in_their_own_table(results):
    rows = [dict(zip(BY_RULE, row, strict=True)) for row in rule_rows(results.runs[0], results.outcomes["planted"])]
    for row, language in zip(rows, ("zh", "en"), strict=True):
        assert (row["n"], row["exact"]) == (40, RIGHT["open_question", language] / 40)
        assert row["BLEU by"].endswith("|ngram:1") and row["BERTScore"] is None
        assert row["containment"] >= row["exact"] and 0 < row["BLEU-1 corpus"] < 1
    assert [t.name for t in language_tables(results.runs[0], results.outcomes["planted"])] == [
        "languages", "open_answers"
    ]  # fmt: skip


def test_columns_of_encoders_are_there_if_one_was_named(tmp_path):
    """The English answers have BERTScores and no baseline; the other run has neither."""
    folder = planted_run(tmp_path / "encoded", plan(), model="encoded")
    rows = [(*place, score) for *place, score in read_scores(folder / "scores.csv")]
    score = Score("open_question", "language=en", "bertscore_f1", 40, 0.7, 0.6, 0.8, "tiny layer 2 sha256 0123")
    write_scores(folder / "scores.csv", "encoded", "encoded", [*(score for *_, score in rows), score])
    planted_run(tmp_path / "plain", plan(), model="plain")
    found = read_results([folder, tmp_path / "plain"])
    heads = [[c.head for c in list(language_tables(run, found.outcomes[name]))[1].columns]
             for name, run in zip(found.names, found.runs, strict=True)]  # fmt: skip
    assert heads[0] == [*heads[1], "BERTScore", "BERTScore by"] and "rescaled" in BY_RULE
    (joined,) = [part for part in Languages().parts(found) if getattr(part, "name", "") == "open_answers"]
    column = [c.head for c in joined.columns].index("BERTScore")
    assert [row[column] for row in joined.rows] == [None, 0.7, None, None]


def test_negation_flips_are_counted_in_each_language(tmp_path):
    made = {("open_question", "zh"): ["无黄斑裂孔", "未见黄斑前膜。", "黄斑裂孔", False],
            ("open_question", "en"): ["no macular hole", "epiretinal membrane", "no pale disc", True]}  # fmt: skip
    found = judged_results(tmp_path / "planted", made)
    rows = [dict(zip(BY_RULE, row, strict=True)) for row in rule_rows(found.runs[0], found.outcomes["planted"])]
    assert [row["negation flips"] for row in rows] == [2, 1]


@pytest.mark.parametrize("judges", [(), (judge_of("j", {"zh": 12, "en": 18}, pending=True),)])
def test_open_and_overall_are_empty_until_judged(judges, tmp_path):
    rows = by_subset(judged_results(tmp_path / "planted", plan(), judges))
    for name in ("Open-ended_CN", "Open-ended_EN", "Overall"):
        assert rows[name]["judged by"] == "not judged" and rows[name]["accuracy"] is None
    assert rows["Open-ended_CN"]["n"] == 40 and rows["Close-ended"]["accuracy"] is not None and "Overall CN" not in rows


def test_each_judge_has_rows_of_its_own(tmp_path):
    judges = [judge_of("a", {"zh": 10, "en": 10}), judge_of("b", {"zh": 20, "en": 20})]
    found = judged_results(tmp_path / "planted", plan(), judges)
    rows = list(language_rows(found.runs[0], found.outcomes["planted"]))
    assert [(row[1], row[3]) for row in rows if row[0] == "Open-ended_CN"] == [("a", 0.25), ("b", 0.5)]
    assert [v.judge for v in verdicts(found.outcomes["planted"])] == ["", "a", "b"]


def test_a_run_in_one_language_has_no_row_of_the_other(tmp_path):
    own = {place: outcomes for place, outcomes in plan().items() if place[1] == "zh" and place[0] != "open_question"}
    rows = by_subset(judged_results(tmp_path / "planted", own))
    assert list(rows) == ["Binary_CN", "Single-choice_CN", "Close-ended", "Close-ended, mean of subsets"]
    assert rows["Binary_CN"]["accuracy"] == 45 / 80
