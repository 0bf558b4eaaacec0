r"""Take off what dresses a reply: markup, special tokens, invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

from lmod_train.parsing.aside import without_asides
from lmod_train.parsing.contrast import told_apart
from lmod_train.parsing.coordination import spelled_out
from lmod_train.parsing.normalise import normalise
from lmod_train.parsing.table import untabled
from lmod_train.parsing.withdrawn import without_withdrawn

_HTML = re.compile(
    r"</?(?:b|i|u|em|strong|span|div|p|br|hr|pre|code|li|ul|ol|h[1-6]|sub|sup|small|table|tbody|thead|tr|td|th|font|a)"
    r"(?: [^<>\n]{0,80})?\s?/?>",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"<\s?\|[^<>|\n]{0,40}\|\s?>|</?s>|<(?:eos|bos|pad|unk|image|end_of_turn|end_of_sentence|end_of_text)>|\[/?INST\]",
    re.IGNORECASE,
)
_BOXED = re.compile(
    r"<answer>|<\|begin_of_box\|>|\\boxed\s?\{(?:\\text(?:bf|rm)?\{)?", re.IGNORECASE
)  # GLM-4.5V, R1-style and LaTeX ways to say "this is my answer"
_UNBOXED = re.compile(r"</answer>|<\|end_of_box\|>", re.IGNORECASE)
_RUN = re.compile(r"([^\w\s])\1{3,}")  # three of a sign say as much as a thousand
_LEFT_BLANK = re.compile(r"(?<![^\W_])_{3,40}(?![^\W_])")  # a form's place for an answer, not filled in
_PLACE = re.compile(
    r"<(?:your )?answer>(?=\s{0,3}(?:[;,.|>\"'})\]]|explanation|\Z))", re.IGNORECASE
)  # a prompt's placeholder, not filled in
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,200}~~")  # Markdown: what was written and taken back
_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|mathbf|mathrm)\s?\{|\\[()\[\]]|\$")
_HASH = re.compile(r"#(?![0-9])|(?<!\A)(?<![\n,;.])(?<![,;.]\s)(?<!and\s)#")  # "#1 iris, #2 lens" numbers boxes
_THAT_IS = re.compile(r"(?<![a-z.])i\.\s?e(?:\.|(?![a-z])),?", re.IGNORECASE)
_FOR_EXAMPLE = re.compile(r"(?<![a-z.])e\.\s?g(?:\.|(?![a-z])),?", re.IGNORECASE)
_INVISIBLE = {"Cc", "Cf", "Co", "Cs"}


def clean(text: str) -> str:
    r"""Return the words of a reply in plain form: one width of letters, no markup, no special tokens.

    Line breaks stay, for they part statements. Angle brackets become blanks, for models copy them from the prompt's
    placeholders (``AMD <TRUE>``); before a digit they stay (``<18``). Names that share a word are written out, what is
    said aside or taken back is left out. What a model boxed as its answer is led in by "final answer:".

    Example:
        >>> clean("**DISEASE:** <diabetic_retinopathy>；</s>")
        'DISEASE: diabetic retinopathy ;'
        >>> clean(r"so \boxed{GLAUCOMA}")
        'so\nfinal answer: GLAUCOMA}'
    """
    text = _STRUCK.sub(" ", html.unescape(text))
    text = _UNBOXED.sub("\n", _BOXED.sub("\nfinal answer: ", _PLACE.sub(" ? ", text)))
    text = _HTML.sub(lambda tag: "\n" if tag[0][1:3].lower() in ("br", "/p", "/l", "/d", "/t", "/h") else "", text)
    text = _LATEX.sub("", normalise(_SPECIAL.sub(" ", text)))
    text = "".join(
        c if c == "\n" or unicodedata.category(c) not in _INVISIBLE else " " if c in "\t\r" else "" for c in text
    )
    text = _LEFT_BLANK.sub(" ? ", _RUN.sub(r"\1\1\1", text))
    text = re.sub(r"<(?![0-9])|>(?![0-9])|[*`_]|\\", " ", _HASH.sub(" ", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    text = _FOR_EXAMPLE.sub("for example", _THAT_IS.sub("that is", untabled("\n".join(line for line in lines if line))))
    return without_withdrawn(told_apart(without_asides(spelled_out(text))))
