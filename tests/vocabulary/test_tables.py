"""The tables: every row is complete, no spelling means two things, every phrase is a sound pattern."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from lmod_train.vocabulary import phrases
from lmod_train.vocabulary.age_groups import AGE_GROUPS, MERGED
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.findings import FINDINGS
from lmod_train.vocabulary.scales import SCALES
from lmod_train.vocabulary.sexes import SEXES
from lmod_train.vocabulary.structures import STRUCTURES
from lmod_train.vocabulary.term import Term

# What LMOD and LMOD+ ask for: the twelve BRSET conditions, the four diagnoses, the structures of the five modalities.
ASKED = {
    *("diabetic retinopathy", "age-related macular degeneration", "drusen", "increased cup-to-disc ratio"),
    *("vascular occlusion", "myopic fundus", "hypertensive retinopathy", "hemorrhage", "scar", "abnormal macula"),
    *("nevus", "abnormal vessels", "cataract", "glaucoma", "normal"),
    *("optic disc", "optic cup", "fovea", "choroid", "intraretinal cysts", "macular hole", "retina"),
    *("iris", "pupil", "right eye", "left eye", "cornea", "cornea1", "pupil1", "lens", "slit knife", "incision knife"),
    *("gauge", "spatula", "capsulorhexis cystotome", "capsulorhexis forceps", "katena forceps"),
    *("phacoemulsification tip", "irrigation-aspiration", "lens injector"),
}


def test_the_benchmarks_words_are_there() -> None:
    assert ASKED - {term.name for term in (*STRUCTURES, *CONDITIONS)} == set()


@pytest.mark.parametrize("table", [STRUCTURES, CONDITIONS, SEXES], ids=["structures", "conditions", "sexes"])
def test_no_spelling_means_two_things(table: tuple[Term, ...]) -> None:
    owners = defaultdict(set)
    for term in table:
        for form in (term.name, *term.english, *term.chinese):
            owners[form.casefold().replace("-", " ")].add(term.name)
    assert {form: names for form, names in owners.items() if len(names) > 1} == {}


@pytest.mark.parametrize("term", [*STRUCTURES, *CONDITIONS, *SEXES], ids=lambda term: term.name)
def test_rows_are_complete(term: Term) -> None:
    assert term.reference
    assert term.name == term.name.strip().lower()
    assert all(form.isascii() for form in term.english)
    assert all(not form.isascii() for form in term.chinese)


@pytest.mark.parametrize("name", [n for n in dir(phrases) if n.isupper() and isinstance(getattr(phrases, n), tuple)])
def test_phrases_are_sound_patterns_that_match_something_and_not_nothing(name: str) -> None:
    for phrase in getattr(phrases, name):
        assert re.compile(phrase).groups == 0, phrase
        assert re.compile(phrase).fullmatch("") is None, phrase


def test_numerals() -> None:
    assert [phrases.NUMERALS[w] for w in ("zero", "iv", "four", "四", "十")] == [0, 4, 4, 4, 10]


def test_scales_are_named_once_and_every_level_has_its_meaning() -> None:
    assert len({scale.name for scale in SCALES}) == len(SCALES)
    for scale in SCALES:
        assert scale.name.isidentifier() and scale.disease and scale.reference
        assert [int(level) for level in scale.levels] == sorted(map(int, scale.levels))
        assert len(scale.levels) == len(set(scale.levels)) == len(scale.meanings) > 1


def test_findings_are_the_twelve_of_the_heat_map_and_each_has_its_names() -> None:
    assert [finding.condition for finding in FINDINGS] == [
        *("diabetic retinopathy", "age-related macular degeneration", "drusen", "increased cup-to-disc ratio"),
        *("vascular occlusion", "myopic fundus", "hypertensive retinopathy", "hemorrhage", "scar"),
        *("abnormal macula", "nevus", "abnormal vessels"),
    ]  # LMOD+, figure 3, in the order of its axis
    rows = {term.name: term for term in CONDITIONS}
    assert len({finding.short for finding in FINDINGS}) == len(FINDINGS)
    for finding in FINDINGS:
        spellings = {form.casefold() for form in (finding.condition, *rows[finding.condition].english)}
        assert finding.short.casefold() in spellings  # else a reply in the requested format could not be read
        assert finding.short.isupper()


def test_age_groups_leave_no_age_out_and_none_twice() -> None:
    assert [group.low for group in AGE_GROUPS] == [0, *(group.below for group in AGE_GROUPS[:-1])]
    assert AGE_GROUPS[-1].below is None
    assert list(dict.fromkeys(group.merged for group in AGE_GROUPS[1:])) == list(MERGED[:3])
    assert AGE_GROUPS[0].merged == MERGED[3]
