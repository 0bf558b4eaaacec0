from pathlib import Path

from lmod_train.core.types import Dropped
from lmod_train.data.curation.drop_lines import MOST, drop_lines


def test_what_is_missing_has_a_line_each_up_to_a_number_and_everything_is_counted():
    masks = [Dropped("refuge", f"val/V{n}", ".", "read", "missing mask", "", "part") for n in range(MOST + 2)]
    others = [
        Dropped("refuge", "x", "x", "read", "stray file"),
        Dropped("brset", "y", "y", "read", "unreadable row", "z"),
    ]
    lines = list(drop_lines([*masks, *others], Path("out/dropped.csv")))
    assert lines[0] == "dropped of brset: 1 gone (unreadable row 1), 0 in part; listed in out/dropped.csv"
    assert lines[1 : MOST + 1] == [f"missing of refuge: mask of val/V{n}" for n in range(MOST)]
    assert lines[MOST + 1 :] == [
        "missing of refuge: 2 more",
        f"dropped of refuge: 1 gone (stray file 1), {MOST + 2} in part (missing mask {MOST + 2}); "
        "listed in out/dropped.csv",
    ]
    assert list(drop_lines([], Path("out/dropped.csv"))) == []


def test_names_of_files_command_no_terminal():
    (line, _) = drop_lines([Dropped("a", "x\x1b[2J\n", ".", "read", "missing mask")], Path("d.csv"))
    assert line == "missing of a: mask of x\\u001b[2J\\u000a"
