"""LaTeX: a file per table, for the packages booktabs and longtable."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.escaping import for_latex
from lmod_train.core.files import write_durably
from lmod_train.core.tables import RIGHT, Table, cell_text
from lmod_train.report.writers.naming import file_name


def write_latex(table: Table, folder: Path) -> Path:
    r"""Write one table to ``FOLDER/NAME.tex``, to be read by ``\input``, and return the path."""
    file = folder / f"{file_name(table.name)}.tex"
    with write_durably(file) as beside:
        beside.write_text(latex(table), encoding="utf-8")
    return file


def latex(table: Table) -> str:
    r"""Return a table as a ``longtable``, with its title as caption and its note below; all text is escaped.

    Example:
        >>> from lmod_train.core.tables import Column, table
        >>> print(latex(table("t", ["model", Column("n", "count")], [["a_b", 1]])))
        \begin{longtable}{lr}
        \toprule
        model & n \\
        \midrule
        \endhead
        a\_b & 1 \\
        \bottomrule
        \end{longtable}
        <BLANKLINE>
    """
    aligned = "".join("r" if column.format in RIGHT else "l" for column in table.columns)
    head = _row([column.head for column in table.columns])
    body = [_row([cell_text(c, k.format) for c, k in zip(row, table.columns, strict=True)]) for row in table.rows]
    caption = [rf"\caption{{{for_latex(table.title)}}}\\"] if table.title else []
    note = [rf"\par\footnotesize {for_latex(table.note)}"] if table.note else []
    lines = [rf"\begin{{longtable}}{{{aligned}}}", *caption, r"\toprule", head, r"\midrule", r"\endhead", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", *note]) + "\n"


def _row(texts: list[str]) -> str:
    return " & ".join(for_latex(text) for text in texts) + r" \\"
