"""Commands about weights, as they are typed."""

from lmod_train.chat.checkpoint import SHIPPED
from lmod_train.chat.delta import make_delta, mean_gain
from lmod_train.cli import main


def test_a_delta_is_applied_and_its_gain_told(tmp_path, capsys):
    base, out = SHIPPED / "small_base", tmp_path / "whole"
    make_delta(base, base, tmp_path / "delta")
    assert main(["apply-delta", "--delta", str(tmp_path / "delta"), "--base", str(base), "--out", str(out)]) == 0
    assert f"mean gain of its norms {mean_gain(base):.3f}" in capsys.readouterr().out
    again = ["apply-delta", "--delta", str(tmp_path / "delta"), "--base", str(base), "--out", str(out)]
    assert main(again) == 2 and "out=" in capsys.readouterr().err
    whole = ["apply-delta", "--delta", str(out), "--base", str(base), "--out", str(tmp_path / "other")]
    assert main(whole) == 2 and "expected delta weights" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
