"""Table 1 of OphthalWeChat: printed rows with their states, the journal's apart, and rows of runs."""

import pytest
from scipy.stats import binomtest
from scipy.stats.contingency import chi2_contingency

from lmod_train.core.tables import Estimate, p_value
from lmod_train.extensions.ophthalwechat.paper import TABLES, wechat_tables
from lmod_train.report.contents import Text
from lmod_train.report.results import Results, read_results
from lmod_train.report.section import shipped_sections
from tests.report.bilingual import judge_of, judged_results, planted_run
from tests.report.make import run

PLAN = {
    ("binary_question", "zh"): [True] * 30 + [False] * 10, ("binary_question", "en"): [True] * 20 + [False] * 20,
    ("open_question", "en"): [True] * 40,
}  # fmt: skip


def tables(results):
    return {part.name: part for part in wechat_tables(results) if hasattr(part, "rows")}


def rows(table):
    heads = [column.head for column in table.columns]
    return {row[0]: dict(zip(heads, row, strict=True)) for row in table.rows}


def test_printed_rows_with_states_and_the_journal_in_a_table_of_its_own(tmp_path):
    found = tables(judged_results(tmp_path / "planted", PLAN))
    assert [name for name in found if not name.endswith("_states")] == TABLES
    overall, closed = rows(found["ophthalwechat_table_1a"]), rows(found["ophthalwechat_table_1b"])
    assert overall["Gemini 2.0 Flash"]["overall"] == "0.548" and overall["Gemini 2.0 Flash"]["state"] == "retired"
    assert overall["Qwen2.5-VL-72B-Instruct"]["EN"].startswith("0.503 i") or (
        overall["Qwen2.5-VL-72B-Instruct"]["state"] == "source inconsistent"
    )
    assert closed["GPT-4o"]["Binary EN"] == "0.717" and closed["GPT-4o"]["Binary EN P"] is None
    spoken = rows(found["ophthalwechat_table_1d"])
    assert spoken["GPT-4o"]["BLEU-1"] == "0.183 n" and spoken["GPT-4o"]["BERTScore"] == "0.240 n"
    journal = rows(found["ophthalwechat_journal"])
    assert (journal["GPT-4o"]["overall"], journal["Janus-Pro-7B"]["overall"]) == ("0.527", "0.333")
    assert {row["state"] for row in journal.values() if row["state"] != "measured here"} == {"not comparable"}


def test_rows_of_runs_have_their_closed_subsets(tmp_path):
    found = tables(judged_results(tmp_path / "planted", PLAN))
    here = rows(found["ophthalwechat_table_1b"])["planted"]
    assert isinstance(here["Binary CN"], Estimate)
    assert (here["Binary CN"].value, here["Binary CN"].n, here["Binary EN"].value) == (0.75, 40, 0.5)
    assert here["Single-choice CN"] is None and "planted" not in rows(found["ophthalwechat_table_1a"])
    assert rows(found["ophthalwechat_table_1d"])["planted"]["BLEU-1"].value == 1


FULL = {
    ("binary_question", "zh"): [True] * 30 + [False] * 10, ("binary_question", "en"): [True] * 20 + [False] * 20,
    ("single_choice_question", "zh"): [True] * 10 + [False] * 10, ("single_choice_question", "en"): [True] * 20,
    ("open_question", "zh"): [True] * 40, ("open_question", "en"): [True] * 40,
}  # fmt: skip
"""Right: 30 of 40, 20 of 40, 10 of 20, 20 of 20; open answers by the judge."""


def test_judged_runs_stand_in_every_part_by_judge(tmp_path):
    judges = [judge_of("gpt", {"zh": 10, "en": 30}), judge_of("ada", {"zh": 20, "en": 20})]
    found = tables(judged_results(tmp_path / "planted", FULL, judges))
    overall = rows(found["ophthalwechat_table_1a"])
    gpt, ada = overall["planted, judged by gpt"], overall["planted, judged by ada"]
    assert [(gpt[c].value, gpt[c].n) for c in ("overall", "CN", "EN")] == [
        (pytest.approx(120 / 200, abs=1e-6), 200), (0.5, 100), (pytest.approx(0.7, abs=1e-6), 100),
    ]  # fmt: skip
    assert ada["overall"].value == pytest.approx(0.6) and ada["CN"].value == pytest.approx(0.6)
    assert gpt["overall"].low < gpt["overall"].value < gpt["overall"].high and gpt["state"] == "measured here"
    assert gpt["overall P"] is None and "planted" not in overall
    for panel, values in (("c", (0.25, 0.5)), ("d", (0.75, 0.5))):
        spoken = rows(found[f"ophthalwechat_table_1{panel}"])
        assert tuple(spoken[f"planted, judged by {name}"]["accuracy"].value for name in ("gpt", "ada")) == values
        assert spoken["planted"]["accuracy"] is None and spoken["planted"]["BLEU-1"].value == 1
    assert not any("judged by" in name for name in rows(found["ophthalwechat_table_1b"]))
    journal = rows(found["ophthalwechat_journal"])
    assert journal["planted, judged by gpt"]["overall"].value == pytest.approx(0.6)
    assert journal["planted, judged by gpt"]["Open-ended EN"].value == 0.75
    assert journal["planted"]["Single-choice EN"].value == 1 and journal["planted"]["overall"] is None


