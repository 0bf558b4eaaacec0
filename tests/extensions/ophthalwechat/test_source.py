"""OphthalWeChat from workbooks to records: the drawn truth, and every damaged row with its reason."""

from __future__ import annotations

import datetime
import random
import shutil
import string

import pytest
from openpyxl import load_workbook

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, LmodError, SourceNotFound
from lmod_train.core.types import Dropped, Reply, Sample
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.export import export
from lmod_train.extensions.ophthalwechat import phantom as phantoms
from lmod_train.extensions.ophthalwechat.pairs import CONDITION
from lmod_train.extensions.ophthalwechat.source import OphthalWeChat
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from tests.contracts import SourceContract
from tests.data.sources.workbooks import ASKED, OPTIONS, PICTURES, ROWS, SHOWN, WAHL, asked_of, folder, read

N, SEED = 24, 3
TASKS = (BinaryQuestion(), SingleChoiceQuestion(), OpenQuestion())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    root = tmp_path_factory.mktemp("ophthalwechat")
    for headers in ("en", "zh", "mixed"):
        phantoms.write(root / headers, N, SEED, size=32, headers=headers, workers=0)
    return root


@pytest.fixture(params=["en", "zh", "mixed"])
def headers(request):
    return request.param


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, drawn, headers):
        return OphthalWeChat(drawn / headers / "OphthalWeChat")


def test_every_question_equals_the_drawn_truth_in_both_languages(drawn, headers):
    samples, drops = read(drawn / headers / "OphthalWeChat")
    truths = {str(shown.id): shown for shown in phantoms.images(N, SEED)}
    assert samples.keys() == truths.keys()
    for key, shown in truths.items():
        sample = samples[key]
        assert (sample.modality, sample.group) == (shown.modality, f"post {shown.article}")
        found = {(q.language, q.task, q.variant.partition("-")[0]): q for q in sample.asked}
        places = {"binary_question": 0, "single_choice_question": 0, "open_question": 0}
        for question in shown.questions:
            places[question.task] += 1
            for language in ("zh", "en"):
                asked = found.pop((language, question.task, str(places[question.task])))
                assert (asked.answer, asked.choices) == (question.answer[language], tuple(question.options[language]))
                assert asked.messages[0].parts[1].text.startswith(question.words[language])
                assert asked.variant == f"{places[question.task]}-{language}"
                stated = {phantoms._image_row(shown, 1, 1, header)[5] for header in ("zh", "en")}
                tags = dict(asked.tags)
                assert tags.pop(CONDITION) in stated
                assert tags == {"language": language, "subspecialty": shown.subspecialty["en"]}
        assert not found
    assert sorted((d.reason, d.key) for d in drops) == [("missing image", str(i)) for i in phantoms.missing_ids(N)]


