import re
import shutil
import subprocess

import pytest

from lmod_train.core.tables import Column, table
from lmod_train.report.writers.latex import latex, write_latex

HOSTILE = r"\input{/etc/passwd} $x$ & % # _ { } ~ ^ \write18{ls} < > | \" -- 50% " + "\x1b[2J\n\n\\end{longtable}"


def test_text_of_a_cell_ends_neither_the_row_nor_the_table():
    text = latex(table("t", ["a", Column("b_c", "number")], [[HOSTILE, 0.5]], title="50 % & more", note="a_b"))
    (row,) = [line for line in text.splitlines() if line.endswith(r"& 0.500 \\")]
    plain = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|char34)\{\}|\{[\[\]*]\}", "", row
    )
    assert re.findall(r"(?<!\\)[&%$#_{}~^]", plain) == ["{", "}", "&"], "one pair for the hyphens"
    assert text.count(r"\end{longtable}") == 1


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_it_compiles(tmp_path):
    file = write_latex(table("t", ["a", Column("b", "number")], [[HOSTILE, 0.5]], title="A_B", note="n"), tmp_path)
    (tmp_path / "main.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,longtable}\usepackage[T1]{fontenc}\begin{document}"
        rf"\input{{{file.name}}}\end{{document}}"
    )
    subprocess.run(["pdflatex", "-interaction=batchmode", "-halt-on-error", "main.tex"], cwd=tmp_path, check=True)
