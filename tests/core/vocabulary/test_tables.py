"""Vocabulary tables: complete rows, unambiguous spellings, valid patterns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from lmod_train.core.vocabulary import any_of, entry
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS, MERGED
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.error_types import (
    ERROR_LABELS,
    LMOD_MODES,
    LMOD_PLUS_TYPES,
    NO_ERROR,
    TITLES,
    type_called,
)
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.signs import SIGNS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.core.vocabulary.term import Term
from lmod_train.extensions.drafting.checks import unknown_options
from lmod_train.extensions.drafting.drafts import STAGES, drafted
from lmod_train.extensions.xpcr import stages as own
from lmod_train.tasks.glaucoma import PARAPHRASES, PROMPT
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.staging import PROMPTS
from tests.tabled import tabled
from tests.tasks.parsing.bilingual import outcome

FLIPS = ("denying", "asserting", "neutral", "frames", "contrasts")
OPTIONAL = {"labels.before", "labels.behind"}
"""Words that may stand around a key."""

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


def texts(value: Any) -> list[str]:
    """Return all texts of an entry."""
    inner = value.values() if isinstance(value, dict) else value
    return [value] if isinstance(value, str) else [text for one in inner for text in texts(one)]


PHRASES = {
    f"{file}.{name}": texts(value)
    for file in (
        *("assertion", "discourse", "eye_parts", "flips", "labels", "modifiers", "negation", "options", "refusals"),
        *("explaining", "hedging", "other_languages", "stage_words", "units", "verdicts"),
    )
    for name, value in entry(file).items()
} | {
    f"{file}.{name}": texts(entry(f"{file}.{name}"))
    for file, names in {
        "answers": ("yes", "no", "slot_yes", "slot_no", "slot_refused", "slot_open"),
        "confidence": ("labels", "links", "fillers", "certain", "percent", "asked", "denied"),
        "generic": ("subjects", "quantifiers", "habituals", "generic_verbs", "generic_after"),
        "numerals": ("stage_labels", "scale_labels", "ordinals"),
        "signs": ("healthy", "other_eye", "concessions", "comparisons"),
    }.items()
    for name in names
}


@tabled("name", PHRASES)
def test_phrases_have_no_groups_and_do_not_match_the_empty_text(name: str) -> None:
    for phrase in PHRASES[name]:
        assert re.compile(phrase).groups == 0, phrase
        assert re.compile(phrase).fullmatch("") is None or name in OPTIONAL, phrase


def test_numerals() -> None:
    assert [entry("numerals.numerals")[w] for w in ("zero", "iv", "four", "四", "十")] == [0, 4, 4, 4, 10]


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


@tabled(
    "names",
    [
        ("answers.yes", "answers.no"), ("verdicts.true.en", "verdicts.false.en"),
        ("verdicts.true.zh", "verdicts.false.zh"), ("other_languages.yes", "other_languages.no"),
        [f"flips.{name}.en" for name in FLIPS], [f"flips.{name}.zh" for name in FLIPS],
    ],
)  # fmt: skip
def test_a_word_stands_in_one_table(names: Sequence[str]) -> None:
    several = [set(entry(name)) for name in names]
    assert all(several) and len(set().union(*several)) == sum(map(len, several))


def test_each_answer_has_an_opposite() -> None:
    assert {word for pair in entry("answers.opposites") for word in pair} == {
        *entry("answers.yes"),
        *entry("answers.no"),
    }


@tabled("name", [*FLIPS, "questions"])
def test_a_longer_word_is_found_as_a_whole(name: str) -> None:
    for word in entry(f"flips.{name}.zh"):
        plain = word.replace("\\", "")
        own = any_of((), entry(f"flips.{name}.zh")).removeprefix("(?<![a-z])(?:)(?![a-z])|")
        assert re.match(own, plain)[0] == plain  # type: ignore[index]


@tabled(("truth", "word"), [(truth, w) for truth in ("true", "false") for w in texts(entry(f"verdicts.{truth}"))])
def test_a_verdict_alone_is_read(truth: str, word: str) -> None:
    read = (outcome("true_false", word), outcome("dui_cuo", word))
    assert read == {"true": ("True", "对"), "false": ("False", "错")}[truth]


def test_words_of_other_languages_are_written_as_folded_replies_are() -> None:
    words = entry("other_languages")
    for several in (*(words[n] for n in ("answers", "explanations", "lists", "yes", "no")), dict(words["english"])):
        assert len(set(several)) == len(several)
        assert all(one.isascii() and re.sub(r"\\S", "", one).islower() for one in several)


def test_units_and_limits_are_apart_and_a_spelling_names_one_unit() -> None:
    spellings = [name for names in entry("units.units") for name in names]
    assert len(set(spellings)) == len(spellings) and all(name == name.strip() for name in spellings)
    assert not {name.casefold() for name in spellings} & {*entry("units.limits"), *entry("units.open")}


def test_prompts_that_ask_for_reasons_are_told_from_the_others_and_reasons_from_fillers() -> None:
    asks = [bool(re.search(entry("explaining.asked_for"), text, re.IGNORECASE)) for text in (PROMPT, *PARAPHRASES)]
    assert all(asks) and re.search(entry("explaining.asked_for"), PROMPTS["lmod_naacl"], re.IGNORECASE)
    assert not re.search(entry("explaining.asked_for"), PROMPTS["lmod_plus"], re.IGNORECASE)
    words = {"cup", "rim", "disc", "haemorrhage", "drusen", "enlarged", "thin", "pale"}
    assert not words & {*entry("explaining.fillers.en")}


def test_signs_are_of_known_conditions_in_both_languages_and_none_is_of_a_healthy_eye() -> None:
    assert {row.condition for row in SIGNS} <= {term.name for term in (*CONDITIONS, *STRUCTURES)}
    for row in SIGNS:
        assert row.english and row.chinese and row.healthy_en and row.healthy_zh
        for phrase in (*row.english, *row.chinese, *row.healthy_en, *row.healthy_zh):
            assert re.compile(phrase).groups == 0
        for healthy in ("normal optic disc", "healthy retina", "normal macula", "clear media", "视盘正常"):
            assert not any(re.fullmatch(sign, healthy) for sign in (*row.english, *row.chinese))


def test_there_are_six_modes_and_five_types_and_a_title_names_the_type_of_its_rule() -> None:
    assert (len(LMOD_MODES), len(LMOD_PLUS_TYPES)) == (6, 5)
    assert all(kind.name and kind.definition for kind in (*LMOD_MODES, *LMOD_PLUS_TYPES))
    assert len({*ERROR_LABELS}) == len(ERROR_LABELS) and ERROR_LABELS[0] == NO_ERROR
    for kind in LMOD_PLUS_TYPES:
        assert {type_called(TITLES[rule]) for rule in kind.rules} <= {kind.name}


PRINTED = {
    "IQA": ("Yes, clearly visible.", "No, too blurred.", "No, severe shadowing.", "No, overexposure."),
    "SG": ("No cataract.", "Mild cataract with minimal lens opacities and a clear red reflex."),
    "CD": ("Definitive surgical treatment.", "Prescribe topical antibiotic eye drops.", "No intervention."),
    "DD": ("Acute angle-closure glaucoma with corneal edema.", "Endophthalmitis with hypopyon formation."),
}
"""Options of figure 3 of X-PCR."""
OURS = {
    "AL": (*own.QUADRANTS, *own.DIRECTIONS, *own.SHIFTS, *own.STRUCTURES),
    "DD": (*own.DIAGNOSES.values(), *own.HOLES, *own.GLAUCOMA, *own.CATARACT, *own.OTHERS),
    "LC": (*own.LESION_KINDS, *own.INSTRUMENTS, *own.FLAGS.values()),
    "CD": own.CLASSES,
    "SG": ("ICDR grade 2", "cup grade 3", "Gass stage 1"),
}


def test_every_stage_knows_the_words_of_figure_3_and_of_our_chains() -> None:
    assert tuple(entry("stage_words.stage_words")) == STAGES
    for stage, options in (*PRINTED.items(), *OURS.items()):
        assert unknown_options(drafted(stage, truth="-", options=options)) == [], stage
        assert unknown_options(drafted(stage, truth="-", options=("flurb the wug",))) == ["flurb the wug"]


def test_plain_and_variant_characters_are_disjoint() -> None:
    characters = entry("characters")
    signs = [*(item for kind in ("quotes", "brackets", "others") for item in characters[kind].items())]
    written = [("-", characters["dashes"]), *((forms[0], forms[1:]) for forms in characters["traditional"].split())]
    plain, others = {form for form, _ in (*signs, *written)}, [c for _, forms in (*signs, *written) for c in forms]
    assert len(others) == len(set(others)) and not plain & set(others)
    assert all(len(forms) > 0 for _, forms in written)


@tabled(
    ("traditional", "simplified"),
    [
        ("糖尿病視網膜病變", "糖尿病视网膜病变"), ("青光眼", "青光眼"), ("白內障", "白内障"),
        ("黃斑裂孔", "黄斑裂孔"), ("無異常", "无异常"), ("診斷結果", "诊断结果"), ("陽性", "阳性"), ("陰性", "阴性"),
        ("視盤", "视盘"), ("脈絡膜", "脉络膜"), ("無法確定", "无法确定"), ("年齡組", "年龄组"),
        ("區域編號：類型", "区域编号:类型"), ("女性／男性", "女性/男性"), ("出血", "出血"),
        ("杯盤比增大", "杯盘比增大"), ("高血壓視網膜病變", "高血压视网膜病变"), ("血管異常", "血管异常"),
        ("未見", "未见"), ("懷疑", "怀疑"), ("不詳", "不详"),
    ],
)  # fmt: skip
def test_traditional_characters_are_normalised(traditional: str, simplified: str) -> None:
    assert normalise(traditional) == simplified


def test_chinese_words_of_the_vocabulary_are_in_normal_form() -> None:
    words = [form for term in (*STRUCTURES, *CONDITIONS, *SEXES) for form in (*term.chinese, *term.kinds)]
    words += [
        phrase
        for name in PHRASES
        if isinstance(value := entry(name), dict)
        for phrase in texts(value.get("zh", ()))
        if not name.startswith(("flips", "explaining", "signs", "verdicts", "units"))
    ]
    assert [word for word in words if normalise(word) != word] == []
