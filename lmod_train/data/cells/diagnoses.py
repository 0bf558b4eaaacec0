"""Diseases that cells of a table state, deny or doubt, in words or as codes of ICD-10.

What cannot be read without guessing stays a word of the table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.data.cells.ordered import spaced
from lmod_train.data.cells.values import SIGNS, is_missing, side_of
from lmod_train.data.cells.vocabulary import (
    DIAGNOSES,
    DOUBTS,
    ICD_10,
    KINDS,
    NEGATIONS,
    PASTS,
    SEVERITIES,
    WORDS,
    plain,
)

_SEPARATORS = re.compile(
    r"[;,|、，；•·\\\n]|(?<=[\w)])\s*[+/&]\s*(?=\w)|(?<=\w)(?:和|合并|伴有|伴|及|以及|与|並びに)(?=\w)"
    r"|\s(?:and|und|sowie|et|y|e|mit|with|plus|w/|con|com|avec|mais)\s"
)

_CODE = re.compile(r"([A-Z]\d{2})(?:\.?(\d{1,4}))?(?:X\d|X\d{3}|[*†]|G?[RLB]?|[RLB]G)", re.IGNORECASE)
"""With the German letters of a certain diagnosis (G) and of sides; V, A and Z are a suspicion, excluded, and past.
Further signs are the seventh of ICD-10-CM, a Chinese extension, and those of a disease and its cause."""

_LONGEST = 2000
"""Characters of a list of diagnoses; a longer cell is free text."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a cell states of diseases.

    Attributes:
        present: Names of the vocabulary that the cell states to be there.
        absent: Those that it denies.
        others: Its other words, as they stand there: what the vocabulary lacks, suspicions, what is past.
    """

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All of it in words, for the column's own question and the screen; empty for an empty cell."""
        return "; ".join((*self.present, *(f"no {name}" for name in self.absent), *self.others))

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the vocabulary: each disease with yes or no, and ``diagnosis`` where there is exactly one."""
        found = dict.fromkeys(self.absent, "no") | dict.fromkeys(self.present, "yes")
        if self.present == ("normal",) and not self.others:
            return {"diagnosis": "normal"}
        found.pop("normal", None)
        single = len(self.present) == 1 and not self.others and self.present != ("normal",)
        return found | ({"diagnosis": self.present[0]} if single else {})


@lru_cache(maxsize=10_000)
def findings_of(text: str) -> Findings:
    """Return the diseases in a cell.

    A suspicion, a disease of the past and a denied one are none: ``suspect glaucoma`` stays a word of the table, and
    ``no DR`` denies retinopathy, which is not ``normal``.

    Example:
        >>> findings_of("DR; AMD").present, findings_of("no DR").absent, findings_of("Glaukomverdacht").others
        (('diabetic retinopathy', 'age-related macular degeneration'), ('diabetic retinopathy',), ('Glaukomverdacht',))
    """
    if is_missing(text):
        return Findings()
    if len(text) > _LONGEST:
        return _whole(text)
    parts = [part.strip() for part in _SEPARATORS.split(text) if part and part.strip()]
    spans = any(word in text.casefold() for word in (*DOUBTS, *PASTS) if "/" in word)  # ``s/p DR`` is one phrase
    apart = len(parts) > 1 and all(map(_disease, parts))  # ``DR y AMD`` is not dry AMD
    whole = _finding(text) if len(parts) < 2 or spans or (_disease(text) and not apart) else None
    if spans and whole is None:
        whole = _whole(text)
    if whole is not None:
        return whole
    read = [_finding(part) or Findings(others=(part,)) for part in parts] if len(parts) > 1 else []
    if not any(one.present or one.absent for one in read) or any(_qualifies(part) for part in parts):
        return _whole(text)
    if read and read[0].absent and any(one.present for one in read[1:]) and not re.search(r"[;\n|。]", text):
        return _whole(text)  # ``no glaucoma/cataract`` may deny both
    together = Findings(*(tuple(dict.fromkeys(w for one in read for w in getattr(one, f))) for f in _FIELDS))
    both = set(together.present) & set(together.absent)
    healthy = "normal" in together.present and len(together.present) > 1
    return _whole(text) if both or healthy else together


def _whole(text: str) -> Findings:
    """Return a text as one word of the table; ``; `` would part it into answers."""
    return Findings(others=(text.strip().replace(";", ","),))


_FIELDS = ("present", "absent", "others")


def _qualifies(part: str) -> bool:
    """Return whether a part makes the disease beside it a suspicion, or one of the past: ``glaucoma, suspected``."""
    return _is_doubted(part) and not any(len(name) > 3 and name in plain(part) for name in _names())


def _finding(text: str) -> Findings | None:
    """Return what a phrase of one disease states; None for one that is not understood as a whole."""
    text = unicodedata.normalize("NFKC", text)
    low = text.strip().casefold()
    # first, as the names are compared without signs: ``cataract?``
    if (SIGNS.search(low) and not code_of(text)) or _is_doubted(low):
        return Findings(others=(text.strip(),))
    name = _disease(text)
    if name is not None:
        return Findings(present=(name,))
    for negation in NEGATIONS:
        denied = _disease(low.removeprefix(negation)) if low.startswith(negation) else None
        if denied is not None:
            return Findings(absent=(denied,)) if denied != "normal" else Findings(others=(text.strip(),))
    return None


def code_of(text: str) -> str:
    """Return a cell that is a code of ICD-10, as it is published; empty for any other.

    Example:
        >>> [code_of(cell) for cell in ("E11.3291", "H401131", "h36.0*", "H40.1 G", "glaucoma")]
        ['E11.3291', 'H40.1131', 'H36.0', '', '']
    """
    code = _CODE.fullmatch(text.strip())
    return "" if code is None else code[1].upper() + (f".{code[2]}" if code[2] else "")


def _disease(text: str) -> str | None:
    """Return the disease that a phrase names as a whole, in words or as a code of ICD-10."""
    if stated := code_of(text):
        known = [begin for begin in ICD_10 if stated.startswith(begin)]
        return ICD_10[max(known, key=len)] or None if known else None
    names = _names()
    rest = [piece for piece in re.split(r"[\s,]+", text) if plain(piece) not in SEVERITIES]
    return names.get(plain(text)) or names.get(plain(" ".join(rest)))


@lru_cache(maxsize=1)
def _names() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for term in CONDITIONS:
        for word in (term.name, *term.english, *term.chinese, *term.kinds):
            found.setdefault(plain(word), term.name)
    for name, words in DIAGNOSES.items():
        for word in words:
            found.setdefault(word, name)
    return found


def words_of(disease: str) -> list[str]:
    """Return the names of a disease and its kinds, as they are written."""
    terms = (
        word for term in CONDITIONS if term.name == disease for word in (*term.english, *term.chinese, *term.kinds)
    )
    return [disease, *terms, *WORDS["diagnoses"].get(disease, ())]


def is_qualified(text: str) -> bool:
    """Return whether a text denies a disease, doubts it, or says that it is of the past.

    Example:
        >>> [is_qualified(text) for text in ("glaucoma - ruled out", "non-glaucoma", "RD proliferativa", "PDR, no DME")]
        [True, True, False, True]
    """
    return is_denial(text) or _is_doubted(text)


def _is_doubted(text: str) -> bool:
    return any(word in text.casefold() for word in (*DOUBTS, *PASTS))


_MINUS = re.compile(r"[-–−]\s*$|^\s*[-–−]\s*\w|\([-–−]\)|[-–−]ve\b")
"""A sign that denies a disease, unlike one between words."""


_DENIED = re.compile(rf"[\W_](?:{'|'.join(map(re.escape, (*NEGATIONS, *WORDS['denials'])))})")


def is_denial(text: str) -> bool:
    """Return whether a text denies a disease, by words or by a sign.

    Example:
        >>> [is_denial(text) for text in ("DR: ruled out", "DR (-)", "glaucoma?", "s/p cataract", "NPDR")]
        [True, True, False, False, False]
    """
    low = f" {text.casefold()} "
    for word in (*WORDS["icdr"]["non_proliferative"], *WORDS["undenied"]):  # which deny no disease
        low = low.replace(word.casefold(), "")
    return bool(_DENIED.search(low) or _MINUS.search(text.strip())) and not _is_doubted(text)


@lru_cache(maxsize=10_000)
def condition_of(header: str) -> str | None:
    """Return the disease whose flag a column is, by its name alone.

    Example:
        >>> condition_of("Glaucoma"), condition_of("ARMD"), condition_of("age")
        ('glaucoma', 'age-related macular degeneration', None)
    """
    name = _disease(header.replace("_", " "))
    return name if name != "normal" else None


@lru_cache(maxsize=1)
def _kinds() -> Mapping[str, str]:
    found = {plain(word): plain(word) for term in CONDITIONS for word in term.kinds}
    return found | {word: kind for kind, words in KINDS.items() for word in words}


def kind_named(header: str) -> str:
    """Return the kind of a disease that the name of a column states; empty for the disease itself.

    Example:
        >>> kind_named("CRVO"), kind_named("Zentralvenenverschluss"), kind_named("DR")
        ('central retinal vein occlusion', 'central retinal vein occlusion', '')
    """
    pieces = re.split(r"[\W_]+", header)
    graded = plain(header) if any(plain(piece) in SEVERITIES for piece in pieces) else ""
    return _kinds().get(plain(header), graded)


def diseases_in(text: str) -> list[str]:
    """Return the diseases whose names or abbreviations a text contains, whatever it says of them.

    Example:
        >>> diseases_in("DR: ruled out"), diseases_in("Pigmentglaukom"), diseases_in("drug")
        (['diabetic retinopathy'], ['glaucoma'], [])
    """
    low = f" {spaced(text)} "
    return [term.name for term in CONDITIONS if any(name in low for name in _names_of(term.name))]


@lru_cache(maxsize=64)
def _names_of(disease: str) -> tuple[str, ...]:
    """Return the names of a disease, the short ones between blanks."""
    names = map(spaced, words_of(disease))
    return tuple(name if len(name) >= _LONG or not name.isascii() else f" {name} " for name in names)


def suspected(text: str) -> str:
    """Return a suspicion of one disease in one spelling; empty for any other text.

    Example:
        >>> [suspected(text) for text in ("Glaukom?", "glaucoma suspect", "V.a. AMD", "glaucoma", "s/p cataract")]
        ['suspected glaucoma', 'suspected glaucoma', 'suspected age-related macular degeneration', '', '']
    """
    doubted = any(word in text.casefold() for word in DOUBTS) and not any(word in text.casefold() for word in PASTS)
    found = diseases_in(text) if doubted and not is_missing(text) else []
    return f"suspected {found[0]}" if len(found) == 1 and not _SEPARATORS.search(text) else ""


def disease_in(word: str, known: Iterable[str]) -> str:
    """Return the disease that a word of a table names inside others, by a code, or with an error of typing.

    Args:
        word: Not understood as a whole.
        known: Diseases that other cells state.

    Returns:
        The one of `known`; empty for several, and for a word that denies or doubts it.

    Example:
        >>> [disease_in(word, ["cataract", "glaucoma"]) for word in ("Pigmentglaukom", "Catarcat", "CAT?", "uveitis")]
        ['glaucoma', 'cataract', '', '']
    """
    if code := code_of(word):
        return next((name for begin, name in ICD_10.items() if name in known and begin.startswith(code)), "")
    if is_qualified(word):
        return ""
    inside = [disease for disease in diseases_in(word) if disease != "normal"]  # as in ``abnormal``
    if len(inside) > 1 or not {*inside} <= {*known}:
        return ""  # ``glaucoma or AMD`` is neither
    low = spaced(word)
    near = [disease for disease in known if any(_is_misspelt(low, name.strip()) for name in _names_of(disease))]
    return (inside or near)[0] if len(inside or near) == 1 else ""


def _is_misspelt(word: str, name: str) -> bool:
    """Return whether a word differs from a long name in at most two letters, so that it may be an error of typing."""
    if min(len(word), len(name)) < _LONG or abs(len(word) - len(name)) > _TYPOS or word[0] != name[0]:
        return False
    steps = SequenceMatcher(None, word, name, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal") <= _TYPOS


_LONG, _TYPOS = 6, 2
"""Letters of a name that is one also inside another word (``Pigmentglaukom``), and that typing may change."""


def is_earlier(header: str) -> bool:
    """Return whether the name of a column states no certain, last diagnosis of the eye: of a referral, a suspicion.

    Example:
        >>> is_earlier("referral diagnosis"), is_earlier("suspected diagnosis"), is_earlier("final diagnosis")
        (True, True, False)
    """
    return is_qualified(header) or any(word in header.casefold() for word in WORDS["earlier"])


def names_an_eye(text: str) -> bool:
    """Return whether a text says of which eye it is: ``OD: glaucoma; OS: normal``, ``cataract left eye``."""
    parts = re.findall(r"\w+", text)
    sides = (*(part for part in parts if len(part) > 3), *map(" ".join, pairwise(parts)))  # ``rechts``, ``left eye``
    return any(part in _EYES for part in parts) or any(map(side_of, sides))


_EYES = frozenset(("OD", "OS", "OU", "OI", "OE", "OG", "RE", "LE", "RA", "LA"))


def only_denies(word: str) -> bool:
    """Return whether a cell states no disease and denies one.

    Example:
        >>> only_denies("no DR"), only_denies("glaucoma negative"), only_denies("AMD, no DR"), only_denies("normal")
        (True, True, False, False)
    """
    found = findings_of(word)
    return not found.present and (bool(found.absent) or any(is_denial(o) and diseases_in(o) for o in found.others[:1]))
