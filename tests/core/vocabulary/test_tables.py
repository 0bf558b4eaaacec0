"""Vocabulary tables: complete rows, unambiguous spellings, valid patterns."""

from __future__ import annotations

import re
from collections import defaultdict

from lmod_train.core.vocabulary import (
    answers,
    assertion,
    characters,
    confidence,
    discourse,
    eye_parts,
    generic,
    hedging,
    labels,
    modifiers,
    negation,
    numerals,
    options,
    refusals,
)
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS, MERGED
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.core.vocabulary.term import Term
from lmod_train.tasks.parsing.normalise import normalise
from tests.tabled import tabled

# Terms of LMOD and LMOD+: the twelve BRSET conditions, the four diagnoses, the structures of the five modalities.
ASKED = {
    *("diabetic retinopathy", "age-related macular degeneration", "drusen", "increased cup-to-disc ratio"),
    *("vascular occlusion", "myopic fundus", "hypertensive retinopathy", "hemorrhage", "scar", "abnormal macula"),
    *("nevus", "abnormal vessels", "cataract", "glaucoma", "normal"),
    *("optic disc", "optic cup", "fovea", "choroid", "intraretinal cysts", "macular hole", "retina"),
    *("iris", "pupil", "right eye", "left eye", "cornea", "cornea1", "pupil1", "lens", "slit knife", "incision knife"),
    *("gauge", "spatula", "capsulorhexis cystotome", "capsulorhexis forceps", "katena forceps"),
    *("phacoemulsification tip", "irrigation-aspiration", "lens injector"),
}


def test_all_terms_of_the_benchmarks_are_present() -> None:
    assert ASKED - {term.name for term in (*STRUCTURES, *CONDITIONS)} == set()


@tabled("table", [STRUCTURES, CONDITIONS, SEXES])
def test_every_spelling_belongs_to_one_term(table: tuple[Term, ...]) -> None:
    owners = defaultdict(set)
    for term in table:
        for form in (term.name, *term.english, *term.chinese):
            owners[form.casefold().replace("-", " ")].add(term.name)
    assert {form: names for form, names in owners.items() if len(names) > 1} == {}


@tabled("term", [*STRUCTURES, *CONDITIONS, *SEXES])
def test_rows_are_complete(term: Term) -> None:
    assert term.reference
    assert term.name == term.name.strip().lower()
    assert all(form.isascii() for form in term.english)
    assert all(not form.isascii() for form in term.chinese)


PHRASES = {
    f"{table.__name__.rpartition('.')[2]}.{name}": value
    for table in (
        *(answers, assertion, confidence, discourse, generic, hedging, labels),
        *(modifiers, negation, numerals, options, refusals),
    )
    for name, value in vars(table).items()
    if name.isupper() and isinstance(value, tuple) and name != "OPPOSITES"
}
PHRASES["eye_parts"] = (eye_parts.EYE_PARTS, eye_parts.WHOLE_EYE_AFTER)


@tabled("name", PHRASES)
def test_phrases_have_no_groups_and_do_not_match_the_empty_text(name: str) -> None:
    for phrase in PHRASES[name]:
        assert re.compile(phrase).groups == 0, phrase
        assert re.compile(phrase).fullmatch("") is None, phrase


def test_numerals() -> None:
    assert [numerals.NUMERALS[w] for w in ("zero", "iv", "four", "四", "十")] == [0, 4, 4, 4, 10]


def test_scale_names_are_unique_and_every_level_has_a_meaning() -> None:
    assert len({scale.name for scale in SCALES}) == len(SCALES)
    for scale in SCALES:
        assert scale.name.isidentifier() and scale.disease and scale.reference
        assert [int(level) for level in scale.levels] == sorted(map(int, scale.levels))
        assert len(scale.levels) == len(set(scale.levels)) == len(scale.meanings) > 1


def test_findings_are_the_twelve_of_figure_3_and_each_short_name_is_a_synonym() -> None:
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


def test_age_groups_cover_every_age_once() -> None:
    assert [group.low for group in AGE_GROUPS] == [0, *(group.below for group in AGE_GROUPS[:-1])]
    assert AGE_GROUPS[-1].below is None
    assert list(dict.fromkeys(group.merged for group in AGE_GROUPS[1:])) == list(MERGED[:3])
    assert AGE_GROUPS[0].merged == MERGED[3]


def test_no_answer_is_both_yes_and_no() -> None:
    assert len(answers.YES) >= 4 and len(answers.NO) >= 4
    assert not set(answers.YES) & set(answers.NO)
    assert {word for pair in answers.OPPOSITES for word in pair} == {*answers.YES, *answers.NO}


def test_plain_and_variant_characters_are_disjoint() -> None:
    signs = [
        *characters.QUOTES.items(),
        *characters.BRACKETS.items(),
        *characters.OTHERS.items(),
        ("-", characters.DASHES),
    ]
    written = [(forms[0], forms[1:]) for forms in characters.TRADITIONAL.split()]
    plain = {form for form, _ in (*signs, *written)}
    others = [c for _, forms in (*signs, *written) for c in forms]
    assert len(others) == len(set(others))
    assert not plain & set(others)
    assert all(len(forms) > 0 for _, forms in written)


TRADITIONAL = (
    ("糖尿病視網膜病變", "糖尿病视网膜病变"),
    ("青光眼", "青光眼"),
    ("白內障", "白内障"),
    ("黃斑裂孔", "黄斑裂孔"),
    ("無異常", "无异常"),
    ("診斷結果", "诊断结果"),
    ("陽性", "阳性"),
    ("陰性", "阴性"),
    ("視盤", "视盘"),
    ("脈絡膜", "脉络膜"),
    ("無法確定", "无法确定"),
    ("年齡組", "年龄组"),
    ("區域編號：類型", "区域编号:类型"),
    ("女性／男性", "女性/男性"),
    ("出血", "出血"),
    ("杯盤比增大", "杯盘比增大"),
    ("高血壓視網膜病變", "高血压视网膜病变"),
    ("血管異常", "血管异常"),
    ("未見", "未见"),
    ("懷疑", "怀疑"),
    ("不詳", "不详"),
)


@tabled(("traditional", "simplified"), TRADITIONAL)
def test_traditional_characters_are_normalised(traditional: str, simplified: str) -> None:
    assert normalise(traditional) == simplified


def test_chinese_words_of_the_vocabulary_are_in_normal_form() -> None:
    words = [form for term in (*STRUCTURES, *CONDITIONS, *SEXES) for form in (*term.chinese, *term.kinds)]
    words += [phrase for name, phrases_ in PHRASES.items() if name.endswith("_ZH") for phrase in phrases_]
    assert [word for word in words if normalise(word) != word] == []
