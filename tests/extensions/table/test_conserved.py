"""No value of a table is lost in silence: it is read, asked about with an option that answers, or listed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.cells.diagnoses import findings_of
from lmod_train.data.cells.image_names import Folder, folder_of
from lmod_train.data.cells.long_tables import turned
from lmod_train.data.cells.values import ids_in_doubt, is_error, is_missing, malformed_ids
from lmod_train.data.cells.vocabulary import WORDS
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import Answers, Column
from lmod_train.extensions.table.plan import Plan, asked_of, tasks_of, typed_words
from lmod_train.extensions.table.source import OwnTable
from tests.tabled import tabled

Table = tuple[list[Column], list[Sample], list[Dropped]]


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    root = tmp_path_factory.mktemp("photographs")
    for n in range(60):
        Image.new("RGB", (8, 8), (n, n, n)).save(root / f"{n}.png")
    return folder_of(root)


def read(
    folder: Folder,
    columns: Mapping[str, Sequence[str]],
    *values: str,
    ask: Sequence[str] = (),
    meant: Mapping[str, str] | None = None,
) -> Table:
    """Return columns, samples and losses of a table of cells that repeat over 60 images; nothing if it is asked."""
    rows = tuple(
        Row(n + 2, (f"{n}.png", *(cells[n % len(cells)] for cells in columns.values())))
        for n in range(60)
    )  # fmt: skip
    grid = Grid(folder.root / "t.csv", ("file", *columns), rows, "text", 1)
    answers = Answers(meant or {}, typed_words(values, grid.header), tuple(ask))
    found = understand(grid, folder, answers)
    if any(c.doubt for c in found):
        return found, [], []
    plan = Plan(grid.path, folder.root, "clinic", "CFP", questions=tuple(asked_of(grid, found, "CFP", ask)))
    items = list(OwnTable(plan, grid, found, folder, tasks_of(found, plan.questions, "CFP")).samples())
    samples = [one for one in items if isinstance(one, Sample)]
    return found, samples, [one for one in items if isinstance(one, Dropped)]


def answered(folder: Folder, columns: Mapping[str, Sequence[str]], *values: str, **more: Sequence[str]) -> Table:
    """Return a table after the options that its doubts print are typed."""
    found, *_ = read(folder, columns, *values, **more)
    options = [option.split(" ", 1) for c in found for option in c.options]
    typed = [text for flag, text in options if flag == "--value"]
    meant = {text.partition("=")[2]: text.partition("=")[0] for flag, text in options if flag == "--column"}
    again = read(folder, columns, *values, *typed, meant=meant, **more)
    assert not any(c.doubt for c in again[0]), [c.doubt for c in again[0]]
    return again


def labels(samples: Sequence[Sample], name: str) -> Counter[str]:
    return Counter(sample.labels.get(name, "") for sample in samples)


# 1. Words for a missing value that may be a class
DEGREES = [
    ("None", "mild", "severe"), ("keine", "leicht", "schwer"), ("aucune", "l\u00e9g\u00e8re", "s\u00e9v\u00e8re"),
    ("ninguna", "leve", "grave"), ("nenhuma", "leve", "grave"), ("\u65e0", "\u8f7b\u5ea6", "\u91cd\u5ea6"),
    ("nil", "moderate", "very severe"),
]  # fmt: skip


@tabled("words", DEGREES)
@tabled("name", ["DME", "severity", "Trübung"])
def test_none_beside_degrees_is_the_lowest_class(photographs: Folder, words: tuple[str, ...], name: str):
    (*_, column), samples, _ = read(photographs, {name: words[::-1]}, ask=[name])
    assert column.words[words[0]] == words[0] and not column.doubt
    (question,) = {key for sample in samples for key in sample.labels}
    assert labels(samples, question) == dict.fromkeys(words, 20)
    grid = Grid(Path("t"), (name,), tuple(Row(n, (word,)) for n, word in enumerate([*words] * 9)), "text", 1)
    assert asked_of(grid, [column], "CFP", [name])[0]["choices"] == list(words)


MISSING = ["None", "nil", "NA", "unknown", "n/a", "unbekannt", "inconnu", "desconocido", "desconhecido", "\u4e0d\u8be6"]


@tabled("word", MISSING)
@tabled("name", ["diagnosis", "Befund", "Clarity"])
def test_a_word_in_a_tenth_of_the_rows_is_asked_about_and_each_answer_is_taken(
    photographs: Folder, word: str, name: str
):
    cells = [*["glaucoma", "cataract", "normal"] * 2, word]
    ask = [name]
    asked = read(photographs, {name: cells}, ask=ask)[0][1]
    assert asked.doubt and word in asked.doubt and not asked.is_used
    for answer, left in (("none", 60), ("unknown", 52)):
        _, samples, lost = read(photographs, {name: cells}, f"{name}:{word}={answer}", ask=ask)
        assert len(samples) == left, answer
        listed = [one for one in lost if word in one.detail and one.reason == "unreadable value"]
        assert len(listed) == 60 - left, "listed by value"
    assert not answered(photographs, {name: cells}, ask=ask)[0][1].doubt
    assert not read(photographs, {name: [*cells[:6] * 3, word]}, ask=ask)[0][1].doubt, "few are missing"


# 2. Errors of spreadsheets
ERRORS = ["#REF!", "#DIV/0!", "#N/A", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#BEZUG!", "#\u00a1REF!", "#NV", "#WERT!",
          "#\u00bfNOMBRE?", "#VALEUR!", "#N/D", "#SPILL!", "########", "Err:502"]  # fmt: skip


@tabled("error", ERRORS)
@tabled("name", ["diagnosis", "quality", "glaucoma", "age", "sex", "DR grade", "xyz"])
def test_an_error_is_no_choice_and_listed(photographs: Folder, error: str, name: str):
    good = {"glaucoma": ("yes", "no"), "age": ("60", "70"), "sex": ("F", "M"), "DR grade": ("1", "2")}
    cells = [*good.get(name, ("glaucoma", "normal"))] * 3
    (*_, column), samples, lost = read(
        photographs, {name: [*cells, error, *cells], "sex2": ["a", "b"]}, ask=[name, "sex2"]
    )
    assert is_error(error) and is_missing(error) and not column.doubt
    listed = [one for one in lost if repr(error) in one.detail]
    assert len(listed) == 5 and all("spreadsheet" in one.detail and one.extent == "part" for one in listed)
    assert not any(error in word for sample in samples for word in sample.labels.values())


def test_an_error_is_no_patient_and_no_image(photographs: Folder):
    found, *_ = read(photographs, {"patient": [*(f"P{n}" for n in range(58)), "#REF!", "#REF!"], "dx": ["DR", "AMD"]})
    assert found[1].doubt and "#REF!" in found[1].doubt
    cells = {"patient": [*(f"P{n}" for n in range(58)), "#REF!", "#REF!"], "dx": ["DR", "AMD"]}
    _, samples, lost = answered(photographs, cells)
    assert len({sample.group for sample in samples}) == 60, "two errors are not one patient"
    assert sum("'#REF!'" in one.detail for one in lost) == 2


# 3. Ids of patients
GOOD = ["P{:03}", "{:05}", "{}", "{}.0", "{:012}", "a{:07x}e5", "AB-{}", "1234567890{:05}", "2024.{:03}", "\u60a3{}"]
BAD = ["1.23457E+17", "1,23E+{:02}", "{}.5", "{}.123457", "123456789012345000", "#REF!", "2.5E+{:02}"]


@tabled("form", GOOD)
@tabled("shared", [1, 2, 12])
def test_good_ids_are_not_asked_about(form: str, shared: int):
    for seed in range(5):
        numbers = random.Random(seed).sample(range(10, 99_999), 60 // shared)
        cells = [form.format(n) for n in numbers for _ in range(shared)]
        assert ids_in_doubt(cells) == "" and not malformed_ids(cells), cells[:5]


@tabled("form", BAD)
@tabled("name", ["patient_id", "PT", "NHC", "\u75c5\u5386\u53f7", "Patienten-ID", "ID"])
def test_bad_ids_are_always_asked_about_with_their_cause(photographs: Folder, form: str, name: str):
    for share in (1, 3) if (form, name) != ("#REF!", "ID") else (3,):
        cells = [form.format(n // 2 + 1) if n % share == 0 else f"Q{n}" for n in range(60)]
        found = read(photographs, {name: cells, "dx": ["DR", "AMD"]})[0][1]
        assert found.doubt and ("spreadsheet" in found.doubt or "decimals" in found.doubt), cells[:5]
        _, samples, _ = answered(photographs, {name: cells, "dx": ["DR", "AMD"]})
        assert len(samples) == 60


@tabled("yes, no", [("1", "0"), ("yes", "no"), ("x", "-"), ("ja", "nein"), ("sim", "n\u00e3o"), ("\u6709", "\u65e0")])
def test_a_finding_is_no_patient(photographs: Folder, yes: str, no: str):
    cells = {"PT": [yes, no, no], "Glaucoma": ["0", "1"]}
    found = read(photographs, cells)[0][1]
    assert found.doubt and "images would be of" in found.doubt
    _, samples, _ = answered(photographs, cells)
    assert len({sample.group for sample in samples}) == 60


def test_one_id_for_most_rows_is_asked_about_and_few_patients_are_not():
    assert "31 of 60" in ids_in_doubt([*["P0"] * 31, *(f"P{n}" for n in range(1, 30))])
    assert "60 of 60" in ids_in_doubt(["1"] * 60)
    for seed in range(30):
        assert not ids_in_doubt(random.Random(seed).choices(["a", "b", "c", "d", "e"], k=40))
        assert not ids_in_doubt(random.Random(seed).choices(["a", "b"], k=40))


# 4. Columns of kinds of one disease
KINDS = [("BRVO", "CRVO"), ("ZVV", "Astvenenverschluss"), ("NPDR", "PDR"), ("wet AMD", "dry AMD"), ("POAG", "PACG"),
         ("RDNP", "RDP"), ("RVO", "RAO"),
         ("\u5f00\u89d2\u578b\u9752\u5149\u773c", "\u95ed\u89d2\u578b\u9752\u5149\u773c")]  # fmt: skip


@tabled("first, second", KINDS)
def test_two_kinds_of_a_disease_are_each_enough_for_it(photographs: Folder, first: str, second: str):
    columns, samples, lost = read(photographs, {first: ["1", "0", "0", "0"], second: ["0", "1", "0", "0"]})
    (disease,) = {column.meaning for column in columns[1:]}
    assert labels(samples, disease) == {"yes": 30, "no": 30} and not lost


SAME = [("glaucoma", "Glaukom"), ("DR", "diabetic retinopathy"), ("CRVO", "ZVV"), ("PDR", "RDP"), ("AMD", "DMLA")]


@tabled("first, second", SAME)
def test_two_columns_of_one_concept_contradict_each_other(photographs: Folder, first: str, second: str):
    columns, samples, lost = read(photographs, {first: ["1", "0", "1", "0"], second: ["0", "0", "1", "1"]})
    assert labels(samples, columns[1].meaning) == {"yes": 15, "no": 15}
    assert sum(one.reason == "contradictory values" for one in lost) == 60


def test_a_kind_contradicts_its_disease_only_where_it_is_there(photographs: Folder):
    cells = {"AMD": ["1", "1", "0", "0"], "wet AMD": ["1", "0", "1", "0"]}
    _, samples, lost = read(photographs, cells)
    assert labels(samples, "age-related macular degeneration") == {"yes": 30, "no": 15} and len(samples) == 45
    assert {one.key for one in lost if one.reason == "contradictory values"} == {f"line {n}" for n in range(4, 62, 4)}


# 5. One concept in two words
READ = {"diabetic retinopathy": ["RD proliferativa", "RDNP leve", "E11.319", "H36.0", "RD no proliferativa",
                                 "mild NPDR"],
        "glaucoma": ["glaucoma simplex", "POAG", "H40.11X1", "primäres Offenwinkelglaukom"]}  # fmt: skip


@tabled("name, cell", [(name, cell) for name, cells in READ.items() for cell in cells])
def test_a_word_of_a_known_disease_is_read(name: str, cell: str):
    assert findings_of(cell).present == (name,)


OWN = [
    ("Pigmentglaukom", "Glaukom"), ("glaucoma NOS", "POAG"), ("DR treated?", ""), ("ocular hypertension", "POAG"),
    ("non-glaucoma", ""), ("glaucoma excluded", ""), ("glaucome pigmentaire", "glaucome"), ("H40", "H40.1"),
    ("suspect glaucoma", ""), ("s/p glaucoma surgery", ""),
    ("\u65b0\u751f\u8840\u7ba1\u6027\u9752\u5149\u773c", "\u9752\u5149\u773c"),
    ("H40.003", ""), ("catarata congenita", "catarata"), ("glaucoma; keratitis", ""), ("pseudo-glaucoma", ""),
]  # fmt: skip


@tabled("own, known", OWN)
def test_a_word_that_names_a_known_disease_is_asked_about(photographs: Folder, own: str, known: str):
    cells = {"diagnosis": [known or "glaucoma", "normal", own]}
    is_asked = bool(known) and own not in ("ocular hypertension",)
    column = read(photographs, cells)[0][1]
    assert bool(column.doubt) == is_asked, column
    if is_asked:
        (disease,) = findings_of(known).present
        _, samples, _ = answered(photographs, cells)
        assert labels(samples, "diagnosis") == {disease: 40, "normal": 20}, "read as the disease"
        _, samples, _ = read(photographs, cells, f"diagnosis:{own}={own}")
        assert labels(samples, "table/diagnosis")[own] == 20, "or a class of its own"


def test_a_word_of_a_disease_that_no_other_cell_has_is_no_question(photographs: Folder):
    assert not read(photographs, {"diagnosis": ["Pigmentglaukom", "normal", "cataract"]})[0][1].doubt


# 6. Two conditions in a cell
JOINS = ["{} + {}", "{}/{}", "{} / {}", "{}, {}", "{}; {}", "{} & {}", "{} and {}", "{} und {}", "{} et {}", "{} y {}",
         "{} e {}", "{}+{}", "{}、{}", "{}和{}", "{}合并{}", "{} plus {}", "{} w/ {}", "{} sowie {}", "{} - {}",
         "{} with {}", "{} mit {}", "{} avec {}", "{} con {}", "{} com {}", "{}伴{}", "{} \u2022 {}", "{}及{}",
         "{}\n{}", "{} and/or {}"]  # fmt: skip


@tabled("join", JOINS)
@tabled("one, two", [("glaucoma", "catarata"), ("DR", "AMD"), ("青光眼", "白内障"), ("Glaukom", "Katarakt")])
def test_two_conditions_in_a_cell_keep_an_answer(photographs: Folder, join: str, one: str, two: str):
    both = join.format(one, two)
    (*_, column), samples, lost = answered(photographs, {"diagnosis": [one, two, "normal", both]})
    assert len(samples) == 60 and not lost
    found = findings_of(column.words[both])
    if not found.others:
        assert {*found.present} == {*findings_of(one).present, *findings_of(two).present}
    assert labels(samples, "table/diagnosis")[" ".join(found.words.split()).replace(" / ", "/")] == 15
    assert not (set(found.present) and found.labels.get("diagnosis")), "it is neither of them alone"


# 7. Codes
CODES = {
    "diabetic retinopathy": "E11.319 E11.3291 E11.3593 E10.311 H36.0 H36.0* E113591 E08.3211 E13.3493",
    "age-related macular degeneration": "H35.30 H35.31 H35.3211 H35.3190 H353130",
    "vascular occlusion": "H34.8110 H34.1 H34.831 H34.9", "retinal detachment": "H33.001 H33.20 H33.4",
    "glaucoma": "H40.9 H40.11X1 H40.1131 H40.2 H42", "cataract": "H25.9 H26.9 H25.13", "normal": "Z01.00",
    "hypertensive retinopathy": "H35.033", "drusen": "H35.363", "myopic fundus": "H44.2",
    "": "H40.003 H40.0 E11.9 E11.36 E11.37X1 E11.3 E11.30 H35.3 H35.9 H26.40 H33.1 H33.3 H34.821 H52.1 H35.37 A00",
}  # fmt: skip


@tabled("name, code", [(name, code) for name, codes in CODES.items() for code in codes.split()])
def test_codes_are_the_disease_of_their_digits(name: str, code: str):
    for written in (code, code.lower()):
        assert findings_of(written).present == ((name,) if name else ()), findings_of(written)


def test_a_readable_diagnosis_beside_a_code_is_the_one_that_counts(photographs: Folder):
    codes, words = ["H40.1", "H40.003", "E11.9"], ["glaucoma", "glaucoma suspect", "normal"]
    for cells in ({"ICD-10": codes, "Diagnosis": words}, {"Diagnosis": words, "ICD-10": codes}):
        columns, samples, _ = read(photographs, cells)
        assert {c.name: c.meaning for c in columns[1:]} == {"ICD-10": "own", "Diagnosis": "diagnosis"}
        assert labels(samples, "diagnosis") == {"glaucoma": 20, "normal": 20, "": 20}


# 8. Grades of retinopathy in words
GRADES = {
    "en": ("no DR", "mild NPDR", "NPDR moderate", "severe NPDR", "PDR"),
    "en2": ("No DR", "Mild", "Moderate", "Severe", "Proliferative DR"),
    "de": ("keine Retinopathie", "leichte NPDR", "mäßige NPDR", "schwere NPDR", "PDR"),
    "fr": ("pas de RD", "RDNP légère", "RDNP modérée", "RDNP sévère", "RDP"),
    "es": ("sin retinopatía", "RDNP leve", "RDNP moderada", "RDNP severa", "RDP"),
    "pt": ("sem retinopatia", "RDNP leve", "RDNP moderada", "RDNP grave", "RD proliferativa"),
    "zh": ("无糖网", "轻度非增殖期", "中度NPDR", "重度非增殖性糖尿病视网膜病变", "增殖期"),
}
COLUMNS = ["DR grade", "Stadium", "grado", "estágio", "分级", "grade RD", "ICDR"]


@tabled("language", GRADES)
@tabled("name", COLUMNS)
def test_grades_in_words_are_levels_of_icdr(photographs: Folder, language: str, name: str):
    column = read(photographs, {name: GRADES[language]})[0][1]
    assert column.meaning == "icdr" and column.words == {word: str(n) for n, word in enumerate(GRADES[language])}
    few = read(photographs, {name: GRADES[language][:2]})[0][1]
    assert few.meaning != "icdr", "two levels may be another scale"
    with_unread = read(photographs, {name: [*GRADES[language], "NPDR", "mild to moderate NPDR"]})[0][1]
    assert with_unread.meaning != "icdr"
    diagnosis = read(photographs, {"diagnosis": GRADES[language]})[0][1]
    assert diagnosis.meaning == "diagnosis" or diagnosis.doubt


@tabled(
    "cells", [("mild", "moderate", "severe"), ("suspected PDR", "no DR", "mild NPDR"), ("stage 1", "stage 2", "PDR")]
)
def test_degrees_without_a_disease_are_no_levels(photographs: Folder, cells: tuple[str, ...]):
    assert read(photographs, {"grade": cells})[0][1].meaning != "icdr"


# 9. Acuity
ACUITIES = [
    ("VA", ["6/6", "6/9", "6/18", "below 6/18", "CF", "HM", "LP", "NLP"]),
    ("BCVA OD", ["20/20", "20/25", "20/60", "20/400", "CF", "HM"]), ("Visus", ["1,0", "0,5", "0,05", "FZ", "HBW"]),
    ("acuité visuelle", ["10/10", "5/10", "1/10", "CLD", "VBLM"]), ("AV", ["1.0", "0.6", "0.3", "CD", "MM", "SPL"]),
    ("视力", ["5.0", "4.8", "4.0", "指数", "手动", "光感", "无光感"]),
    ("BCVA (logMAR)", ["-0.1", "0.0", "0.3", "1,0", "CF"]),
    ("agudeza visual", ["20/20", "20/30", "menos de 20/60", "cuenta dedos"]), ("VA", ["6/6", "<6/18", "6/60"]),
]  # fmt: skip


@tabled("name, cells", ACUITIES)
def test_acuities_are_one_scale_from_best_to_worst(photographs: Folder, name: str, cells: list[str]):
    shuffled = random.Random(1).sample(cells, len(cells))
    rows = tuple(Row(n, (shuffled[n % len(cells)],)) for n in range(60))
    grid = Grid(Path("t"), (name,), rows, "text", 1)
    (column,) = understand(grid, Folder(Path(), ()), Answers(asked=(name,)))
    (question,) = asked_of(grid, [column], "CFP", [name])
    assert question["kind"] == "grade" and not column.bad
    below = [f"below {cell.split()[-1].lstrip('<')}" if cell[0] in "<m" else cell for cell in cells]
    assert question["choices"] == below


def test_notations_of_acuity_are_brought_to_one(photographs: Folder):
    cells = ["6/18", "20/60", "0,5", "0.5", "6/6", "CF", "worse than 6/18", "2024-06-18"] * 2
    _, samples, lost = read(photographs, {"VA": [*cells, *cells[:-1] * 2]}, ask=["VA"])
    found = labels(samples, "table/va")
    assert set(found) == {"0.33", "0.5", "1", "CF", "below 0.33"}
    assert any("2024-06-18" in one.detail for one in lost)


def test_other_fractions_and_numbers_are_no_acuity(photographs: Folder):
    assert read(photographs, {"cup/disc": ["6/18", "20/60", "6/9"]})[0][1].words["20/60"] == "20/60"
    column = read(photographs, {"BCVA": ["0.0", "0.3", "-0.1"]}, ask=["BCVA"])[0][1]
    assert not column.words, "decimal or logMAR"


# 10. One question over two eyes
EYES = [("OD / AV", "OI / AV"), ("AV OD", "AV OI"), ("Visus_RA", "Visus_LA"), ("OD AV", "OG AV"), ("VA OD", "VA OS"),
        ("Visus rechts", "Visus links"), ("AV direita", "AV esquerda"), ("右眼 视力", "左眼 视力")]  # fmt: skip


@tabled("right, left", EYES)
def test_columns_of_the_two_eyes_are_one_question(photographs: Folder, right: str, left: str):
    cells = {"eye": ["OD", "OS"], right: ["6/6", "x", "6/18"], left: ["CF", "6/9", "x"]}
    cells = {name: [c.replace("x", "6/60") for c in own] for name, own in cells.items()}
    _, samples, lost = read(photographs, cells, ask=[right])
    (name,) = {key for sample in samples for key in sample.labels}
    assert len(samples) == 60 and not lost
    right_eyes = [s.labels[name] for s in samples if s.patient.laterality == "right"]
    assert Counter(right_eyes) == {"6/6": 10, "6/60": 10, "6/18": 10}


def test_the_words_of_two_rows_do_not_overlap():
    for rows in (WORDS["degrees"], WORDS["acuity"]["words"], WORDS["kinds"].values()):
        counts = Counter(word.casefold() for words in rows for word in {w.casefold() for w in words})
        assert not [word for word, n in counts.items() if n > 1]


# 11. Several names of files in a cell
@tabled("cell", ["1.png; 2.png", "1.png, 2.png", "1.png|2.png", "1.png\n2.png", "['1.png', '2.png']", "1.png + 2.png"])
def test_several_images_in_a_cell_are_listed_by_value(photographs: Folder, cell: str):
    rows = tuple(Row(n + 2, (f"{n}.png" if n % 12 else cell, "DR" if n % 2 else "AMD")) for n in range(48))
    grid = Grid(photographs.root / "t.csv", ("image", "dx"), rows, "text", 1)
    columns = understand(grid, photographs, Answers())
    assert columns[0].meaning == "image"
    plan = Plan(grid.path, photographs.root, "clinic", "CFP", questions=tuple(asked_of(grid, columns, "CFP", ())))
    items = list(OwnTable(plan, grid, columns, photographs, tasks_of(columns, plan.questions, "CFP")).samples())
    lost = [one for one in items if isinstance(one, Dropped) and "a list of 2 images" in one.detail]
    assert [one.key for one in lost] == [f"line {n}" for n in (2, 14, 26, 38)]
    assert all(repr(cell) in one.detail for one in lost)


# 12. Long tables
LONG = {"glaucoma": "01", "DR": "01", "Katarakt": "01", "图像质量": "好差", "icdr": "0123", "AMD": ["yes", "no"]}


NAMED = [("finding", "value"), ("Befund", "Wert"), ("hallazgo", "valor"), ("项目", "结果")]


@tabled("finding, value", NAMED)
@tabled("seed", range(4))
def test_a_long_table_is_asked_about_and_turned(photographs: Folder, finding: str, value: str, seed: int):
    chance = random.Random(seed)
    names = chance.sample(sorted(LONG), 3)
    wide = {f"{n}.png": {name: chance.choice(LONG[name]) for name in names} for n in range(30)}
    cells = [(image, f"P{image[0]}", name, cell) for image, stated in wide.items() for name, cell in stated.items()]
    chance.shuffle(cells)
    rows = tuple(Row(n, row) for n, row in enumerate(cells, 2))
    grid = Grid(photographs.root / "t.csv", ("file", "patient", finding, value), rows, "text", 1)
    columns = understand(grid, photographs, Answers())
    (option,) = [option for c in columns if c.doubt for option in c.options]
    assert option == f"--long {finding}={value}"
    assert not any("--long" in o for c in understand(grid, photographs, Answers({finding: "own"})) for o in c.options)
    made = turned(grid, "file", {"patient"}, f"{finding}={value}")
    found = {row.cells[0]: dict(zip(made.header, row.cells, strict=True)) for row in made.rows}
    assert {image: {name: found[image][name] for name in names} for image in found} == wide and not made.apart
    assert not any("--long" in o for c in understand(made, photographs, Answers()) for o in c.options)


@pytest.mark.parametrize("apart", [1, 9])
def test_what_two_readers_state_differently_is_lost_by_value(tmp_path: Path, capsys, apart: int):
    """Of 30 images, the readers differ about drusen in some; nothing else is lost, and a tenth is too much."""
    (tmp_path / "photos").mkdir()
    lines = ["image,patient,reader,finding,value"]
    for n in range(30):
        Image.effect_noise((16, 16), 20 + n).convert("RGB").save(tmp_path / "photos" / f"i{n:02}.png")
        for reader in "AB":
            drusen = "present" if (n % 2 == 0) != (reader == "B" and n % 3 == 0 and n < 3 * apart) else "absent"
            glaucoma = "present" if n % 2 else "absent"
            lines += [f"i{n:02}.png,P{n},{reader},drusen,{drusen}", f"i{n:02}.png,P{n},{reader},glaucoma,{glaucoma}"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    command = ["curate", "--table", str(tmp_path / "t.csv"), "--images", str(tmp_path / "photos"), "--workers", "1"]
    command += ["--modality", "CFP", "--out", str(tmp_path / "OUT")]
    assert cli.main(command) == 2 and "--long finding=value" in capsys.readouterr().err
    command += ["--long", "finding=value"]
    if apart == 9:
        assert cli.main(command) == 2
        command += ["--accept", str(tmp_path / "OUT" / "losses.csv")]
    assert cli.main(command) == 0
    records = read_records(tmp_path / "OUT" / "records")
    asked = Counter(r.task for r in records for name in ("DRUSEN", "GLAUCOMA") if name in r.answer)
    assert asked == {"glaucoma": 30, "conditions": 30 - apart}
    lost = [d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "contradictory values"]
    assert len(lost) == 2 * apart and all(d.detail.startswith("drusen: ") and d.extent == "part" for d in lost)
    assert "glaucoma  '" not in capsys.readouterr().out, "of which nothing is lost"


def test_a_table_of_boxes_or_of_single_rows_is_not_long(photographs: Folder):
    columns, *_ = read(photographs, {"diagnosis": ["DR", "AMD"], "sex": ["F", "M", "M"]})
    assert not any(c.doubt for c in columns)