def test_both_languages_of_a_question_and_all_of_a_post_are_in_one_split(drawn, tmp_path):
    source = OphthalWeChat(drawn / "mixed" / "OphthalWeChat")
    curate([source], TASKS, tmp_path, ratios=(0.4, 0.3, 0.3), workers=1, progress=False)
    records = {r.id: r for r in read_records(tmp_path / "records")}
    chinese = [r for r in records.values() if r.id.endswith("-zh")]
    assert len(chinese) * 2 == len(records) == 8 * N and {r.split for r in chinese} == {"train", "val", "test"}
    for one in chinese:
        other = records[one.id.removesuffix("zh") + "en"]
        assert (one.language, other.language, one.split) == ("zh", "en", other.split)
        if one.choices:
            task = next(task for task in TASKS if task.name == one.task)
            places = [r.choices.index(task.parse(Reply(r.id, r.answer), r)) for r in (one, other)]
            assert places[0] == places[1]
    assert len({(r.group, r.split) for r in records.values()}) == len({r.group for r in records.values()})
    account = read_manifest(tmp_path)["sources"]["ophthalwechat"]["account"]
    assert account["questions"]["binary zh"] == {"here": 2 * N, "paper": None}
    assert account["questions"]["all"] == {"here": 8 * N, "paper": 30120}
    assert account["modalities"]["CFP+OCT"] == {"here": N // 4, "paper": 64}
    assert {(d.reason, d.extent) for d in read_dropped(tmp_path / "dropped.csv")} == {("missing image", "gone")}


def test_images_are_not_exported_but_those_of_phantoms(drawn, tmp_path):
    assert OphthalWeChat.redistributable is False and "publisher" in OphthalWeChat.licence
    root = shutil.copytree(drawn / "en" / "OphthalWeChat", tmp_path / "raw")
    (root / "phantom.json").unlink()
    curate([OphthalWeChat(root)], TASKS, tmp_path / "out", workers=1, progress=False)
    with pytest.raises(LmodError, match="image rights with its publisher"):
        export(tmp_path / "out", "llava", tmp_path / "exported")


def test_a_small_table_is_read_whole(tmp_path):
    samples, drops = read(folder(tmp_path))
    assert drops == [] and list(samples) == ["1", "2"]
    assert asked_of(samples["1"]) == {
        ("binary", "1-zh"): ("视盘苍白", ("对", "错"), "对"),
        ("binary", "1-en"): ("The optic disc is pale", ("True", "False"), "True"),
        ("single", "1-zh"): (WAHL, ("视盘", "黄斑", "虹膜", "晶状体"), "黄斑"),
        ("single", "1-en"): (OPTIONS, ("optic disc", "macula", "iris", "lens"), "macula"),
    }
    assert asked_of(samples["2"])["open", "1-zh"] == ("诊断是什么？", (), "黄斑裂孔")
    assert [s.group for s in samples.values()] == ["post p1", "post p1"]


def with_row(number, **changes):
    """Return the rows with other values in one of them."""
    names = ("pair", "image", "type", "language", "question", "answer")
    row = [changes.get(name, value) for name, value in zip(names, ROWS[number], strict=True)]
    return (*ROWS[:number], tuple(row), *ROWS[number + 1 :])


LONG = "".join(random.Random(0).choices(string.ascii_letters, k=100_000)) * 100  # packs as badly as 10 million


@pytest.mark.parametrize(
    ("reason", "rows"),
    [
        ("no answer", with_row(1, answer=None)),
        ("no question", with_row(1, question="")),
        ("no type", with_row(1, type=None)),
        ("unknown type", with_row(1, type="essay")),
        ("unknown language", with_row(1, language="French")),
        ("no language", with_row(1, language=None)),
        ("two languages", with_row(1, type="Binary_CN")),
        ("answer is a date", with_row(1, answer=datetime.datetime(2024, 1, 5))),
        ("answer is a date", with_row(5, answer=datetime.date(2024, 1, 5))),
        ("answer is a date", with_row(5, answer=datetime.time(1, 5))),
        ("answer is no option", with_row(1, answer="perhaps")),
        ("answer is no option", with_row(1, answer="B")),
        ("answer is no option", with_row(3, answer="对")),
        ("answer is no option", with_row(3, answer="sclera")),
        ("no such option", with_row(3, answer="E")),
        ("letter and text differ", with_row(3, answer="B: iris")),
        ("two equal options", with_row(3, question="Which? A: iris B: Iris C: lens D: disc")),
        ("unreadable options", with_row(3, question="Which? A: iris B: disc C: lens")),
        ("unreadable options", with_row(3, question="Which? A: a B: b C: c D: d E: e")),
        ("unreadable options", with_row(3, question="Which?")),
        ("unreadable options", with_row(3, question="Which? A: a B: b C: D: d")),
        ("cell too long", with_row(1, question=LONG)),
        ("cell too long", with_row(5, answer=LONG[:40_000])),
        ("no such image", with_row(1, image=77)),
        ("no image", with_row(1, image=None)),
        ("unusable id", with_row(1, image="../../etc/passwd")),
    ],
)
def test_a_row_that_cannot_be_asked_is_listed_and_all_others_are_kept(reason, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("openpyxl.cell.cell.Cell.check_string", lambda _, value: value)  # writes long cells too
    samples, drops = read(folder(tmp_path, rows))
    (number,) = [n for n, (old, new) in enumerate(zip(ROWS, rows, strict=True)) if old != new]
    key = f"OphthalWeChat_QA.xlsx: Sheet: row {number + 2}"
    assert [(d.key, d.reason, d.extent) for d in drops if d.reason != "one language missing"] == [(key, reason, "part")]
    assert [d.key for d in drops if d.reason == "one language missing"] == [
        key.replace(str(number + 2), str(number + 1))
    ]
    assert sum(len(s.asked) for s in samples.values()) == len(ROWS) - 1
    assert all(len(d.detail) < 400 for d in drops)


def test_a_question_without_its_translation_is_kept_and_listed(tmp_path):
    samples, drops = read(folder(tmp_path, ROWS[1:]))
    assert [d.reason for d in drops] == ["one language missing"] and "no zh" in drops[0].detail
    assert ("binary", "1-en") in asked_of(samples["1"])


def test_pairs_that_are_none_are_taken_apart_and_listed(tmp_path):
    differing = with_row(1, answer="False")
    samples, drops = read(folder(tmp_path / "a", differing))
    assert [d.reason for d in drops] == ["two answers in a pair"]
    assert {variant for task, variant in asked_of(samples["1"]) if task == "binary"} == {"1-zh", "2-en"}
    samples, drops = read(folder(tmp_path / "b", with_row(1, language="Chinese", answer="对")))
    assert [d.reason for d in drops] == ["pair twice"]


def test_one_address_with_two_answers_and_with_the_same_question_twice(tmp_path):
    pictures = (*PICTURES, (9, "http://x.org/a#f", "p1", "OCT", "Retina/Vitreous"))
    rows = (*ROWS, (4, 9, "Binary", "Chinese", "视盘 苍白。", "错"), (5, 9, "Binary", "English", ROWS[1][4], "True"))
    samples, drops = read(folder(tmp_path, rows, pictures))
    assert list(samples) == ["1", "2"]
    reasons = sorted((d.reason, d.key.partition("row ")[2]) for d in drops)
    assert ("two answers", "2") in reasons and ("two answers", "8") in reasons
    assert ("same question twice", "9") in reasons and ("one language missing", "3") in reasons
    assert next(d.detail for d in drops if d.reason == "rows of one address differ").startswith("modality 'OCT'")
    assert ("binary", "1-en") in asked_of(samples["1"]) and samples["1"].modality == "CFP"


def test_merged_cells_and_formulas_give_values_only(tmp_path):
    book = load_workbook(folder(tmp_path) / "OphthalWeChat_QA.xlsx")
    book.active.merge_cells("F2:F3")
    book.active["E6"] = '=HYPERLINK("http://x.org")'
    book.save(tmp_path / "OphthalWeChat_QA.xlsx")
    samples, drops = read(tmp_path)
    assert {(d.reason, d.key.partition("row ")[2]) for d in drops if d.reason != "one language missing"} == {
        ("merged cells", "3"),
        ("no question", "6"),
    }
    assert "formula" in next(d.detail for d in drops if d.reason == "no question")
    assert sum(len(s.asked) for s in samples.values()) == len(ROWS) - 2


def test_other_headers_are_options_and_what_is_missing_is_listed_with_what_is_there(tmp_path):
    asked = ("Nr", "Bild", "Art", "Sprache", "Frage", "Antwort")
    root = folder(tmp_path, asked=asked)
    _, drops = read(root)
    (line,) = [d for d in drops if d.reason == "no header"]
    assert "'Frage', 'Antwort'" in line.detail and "columns" in line.detail
    columns = {"Nr": "pair", "Bild": "image", "Sprache": "language", "Frage": "question", "Antwort": "answer"}
    _, drops = read(root, columns=columns)
    assert [(d.extent, d.key.rpartition(" ")[2]) for d in drops if d.reason == "missing column"] == [("gone", "type")]
    assert "'Art'" in next(d.detail for d in drops if d.reason == "missing column")
    samples, drops = read(root, columns={**columns, "Art": "type"})
    assert drops == [] and len(samples) == 2
    with pytest.raises(BadArgument, match="columns='frage'"):
        OphthalWeChat(columns={"Frage": "frage"})


def test_without_a_column_of_pairs_each_question_is_alone_unless_the_order_pairs_them(tmp_path):
    root = folder(tmp_path, [row[1:] for row in ROWS], asked=ASKED[1:])
    samples, drops = read(root)
    assert [(d.reason, d.extent) for d in drops] == [("missing column", "part")] and "pairs_in_order" in drops[0].detail
    assert [q.variant for q in samples["1"].asked] == ["1-zh", "2-en", "1-zh", "2-en"]
    samples, _ = read(root, pairs_in_order=True)
    assert [q.variant for q in samples["1"].asked] == ["1-zh", "1-en", "1-zh", "1-en"]


def test_spellings_of_values_are_options(tmp_path):
    rows = with_row(0, type="Urteil", language="Chinesisch")
    pictures = ((1, "u", "p", "Foto", "Netzhaut"), PICTURES[1])
    root = folder(tmp_path, rows, pictures)
    samples, drops = read(root)
    unknown = [d for d in drops if d.reason.startswith("unknown")]
    assert sorted(d.reason for d in unknown) == ["unknown modality", "unknown subspecialty", "unknown type"]
    assert all("see the option" in d.detail for d in unknown)
    assert samples["1"].modality == "" and samples["1"].asked[0].tags == {"language": "en"}
    options = {
        "types": {"Urteil": "binary_question"},
        "languages": {"Chinesisch": "zh"},
        "modalities": {"Foto": "CFP"},
        "subspecialties": {"Netzhaut": "Retina/Vitreous"},
    }
    samples, drops = read(root, **options)
    assert drops == [] and samples["1"].modality == "CFP"


def test_files_of_images(tmp_path):
    shown = (*SHOWN, "File")
    pictures = [(*PICTURES[0], "deep/a picture.png"), (*PICTURES[1], None)]
    root = folder(tmp_path, pictures=pictures, shown=shown, files=("deep/a picture.png", "2.png", "2.jpg", "stray.png"))
    (root / "notes.pdf").write_bytes(b"x")
    samples, drops = read(root)
    assert samples["1"].image.name == "a picture.png" and list(samples) == ["1"]
    found = {(d.reason, d.file or d.key) for d in drops}
    assert {reason for reason, _ in found} == {"several files", "no row in a table", "stray file"}
    assert ("stray file", "notes.pdf") in found


def test_an_image_that_is_a_page_is_listed_by_curation(tmp_path):
    root = folder(tmp_path / "raw")
    (root / "images" / "2.png").write_text("<!DOCTYPE html><html>404</html>")
    curate([OphthalWeChat(root)], TASKS, tmp_path / "out", workers=1, progress=False)
    (line,) = read_dropped(tmp_path / "out" / "dropped.csv")
    assert (line.reason, line.key, line.extent) == ("image_unreadable", "2", "gone")
    assert {r.key for r in read_records(tmp_path / "out" / "records")} == {"1"}


def test_workbooks_that_are_none(tmp_path):
    root = folder(tmp_path)
    (root / "OphthalWeChat_image_information.xlsx").write_bytes(b"PK\x03\x04 broken")
    (root / "~$OphthalWeChat_QA.xlsx").write_bytes(b"lock")
    samples, drops = read(root)
    assert {d.reason for d in drops} == {"unreadable table", "missing table"}
    assert sorted(samples) == ["1", "2"] and all(s.modality == "" for s in samples.values())
    (root / "OphthalWeChat_QA.xlsx").unlink()
    assert read(root)[0] == {}
    (root / "OphthalWeChat_image_information.xlsx").unlink()
    with pytest.raises(SourceNotFound, match=r"OphthalWeChat_QA\.xlsx"):
        read(root)


@pytest.mark.parametrize("seed", range(3))
def test_workbooks_of_which_bytes_were_changed_never_raise(tmp_path, seed):
    root, rng = folder(tmp_path), random.Random(seed)
    whole = (root / "OphthalWeChat_QA.xlsx").read_bytes()
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 3, 30))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        (root / "OphthalWeChat_QA.xlsx").write_bytes(bytes(damaged))
        items = list(OphthalWeChat(root).samples())
        assert all(isinstance(item, Sample | Dropped) for item in items)


def test_each_of_500_rows_of_random_values_is_a_question_or_is_listed(tmp_path):
    rng = random.Random(5)
    values = (
        "",
        None,
        "对",
        "True",
        "E",
        "B",
        OPTIONS,
        WAHL,
        "x" * 300,
        7,
        1.5,
        True,
        "\x0b"[:0],
        "=1+1",
        "Binary_EN",
        1,
        2,
    )
    rows = [tuple(rng.choice((old, rng.choice(values))) for old in rng.choice(ROWS)) for _ in range(500)]
    samples, drops = read(folder(tmp_path, rows))
    lost = {d.key for d in drops if d.reason not in ("one language missing", "two answers in a pair", "pair twice")}
    empty = sum(not any(value not in (None, "") for value in row) for row in rows)
    assert sum(len(s.asked) for s in samples.values()) + len({k for k in lost if "row" in k}) == len(rows) - empty
