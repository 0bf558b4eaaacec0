r"""Clean the text of a reply: markup, special tokens, invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.rewriting import (
    expand_coordination,
    expand_headings,
    split_contrasts,
    without_parentheses,
    without_retractions,
)

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
)  # marks of the answer in GLM-4.5V, R1-style models and LaTeX
_UNBOXED = re.compile(r"</answer>|<\|end_of_box\|>", re.IGNORECASE)
_LETTER = re.compile(
    r"<\s?(?P<letter>[A-Z])\s?>(?=\s{0,3}(?:[;,.:)|\"'}\]\n]|\Z))"
)  # a placeholder filled in, no markup
_RUN = re.compile(r"([^\w\s])\1{3,}")  # a run of one sign is cut to three
_LEFT_BLANK = re.compile(r"(?<![^\W_])_{3,40}(?![^\W_])")  # a blank of a form, not filled in
_PLACE = re.compile(
    r"<(?:your )?answer>(?=\s{0,3}(?:[;,.|>\"'})\]]|explanation|\Z))", re.IGNORECASE
)  # a prompt's placeholder, not filled in
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,200}~~")  # Markdown strikethrough
_WRAPPED = re.compile(
    r"\\(?P<name>boxed|text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|it|sf|tt)|mbox|operatorname)\s?\{(?P<inner>[^{}\n]{0,300})\}"
)
_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|mathbf|mathrm)\s?\{|\\[()\[\]]|\$")
_HASH = re.compile(r"#(?![0-9])|(?<!\A)(?<![\n,;.])(?<![,;.]\s)(?<!and\s)#")  # "#1 iris, #2 lens" numbers boxes
_THAT_IS = re.compile(r"(?<![a-z.])i\.\s?e(?:\.|(?![a-z])),?", re.IGNORECASE)
_FOR_EXAMPLE = re.compile(r"(?<![a-z.])e\.\s?g(?:\.|(?![a-z])),?", re.IGNORECASE)
_GRADE = r"\s?(?:[A-Za-z]{1,12}\s){0,3}(?:grade|stage|level)\s[0-9]"
_MARK = re.compile(
    rf"<(?![0-9]|{_GRADE}(?![^<\n]{{0,40}}>))|>(?![0-9]|{_GRADE}|\s[0-9])|[*`_]|\\", re.IGNORECASE
)  # but "> grade 2" is a limit
_NOT_SIGN = re.compile(r"\\(?:lnot|neg)(?![a-z])|¬")
_PREFIXED = re.compile(
    r"(?<![a-z])(?P<prefix>non|fe|un|in|ab)(?:(?:\s{1,3}|[\s\"']{0,3}-[\s\"']{0,4})(?=[\"']?(?P<word>[a-z]{4,20})))[\"']?",
    re.IGNORECASE,
)
_JOINED = {"fe": ("male",), "un": ("true", "likely"), "in": ("correct", "accurate"), "ab": ("normal",)}
_OPERATOR = re.compile(
    r"(?:^|(?<=[\s:=\"'{(]))[!~?](?=[A-Za-z\u4e00-\u9fff])|\s?(?:!=|≠)\s?", re.MULTILINE
)  # "!glaucoma"
_LIMIT = re.compile(r"<\s{1,3}(?=[0-9])")  # "< 18" is a limit as well
_INVISIBLE = {"Cc", "Cf", "Co", "Cs"}


_FORM = re.compile(
    r"^[^\n]{0,200}<(?:JUSTIFICATIONS?|EXPLANATIONS?|AN INTEGER|GROUP_LABEL|disease_name|TRUE/FALSE"
    r"|MALE/FEMALE)>[^\n]{0,200}$",
    re.MULTILINE,
)  # the format of the prompt, repeated
_RULE = re.compile(
    r"^[ \t]{0,9}(?:(?:-[ ]?){3,80}|(?:\*[ ]?){3,80}|={3,80})[ \t]{0,9}$", re.MULTILINE
)  # a horizontal line
_QUOTE = re.compile(
    rf"^[ \t]{{0,3}}>[ \t](?!{_GRADE})(?=[^\s0-9]|[0-9]{{1,2}}[.)、](?![0-9]))", re.MULTILINE | re.IGNORECASE
)
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
