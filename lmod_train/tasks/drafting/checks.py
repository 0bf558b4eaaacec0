"""All checks of a set of drafts, with a count and a list for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import SIGNS
from lmod_train.core.vocabulary.stage_words import STAGE_WORDS
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.marks import steering_marks
from lmod_train.tasks.drafting.meaning import (
    PLACES,
    asserted_in,
    counts_in,
    graded,
    numbers_in,
    places_in,
    says_all_of,
    severities_in,
    stated,
    terms_in,
    values_in,
)
from lmod_train.tasks.drafting.readability import hard_to_read
from lmod_train.tasks.drafts.draft import parts_of
from lmod_train.tasks.drafts.facts import LESIONS
from lmod_train.tasks.drafts.listing import PARTS, VERDICTS
from lmod_train.tasks.drafts.words import OPTIONS
from lmod_train.tasks.parsing.repetition import split_repetition

DUPLICATE = "duplicate"
"""Name of the check of the whole set."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a check has found.

    Attributes:
        id: Record id of the draft.
        stage: Its stage.
        check: Name of the check.
        detail: What was found; may quote the draft, and is untrusted.
    """

    id: str
    stage: str
    check: str
    detail: str


def faults_of(drafts: Sequence[Drafted]) -> list[Fault]:
    """Return everything that the checks find, in the order of the drafts; of a draft in that of the checks.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> [(f.check, f.detail) for f in faults_of([drafted(letter="E", answer="Primary diagnosis: glaucoma")])][0]
        ('parts', 'no Supporting evidence from LC')
    """
    twice = duplicates(drafts)
    return [
        Fault(one.id, one.stage, check, detail)
        for one in drafts
        for check, details in (*((name, find(one)) for name, find in CHECKS), (DUPLICATE, twice.get(one.id, [])))
        for detail in details
    ]


def duplicates(drafts: Sequence[Drafted]) -> dict[str, list[str]]:
    """Return id -> what an earlier draft has in common with it, of the drafts that occur twice, in the given order.

    The same long answer of another image is a copy, as no two images have the same findings in the same words.
    Questions and options may be the same for several images, but not for one.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> duplicates([drafted(key="1", answer="A pale disc."), drafted(key="2", answer="a pale DISC")])
        {'draft/s/2/DD': ['long answer of draft/s/1/DD']}
    """
    answers: dict[str, str] = {}
    questions: dict[tuple[str, ...], str] = {}
    found: dict[str, list[str]] = {}
    for one in drafts:
        answer, asked = (
            _plain(one.draft.answer),
            (*one.record.image, *map(_plain, (one.draft.question, *one.draft.options))),
        )
        first = answers.setdefault(answer, one.id) if answer else one.id
        before = questions.setdefault(asked, one.id)
        why = [f"long answer of {first}"] if first != one.id else []
        why += [f"question and options of {before}"] if before != one.id else []
        found |= {one.id: why} if why else {}
    return found


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


_NOTHING = re.compile(r"\W*(?:n/?a|none given|not stated|unknown|tbd|to be determined|-)?\W*", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"<[A-Z][A-Z _/()-]{2,60}|\[(?:adverse outcome|[A-Z][A-Z _/]{2,40})\]|\.\.\.\s*$", re.MULTILINE
)
FEWEST = 3
"""Words that follow a verdict (YES, NO, PRESENT, ABSENT) at least."""


def missing_parts(one: Drafted) -> list[str]:
    """Return the parts of the template that the long answer lacks or leaves empty, and places left to fill in.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> missing_parts(drafted("IQA", answer="YES. The macula and the optic disc are sharp."))
        []
        >>> missing_parts(drafted("IQA", answer="The image is sharp."))
        ['no YES or NO at the beginning']
    """
    answer = one.draft.answer
    left = [
        f"place left to fill in: {found[0][:40]}" for found in _PLACEHOLDER.finditer(f"{one.draft.question}\n{answer}")
    ]
    return [*_of_verdict(one.stage, answer), *_of_labels(one.stage, answer), *left]


def _of_verdict(stage: str, answer: str) -> list[str]:
    words = VERDICTS.get(stage, ())
    if not words:
        return []
    found = re.match(rf"\W*(?:{'|'.join(words)})\b", answer, re.IGNORECASE)
    if found is None:
        return [f"no {' or '.join(words)} at the beginning"]
    return [] if len(answer[found.end() :].split()) >= FEWEST else [f"nothing after {found[0].strip()}"]


def _of_labels(stage: str, answer: str) -> list[str]:
    parts = parts_of(answer)
    return [f"no {label}" for label in PARTS[stage] if _NOTHING.fullmatch(parts.get(label.lower(), ""))]


_RELATIVE = re.compile(
    r"\b(?:"
    + "|".join(PLACES.values())
    + r")\s(?:of|to|from|than)\s(?!(?:the|this)\s(?:image|photograph|scan|picture|fundus))",
    re.IGNORECASE,
)
"""Directions seen from something else than the image, which boxes alone do not state."""
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n+")


def implausible_places(one: Drafted) -> list[str]:
    """Return the sentences of right option and long answer that name a direction in which no box of theirs lies.

    A sentence is compared with the boxes of the structures that it names; with those of the structure asked about if it
    names none. Nothing is compared where the image has no boxes. Nasal and temporal count only if the eye is known.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> boxes = {"optic disc": "1 box; upper right of the image; 9 % of the width, 9 % of the height"}
        >>> answer = "PRESENT. The optic disc is in the lower right of the image."
        >>> implausible_places(drafted("AL", boxes=boxes, structure="optic disc", answer=answer))
        ['lower: The optic disc is in the lower right of the image.']
    """
    right = one.draft.right
    return [found for sentence in (right, *_SENTENCE.split(one.draft.answer)) for found in _of(sentence, one)]


def _of(sentence: str, one: Drafted) -> list[str]:
    eye = one.facts.eye
    named = places_in(_RELATIVE.sub(" ", sentence), eye) - ({"nasal", "temporal"} if not eye else set())
    known = _known(sentence, one.facts.boxes, one.facts.structure)
    if not named or not known:
        return []
    places = places_in(" ".join(known), eye)
    return [f"{place}: {sentence.strip()[:120]}" for place in sorted(named - places)]


def _known(sentence: str, boxes: Mapping[str, str], structure: str) -> list[str]:
    about = [boxes[name] for name in sorted(terms_in(sentence)) if name in boxes]
    return about or ([boxes[structure]] if structure in boxes else [])


QUESTION, OPTION, ANSWER = (4, 60), (1, 30), (3, 250)
"""Fewest and most words; ours."""
UNLIKE = 3.0
"""Times that the right option may have the words of the longest wrong one, or the reverse, beyond `SHORT` words."""
SHORT = 6
"""Words up to which options are of like length, whatever their ratio."""


def unfit_lengths(one: Drafted) -> list[str]:
    """Return what is too short or too long, and whether the length of the right option gives it away.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> unfit_lengths(drafted(question="Diagnosis?", answer="Primary diagnosis: glaucoma"))
        ['question of 1 words']
    """
    draft = one.draft
    texts = [("question", draft.question, QUESTION), ("answer", draft.answer, ANSWER)]
    texts += [("option", option, OPTION) for option in draft.options]
    unfit = [
        f"{name} of {n} words" for name, text, (low, high) in texts for n in [len(text.split())] if not low <= n <= high
    ]
    return unfit + _unlike(len(draft.right.split()), [len(o.split()) for o in draft.wrong])


def _unlike(right: int, wrong: list[int]) -> list[str]:
    if not right or not wrong:
        return []
    longest, shortest = max(right, *wrong), min(right, *wrong)
    gives_away = right in (longest, shortest) and wrong.count(right) == 0
    other = max(wrong) if right == longest else min(wrong)
    unlike = longest > SHORT and max(right, other) > UNLIKE * min(right, other)
    return [f"right option of {right} words, the others {min(wrong)} to {max(wrong)}"] if gives_away and unlike else []


def other_numbers(one: Drafted) -> list[str]:
    """Return the measurements and counts of right option and long answer that the facts do not contain.

    A measurement is a number with a unit (percent, disc diameters, clock hour, ratio, mm, um); it agrees with a fact
    of the same unit that rounds to it. Doses and times are not measured in the image and not compared. A count is
    compared if the structure has boxes.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> boxes = {"optic cup": "1 box; left of the image; vertical cup-to-disc ratio 0.58"}
        >>> answer = "Primary diagnosis: glaucoma, as the ratio is 0.6 and the cup 0.4 mm wide."
        >>> other_numbers(drafted("DD", boxes=boxes, answer=answer))
        ['0.4 mm']
    """
    given = f"{one.draft.right}\n{one.draft.answer}"
    known = "\n".join([one.facts.truth, *one.facts.earlier.values(), *one.facts.boxes.values(), *one.truths.values()])
    facts = numbers_in(known)
    others = [f"{n} {unit}" for n, unit in sorted(numbers_in(given)) if not any(_fits(n, unit, f) for f in facts)]
    return others + [f"{n} {name}" for n, name in sorted(counts_in(given, one.facts.boxes)) if n != _boxes(one, name)]


def _fits(number: str, unit: str, fact: tuple[str, str]) -> bool:
    digits = Decimal(1).scaleb(-len(number.partition(".")[2]))
    return unit == fact[1] and abs(Decimal(number) - Decimal(fact[0])) <= digits / 2


def _boxes(one: Drafted, name: str) -> int:
    return int(one.facts.boxes[name].split()[0])


def unknown_options(one: Drafted) -> list[str]:
    """Return the options with no word of the stage: no structure, condition, measurement, nor word of `STAGE_WORDS`.

    An option that states the truth word for word is known, and one with a number where the truth has one.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> unknown_options(drafted("DD", options=("Glaucoma", "Florbitis", "AMD", "Cataract")))
        ['Florbitis']
    """
    return [option for option in one.draft.options if not _is_known(option, one.stage, one.facts.truth)]


def _is_known(option: str, stage: str, truth: str) -> bool:
    listed = _pattern(stage).search(option) is not None or bool(values_in(option) and values_in(truth))
    return listed or bool(terms_in(option)) or bool(numbers_in(option)) or truth.casefold() in option.casefold()


@cache
def _pattern(stage: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(STAGE_WORDS[stage]) + r")(?!\w)", re.IGNORECASE)


_DISEASES = frozenset(term.name for term in CONDITIONS) - SIGNS

ASSERTED = {
    "DD": ("primary diagnosis",),
    "SG": ("contributing factors",),
    "CD": ("primary intervention", "rationale"),
}
"""Stage -> parts of the long answer that assert a diagnosis; the others name alternatives."""
EVIDENCE = "supporting evidence from lc"


def contradictions(one: Drafted) -> list[str]:
    r"""Return what a draft of stage DD, SG or CD asserts against the truths of its image's other stages.

    Compared are the right option, and the parts of `ASSERTED`: diseases with the truth of DD, grades (in SG and CD)
    with that of SG. In DD, lesions of the evidence are compared with the truth of LC and the boxes. What is denied is
    not compared, nor is a stage without a truth.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> truths = {"DD": "glaucoma", "CD": "refer"}
        >>> answer = "Primary intervention: refer\nRationale: diabetic retinopathy threatens sight."
        >>> contradictions(drafted("CD", truth="refer", truths=truths, answer=answer))
        ['diabetic retinopathy instead of glaucoma']
    """
    if one.stage not in ASSERTED:
        return []
    parts = parts_of(one.draft.answer)
    texts = [one.draft.right, *(parts.get(label, "") for label in ASSERTED[one.stage])]
    return [*_diseases(one, texts), *_grades(one, texts), *_lesions(one, parts.get(EVIDENCE, ""))]


def _diseases(one: Drafted, texts: list[str]) -> list[str]:
    truth = one.truths.get("DD", "")
    known = {name for text in one.truths.values() for name in asserted_in(text)}
    named = {name for text in texts for name in asserted_in(text) & _DISEASES}
    return [f"{name} instead of {truth}" for name in sorted(named - known)] if truth else []


def _grades(one: Drafted, texts: list[str]) -> list[str]:
    truth = one.truths.get("SG", "")
    known = severities_in(graded(truth))
    named = {grade for text in texts for grade in severities_in(graded(text))} if one.stage in ("SG", "CD") else set()
    return [f"{grade} instead of {truth}" for grade in sorted(named - known)] if known else []


def _lesions(one: Drafted, evidence: str) -> list[str]:
    known = asserted_in(one.truths.get("LC", "")) | ({*one.facts.boxes} & {*LESIONS})
    named = asserted_in(evidence) & {*LESIONS} if one.stage == "DD" else frozenset()
    return [f"evidence {name}, which is not among the lesions" for name in sorted(named - known)] if known else []


_MARKED = re.compile(
    r"[(\[*]\s?(?:correct|right|true|answer)\s?(?:answer|option)?\s?[)\]*]|\u2713|\u2714", re.IGNORECASE
)


def one_right(one: Drafted) -> list[str]:
    """Return what is wrong with options and letter: number, equal texts, marks, and whether the right one is true.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> one_right(drafted("DD", truth="glaucoma", options=("Cataract", "Open angle glaucoma", "Normal", "AMD")))
        ['the option A does not state the truth: glaucoma']
    """
    draft = one.draft
    plain = ["".join(c for c in option.casefold() if c.isalnum()) for option in draft.options]
    found = [] if len(plain) == OPTIONS else [f"{len(plain)} options instead of {OPTIONS}"]
    found += ["an empty option"] if not all(plain) else []
    found += ["two equal options"] if len(set(plain)) < len(plain) else []
    found += [f"a mark in the option {o[:60]}" for o in draft.options if _MARKED.search(o)]
    if not draft.right:
        return [*found, f"the letter {draft.letter} is of no option"]
    true = says_all_of(draft.right, one.facts.truth, one.facts.eye)
    found += [] if true else [f"the option {draft.letter} does not state the truth: {one.facts.truth}"]
    return found + (["the question names the truth"] if _named(one) else [])


def _named(one: Drafted) -> bool:
    """Return whether the question states the truth, beyond the structure that it asks about."""
    truth = one.facts.truth
    if truth == one.facts.structure:
        return False
    return says_all_of(one.draft.question, truth, one.facts.eye)


def truth_in_other_words(one: Drafted) -> list[str]:
    """Return the wrong options that state the truth, or a part of it only, in other words.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> options = ("Diabetic retinopathy", "DR", "Cataract", "Glaucoma")
        >>> truth_in_other_words(drafted("DD", truth="diabetic retinopathy", options=options))
        ['DR']
    """
    return [option for option in one.draft.wrong if _same(option, one.facts.truth, one.facts.eye)]


def _same(option: str, truth: str, eye: str) -> bool:
    if says_all_of(option, truth, eye):
        return True
    part = stated(option, eye)  # a part of the truth is true as well
    return (
        any(kind != "compared" for kind, _ in part)
        and part < stated(truth, eye)
        and values_in(option) <= values_in(truth)
    )


def alike(one: Drafted) -> list[str]:
    """Return pairs of wrong options that state the same, so that neither can be right.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> alike(drafted("DD", options=("Glaucoma", "AMD", "Macular degeneration", "Cataract")))
        ['AMD = Macular degeneration']
    """
    eye = one.facts.eye
    return [
        f"{a} = {b}" for a, b in combinations(one.draft.wrong, 2) if says_all_of(a, b, eye) and says_all_of(b, a, eye)
    ]


FEWEST_WORDS = 4
"""Words from which a sentence that occurs twice counts."""


def repetitions(one: Drafted) -> list[str]:
    """Return loops of words, and sentences of the long answer that occur twice.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> repetitions(drafted(answer="The disc is pale and small. The disc is pale and small."))
        ['twice: the disc is pale and small']
    """
    text = f"{one.draft.question}\n{one.draft.answer}"
    looped = ["words in a loop"] if split_repetition(text)[1] else []
    sentences = (re.sub(r"^[^:]{1,40}:\s", "", s).strip(" .;!?").casefold() for s in _SENTENCE.split(one.draft.answer))
    counted = Counter(s for s in sentences if len(s.split()) >= FEWEST_WORDS)
    return looped + [f"twice: {sentence[:80]}" for sentence, n in counted.items() if n > 1]


CHECKS: tuple[tuple[str, Callable[[Drafted], list[str]]], ...] = (
    ("place", implausible_places),
    ("vocabulary", unknown_options),
    ("coherence", contradictions),
    ("numbers", other_numbers),
    ("parts", missing_parts),
    ("one_right", one_right),
    ("truth_in_other_words", truth_in_other_words),
    ("equal_options", alike),
    ("readability", hard_to_read),
    ("length", unfit_lengths),
    ("repetition", repetitions),
    ("marks", steering_marks),
)
"""Name of a check -> what it finds in one draft."""
NAMES = (*(name for name, _ in CHECKS), DUPLICATE)
