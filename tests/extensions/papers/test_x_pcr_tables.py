"""What `scripts/benchmarks/xpcr_tables.py` finds in the printed tables of X-PCR."""

import importlib.util
import sys
from pathlib import Path

import pytest

from lmod_train.extensions.papers.printed import find, state_of

SCRIPT = Path(__file__).parents[3] / "scripts" / "benchmarks" / "xpcr_tables.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("xpcr_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["xpcr_tables"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["xpcr_tables"]


@pytest.fixture(scope="module")
def found(script):
    return list(script.checks())


def failing(found, relation):
    own = [c for c in found if c.relation == relation]
    assert own, relation
    return {c.name: c for c in own if not c.holds}, len(own)


def test_printed_means_agree(found):
    assert failing(found, "mean of SWA") == failing(found, "mean of ESA") == ({}, 24)


def test_19_of_21_rows_are_a_constant_times_the_row_of_one_modality(found):
    rows, n = failing(found, "no constant times EP")
    assert (len(rows), n) == (19, 21) and not {"Qwen3-VL-8B", "HuatuoGPT-Vision-7B"} & rows.keys()
    assert {name for name, row in rows.items() if row.printed > 0.001} == {"GPT-5", "LLaVA-Med-7B"}


def test_rows_are_no_mean_over_the_modalities(found):
    farthest = 0.0
    for kind in ("equal", "images", "questions"):
        rows, n = failing(found, f"mean over modalities ({kind})")
        assert (len(rows), n) == (19, 21) and not {"InternVL-8B", "HuatuoGPT-Vision-34B"} & rows.keys()
        farthest = max(farthest, *(abs(row.printed - row.recomputed) for row in rows.values()))
    assert farthest == pytest.approx(12.6, abs=0.05)


def test_stages_and_levels_give_different_totals(found):
    rows, n = failing(found, "total accuracy by stage and by level")
    assert (len(rows), n) == (23, 24)
    for name, pair in {"GPT-5": (78.9, 75.8), "InternVL-32B": (73.5, 70.1), "Specialists": (84.3, 91.9)}.items():
        assert (rows[name].printed, rows[name].recomputed) == pytest.approx(pair, abs=0.06)


def test_whole_chains_are_rarer_than_with_independent_stages(found):
    rows, n = failing(found, "CCR at least the product of SWA")
    assert (len(rows), n) == (19, 24)
    assert (rows["Gemini-2.5-Pro"].printed, rows["Gemini-2.5-Pro"].recomputed) == pytest.approx((0.77, 8.9), abs=0.05)
    above = {c.name: c.recomputed for c in found if c.relation == "CCR at least the product of SWA" and c.holds}
    assert above.keys() == {"GPT-5", "Qwen2.5-VL-72B", "Residents", "Attendings", "Specialists"}
    assert (above["GPT-5"], above["Qwen2.5-VL-72B"]) == pytest.approx((17.40, 9.31), abs=0.006)
    assert failing(found, "CCR at least 100 - sum of errors")[0] == failing(found, "CCR at most the least SWA")[0] == {}


def test_one_uncertainty_score_is_above_its_largest_possible_value(found):
    rows, _ = failing(found, "UAS at most with equal weights")
    assert {name: (row.printed, round(row.recomputed, 1)) for name, row in rows.items()} == {
        "Specialists": (90.63, 89.0)
    }


def test_questions_of_stages_and_of_modalities_have_one_sum(script):
    assert sum(script.STAGE_QUESTIONS.values()) == sum(script.QUESTIONS.values()) == 176_188 == 177_868 - 1_680
    assert sum(script.IMAGES.values()) == 26_415
    assert {sum(shares) for shares in script.STAGE_LEVELS.values()} == {100}


def test_every_row_of_a_model_is_in_the_ledger_as_inconsistent(script):
    for cell in find("xpcr", "Table 2"):
        expected = "not comparable" if cell.model in script.READERS else "source inconsistent"
        assert state_of(cell).name == expected


def test_it_prints_a_line_for_each_relation(script, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["xpcr_tables.py"])
    script.main()
    printed = capsys.readouterr().out
    assert "no constant times EP: consistent in 2 of 21 rows" in printed
    assert "    Specialists: 90.63, recomputed 89.01" in printed


def test_what_is_said_of_rows_times_a_constant_is_what_is_counted(script, monkeypatch):
    every, others = script.proportional(), script.proportional(list(script.MODALITIES)[1:])
    assert (every, others) == ((97, 126), (76, 105))
    said = state_of(next(iter(find("xpcr", "Table 4")))).why
    assert said.startswith("{} of {} rows".format(*every)) and said.endswith("{} of {} without Table 3".format(*others))
    assert "{} of {} rows".format(*every) in (SCRIPT.parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    monkeypatch.setattr(script, "SAME_RATIO", 0.001)
    assert script.proportional() == (93, 126)
    assert not script.is_proportional(script.np.arange(1.0, 7.0), script.np.array([1, 2, 3, 4, 5, 6.1]))