def test_overall_is_not_that_of_fewer_subsets_nor_before_all_is_judged(tmp_path):
    some = {place: outcomes for place, outcomes in FULL.items() if place != ("single_choice_question", "en")}
    found = tables(judged_results(tmp_path / "some", some, [judge_of("gpt", {"zh": 10, "en": 30})], model="some"))
    row = rows(found["ophthalwechat_table_1a"])["some, judged by gpt"]
    assert row["overall"] is row["EN"] is None and row["CN"].value == 0.5
    pending = judge_of("gpt", {"zh": 10, "en": 30}, pending=True)
    found = tables(judged_results(tmp_path / "pending", FULL, [pending], model="pending"))
    assert not any("pending" in name for name in rows(found["ophthalwechat_table_1a"]))


def shifted(wrong, n=40):
    """Outcomes of which those at `wrong` are wrong."""
    return [k not in wrong for k in range(n)]


def test_p_of_runs_is_against_the_best_of_the_column_on_the_same_questions(tmp_path):
    plans = {
        "best": {("binary_question", "zh"): shifted({0}), ("binary_question", "en"): shifted({*range(8)})},
        "near": {("binary_question", "zh"): shifted({0, 1, 2}), ("binary_question", "en"): shifted({*range(9)})},
        "far": {("binary_question", "zh"): shifted({*range(1, 20)}), ("binary_question", "en"): shifted(set(), n=20)},
    }
    for name, plan in plans.items():
        planted_run(tmp_path / name, plan, model=name)
    found = rows(tables(read_results([tmp_path / name for name in plans]))["ophthalwechat_table_1b"])
    assert [found[name]["Binary CN P"] for name in plans] == [None, p_value(0.5), p_value(binomtest(1, 20).pvalue)]
    # all 20 of "far" are right: it is the best of the English column, compared on 20 questions
    assert [found[name]["Binary EN P"] for name in plans] == [
        p_value(binomtest(0, 8).pvalue), p_value(binomtest(0, 9).pvalue), None,
    ]  # fmt: skip
    assert found["best"]["Single-choice CN P"] is None and found["GPT-4o"]["Binary CN P"] == "<0.001 n"


def test_p_of_the_languages_is_the_chi_square_of_all_questions_of_a_judged_run(tmp_path):
    judges = [judge_of("gpt", {"zh": 10, "en": 30})]
    overall = rows(tables(judged_results(tmp_path / "planted", FULL, judges))["ophthalwechat_table_1a"])
    of_run = overall["planted, judged by gpt"]
    expected = chi2_contingency([[50, 70], [50, 30]], correction=False).pvalue  # 50 and 70 of 100 are right
    assert of_run["CN against EN P"] == p_value(expected) and of_run["overall P"] is None


def test_runs_are_compared_by_the_same_judge_alone(tmp_path):
    results = [
        judged_results(tmp_path / name, FULL, [judge_of(judge, {"zh": right, "en": right})], model=name)
        for name, judge, right in (("a", "gpt", 40), ("b", "gpt", 20), ("c", "ada", 0))
    ]
    both = Results(
        tuple(run for found in results for run in found.runs),
        {label: outcomes for found in results for label, outcomes in found.outcomes.items()},
        {},
    )
    overall = rows(tables(both)["ophthalwechat_table_1a"])
    best, other, alone = (overall[f"{run}, judged by {j}"] for run, j in zip("abc", ("gpt", "gpt", "ada"), strict=True))
    assert other["overall P"] == p_value(binomtest(0, 40).pvalue) == "< 0.001"
    assert best["overall P"] is alone["overall P"] is None and other["CN P"] == p_value(binomtest(0, 20).pvalue)
    open_answers = rows(tables(both)["ophthalwechat_table_1c"])
    assert open_answers["b, judged by gpt"]["P"] == p_value(binomtest(0, 20).pvalue)


def test_phantoms_of_a_judged_run_stand_beside_no_printed_row_either(tmp_path):
    judged = judged_results(tmp_path / "planted", FULL, [judge_of("gpt", {"zh": 1, "en": 1})], phantom=True)
    assert_not_shown(judged)


def test_the_plain_report_has_the_bilingual_sections_for_such_records_alone(tmp_path):
    (section,) = (s for s in shipped_sections() if s.name == "languages")
    parts = [part.name for part in section.parts(judged_results(tmp_path / "a", PLAN)) if hasattr(part, "name")]
    assert {"languages", "ophthalwechat_table_1a", "languages_by_modality"} <= set(parts)
    assert not list(section.parts(read_results([run(tmp_path / "other", 0.5)])))


def test_phantoms_stand_beside_no_printed_row(tmp_path):
    assert_not_shown(judged_results(tmp_path / "planted", PLAN, phantom=True))


def assert_not_shown(results):
    (part,) = wechat_tables(results)
    assert isinstance(part, Text) and part.text.startswith("Not shown") and part.text.count("OphthalWeChat, ") == 5


def test_other_tasks_have_no_table(tmp_path):
    assert list(wechat_tables(read_results([run(tmp_path / "other", 0.5)]))) == []
