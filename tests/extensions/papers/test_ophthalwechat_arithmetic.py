"""What `scripts/benchmarks/ophthalwechat_arithmetic.py` finds in the printed tables of OphthalWeChat."""

import importlib.util
import sys
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

SCRIPT = Path(__file__).parents[3] / "scripts" / "benchmarks" / "ophthalwechat_arithmetic.py"
QWEN, GEMINI, GPT = "Qwen2.5-VL-72B-Instruct", "Gemini 2.0 Flash", "GPT-4o"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("ophthalwechat_arithmetic", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ophthalwechat_arithmetic"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["ophthalwechat_arithmetic"]


def test_english_accuracy_of_qwen_is_about_0_508(script):
    assert not script.implied(QWEN, "EN", 0.5, 0.6).contains(0.503)
    assert script.implied(QWEN, "EN", 0.5, 0.6).contains(0.508)
    assert not script.p_bounds(0.519, 0.503).contains(0.062) and script.p_bounds(0.519, 0.508).contains(0.062)
    assert script.english_of(QWEN) == pytest.approx(0.509)


def test_the_other_columns_agree_on_the_share_of_binary_questions(script):
    shares = [
        script.binary_share(m, lang) for m in script.models() for lang in ("CN", "EN") if (m, lang) != (QWEN, "EN")
    ]
    low, high = max(s.low for s in shares), min(s.high for s in shares)
    assert 0.53 < low < 0.55 < 0.56 < high < 0.58
    assert script.binary_share(QWEN, "EN").high < low


def test_both_p_values_of_gemini_are_consistent_with_its_accuracies(script):
    found = script.p_bounds(0.546, 0.550)
    assert (
        found.contains(0.431)
        and found.contains(0.437)
        and script.p_of_languages(0.546, 0.550) == pytest.approx(0.487, abs=1e-3)
    )
    assert script.p_bounds(0.546, 0.546).high == 1


def test_both_readings_of_the_rewritten_share(script):
    assert script.true_after("points_of_all") == pytest.approx(0.5)
    assert script.true_after("share_of_true") == pytest.approx(0.561, abs=5e-4)


def test_combinations_of_modalities(script):
    assert script.combinations() == (68, 67, 29)


def test_bounds_of_the_agreement_of_the_judge(script):
    for agreeing in (0, 57, 99, 100):
        found = script.agreement_bounds(agreeing)
        assert (found.low, found.high) == pytest.approx(proportion_confint(agreeing, 100, method="beta"))
    assert script.agreement_bounds().low == pytest.approx(0.964, abs=5e-4)


def test_every_check_is_printed(script, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ophthalwechat_arithmetic.py"])
    script.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 17 and "67 distinct" in lines[-2] and lines[-1].endswith("0.964 to 1")
