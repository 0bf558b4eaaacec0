"""Parse the sex of a patient."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.parsing.choice import parse_choice
from lmod_train.types import Unparsed

_FIELD = re.compile(
    r"(?P<lead>^|[\n{,;.。；(|]|(?<=\s)or\s)[\s\-•(\[{\"']{0,6}"
    r"(?:(?:the |my |this )?(?:(?:patient|person|subject|individual)(?:'?s)? |predicted "
    r"|biological |estimated |likely |most |probable "
    r"|presumed |apparent |inferred |suspected |self-reported ){0,3}(?:sex|gender)"
    r"(?:\s(?:of|for)\s(?:the|this)\s(?:patient|person|subject|individual))?"
    r"|(?:(?:该|此|这位|本)?(?:患者|病人|受检者|被检者|受试者|检查者)|预测|估计|推测|判断|最可能){0,2}的?性别(?:判断|预测|推测|估计|分类|判定)?(?:结果)?)"
    r"(?:\s?/\s?age(?:\s?group)?)?[\"']?(?:\s{0,3}[:=|]|\s[-–—](?=\s)|为|是)\s{0,3}[\"'(\[<]{0,4}",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"(?P<label>^\W{0,9}|answer: )(?:(?P<male>m)|f)"
    r"(?P<other>(?:\s?[/,&]\s?|\s(?:or|and)\s)(?:(?P<other_male>m)|f))?(?![\w'&])",
    re.IGNORECASE,
)
_OPEN = re.compile("男性?(?:还是|或者?)女性?|女性?(?:还是|或者?)男性?")  # a question, no statement


def parse_sex(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the sex that the text states, in the prompt's spelling.

    Behind the labels "Sex:", "Gender:", "Sex/Age group:" and 性别 a letter is enough ("Sex: F"). Elsewhere a sentence
    about the patient is needed: "male and female eyes look alike" states none.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The prompt's two choices, e.g. ``("MALE", "FEMALE")``.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match`` or ``ambiguous`` (both are stated).

    Example:
        >>> parse_sex("Sex: F; Explanations: ...", ("MALE", "FEMALE")), parse_sex("性别:男", ("MALE", "FEMALE"))
        ('FEMALE', 'MALE')
        >>> parse_sex("Sex: MALE/FEMALE", ("MALE", "FEMALE")).reason
        'ambiguous'
    """
    labelled = _FIELD.sub(_labelled, _OPEN.sub(" ", text))
    return parse_choice(_LETTER.sub(_spelled, labelled), choices)


def _labelled(field: re.Match[str]) -> str:
    """Return "answer: " for any label; a line break stays, as it separates two answers."""
    broken = "\n" in field[0] and "\n" not in field["lead"]
    return field["lead"] + "\n" * broken + "answer: "


def _spelled(found: re.Match[str]) -> str:
    """Return M and F as words; two letters as two words."""
    words = "male" if found["male"] else "female"
    if found["other"]:
        words += " / male" if found["other_male"] else " / female"
    return found["label"] + words
