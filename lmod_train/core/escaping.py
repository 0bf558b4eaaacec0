r"""Escaping of untrusted text, such as replies of models, names of files, and cells of tables.

There is a function for each medium: `for_terminal`, `for_markdown`, `for_latex` and `for_csv` (and its inverse
`from_csv`). HTML is
escaped by its template engine. Control characters, escape sequences of terminals and marks of writing direction are
written like ``\u001b``, so that they are visible and nothing is lost.
"""

from __future__ import annotations

import re
from pathlib import Path

_SAFE = re.compile(r"[A-Za-z0-9][ -\[\]-~]*|")
"""ASCII text that a cell shows as it is: it begins no formula and holds no backslash."""
_COMMANDS = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, delete, C1: line breaks, escape sequences
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction of writing, invisible, lines
    "\ud800-\udfff"  # lone surrogates: names of files that are not UTF-8
    "\U000e0000-\U000e007f"  # tags: text that is not shown
    "]"
)
_WRITTEN = re.compile(r"\\(?=u[0-9a-f]{4}|U[0-9a-f]{8})")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\U(00(?:0[0-9a-f]|10)[0-9a-f]{4})")
_FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]")
_FOLDERS = re.compile(r"""(?<![\w.:/~\\-])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:'"<>|]+[/\\])+""")
SUPERSCRIPTS = dict(zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", "abcdefghijklmnoprstuvwxyz", strict=True))
"""Marks of footnotes -> their letters."""
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}"}
    | {"≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "−": r"\ensuremath{-}"}
    | {mark: rf"\textsuperscript{{{letter}}}" for mark, letter in SUPERSCRIPTS.items()}
    | {"[": "{[}", "]": "{]}", "*": "{*}"}  # after the end of a row, they would be its options
)
_LIGATURE = re.compile(r"(?<=-)-|(?<=,),|(?<=[`'?!])[`']")
"""Second character of two that LaTeX prints as another one."""
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def for_terminal(text: str) -> str:
    r"""Return a text on one line without control characters.

    Example:
        >>> for_terminal("a\x1b[2Jb\n\u202ec")
        'a\\u001b[2Jb\\u000a\\u202ec'
    """
    return _COMMANDS.sub(_code, text)


def for_markdown(text: str) -> str:
    r"""Return a text that Markdown shows literally, without HTML, links, images, code or table columns.

    Example:
        >>> for_markdown("<img src=x> a|b ![c](d) `e`, p < 0.001")
        '&lt;img src=x&gt; a\\|b \\!\\[c\\](d) \\`e\\`, p < 0.001'
    """
    plain = re.sub(r"<(?! ?\d)", "&lt;", for_terminal(text).replace("&", "&amp;")).replace(">", "&gt;")
    return re.sub(r"(\\(?![uU][0-9a-f]{4})|[|`*\[\]!])", r"\\\1", plain)


def for_latex(text: str) -> str:
    r"""Return a text on one line that LaTeX prints literally, without commands, mathematics or comments.

    Example:
        >>> for_latex(r"50 % of \input{x} a_b $y$")
        '50 \\% of \\textbackslash{}input\\{x\\} a\\_b \\$y\\$'
    """
    return _LIGATURE.sub(r"{}\g<0>", for_terminal(text).translate(_LATEX))


def for_csv(value: object) -> str:
    r"""Return a CSV cell that spreadsheets do not interpret as a formula, without control characters.

    Numbers, also negative ones, are unchanged; None is empty. `from_csv` is the inverse for texts.

    Example:
        >>> for_csv("=HYPERLINK(1)"), for_csv(-0.5), for_csv("-0.5"), for_csv("- none"), for_csv(None)
        ("'=HYPERLINK(1)", '-0.5', '-0.5', "'- none", '')
    """
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else str(value)
    if _SAFE.fullmatch(text := str(value)):
        return text
    text = _COMMANDS.sub(_code, _WRITTEN.sub(r"\\u005c", text))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_csv(cell: str) -> str:
    r"""Return the text of a cell written by `for_csv`; other cells are returned unchanged.

    Example:
        >>> [from_csv(for_csv(text)) for text in ("=1", "'=1", "a\nb", "\\u000a", "-3")]
        ['=1', "'=1", 'a\nb', '\\u000a', '-3']
    """
    text = cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


def without_folders(text: str) -> str:
    """Return a text without absolute folders of files, which contain names of users and projects.

    Example:
        >>> without_folders("OSError: /srv/ada/data/x.jpg is gone; see https://example.org/a/b and runs/one")
        'OSError: x.jpg is gone; see https://example.org/a/b and runs/one'
    """
    if "/" not in text and "\\" not in text:
        return text
    for known in (str(Path.home()), str(Path.cwd())):  # they may contain spaces
        text = text.replace(f"{known}/", "/~/") if len(known) > 1 else text
    return _FOLDERS.sub("", text)


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
