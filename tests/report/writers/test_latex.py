import re
import shutil
import subprocess

import pytest

from lmod_train.core.escaping import SUPERSCRIPTS
from lmod_train.core.tables import Column, table
from lmod_train.report.writers.latex import latex, write_latex
from tests.typeset import typeset

HOSTILE = r"\input{/etc/passwd} $x$ & % # _ { } ~ ^ \write18{ls} < > | \" -- 50% " + "\x1b[2J\n\n\\end{longtable}"


def test_text_of_a_cell_ends_neither_the_row_nor_the_table():
    text = latex(table("t", ["a", Column("b_c", "number")], [[HOSTILE, 0.5]], title="50 % & more", note="a_b"))
    (row,) = [line for line in text.splitlines() if line.endswith(r"& 0.500 \\")]
    plain = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|char34)\{\}|\{[\[\]*]\}", "", row
    )
    assert re.findall(r"(?<!\\)[&%$#_{}~^]", plain) == ["{", "}", "&"], "one pair for the hyphens"
    assert text.count(r"\end{longtable}") == 1


def test_long_texts_share_the_width_and_short_ones_and_numbers_have_their_own():
    columns = ["a", Column("n", "count"), "b", "c"]
    head = latex(table("t", columns, [["x", 1, "y" * 60, "z" * 30]])).splitlines()[2]
    (first, second) = map(float, re.findall(r"p\{([\d.]+)\\linewidth\}", head))
    assert head.startswith(r"\begin{longtable}{lr>") and first == pytest.approx(2 * second, abs=0.002)
    assert first + second < 0.95


CHINESE = "青光眼"


@pytest.mark.parametrize("text", [HOSTILE, "äß × ± – ≤ ≥ − ‘’“”", "".join(SUPERSCRIPTS), "a_b/" * 40])
def test_it_compiles_with_pdflatex_wherever_it_names_no_other(tmp_path, text):
    shown = table(f"t {text[:9]}", [text[:9], Column("b", "number")], [[text, 0.5]], title=text, note=text)
    assert "LuaLaTeX" not in latex(shown)
    write_latex(shown, tmp_path)
    typeset(tmp_path, "*.tex", "pdflatex")


def test_a_text_of_other_characters_names_what_typesets_it(tmp_path):
    shown = table("t", ["a"], [[CHINESE]], title="A")
    assert latex(shown).splitlines()[1] == f"% XeLaTeX or LuaLaTeX, with a font that has: {CHINESE}"
    write_latex(shown, tmp_path)
    typeset(tmp_path, "*.tex", "xelatex")


def test_pdflatex_is_really_stopped_by_what_the_comment_warns_of(tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("needs pdflatex")
    write_latex(table("t", ["a"], [[CHINESE]]), tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        typeset(tmp_path, "*.tex", "pdflatex")
