"""What tables of strangers lost in silence: signs, codes, names with errors, contradictions, unknown words."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.data.cells.diagnoses import disease_in, findings_of, is_denial, names_an_eye, suspected
from lmod_train.data.cells.image_names import folder_of
from lmod_train.data.cells.values import flag_of, in_one_spelling, people_in, same_person, sex_of, side_of, values_of
from lmod_train.data.curation.manifest_files import read_dropped
from tests.tabled import tabled

SIGNED = ["{}?", "{} (?)", "?{}", "{} +", "{} -", "{} (-)", "{} ±", "> {}", "<{}", "{}*", "{}!"]


def curate(folder: Path, columns: Mapping[str, Sequence[str]], *more: str, n: int = 60) -> int:
    """Write a table of cells that repeat over `n` images, and curate it."""
    (folder / "photos").mkdir(exist_ok=True)
    lines = [",".join(["image", *columns])]
    for row in range(n):
        Image.effect_noise((16, 16), 20 + row).convert("RGB").save(folder / "photos" / f"i{row:02}.png")
        lines.append(",".join([f"i{row:02}.png", *(cells[row % len(cells)] for cells in columns.values())]))
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return cli.main(command(folder, *more))


def command(folder: Path, *more: str) -> list[str]:
    given = ["curate", "--table", str(folder / "t.csv"), "--images", str(folder / "photos"), "--workers", "1"]
    return [*given, "--modality", "CFP", "--out", str(folder / "OUT"), *more]


def asked(folder: Path, task: str) -> Counter[str]:
    return Counter(
        r.answer.removeprefix("Answer: ") for r in read_records(folder / "OUT" / "records") if r.task == task
    )


def cure(error: str) -> list[str]:
    """Return the complete command that an error prints."""
    return shlex.split(error.split("Next: run `")[1].split("`")[0])[3:]


@tabled("form", SIGNED)
@tabled("word", ["glaucoma", "DR", "Katarakt", "mild", "青光眼", "CNV"])
def test_a_sign_makes_another_word(form: str, word: str):
    signed = form.format(word)
    for cells in ([word, signed, signed], [signed, word, word]):
        words = in_one_spelling({cell: cell for cell in cells}, values_of(cells))
        assert words[word] != words[signed]
    assert findings_of(signed).present == (), "which is no longer the disease itself"


@tabled("one, other", [("1.5 mm", "15 mm"), ("10-12", "1012"), ("3/4", "34"), ("<50", ">50")])
def test_what_parts_numbers_is_no_spelling(one: str, other: str):
    words = in_one_spelling({one: one, other: other}, values_of([one, other, other]))
    assert words[one] == one


@tabled("cell, flag", [("0.0", "no"), ("1,0", "yes"), ("1.00", "yes"), ("-1", None), ("+1", None), ("yes?", None),
                       ("no (?)", None), ("evet", "yes"), ("ausente", "no"), ("нет", "no"), ("10", None)])  # fmt: skip
def test_codes_of_yes_and_no(cell: str, flag: str | None):
    assert flag_of(cell) == flag
    assert side_of("OD?") is None and sex_of("M?") is None


@tabled("one, other, same", [("0", "0000", True), ("7", "007", True), ("1-23", "12-3", False), ("P-1", "p 1", True),
                             ("2021/1", "20211", False), ("12.0", "12", True)])  # fmt: skip
def test_numbers_of_patients(one: str, other: str, same: bool):
    assert (same_person(one) == same_person(other)) is same


@tabled("left", ["g", "e", "i", "s"])
def test_letters_of_sides_in_romance_languages(left: str):
    words = frozenset({"d", left})
    assert (side_of("D", words), side_of(left.upper(), words)) == ("right", "left")
    assert side_of("d") is None and side_of(left, frozenset({left})) is None


def test_a_code_of_minus_one_is_asked_about(tmp_path: Path, capsys):
    assert curate(tmp_path, {"glaucoma": ["1", "-1", "1"]}) == 2
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert asked(tmp_path, "glaucoma") == {"GLAUCOMA": 40, "NON-GLAUCOMA": 20}


def test_a_grade_below_the_first_is_no_grade(tmp_path: Path, capsys):
    assert curate(tmp_path, {"dr_grade": ["0", "1", "2", "3", "-1"]}) == 2
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert asked(tmp_path, "dr_grade") == dict.fromkeys("0123", 12)


@tabled("sign", ["-", "?", ".", "NA"])
def test_a_sign_for_a_missing_value_is_listed(tmp_path_factory: pytest.TempPathFactory, sign: str):
    folder = tmp_path_factory.mktemp("sign")
    cells = ["glaucoma", "normal", "cataract", "AMD"] * 3 + [sign]
    assert curate(folder, {"diagnosis": cells, "age": ["60", "70", "80"]}) == 0
    lost = [d for d in read_dropped(folder / "OUT" / "dropped.csv") if repr(sign) in d.detail]
    assert len(lost) == cells.count(sign) * 60 // 13 and {d.reason for d in lost} == {"a missing word"}


@tabled("columns, lost", [
    ({"DR": ["0", "1", "1"], "DR_grade": ["0", "1", "2", "3", "1", "4"]}, "DR_grade"),
    ({"normal": ["1", "0"], "glaucoma": ["0", "1", "1", "1"]}, "glaucoma"),
])  # fmt: skip
def test_columns_that_contradict_each_other_stop(
    tmp_path_factory: pytest.TempPathFactory, columns: Mapping[str, Sequence[str]], lost: str
):
    folder = tmp_path_factory.mktemp("columns")
    assert curate(folder, columns) == 2
    assert (
        f"{lost}," in (folder / "OUT" / "losses.csv").read_text() or lost in (folder / "OUT" / "losses.csv").read_text()
    )


@pytest.mark.parametrize("name", ["Glaucoma", "DR severity", "Grado de RD", "DME"])
def test_a_column_named_like_a_disease_whose_words_are_unknown_is_asked_about(tmp_path: Path, capsys, name: str):
    columns = {name: ["early form", "late form", "other"], "sex": ["F", "M"]}
    assert curate(tmp_path, columns) == 2
    error = capsys.readouterr().err
    assert "early form" in error
    assert cli.main(cure(error)) == 0
    task = next(r.task for r in read_records(tmp_path / "OUT" / "records") if r.task != "sex")
    assert asked(tmp_path, task) == {"early form": 20, "late form": 20, "other": 20}


def test_none_given_as_a_class_of_a_column_of_a_disease_is_one(tmp_path: Path, capsys):
    columns = {"DME": ["None", "Center-involving", "Non-center-involving"]}
    assert curate(tmp_path, columns, "--ask", "DME") == 2
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert sorted(asked(tmp_path, "dme").values()) == [20, 20, 20]


@tabled("word, known", [("glaucomma", "glaucoma"), ("Catarcat", "cataract"), ("nomral", "normal"), ("uveitis", ""),
                        ("glaucoma negative", ""), ("glaucoma?", ""), ("neither glaucoma nor cataract", ""),
                        ("diabetic papillopathy", ""), ("Ausschluss Glaukom", ""),
                        ("abnormal", ""), ("glaucoma: no", ""), ("glaucoma or cataract", "")])  # fmt: skip
def test_an_error_of_typing_is_a_name_and_a_denial_is_none(word: str, known: str):
    assert disease_in(word, ["glaucoma", "cataract", "normal", "diabetic retinopathy"]) == known


DENIALS = [
    ("DR: ruled out", True), ("kein Glaukom", True), ("glaucoma (-)", True), ("-ve glaucoma", True),
    ("glaucoma - cataract", False), ("glaucoma (+)", False), ("NPDR", False), ("AMD?", False),
]  # fmt: skip


@tabled("text, denies", DENIALS)
def test_denials(text: str, denies: bool):
    assert is_denial(text) is denies
    assert findings_of("no glaucoma/cataract").present == () == findings_of("no DR, cataract").present
    assert findings_of("no DR; cataract").present == ("cataract",)


@tabled("text", ["Glaukom?", "glaucoma suspect", "V.a. Glaukom", "?glaucoma", "suspected glaucoma", "疑似青光眼"])
def test_suspicions_of_one_disease_are_one_word(text: str):
    assert suspected(text) == "suspected glaucoma"
    assert not suspected("glaucoma") and not suspected("glaucoma?; cataract") and not suspected("pseudo-glaucoma?")


def test_a_column_of_modalities_is_read_in_words(tmp_path: Path, capsys):
    columns = {"modality": ["Fundus", "OCT"], "diagnosis": ["glaucoma", "normal", "cataract"]}
    assert curate(tmp_path, columns) == 0
    assert {r.modality for r in read_records(tmp_path / "OUT" / "records")} == {"CFP", "OCT"}
    (tmp_path / "OUT").rename(tmp_path / "BEFORE")
    assert curate(tmp_path, {**columns, "modality": ["Fundus", "camera B"]}) == 2
    assert "--value 'modality:camera B=CFP'" in capsys.readouterr().err


def test_names_in_addresses_are_found_and_a_first_line_without_names_stops(tmp_path: Path, capsys):
    (tmp_path / "i.png").write_bytes(b"")
    assert folder_of(tmp_path).find("https://example.org/a/i.png?raw=1")[0] == (tmp_path / "i.png",)
    curate(tmp_path, {"diagnosis": ["glaucoma", "normal"]}, n=20)
    lines = (tmp_path / "t.csv").read_text().splitlines()[1:]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert cli.main(command(tmp_path, "--plan")) == 2
    assert "add a line of names above it" in capsys.readouterr().err


def test_diseases_of_each_eye_in_one_cell_are_asked_about(tmp_path: Path, capsys):
    cells = ["OD: glaucoma; OS: normal", "glaucoma", "normal", "cataract"]
    assert curate(tmp_path, {"eye": ["OD", "OS"], "diagnosis": cells}) == 2
    error = capsys.readouterr().err
    assert "of one eye" in error and cli.main(cure(error)) == 2  # the images of these rows are lost
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert "OD: glaucoma; OS: normal" not in asked(tmp_path, "diagnosis")


@tabled("name, is_asked", [("secondary diagnosis", True), ("diagnosis 2", True), ("referral diagnosis", False)])
def test_a_second_diagnosis_is_asked_about_and_an_earlier_one_is_not(
    tmp_path_factory: pytest.TempPathFactory, name: str, is_asked: bool
):
    folder = tmp_path_factory.mktemp("second")
    columns = {"primary diagnosis": ["glaucoma", "normal", "AMD"], name: ["cataract", "glaucoma"]}
    assert curate(folder, columns) == (2 if is_asked else 0)


@tabled(
    "name",
    ["diagnosis ruled out", "suspected diagnosis", "fellow eye diagnosis", "previous diagnosis", "Verdachtsdiagnose"],
)
def test_a_diagnosis_that_is_none_of_the_image_is_asked_about(tmp_path_factory: pytest.TempPathFactory, name: str):
    folder = tmp_path_factory.mktemp("earlier")
    assert curate(folder, {name: ["glaucoma", "normal", "cataract"], "sex": ["F", "M"]}) == 2


ENDS = [("_OD", "_OS"), ("-V1", "-V2"), (" L", " R"), ("_left", "_right"), ("L", "R"), ("OD", "OS")]


@tabled("ends", ENDS)
def test_numbers_of_eyes_and_visits_are_of_their_patients(
    tmp_path_factory: pytest.TempPathFactory, ends: tuple[str, str]
):
    folder = tmp_path_factory.mktemp("ends")
    numbers = [f"P{n:03}{end}" for n in range(30) for end in ends]
    assert len({*people_in(numbers).values()}) == 30
    for one in ([f"P{n:03}" for n in range(40)], [f"P{n}-{n % 7}" for n in range(40)], ["P1L", "P2", "P3R"]):
        assert not people_in(one)
    assert curate(folder, {"patient_id": numbers, "dx": ["glaucoma", "normal"]}) == 0
    assert len({r.group for r in read_records(folder / "OUT" / "records")}) == 30


def test_the_question_of_two_columns_names_no_eye(tmp_path: Path):
    columns = {"eye": ["OD", "OS"], "DR grade R": ["0", "1", "2"], "DR grade L": ["2", "1", "0"]}
    assert curate(tmp_path, columns) == 0
    words = {r.messages[-1].parts[-1].text for r in read_records(tmp_path / "OUT" / "records")}
    assert words and not any("grade R" in text or "grade L" in text for text in words)


def test_normal_and_a_disease_in_one_cell_are_neither():
    assert findings_of("Normal; Glaucoma").present == () and findings_of("DR; Glaucoma").present != ()


@pytest.mark.parametrize("name", ["Bemerkung für Ärzte", "Zuweiser", "seen by"])
def test_what_names_a_person_is_in_no_file(tmp_path: Path, name: str):
    cells = ["Dr. Müller", "überwiesen an Dr. Maier", "Praxis Yilmaz"]
    patients = [f"P{n}" for n in range(60)]
    assert curate(tmp_path, {"patient": patients, "diagnosis": ["glaucoma", "normal"], name: cells}) == 0
    for file in (tmp_path / "OUT").rglob("*"):
        if file.suffix in (".html", ".yaml", ".csv", ".json", ".parquet"):
            assert not any(cell.split()[-1].encode() in file.read_bytes() for cell in cells), file


def test_grades_in_words_are_read_where_the_user_names_the_scale(tmp_path: Path):
    columns = {"Hallazgo": ["None", "RDNP leve", "RDNP moderada", "RDNP grave", "RD proliferativa"]}
    assert curate(tmp_path, columns, "--column", "icdr=Hallazgo") == 0
    assert asked(tmp_path, "icdr") == {f"Stage: {n}": 12 for n in range(5)}


def test_two_columns_of_diagnoses_of_the_eyes_are_one_question(tmp_path: Path, capsys):
    columns = {"eye": ["OD", "OS"], "OD / Fondo": ["glaucoma", "normal"], "OI / Fondo": ["cataract", "glaucoma"]}
    assert curate(tmp_path, columns) == 2
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert sum(asked(tmp_path, "four_way").values()) == 60


def test_a_code_beside_a_denial_is_told(tmp_path: Path, capsys):
    columns = {"diagnosis": ["kein Glaukom", "cataract", "normal"], "ICD-10": ["H40.1", "H25.1", ""]}
    assert curate(tmp_path, columns) == 0
    assert "differs in 20 rows" in capsys.readouterr().out


@pytest.mark.parametrize("codes", [("-1", "0", "1"), ("0", "1", "9"), ("no", "yes", "?no")])
def test_a_third_code_beside_yes_and_no_is_asked_about(tmp_path: Path, capsys, codes: tuple[str, ...]):
    assert curate(tmp_path, {"glaucoma": codes}) == 2
    assert cli.main(cure(capsys.readouterr().err)) == 0
    assert asked(tmp_path, "glaucoma") == {"GLAUCOMA": 20, "NON-GLAUCOMA": 20}


@pytest.mark.parametrize(("header", "one"), [("glaucoma (0=yes; 1=no)", "no"), ("glaucoma (0=no; 1=yes)", "yes"),
                                              ("glaucoma [0: present; 1: absent]", "no")])  # fmt: skip
def test_a_legend_in_the_name_of_a_column_counts(tmp_path: Path, header: str, one: str):
    assert curate(tmp_path, {header: ["1", "1", "0"]}) == 0
    more = {"yes": "GLAUCOMA", "no": "NON-GLAUCOMA"}[one]
    assert asked(tmp_path, "glaucoma")[more] == 40


def test_a_legend_of_other_words_is_the_table_s_own(tmp_path: Path):
    name = "glaucoma (0=none; 1=suspect; 2=definite)"
    assert curate(tmp_path, {name: ["0", "1", "2", "2"]}, "--ask", name) == 0
    records = read_records(tmp_path / "OUT" / "records")
    assert Counter(r.answer.removeprefix("Answer: ") for r in records) == {"none": 15, "suspect": 15, "definite": 30}


@pytest.mark.parametrize("grades", [("0", "1", "2", "4"), ("0", "1", "3"), ("0 - No DR", "1 - mild", "2 - moderate")])
def test_a_level_that_no_image_has_costs_no_other(tmp_path: Path, grades: tuple[str, ...]):
    assert curate(tmp_path, {"cataract_grade": grades}) == 0
    assert asked(tmp_path, "cataract_grade") == {grade[0]: 60 // len(grades) for grade in grades}


def test_two_graders_of_a_disease_contradict_each_other(tmp_path: Path, capsys):
    columns = {"glaucoma": ["yes", "no", "yes", "no"], "glaucoma_grader2": ["yes", "no", "no", "no"]}
    assert curate(tmp_path, columns) == 2
    assert "contradictory values" in capsys.readouterr().err


def test_a_number_that_repeats_is_no_number_of_the_row(tmp_path: Path):
    assert curate(tmp_path, {"No.": [f"{n // 2:03}" for n in range(60)], "dx": ["glaucoma", "normal"]}) == 2


def test_degrees_that_become_one_answer_are_told(tmp_path: Path, capsys):
    assert curate(tmp_path, {"diagnosis": ["early AMD", "late AMD", "normal", "cataract"]}) == 0
    assert "early AMD, late AMD are one answer, age-related macular degeneration" in capsys.readouterr().out


@tabled("cell", ["Glaukom rechts", "cataract left eye", "glaucoma OD", "catarata izquierda"])
def test_a_cell_that_names_an_eye(cell: str):
    assert names_an_eye(cell) and not names_an_eye("glaucoma") and not names_an_eye("AMD beidseits")
