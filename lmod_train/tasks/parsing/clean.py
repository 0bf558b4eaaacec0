r"""Clean the text of a reply: markup, special tokens, invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

from lmod_train.core.vocabulary import compiled
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.rewriting import (
    expand_coordination,
    expand_headings,
    split_contrasts,
    without_parentheses,
    without_retractions,
)

_HTML = compiled("clean.html")
_SPECIAL = compiled("clean.special")
_BOXED = compiled("clean.boxed")
_UNBOXED = re.compile(r"</answer>|<\|end_of_box\|>", re.IGNORECASE)
_LETTER = compiled("clean.letter", 0)
_RUN = re.compile(r"([^\w\s])\1{3,}")  # a run of one sign is cut to three
_LEFT_BLANK = re.compile(r"(?<![^\W_])_{3,40}(?![^\W_])")  # a blank of a form, not filled in
_PLACE = compiled("clean.place")
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,200}~~")  # Markdown strikethrough
_WRAPPED = compiled("clean.wrapped", 0)
_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|mathbf|mathrm)\s?\{|\\[()\[\]]|\$")
_HASH = re.compile(r"#(?![0-9])|(?<!\A)(?<![\n,;.])(?<![,;.]\s)(?<!and\s)#")  # "#1 iris, #2 lens" numbers boxes
_THAT_IS = re.compile(r"(?<![a-z.])i\.\s?e(?:\.|(?![a-z])),?", re.IGNORECASE)
_FOR_EXAMPLE = re.compile(r"(?<![a-z.])e\.\s?g(?:\.|(?![a-z])),?", re.IGNORECASE)
_MARK = compiled("clean.mark")
_NOT_SIGN = re.compile(r"\\(?:lnot|neg)(?![a-z])|¬")
_PREFIXED = compiled("clean.prefixed")
_JOINED = {"fe": ("male",), "un": ("true", "likely"), "in": ("correct", "accurate"), "ab": ("normal",)}
_OPERATOR = compiled("clean.operator", re.MULTILINE)
_LIMIT = re.compile(r"<\s{1,3}(?=[0-9])")  # "< 18" is a limit as well
_INVISIBLE = {"Cc", "Cf", "Co", "Cs"}


_FORM = compiled("clean.form", re.MULTILINE)
_RULE = compiled("clean.rule", re.MULTILINE)
_QUOTE = compiled("clean.quote", re.MULTILINE | re.IGNORECASE)
_WRITTEN_BREAK = re.compile(r"\\n(?=[A-Z0-9\s*#|{\[\u4e00-\u9fff-]|$)")  # a backslash and an n
_CODE = re.compile(r"```\w{0,12}|`")
_CELLS = re.compile(r"\s{0,9}</t[dh]>\s{0,9}<t[dh](?: [^<>\n]{0,80})?>\s{0,9}", re.IGNORECASE)
_ROWS = re.compile(r"<(?P<close>/)?tr(?: [^<>\n]{0,80})?>", re.IGNORECASE)


def unmasked(text: str) -> str:
    r"""Return a reply without special tokens, entities and invisible characters, with all its other markup.

    Rows of HTML tables become rows of Markdown.

    Example:
        >>> unmasked("&lt;AMD&gt;\u200b</s>"), unmasked("<tr><td>AMD</td><td>No</td></tr>")
        ('<AMD>', '\n|AMD | No|')
    """
    text = _WRITTEN_BREAK.sub("\n", text)
    text = _RULE.sub("", _QUOTE.sub("", _SPECIAL.sub(" ", html.unescape(text)).strip()))
    text = _ROWS.sub(lambda tag: "|" if tag["close"] else "\n|", _CELLS.sub(" | ", text))
    text = _HTML.sub(_broken, _LETTER.sub(r"\g<letter>", text))
    rest = _FORM.sub("", text)
    text = rest if any(c.isalnum() for c in rest) else text
    return "".join(
        c if c == "\n" or unicodedata.category(c) not in _INVISIBLE else " " if c in "\t\r" else "" for c in text
    )


def _unwrapped(text: str) -> str:
    """Return the text with the commands of LaTeX around words taken off; what is boxed is a final answer."""
    for _ in range(4):  # nested: \\boxed{\\text{NON}\\text{-}\\text{GLAUCOMA}}
        plain = _WRAPPED.sub(lambda m: f"\nfinal answer: {m['inner']}\n" if m["name"] == "boxed" else m["inner"], text)
        if plain == text:
            break
        text = plain
    return text


def _joined(found: re.Match[str]) -> str:
    """Return a detached prefix joined to its word: "NON - GLAUCOMA", "FE-", "MALE" on the next line, "UN- TRUE"."""
    prefix = found["prefix"].lower()
    if prefix == "non":
        return f"{found['prefix']}-" if "-" in found[0] or "\n" in found[0] else found[0]
    return found["prefix"] if found["word"].lower() in _JOINED.get(prefix, ()) else found[0]


def _broken(tag: re.Match[str]) -> str:
    """Return a line break for a tag that ends a line, else nothing."""
    return "\n" if tag[0][1:3].lower() in ("br", "/p", "/l", "/d", "/h") or tag[0][1:7].lower() == "/table" else ""


def clean(text: str) -> str:
    r"""Return a reply as plain text, normalised, without markup and special tokens.

    Line breaks stay, as they separate statements. Angle brackets become blanks, as models copy them from the prompt's
    placeholders (``AMD <TRUE>``); before a digit they stay (``<18``). Names that share a word are expanded, parentheses
    and retracted statements removed. A boxed answer is preceded by "final answer:".

    Example:
        >>> clean("**DISEASE:** <diabetic_retinopathy>；</s>")
        'DISEASE: diabetic retinopathy ;'
        >>> clean("Answer: <B>; Confidence: <80>%")
        'Answer: B; Confidence: <80 %'
        >>> clean(r"so \boxed{GLAUCOMA}")
        'so\nfinal answer: GLAUCOMA'
    """
    text = _CODE.sub("", text)
    text = _unwrapped(_NOT_SIGN.sub(" not ", _STRUCK.sub(" ", html.unescape(text))))
    text = _UNBOXED.sub("\n", _BOXED.sub("\nfinal answer: ", _PLACE.sub(" ? ", text)))
    text = _LETTER.sub(r"\g<letter>", text)
    text = _HTML.sub(_broken, text)
    text = _LATEX.sub("", normalise(_SPECIAL.sub(" ", text)))
    text = "".join(
        c if c == "\n" or unicodedata.category(c) not in _INVISIBLE else " " if c in "\t\r" else "" for c in text
    )
    text = _LIMIT.sub("<", text)
    text = _LEFT_BLANK.sub(" ? ", _RUN.sub(r"\1\1\1", text))
    text = _OPERATOR.sub(lambda sign: {"?": "possible ", "=": " is not "}.get(sign[0].strip()[-1], "not "), text)
    text = _PREFIXED.sub(_joined, _MARK.sub(" ", _HASH.sub(" ", text)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    text = _FOR_EXAMPLE.sub("for example", _THAT_IS.sub("that is", "\n".join(line for line in lines if line)))
    return without_retractions(split_contrasts(without_parentheses(expand_coordination(expand_headings(text)))))
