"""LaTeX: a file per table, for the packages array, booktabs and longtable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.escaping import for_latex
from lmod_train.core.files import write_durably
from lmod_train.core.tables import RIGHT, Column, Table, cell_text
from lmod_train.report.writers.naming import file_name

LONG, MOST = 26, 90
"""Characters of a text from which its column is set in lines, and at which it gets no more of the width."""
CHARACTER = 0.0095
"""Width of a character and its share of the space beside a column, of the width of a page of A4."""
LAST, TYPESET, SHOWN = 0x17F, "–—‘’“”„…•†‡€", 40
"""Last character that pdfLaTeX typesets, further ones, and the largest number that a comment names."""


def write_latex(table: Table, folder: Path) -> Path:
    r"""Write one table to ``FOLDER/NAME.tex``, to be read by ``\input``, and return the path."""
    file = folder / f"{file_name(table.name)}.tex"
    with write_durably(file) as beside:
        beside.write_text(latex(table), encoding="utf-8")
    return file


def latex(table: Table) -> str:
    r"""Return a table as a ``longtable``, with its title as caption and its note below; all text is escaped.

    Columns of long texts share the width of the page. A comment names the packages, and what else it takes.

    Example:
        >>> from lmod_train.core.tables import Column, table
        >>> print(latex(table("t", ["model", Column("n", "count")], [["a_b", 1]])))
        % \usepackage{array,booktabs,longtable}
        {\footnotesize\setlength{\tabcolsep}{3pt}
        \begin{longtable}{lr}
        \toprule
        model & n \\
        \midrule
        \endhead
        a\_b & 1 \\
        \bottomrule
        \end{longtable}
        }
        <BLANKLINE>
    """
    heads = [column.head for column in table.columns]
    rows = [[cell_text(c, k.format) for c, k in zip(row, table.columns, strict=True)] for row in table.rows]
    caption = [rf"\caption{{{for_latex(table.title)}}}\label{{tab:{_label(table.name)}}}\\"] if table.title else []
    note = [rf"\par\noindent {for_latex(table.note)}".replace("/", r"/\allowbreak{}")] if table.note else []
    lines = [
        rf"\begin{{longtable}}{{{_columns(table, [heads, *rows])}}}",
        *caption,
        r"\toprule",
        _row(heads),
        r"\midrule",
    ]
    lines += [r"\endhead", *map(_row, rows), r"\bottomrule", r"\end{longtable}", *note]
    needed = [r"% \usepackage{array,booktabs,longtable}", *_engine("".join(lines))]
    return "\n".join([*needed, r"{\footnotesize\setlength{\tabcolsep}{3pt}", *lines, "}"]) + "\n"


def _row(texts: Sequence[str]) -> str:
    return " & ".join(map(for_latex, texts)) + r" \\"


def _columns(table: Table, rows: Sequence[Sequence[str]]) -> str:
    """Return the columns: numbers right, texts left, and long texts in lines, each as wide as its share of the page."""
    longest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(0.22, 0.94 - sum(n * CHARACTER for n in longest if n <= LONG))
    long = sum(min(n, MOST) for n in longest if n > LONG)

    def one(column: Column, n: int) -> str:
        if n <= LONG:
            return "r" if column.format in RIGHT else "l"
        return rf">{{\raggedright\arraybackslash}}p{{{room * min(n, MOST) / long:.3f}\linewidth}}"

    return "".join(map(one, table.columns, longest))


def _engine(text: str) -> Iterator[str]:
    """Yield what a text takes whose characters are not those of pdfLaTeX's fonts."""
    if other := "".join(dict.fromkeys(c for c in text if ord(c) > LAST and c not in TYPESET))[:SHOWN]:
        yield f"% XeLaTeX or LuaLaTeX, with a font that has: {other}"


def _label(name: str) -> str:
    return re.sub("[^A-Za-z0-9-]", "-", name)
