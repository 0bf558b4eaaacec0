"""Meanings of single columns, each found by one look at its name and cells; what a reader could doubt is asked."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import condition_of, findings_of, is_earlier, suspected
from lmod_train.data.cells.image_names import is_embedded
from lmod_train.data.cells.ordered import acuities_in, icdr_in, in_order
from lmod_train.data.cells.values import (
    Values,
    age_of,
    flag_of,
    in_one_spelling,
    listed,
    number_of,
    numbers_of,
    sex_of,
    side_of,
    split_of,
)
from lmod_train.data.cells.vocabulary import HEADERS, WEAK, plain
from lmod_train.extensions.table.meanings import Column, Seen, graded_in, option_of, reader_of, typed, value_of

AGREED = 0.9
"""Share of the rows whose cells must be of a meaning that the name of the column states."""


def look_at(seen: Seen) -> Column:
    """Return the meaning of a column by the first look that finds one."""
    for look in _LOOKS:
        column = look(seen)
        if column is not None:
            return column
    return _own(seen)


def _asked(
    seen: Seen, doubt: str, about: str, options: Sequence[str] = (), words: Mapping[str, str] | None = None
) -> Column:
    """Return a column that is not used before the user says what it means, or to ignore it."""
    options = tuple(options) or (option_of("ignore", seen.name),)
    return Column(seen.name, "ignore", "", words or {}, doubt=doubt, options=options, about=about)


def _own(seen: Seen) -> Column:
    words, bad = own_words(seen.name, seen.values)
    return Column(seen.name, "own", _kind_in_words(seen.values), words, bad=bad)


def own_words(name: str, values: Values) -> tuple[dict[str, str], dict[str, str]]:
    """Return cell -> word of a column that is the table's own, and cells without one.

    One spelling of each choice, acuities in one notation; numbers whose sign groups thousands, without it.
    """
    words, bad = acuities_in(name, values)
    if words:
        return words, bad
    kind = kind_of(values)
    if kind == "number":
        numbers = numbers_of(values.count)
        words = {cell: f"{n:.15g}" for cell, n in numbers.items() if number_of(cell) != n}
        unclear = "a number with thousands or decimals, which no other cell of the column shows"
        return words, {c: unclear for c in values.count if c not in numbers and number_of(c) is not None}
    return (in_one_spelling({c: c for c in values.count}, values), {}) if kind == "choice" else ({}, {})


def _named(seen: Seen, meaning: str) -> bool:
    return seen.bare in HEADERS[meaning]


def pieces_of(name: str) -> list[str]:
    """Return the words of a name: ``DxDescription``, ``Glaucoma_Label``."""
    return [piece for piece in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if piece]


def _image(seen: Seen) -> Column | None:
    named = _named(seen, "image")
    if named and is_embedded(seen.values.count):
        return Column(seen.name, "image", "images in base64")
    if not seen.values.rows or (seen.eye and seen.bare and not named and not has_endings(seen.values)):
        return None
    matched = {cell for cell in seen.values.count if seen.folder.find(cell)[0]}
    share = seen.values.share(dict.fromkeys(matched))
    unique = len(seen.values.count) >= 0.9 * seen.values.rows
    by_number = {c for c in seen.values.count if len(seen.folder.find(c, numbers=True)[0]) == 1} - matched
    if (
        share >= 0.5
        and not by_number
        and (named or has_endings(seen.values) or (share >= 0.95 and unique and not _named(seen, "index")))
    ):
        return Column(seen.name, "image", f"{len(matched)} of {len(seen.values.count)} name a file")
    if by_number and (named or share >= 0.5) and len(by_number | matched) * 2 > len(seen.values.count):
        cell = next(iter(by_number))
        file = seen.folder.find(cell, numbers=True)[0][0].name
        doubt = f"whether {cell} is the file {file}"
        return _asked(seen, doubt, "", [option_of("image", seen.name)])
    if named and has_endings(seen.values):
        return Column(seen.name, "image", f"by its name; {len(matched)} of {len(seen.values.count)} name a file")
    return None


def has_endings(values: Values) -> bool:
    """Return whether most cells end like files of images."""
    files = [cell for cell in values.count if re.search(r"\.(?:jpe?g|png|tiff?|bmp|gif|webp|jp2)$", cell, re.I)]
    return len(files) * 2 > len(values.count)


def _unused(seen: Seen) -> Column | None:
    for meaning in ("name", "birth", "notes", "licence", "box", "date", "index"):
        if _named(seen, meaning) and (meaning != "index" or len(seen.values.count) == seen.values.rows > 2):
            return Column(seen.name, meaning, "by its name")
    if not seen.values.rows:
        return Column(seen.name, "ignore", "it is empty")
    if any(seen.bare.startswith(word) for word in HEADERS["notes"] if len(word) >= _LONG):
        return Column(seen.name, "notes", "by its name")
    named = {cell: cell for cell in seen.values.count if _PERSON.search(cell)}
    return Column(seen.name, "name", "its cells name persons") if seen.values.share(named) >= 0.3 else None


_LONG = 6
"""Letters of a word that names a column also with more words behind it."""

_PERSON = re.compile(
    r"\b(?:Dr|Prof|Mr|Mrs|Ms|Sra?|Mme)\.? [^\W\d_]{2}|\b(?:Herr|Frau|Praxis|Doctor|Doktor|Docteur) [^\W\d_]{2}"
)


def _patient(seen: Seen) -> Column | None:
    return Column(seen.name, "patient", "by its name") if _named(seen, "patient") else None


def _finite(
    meaning: str, read: Callable[[str, frozenset[str]], str | None], expected: str
) -> Callable[[Seen], Column | None]:
    """Return a look at columns of a few known words, with a name that states them."""

    def look(seen: Seen) -> Column | None:
        if not _named(seen, meaning):
            return None
        return _of_words(seen, meaning, read, expected)

    return look


def _of_words(
    seen: Seen, meaning: str, read: Callable[[str, frozenset[str]], str | None], expected: str
) -> Column | None:
    all_words = frozenset(map(plain, seen.values.count))
    words, bad = seen.values.read(lambda cell: read(cell, all_words), f"expected {expected}")
    if seen.values.rows and seen.values.share(words) >= 0.5:
        if codes := _mixed_codes(bad, seen):
            return _codes_in_doubt(seen, meaning, words, codes)
        return Column(seen.name, meaning, "by its name and its cells", words, bad=bad)
    if not words and seen.values.rows and len(seen.values.count) <= 4:
        codes = sorted(seen.values.count)
        said = " or ".join(f"`--value {meaning}:{codes[0]}={word}`" for word in expected.split(" or "))
        said += f" says so of {codes[0]}"
        doubt = f"which words {listed(codes)} stand for ({expected}); {said}"
        iso_5218 = ("--value sex:1=male", "--value sex:2=female")  # of other codes nothing is known
        return _asked(seen, doubt, meaning, iso_5218 if meaning == "sex" and {*codes} <= {"1", "2"} else ())
    return None


_CODED = re.compile(r"(\d{1,2})(?:\.0)?(?:\s*[=:]\s*(\S.*))?")
"""A code, alone or with the word that it stands for: ``1``, ``1 = mild``."""


def _mixed_codes(cells: Iterable[str], seen: Seen) -> list[str]:
    """Return the codes among cells if they are too many to be errors of typing, so that their words must be asked."""
    codes = [cell for cell in cells if _CODED.fullmatch(cell)]
    return codes if seen.values.share(dict.fromkeys(codes)) > 1 - AGREED else []


def _codes_in_doubt(seen: Seen, meaning: str, words: Mapping[str, str], codes: Sequence[str]) -> Column:
    """Return a column of words among which codes stand, with the words that cells such as ``1 = mild`` state."""
    named = {found[1]: found[2] for cell in seen.values.count if (found := _CODED.fullmatch(cell)) and found[2]}
    stated = {cell: named[found[1]] for cell in codes if (found := _CODED.fullmatch(cell)) and found[1] in named}
    said = typed(value_of(seen.name, codes[0], stated.get(codes[0], "WORD")))
    doubt = f"which words the codes {listed(sorted(codes))} stand for, beside words; `{said}` says so"
    options = [value_of(seen.name, cell, stated.get(cell, "unknown")) for cell in codes]
    return _asked(seen, doubt, meaning, options, words)


def _age(seen: Seen) -> Column | None:
    if not _named(seen, "age"):
        return None
    if re.search(r"month|monat|\bmes|mois|\bday|\btag|jour|\bdia|week|woche|月|日", seen.name.casefold()):
        return Column(seen.name, "own", "an age, but not in years")
    ages, bad = seen.values.read(
        lambda cell: f"{age:g}" if (age := age_of(cell)) is not None else None, "expected an age in years below 120"
    )
    if seen.values.share(ages) >= 0.5:
        return Column(seen.name, "age", "by its name and its cells", ages, bad=bad)
    return Column(seen.name, "own", "named like an age, but its cells are none")


def _flag(seen: Seen) -> Column | None:
    beside = WEAK["diagnosis"] | HEADERS["name"]  # ``glaucoma_grader2`` is of glaucoma
    pieces = [piece for piece in pieces_of(seen.name) if plain(piece).rstrip("0123456789") not in beside]
    condition = condition_of(seen.name) or condition_of(seen.bare) or condition_of(" ".join(pieces))
    if condition is None or not seen.values.rows:
        return None
    words, bad = seen.values.read(flag_of, "expected yes or no")
    if _is_ticked(seen, words):
        return _ticks(seen, condition, words)
    if seen.values.share(words) >= AGREED:
        return Column(seen.name, condition, "named like a disease, with yes or no", words, bad=bad)
    if all(number_of(cell) is not None for cell in seen.values.count) and len(seen.values.count) <= 8:
        return _coded_flag(seen, condition)
    if seen.values.share(words) >= 0.5:
        return _odd_flags(seen, condition, words)
    return replace(_own(seen), about=condition)


def _is_ticked(seen: Seen, words: Mapping[str, str]) -> bool:
    """Return whether one word, which is not no, stands in some rows and nothing in the others."""
    return (
        len(set(map(str.casefold, seen.values.count))) == 1 and bool(seen.values.blank) and "no" not in words.values()
    )


def _ticks(seen: Seen, condition: str, words: Mapping[str, str]) -> Column:
    """Return a column of ticks with the doubt whether an empty cell is no: the eye may not have been examined."""
    ticked, blank = (
        listed(seen.values.count),
        " and ".join(repr(cell) if cell else "empty" for cell in seen.values.blank),
    )
    options = [value_of(seen.name, cell, "yes") for cell in seen.values.count if cell not in words]
    options += [value_of(seen.name, cell, "no") for cell in seen.values.blank]
    unknown = typed(value_of(seen.name, seen.values.blank[0], "unknown"))
    doubt = f"whether {ticked} is yes, and whether {blank} cells are no; `{unknown}` if they may not be examined"
    return _asked(seen, doubt, condition, options, words)


def _coded_flag(seen: Seen, condition: str) -> Column:
    """Return a doubt about numbers in a column of a disease: yes and no, of which one reading is shown, or grades."""
    codes = sorted(seen.values.count)
    known = {code: word for code in codes if (word := flag_of(code))}
    can_be_grades = not levels_of(seen.values)[1]
    if {*known.values()} == {"yes", "no"} and not can_be_grades:
        return _odd_flags(seen, condition, known)
    named = condition if ":" in seen.name else seen.name
    first = flag_of(codes[0]) or {"yes": "no", "no": "yes"}.get(flag_of(codes[-1]) or "", "")
    words = (first or "yes", "no" if first == "yes" else "yes" if first else "no")
    values = tuple(f"--value {named}:{code}={word}" for code, word in zip(codes, words, strict=False))
    graded = option_of("grade", seen.name)
    said = " ".join(shlex.join(option.split(" ", 1)) for option in values)
    doubt = f"whether {listed(codes)} are yes and no of {condition} (`{said}`{', ...' if len(codes) > 2 else ''})"
    doubt += f", or grades of it (`{shlex.join(graded.split(' ', 1))}`)" if can_be_grades else ""
    options = (graded,) if can_be_grades and len(codes) > 2 else values if first else ()  # else nothing says which
    return _asked(seen, doubt, condition, options, known)


def _odd_flags(seen: Seen, condition: str, known: Mapping[str, str]) -> Column:
    """Return a doubt about the cells of a column of yes and no that are neither."""
    other = sorted(cell for cell in seen.values.count if cell not in known)
    said = typed(value_of(seen.name, other[0], "yes"))
    doubt = f"whether {listed(other)} are yes, no or without a value; `{said}` says that it is yes"
    return _asked(seen, doubt, condition, [value_of(seen.name, cell, "unknown") for cell in other], known)


def _retinopathy(seen: Seen) -> Column | None:
    """Return a column of grades of retinopathy in words, which are levels of ICDR; ``severe`` beside ``PDR``."""
    graded = _is_graded(seen) or seen.bare in WEAK["grade"] or "icdr" in seen.bare
    if not graded and condition_of(seen.bare) != "diabetic retinopathy":
        return None
    words = icdr_in([*seen.values.count, *seen.values.missing])
    if any(words.get(cell) == "0" for cell in seen.values.count):  # then another word for none may be a missing value
        words = {cell: level for cell, level in words.items() if cell in seen.values.count}
    if seen.values.share(words) < AGREED:
        return None
    bad = {cell: "expected a grade of retinopathy" for cell in seen.values.count if cell not in words}
    return Column(seen.name, "icdr", "grades of retinopathy in words", words, bad=bad)


def _is_graded(seen: Seen) -> bool:
    """Return whether the name of a column states grades, alone or of a disease: ``Grado de RD``."""
    return _named(seen, "grade") or bool(graded_in(seen.name))


def _grade(seen: Seen) -> Column | None:
    strong, weak = _is_graded(seen), seen.bare in WEAK["grade"]
    scale = next((scale for scale in SCALES if plain(scale.name) in seen.bare), None)
    numbers = {cell: cell for cell in seen.values.count if re.fullmatch(r"\d(?:\.0)?", cell)}
    share = seen.values.share(numbers)
    coded = seen.values.share(dict.fromkeys(filter(_CODED.fullmatch, seen.values.count)))
    if (scale is not None or strong) and coded > 1 - AGREED and share < AGREED and not seen.classes:
        return _levels_in_doubt(seen, scale.name if scale is not None else "grade", numbers)
    if scale is not None and share >= AGREED:
        words = {cell: level for cell in numbers if (level := cell[0]) in scale.levels}
        if len(words) < len(numbers) or set(words.values()) <= {"0", "1"}:
            levels = ", ".join(scale.levels)
            doubt = f"whether {listed(sorted(seen.values.count))} are levels of {scale.name} ({levels})"
            kept = scale.name if len(set(words.values())) > 2 else "grade"
            return _asked(seen, doubt, scale.name, [option_of(kept, seen.name)], words)
        bad = {cell: f"expected one of {', '.join(scale.levels)}" for cell in seen.values.count if cell not in words}
        return Column(seen.name, scale.name, "by its name and its cells", words, bad=bad)
    if strong and in_order(seen.name, seen.values.count):
        return Column(seen.name, "grade", "words of degree", {cell: cell for cell in seen.values.count})
    is_coded = plain(seen.name) in HEADERS["diagnosis"] and share >= AGREED
    steps, odd = levels_of(seen.values)
    if strong and seen.values.rows and seen.values.share(steps) < 0.5 and not seen.classes:
        return replace(_own(seen), about="grade")
    if seen.classes or not (strong or weak or is_coded) or max(share, seen.values.share(steps)) < 0.5:
        return None
    few = set(steps.values()) <= {"0", "1"}
    if not strong or few:
        kind = "yes or no, or a grade" if few else "a grade, or a class"
        doubt = f"whether {listed(sorted(seen.values.count))} are {kind}"
        about = "diagnosis" if _named(seen, "diagnosis") or seen.bare in WEAK["diagnosis"] else "grade"
        return _asked(seen, doubt, about, [option_of("grade", seen.name)])
    return Column(seen.name, "grade", "by its name and its cells", steps, bad=odd)


def _levels_in_doubt(seen: Seen, meaning: str, numbers: Mapping[str, str]) -> Column:
    """Return a column of levels as numbers and as words, whose numbers are asked unless ``1 = mild`` states them."""
    others = sorted(cell for cell in seen.values.count if cell not in numbers)
    stated = {cell: found[1] for cell in others if (found := _CODED.fullmatch(cell))}
    said = typed(value_of(seen.name, others[0], stated.get(others[0], "1")))
    doubt = f"which levels {listed(others)} are, beside numbers; `{said}` says so"
    options = [value_of(seen.name, cell, stated.get(cell, "unknown")) for cell in others]
    return _asked(seen, doubt, meaning, options, {cell: level[0] for cell, level in numbers.items()})


_LEVEL = re.compile(r"([^\W\d_]*)\s*(\d+(?:\.\d+)?)(?:\s*[-=:.–]\s*[^\W\d].*)?")
"""``2``, ``R2``, ``Stage 2``, ``2 - moderate``."""


def levels_of(values: Values) -> tuple[dict[str, str], dict[str, str]]:
    """Return the levels of a grade, and cells far from the others, such as a 7 among 0 to 3."""
    read = {cell: _LEVEL.fullmatch(cell.strip()) for cell in values.count}
    begins = Counter(found[1].casefold() for found in read.values() if found).most_common(1)  # ``Stage 2``, ``R0``
    numbers = {c: float(f[2]) for c, f in read.items() if f and f[1].casefold() == begins[0][0]}
    steps = sorted(numbers.values())
    most = 2 if len(set(steps)) > 2 else 1  # of several levels one may be absent
    last = next((low for low, high in pairwise(steps) if high - low > most), steps[-1] if steps else 0)
    words = {cell: f"{number:g}" for cell, number in numbers.items() if number <= last}
    bad = {cell: "expected a level next to the others" for cell in values.count if cell not in words}
    return words, bad


def _diagnosis(seen: Seen) -> Column | None:
    pieces = {plain(piece) for piece in pieces_of(seen.name)}
    strong = _named(seen, "diagnosis")
    weak = seen.bare in WEAK["diagnosis"]
    partly = any(p in HEADERS["diagnosis"] or p.startswith("diagn") for p in pieces)
    if not (strong or weak or partly) or not seen.values.rows:
        return None
    if is_earlier(seen.name):
        return replace(_own(seen), about="diagnosis")
    if seen.classes:
        names = {str(n): name for n, name in enumerate(seen.classes)}
        wrong = f"expected 0 to {len(names) - 1}, which the file names"
        words, bad = seen.values.read(lambda cell: findings_of(names[cell]).words if cell in names else None, wrong)
        return Column(seen.name, "diagnosis", "classes that the file names", words, bad=bad)
    known = {cell for cell in seen.values.count if findings_of(cell).present or findings_of(cell).absent}
    share = seen.values.share(dict.fromkeys(known))
    if all(re.fullmatch(r"\d+(?:\.0)?|[A-Za-z]", cell) for cell in seen.values.count):
        if partly and not (strong or weak):
            return None
        code = next(iter(seen.values.count))
        doubt = f"which diagnoses the codes {listed(sorted(seen.values.count))} stand for"
        own = f"--value 'diagnosis:{code}=NAME' for each; `--column grade={seen.name}` if they are grades"
        return _asked(seen, f"{doubt} ({own})", "diagnosis")
    if strong or share >= 0.3:
        bad = {cell: "a code among words" for cell in seen.values.count if _CODED.fullmatch(cell)}
        stated = {cell: suspected(cell) or findings_of(cell).words for cell in seen.values.count if cell not in bad}
        words = in_one_spelling(stated, seen.values)
        if codes := _mixed_codes(bad, seen):
            return _codes_in_doubt(seen, "diagnosis", words, codes)
        return Column(seen.name, "diagnosis", "by its name" if strong else "by its cells", words, bad=bad)
    return None


def _split(seen: Seen) -> Column | None:
    words, bad = seen.values.read(split_of, "expected train, val or test")
    if _named(seen, "split") and seen.values.rows:
        if seen.values.share(words) >= 0.5:
            return Column(seen.name, "split", "by its name and its cells", words, bad=bad)
        codes = sorted(seen.values.count)
        said = f"`--value split:{codes[0]}=test` says so of {codes[0]}"
        doubt = f"which of train, val and test {listed(codes)} are; {said}"
        return _asked(seen, doubt, "split", words=words)
    if words and seen.values.share(words) == 1 and (len(set(words.values())) > 1 or _named(seen, "split")):
        return Column(seen.name, "split", "by its cells", words)
    return None


def _plain_text(meaning: str) -> Callable[[Seen], Column | None]:
    def look(seen: Seen) -> Column | None:
        return Column(seen.name, meaning, "by its name") if _named(seen, meaning) and seen.values.rows else None

    return look


def _modality(seen: Seen) -> Column | None:
    """Return a column of modalities, or a doubt about words that name none, unless all images have the same."""
    if not _named(seen, "modality"):
        return None
    words, bad = seen.values.read(reader_of("modality"), "no modality")  # type: ignore[arg-type]  # there is one
    if not bad:
        return Column(seen.name, "modality", "by its name and its cells", words)
    if len(seen.values.count) < 2:
        return None
    cell = sorted(bad)[0]
    doubt = f"which modality {listed(sorted(bad))} is; `{typed(value_of(seen.name, cell, 'CFP'))}` says so of {cell}"
    return _asked(seen, doubt, "modality", words=words)


def _weak_patient(seen: Seen) -> Column | None:
    return Column(seen.name, "id", "an id") if seen.bare in WEAK["patient"] else None


def _unnamed_side(seen: Seen) -> Column | None:
    """Return a doubt about a column whose cells all are sides, and whose name does not say so."""
    words, bad = seen.values.read(side_of, "no side")
    if bad or len(set(words.values())) < 2:
        return None
    doubt = f"whether {listed(sorted(seen.values.count))} are sides of the eye"
    return _asked(seen, doubt, "laterality", [option_of("laterality", seen.name)], words)


def _unnamed_diagnosis(seen: Seen) -> Column | None:
    """Return a column of the table's own about diagnoses, if most cells are some and its name does not say so."""
    stated = {cell: found for cell in seen.values.count if (found := findings_of(cell).present)}
    if len(stated) < 2 or seen.values.share(stated) < 0.5 or condition_of(seen.bare):
        return None
    return replace(_own(seen), about="diagnosis")


def _kind_in_words(values: Values) -> str:
    kind, distinct = kind_of(values), len(values.count)
    return {"yes_no": "yes or no", "number": "numbers", "choice": f"{distinct} words", "open": "free text"}[kind]


def kind_of(values: Values) -> str:
    """Return the kind of question that a column can be: yes_no, number, choice or open."""
    numbers = numbers_of(values.count)
    if values.rows and all(flag_of(cell) for cell in values.count) and not set(values.count) <= {"0", "1"}:
        return "yes_no"
    if (
        values.rows
        and sum(n for c, n in values.count.items() if c in numbers or number_of(c) is not None) >= AGREED * values.rows
    ):
        return "number"
    return "choice" if len(values.count) <= 12 and values.rows >= 2 * len(values.count) else "open"


_LOOKS: tuple[Callable[[Seen], Column | None], ...] = (
    _image, _patient, _finite("laterality", side_of, "left or right"), _finite("sex", sex_of, "male or female"), _age,
    _split, _retinopathy, _grade, _flag, _diagnosis, _modality, _unused,
    *map(_plain_text, ("camera", "quality", "question", "answer")), _weak_patient, _unnamed_side,
    _unnamed_diagnosis,
)  # fmt: skip
"""From what cells show to what only a name suggests."""
