"""Table 1 of OphthalWeChat: printed rows with their states, the journal's apart, and rows of runs."""

from lmod_train.report.contents import Estimate, Text
from lmod_train.report.results import read_results
from lmod_train.report.sections.wechat_tables import DRAWN, TABLES, WechatTables
from tests.report.bilingual import judged_results
from tests.report.make import run

PLAN = {
    ("binary_question", "zh"): [True] * 30 + [False] * 10, ("binary_question", "en"): [True] * 20 + [False] * 20,
    ("open_question", "en"): [True] * 40,
}  # fmt: skip


def tables(results):
    return {part.name: part for part in WechatTables().parts(results) if hasattr(part, "rows")}


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


def test_phantoms_stand_beside_no_printed_row(tmp_path):
    parts = list(WechatTables().parts(judged_results(tmp_path / "planted", PLAN, phantom=True)))
    assert parts == [Text(DRAWN)]


def test_other_tasks_have_no_table(tmp_path):
    assert list(WechatTables().parts(read_results([run(tmp_path / "other", 0.5)]))) == []
