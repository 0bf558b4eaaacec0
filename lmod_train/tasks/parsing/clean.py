r"""Clean the text of a reply: markup, special tokens, invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.tasks.parsing.forms import forms_of, pattern_of
from lmod_train.tasks.parsing.normalise import normalise

_RATHER = re.compile("rather than|instead of|as opposed to", re.IGNORECASE)
_BUT = re.compile(r"\sbut\s", re.IGNORECASE)
"""Words of the patterns of contrasts, which are slow: a text without them is not searched with the patterns."""
_NOT_SO_MUCH = re.compile(r"与其说(?:这?是|为)?[^,。;\n]{1,30},?(?=不如说)")


@cache
def _name() -> str:
    """Return the pattern of every condition and sex, which takes long to compile."""
    return pattern_of(form for term in (*CONDITIONS, *SEXES) for form in forms_of(term.name) if form.isascii())


@cache
def _not_but() -> re.Pattern[str]:
    """Return the pattern of "not X but Y"; compiled for the first text with its word, as `_rather`."""
    no_limits = "(?i:only|just|merely|simply|sure|certain|clear|possible|know|to)(?![a-z])"
    return re.compile(
        rf"(?P<denied>(?:(?<![a-z])(?i:not)|n't)\s(?!{no_limits})"
        rf"[^.;:,\n?!]{{1,60}}?(?<!\sno)),?\s(?i:but)\s(?:(?i:rather|instead|of)\s){{0,2}}"
        rf"(?P<asserted>(?:(?i:an?|the)\s)?(?:(?i:{any_of(entry('modifiers.modifiers.en'))})\s){{0,2}}{_name()}"
        r"(?:\s(?i:one|patient|eye|person|subject|fundus|retina|image))?)(?=[\"')\]]{0,3}\s{0,3}(?:[.;,\n]|$))"
    )


@cache
def _rather() -> re.Pattern[str]:
    """Return the pattern of "Male rather than female"."""
    return re.compile(
        rf"(?P<asserted>(?:^|(?<=[\n.;:]))\s?(?:(?i:an?|most|more|likely|probably)\s){{0,3}}{_name()}),?\s"
        rf"(?i:{_RATHER.pattern})\s(?:(?i:an?)\s)?(?P<denied>{_name()})(?=\s?(?:[.;,\n]|$))"
    )


def split_contrasts(text: str) -> str:
    """Return the text with each contrast as two statements: "not X; it is Y".

    Example:
        >>> split_contrasts("This is not a female patient but a male one.")
        'This is not a female patient; it is a male one.'
        >>> split_contrasts("Male rather than female."), split_contrasts("与其说是男性,不如说是女性")
        ('Male; not female.', '不如说是女性')
        >>> split_contrasts("not only drusen but a scar")
        'not only drusen but a scar'
        >>> split_contrasts("It does not look like AMD but drusen may be there.")
        'It does not look like AMD but drusen may be there.'
    """
    if _RATHER.search(text):
        text = _rather().sub(r"\g<asserted>; not \g<denied>", text)
    text = _NOT_SO_MUCH.sub("", text)
    return _not_but().sub(r"\g<denied>; it is \g<asserted>", text) if _BUT.search(text) else text


_HAN = "(?:糖尿病|高血压)性?"
_JOIN = phrases("rewriting.join")


def _shared(names: Iterable[str]) -> dict[str, list[str]]:
    """Return last word -> first words, for last words that the names of several diseases share."""
    words: dict[str, list[str]] = defaultdict(list)
    for attribute, last in (name.split() for name in names if len(name.split()) == 2 and name.isascii()):
        words[last].append(attribute)
    return {last: attributes for last, attributes in words.items() if len(attributes) > 1}


def _pattern(last: str, attributes: Iterable[str]) -> re.Pattern[str]:
    one = f"(?:{'|'.join(sorted(attributes))})"
    more = rf"(?:{one}{_JOIN}){{0,3}}{one}\s{last}(?![a-z])"
    return re.compile(rf"(?<![a-z])(?P<first>{one})(?={_JOIN}{more})", re.IGNORECASE)


_LATIN = tuple(
    (_pattern(last, attributes), last) for last, attributes in _shared(term.name for term in CONDITIONS).items()
)
_AFTERTHOUGHT = compiled("rewriting.afterthought")
_CHINESE_COORDINATION = re.compile(f"{_HAN}(?=(?:、|或者?|和|及|与|以及|还是|而非|而不是){_HAN}视网膜病变)")


def expand_coordination(text: str) -> str:
    """Return the text with coordinated names in full, and an alternative in a follow-up question joined by "or".

    Example:
        >>> expand_coordination("hypertensive rather than diabetic retinopathy")
        'hypertensive retinopathy rather than diabetic retinopathy'
        >>> expand_coordination("糖尿病或高血压性视网膜病变")
        '糖尿病视网膜病变或高血压性视网膜病变'
        >>> expand_coordination("Stage: 2. Hmm, or rather 3?")
        'Stage: 2 or 3.'
    """
    text = _AFTERTHOUGHT.sub(r" or \g<other>.", text)
    for pattern, last in _LATIN:
        text = pattern.sub(rf"\g<first> {last}", text)
    return _CHINESE_COORDINATION.sub(lambda m: f"{m[0]}视网膜病变", text)


_PARENTHESIS = compiled("rewriting.parenthesis")
_EXAMPLES = compiled("rewriting.examples")


def without_parentheses(text: str) -> str:
    """Return the text without parentheses behind a verb; elsewhere "however" opens a new statement and stays.

    Example:
        >>> without_parentheses("There is, however, glaucoma.")
        'There is glaucoma.'
        >>> without_parentheses("The cup is large, however, the rim is intact.")
        'The cup is large, however, the rim is intact.'
        >>> without_parentheses("Nothing, such as a thin rim or a notch, points to it.")
        'Nothing points to it.'
    """
    return _EXAMPLES.sub("", _PARENTHESIS.sub(r"\g<verb> ", text))


_ENGLISH = compiled("rewriting.english")
_CHINESE_RETRACTION = compiled("rewriting.chinese_retraction", 0)
_CHANGED, _DENIED_LATER = compiled("rewriting.changed"), compiled("rewriting.denied_later")


def without_retractions(text: str) -> str:
    """Return the text without retracted first thoughts, or "taken back" in place of a thought that is all the text.

    Example:
        >>> without_retractions("I first wrote DRUSEN TRUE, but that was wrong. DRUSEN FALSE")
        ' , but that was wrong. DRUSEN FALSE'
        >>> without_retractions("I initially thought of glaucoma.")
        'taken back.'
    """
    for pattern in (_CHANGED, _ENGLISH, _CHINESE_RETRACTION, _DENIED_LATER):
        text = pattern.sub(_taken_back, text)
    return text


def _taken_back(thought: re.Match[str]) -> str:
    """Return a blank, or "taken back" if the reply would otherwise be empty."""
    alone = not any(c.isalnum() for c in thought.string[: thought.start()] + thought.string[thought.end() :])
    return "taken back" if alone else " "


_LOSS = compiled("rewriting.loss")


def without_losses(text: str) -> str:
    """Return the text with each loss of healthy tissue replaced by a stop.

    Example:
        >>> without_losses("GLAUCOMA - no rim left"), without_losses("GLAUCOMA - no cupping seen")
        ('GLAUCOMA;', 'GLAUCOMA - no cupping seen')
    """
    return _LOSS.sub(";", text)


_NONE = phrases("rewriting.none")
_OF_IT = re.compile(rf"(?<![a-z])(?P<none>{_NONE}\sof\s)(?:it|that|this)(?=\s?(?:$|[.,:;!\n]))", re.IGNORECASE)


def resolve_pronoun(text: str, mention: re.Pattern[str]) -> str:
    """Return the text with the pronoun replaced by the name, if the name precedes it.

    Args:
        text: A reply without thinking and markup.
        mention: Pattern of the one disease asked about.

    Example:
        >>> resolve_pronoun("AMD was suspected; there is no evidence of it.", re.compile("AMD"))
        'AMD was suspected; there is no evidence of AMD.'
        >>> resolve_pronoun("There is no evidence of it.", re.compile("AMD"))
        'There is no evidence of it.'
    """
    named = mention.search(text)
    if named is None:
        return text
    head, tail = text[: named.end()], text[named.end() :]
    return head + _OF_IT.sub(lambda m: m["none"] + named[0], tail)


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
        ('<AMD>', '|AMD | No|')
    """
    text = _WRITTEN_BREAK.sub("\n", text)
    text = _RULE.sub("", _QUOTE.sub("", _SPECIAL.sub(" ", html.unescape(text)).strip()))
    text = _ROWS.sub(lambda tag: "|" if tag["close"] else "\n|", _CELLS.sub(" | ", text))
    text = _HTML.sub(_broken, _LETTER.sub(r"\g<letter>", text))
    rest = _FORM.sub("", text)
    text = _without_invisible(rest if any(c.isalnum() for c in rest) else text).replace("\ufe0f", "")
    text = _SET_OFF.sub(lambda m: m[m.lastgroup or 0], _LEADER.sub(": ", _INLINE.sub("; ", text)))
    pictures = {c for c in set(text) if unicodedata.category(c) == "So" and c not in _SIGNS}
    text = text.translate(dict.fromkeys(map(ord, pictures), " ")) if pictures else text
    return _NUMBERED.sub("", _ARROW.sub("", _PREFIX.sub("", text.strip())))


