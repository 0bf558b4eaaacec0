"""Rewrite "not X but Y" as two statements: "this is not cataract but glaucoma" asserts glaucoma."""

from __future__ import annotations

import re
from functools import cache

from lmod_train.parsing.cues import any_of
from lmod_train.parsing.forms import forms_of, pattern_of
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.modifiers import MODIFIERS_EN
from lmod_train.vocabulary.sexes import SEXES

_NOT_SO_MUCH = re.compile(r"与其说(?:这?是|为)?[^,。;\n]{1,30},?(?=不如说)")


@cache  # every condition's names three times: compiled where a reply is read, not with every command
def _contrasts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of "not X but Y" and of "Male rather than female"."""
    name = pattern_of(form for term in (*CONDITIONS, *SEXES) for form in forms_of(term.name) if form.isascii())
    no_limits = "(?i:only|just|merely|simply|sure|certain|clear|possible|know|to)(?![a-z])"
    not_but = re.compile(
        rf"(?P<denied>(?:(?<![a-z])(?i:not)|n't)\s(?!{no_limits})"
        rf"[^.;:,\n?!]{{1,60}}?(?<!\sno)),?\s(?i:but)\s(?:(?i:rather|instead|of)\s){{0,2}}"
        rf"(?P<asserted>(?:(?i:an?|the)\s)?(?:(?i:{any_of(MODIFIERS_EN)})\s){{0,2}}{name}"
        r"(?:\s(?i:one|patient|eye|person|subject|fundus|retina|image))?)(?=[\"')\]]{0,3}\s{0,3}(?:[.;,\n]|$))"
    )
    rather = re.compile(
        rf"(?P<asserted>(?:^|(?<=[\n.;:]))\s?(?:(?i:an?|most|more|likely|probably)\s){{0,3}}{name}),?\s"
        rf"(?i:rather than|instead of|as opposed to)\s(?:(?i:an?)\s)?(?P<denied>{name})(?=\s?(?:[.;,\n]|$))"
    )
    return not_but, rather


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
    not_but, rather = _contrasts()
    text = _NOT_SO_MUCH.sub("", rather.sub(r"\g<asserted>; not \g<denied>", text))
    return not_but.sub(r"\g<denied>; it is \g<asserted>", text)