_INLINE = compiled("clean.inline")
_OTHERS, _LEADER, _SET_OFF = compiled("clean.others"), compiled("clean.leader"), compiled("clean.set_off")
_PREFIX, _ARROW, _NUMBERED = (compiled(f"clean.{name}", re.M | re.I) for name in ("prefix", "arrow", "numbered"))
_SIGNS = frozenset(
    "°★☆⭐↑↓▓░█❓"
    + "".join([*entry("characters.marks").values(), *entry("characters.boxes").values()])
    + entry("characters.arrows")
)


def _without_invisible(text: str) -> str:
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
    text = _without_invisible(_LATEX.sub("", normalise(_SPECIAL.sub(" ", text))))
    text = _LIMIT.sub("<", text)
    text = _LEFT_BLANK.sub(" ? ", _RUN.sub(r"\1\1\1", text))
    text = _OPERATOR.sub(lambda sign: {"?": "possible ", "=": " is not "}.get(sign[0].strip()[-1], "not "), text)
    text = _PREFIXED.sub(_joined, _MARK.sub(" ", _HASH.sub(" ", text)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    text = _FOR_EXAMPLE.sub("for example", _THAT_IS.sub("that is", "\n".join(line for line in lines if line)))
    text = without_parentheses(expand_coordination(_OTHERS.sub("", text)))
    return without_retractions(split_contrasts(text))
