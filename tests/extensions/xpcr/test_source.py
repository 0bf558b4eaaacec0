"""X-PCR in its three layouts, with truth, and 1,000 damaged rows of which each is listed."""

import json
import random
import shutil
from collections import Counter

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.export import export
from lmod_train.extensions.packs.withheld import open_sources
from lmod_train.extensions.xpcr import phantom as xpcr
from lmod_train.extensions.xpcr.source import Xpcr
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.phantom.shots import note
from lmod_train.report.thumbnails import licences
from lmod_train.tasks.base import Task
from tests.contracts import SourceContract
from tests.tabled import tabled

N = 20


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xpcr")
    xpcr.write(folder / "hub", N, 3, size=48, workers=0)
    rows = xpcr.rows(N, 3)
    beside(folder / "json" / "X-PCR", "", {"X-PCR.json": rows})
    parts = {"train": rows[:16], "val": rows[16:18], "test": rows[18:]}
    beside(folder / "card" / "X-PCR", "images", {f"annotations/{name}.json": part for name, part in parts.items()})
    return folder


def beside(root, images, tables):
    """Write JSON tables with the images in files beside them, as earlier releases and the data set's card have them."""
    note(root, {"source": "xpcr", "n": N, "seed": 3, "size": 48, "layout": root.parent.name})
    xpcr.write_cases(root / "multimodal_cases", xpcr.cases(N // 4, 3), 48)
    for name, rows in tables.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(json.dumps([xpcr.table_row(row) for row in rows], indent=1), encoding="utf-8")
        for row in rows:
            (root / images / row.place).parent.mkdir(parents=True, exist_ok=True)
            (root / images / row.place).write_bytes(xpcr.image_file(row, 48))


@pytest.fixture(params=["hub", "json", "card"])
def layout(drawn, request):
    return Xpcr(drawn / request.param / "X-PCR")


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, layout):
        return layout


def rows_in(source):
    return [item for item in source.samples() if isinstance(item, Sample) and not item.shared_images]


def test_every_layout_gives_the_drawn_truth_and_nothing_is_left_out(layout):
    items = list(layout.samples())
    assert [item for item in items if isinstance(item, Dropped)] == []
    samples = {s.key: s for s in rows_in(layout)}
    rows = {row.id: row for row in xpcr.rows(N, 3)}
    assert samples.keys() == rows.keys()
    for key, row in rows.items():
        truth = {(d.category, d.text): (d.options[0], sorted(d.options)) for d in row.questions}
        asked = {(q.chain_step, q.messages[0].parts[1].text): (q.answer, sorted(q.choices)) for q in samples[key].asked}
        assert (asked, samples[key].group) == (truth, row.group)


def test_images_inside_a_table_are_those_beside_it(drawn):
    hub, card = ({s.key: open_image(s) for s in rows_in(Xpcr(drawn / name / "X-PCR"))} for name in ("hub", "card"))
    assert {key: one.sha256 for key, one in hub.items()} == {key: one.sha256 for key, one in card.items()}
    sizes = {"slo": (62, 48), "ss": (48, 36)}
    for key, one in hub.items():
        assert one.image.size == sizes.get(key.partition("_")[0], (48, 48)) and one.bytes > 500


def test_both_eyes_of_a_patient_are_one_group(drawn):
    groups = Counter(s.group for s in rows_in(Xpcr(drawn / "hub" / "X-PCR")) if s.modality in ("CFP", "OCT"))
    assert set(groups.values()) == {2}


def test_rows_of_every_modality_are_complete_chains_with_the_drawn_truth(layout):
    drawn, found = {row.id: row for row in xpcr.rows(N, 3)}, Counter()
    for sample in rows_in(layout):
        truths = {(q.category, q.text): q.options[0] for q in drawn[sample.key].questions}
        for question in Chain().ask(sample):
            words = question.messages[-1].parts[-1].text.partition("\nA. ")[0]
            letter = question.answer.removeprefix("Answer: ")[0]
            assert options_in(question.messages)[letter] == truths.pop((question.chain_step, words))
        assert not truths
        found[sample.modality] += 1
        assert {question.chain_step for question in sample.asked} == set(STAGE_NAMES)
    assert found == dict.fromkeys(("CFP", "OCT", "SLO", "EP", "SS"), N // 5)


class Asks(Task):
    """Asks the ready questions as they are."""

    name, version, choices = "chain", 1, ()

    def ask(self, sample):
        yield from self.ready_questions(sample)

    def parse(self, reply, record):
        return reply.reply

    def score(self, predictions):
        return []


def test_from_parquet_to_records(drawn, tmp_path):
    curate([Xpcr(drawn / "hub" / "X-PCR")], [Asks()], tmp_path / "curated", workers=1, progress=False)
    records = read_records(tmp_path / "curated" / "records")
    assert len(records) == sum(len(row.questions) for row in xpcr.rows(N, 3))
    assert len({r.id for r in records}) == len(records)
    assert all((tmp_path / "curated" / r.image[0]).is_file() and r.phantom for r in records)
    assert read_dropped(tmp_path / "curated" / "dropped.csv") == []
    by_group = {(r.group, r.split) for r in records}
    assert len(by_group) == len({r.group for r in records})


def test_the_real_data_is_never_exported_and_a_page_warns(drawn, tmp_path):
    root = shutil.copytree(drawn / "json" / "X-PCR", tmp_path / "X-PCR")
    (root / "phantom.json").unlink()
    curate([Xpcr(root)], [Asks()], tmp_path / "curated", workers=1, progress=False)
    stated = read_manifest(tmp_path / "curated")
    assert stated["sources"]["xpcr"]["redistributable"] is False and open_sources(stated) == frozenset()
    records = read_records(tmp_path / "curated" / "records")
    (note,) = licences(tmp_path / "curated", records)
    assert note.stays and "academic research only" in note.licence
    with pytest.raises(LmodError, match="academic research only"):
        export(tmp_path / "curated", "llava", tmp_path / "out")


def card(tmp_path, rows, names=("train",)):
    (tmp_path / "annotations").mkdir()
    for name in names:
        (tmp_path / "annotations" / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "a.jpg").write_bytes(b"pixels")
    return Xpcr(tmp_path)


GOOD = {
    "id": "good",
    "modality": "CFP",
    "image_path": "a.jpg",
    "qa_pairs": [
        {
            "category": stage,
            "question": f"{stage}?\nOptions: ['yes', 'no', 'perhaps']",
            "answer": "no",
            "sub_label": "",
            "question_type": "single_choice",
        }
        for stage in ("IQA", "AL", "LC", "DD", "SG", "CD")
    ],
}


def test_missing_splits_unknown_fields_and_strays_are_listed(tmp_path):
    (tmp_path / "b.jpg").write_bytes(b"pixels")
    source = card(tmp_path, [GOOD | {"camera": 1}, GOOD | {"id": "b", "camera": 2}])
    dropped = [item for item in source.samples() if isinstance(item, Dropped)]
    found = {(d.reason, d.key) for d in dropped}
    assert found == {
        ("missing split", "val"),
        ("missing split", "test"),
        ("unknown field", "field 'camera'"),
        ("no row in a table", "b.jpg"),
    }
    assert next(d for d in dropped if d.reason == "unknown field").detail.startswith("in 2 rows; expected among id,")


def test_of_many_unknown_fields_the_first_fifty_are_listed(tmp_path):
    (tmp_path / "b.jpg").write_bytes(b"pixels")
    source = card(tmp_path, [GOOD | {f"field_{i:02d}": i for i in range(51)}])
    listed = [d.key for d in source.samples() if isinstance(d, Dropped) and d.reason == "unknown field"]
    assert listed == [f"field 'field_{i:02d}'" for i in range(50)]


def test_a_missing_part_of_the_hubs_table_is_listed(drawn, tmp_path):
    (tmp_path / "data").mkdir()
    part = drawn / "hub" / "X-PCR" / "data" / "train-00001-of-00002.parquet"
    (tmp_path / "data" / part.name).write_bytes(part.read_bytes())
    reasons = [(d.reason, d.key) for d in Xpcr(tmp_path).samples() if isinstance(d, Dropped)]
    assert reasons == [("missing table", "train-00000-of-00002.parquet")]


def test_a_damaged_table_is_named_and_the_other_is_read(drawn, tmp_path):
    (tmp_path / "data").mkdir()
    for file in (drawn / "hub" / "X-PCR" / "data").iterdir():
        (tmp_path / "data" / file.name).write_bytes(file.read_bytes()[: -9 if "00001" in file.name else None])
    items = list(Xpcr(tmp_path).samples())
    assert sum(isinstance(i, Sample) for i in items) == N // 2
    assert ("unreadable table", "data/train-00001-of-00002.parquet") in {
        (d.reason, d.file) for d in items if isinstance(d, Dropped)
    }


def test_bytes_of_a_table_changed_at_random_never_raise(drawn, tmp_path):
    (tmp_path / "data").mkdir()
    whole = {file.name: file.read_bytes() for file in (drawn / "hub" / "X-PCR" / "data").iterdir()}
    rng = random.Random(0)
    for name, data in whole.items():
        (tmp_path / "data" / name).write_bytes(data)
    last = max(whole)
    for _ in range(60):
        changed = bytearray(whole[last])
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        (tmp_path / "data" / last).write_bytes(changed)
        assert sum(isinstance(item, Sample) for item in Xpcr(tmp_path).samples()) >= N // 2


def test_other_names_are_options(tmp_path):
    row = json.loads(json.dumps(GOOD).replace("qa_pairs", "qas").replace('"IQA"', '"Clarity"'))
    source = card(tmp_path, [row])
    assert not [item for item in source.samples() if isinstance(item, Sample)]
    named = Xpcr(tmp_path, categories={"Clarity": "IQA"}, fields={"qas": "qa_pairs"})
    (sample,) = (item for item in named.samples() if isinstance(item, Sample))
    assert [q.chain_step for q in sample.asked] == ["IQA", "AL", "LC", "DD", "SG", "CD"]


def test_a_row_as_the_page_of_the_release_shows_it(tmp_path):
    titles = ("Image Quality", "Anatomical Localization", "Lesion Characterization", "Disease Diagnosis",
              "Severity Grading", "Clinical Decision-Making")  # fmt: skip
    levels = "\nOptions: ['excellent', 'good', 'fair', 'poor']"
    pairs = [
        {"category": title, "question": f"What is the {aspect} level of the image?{levels}", "answer": "fair",
         "sub_label": aspect.capitalize(), "question_type": "single_choice"}
        for title in titles for aspect in ("clarity", "exposure")
    ]  # fmt: skip
    row = {"id": "cfp_000000", "modality": "cfp", "image_path": "a.jpg", "qa_pairs": pairs}
    found = list(card(tmp_path, [row]).samples())
    (sample,) = (item for item in found if isinstance(item, Sample))
    assert sample.modality == "CFP" and len(sample.asked) == 12
    assert {q.chain_step for q in sample.asked} == {"IQA", "AL", "LC", "DD", "SG", "CD"}
    assert [q.tags["aspect"] for q in sample.asked[:2]] == ["Clarity", "Exposure"]
    assert not [item for item in found if isinstance(item, Dropped) and item.key == "cfp_000000"]


# 1,000 damaged rows

HOSTILE = [
    "\x00",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "\ud800",
    "{answer 1}",
    "A" * 100_000,
    "\u202ex\u2066",
    "",
]
OTHER_TYPES = [None, 7, -1.5, float("nan"), float("inf"), True, [], {}, ["a"], {"a": 1}, [[[[]]]]]


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def damage_row(rng, row):
    """Damage a field of the row, so that it gives no sample."""
    kind = rng.choice(["type", "missing", "path", "id", "modality", "whole"])
    if kind == "type":
        row[rng.choice(["modality", "qa_pairs"])] = rng.choice([*OTHER_TYPES, deep(80)])
    elif kind == "missing":
        del row[rng.choice(["id", "modality", "image_path", "qa_pairs"])]
    elif kind == "path":
        places = [
            "../a.jpg",
            "/etc/passwd",
            "b.jpg",
            "a.jpg/../../x",
            "a" * 5000,
            "a\x00.jpg",
            "\\\\server\\a.jpg",
            ["a.jpg"],
        ]
        row["image_path"] = rng.choice(places)
    elif kind == "id":
        row["id"] = rng.choice(["good", "../up", "a//b", "", None, 1.5, ["x"], "x" * 10_000, "a\nb", "\ud800", "."])
    elif kind == "modality":
        row["modality"] = rng.choice(["MRI", *HOSTILE])
    else:
        row = rng.choice([None, 3, "row", [row], []])
    return row


def damage_pair(rng, row):
    """Damage one question of the row, so that this question is left out."""
    pair = rng.choice(row["qa_pairs"])
    kind = rng.choice(["type", "missing", "options", "answer", "hostile", "level", "whole"])
    if kind == "type":
        pair[rng.choice(["category", "question", "answer"])] = rng.choice([*OTHER_TYPES, deep(80)])
    elif kind == "missing":
        del pair[rng.choice(["category", "question", "answer"])]
    elif kind == "options":
        lists = [
            "['no']",
            "['no', 'NO ']",
            "['no', 'yes (Correct)']",
            "[no, yes]",
            "['no'",
            "__import__('os')",
            "['no', '']",
        ]
        pair["question"] = f"Q?\nOptions: {rng.choice(lists)}"
    elif kind == "answer":
        pair["answer"] = rng.choice(["maybe", "A", "nope", *HOSTILE])
    elif kind == "hostile":
        pair["category"] = rng.choice(HOSTILE)
    elif kind == "level":
        pair[rng.choice(["level", "impact"])] = rng.choice([9, "expert", [1], {"R": 1}, float("nan"), -3])
    else:
        row["qa_pairs"][row["qa_pairs"].index(pair)] = rng.choice([None, 3, "Q?", [pair]])
    return row


@tabled("seed", range(4))
def test_each_of_a_thousand_damaged_rows_is_listed_and_the_good_ones_are_read(tmp_path, seed):
    rng = random.Random(seed)
    rows = [GOOD]
    for n in range(250):
        row = json.loads(json.dumps(GOOD)) | {"id": f"damaged_{n}"}
        rows.append(rng.choice([damage_row, damage_pair])(rng, row))
    rows.append(GOOD | {"id": "last"})
    items = list(card(tmp_path, rows, ("train", "val", "test")[:1]).samples())
    lines = [d for d in items if isinstance(d, Dropped) and d.reason not in ("missing split", "unknown field")]
    listed = {int(d.detail.split()[1].rstrip(":,")) for d in lines}
    assert listed == set(range(2, 252))
    assert all(d.reason and d.detail.isprintable() and len(d.detail) < 2000 for d in lines)
    samples = {s.key: s for s in items if isinstance(s, Sample)}
    assert len(samples["good"].asked) == len(samples["last"].asked) == 6
    kept = [s for s in samples.values() if s.key.startswith("damaged")]
    assert kept and all(1 <= len(s.asked) <= 6 for s in kept), "a damaged question costs this question alone"


def test_damaged_rows_reach_the_table_of_drops_and_no_record(drawn, tmp_path):
    rng = random.Random(9)
    rows = [damage_row(rng, json.loads(json.dumps(GOOD)) | {"id": f"d{n}"}) for n in range(60)]
    raw = tmp_path / "raw"
    raw.mkdir()
    source = card(raw, [GOOD, *rows])
    image = drawn / "json" / "X-PCR" / xpcr.rows(1, 3)[0].place
    (raw / "a.jpg").write_bytes(image.read_bytes())
    curate([source], [Asks()], tmp_path / "curated", workers=1, progress=False)
    assert {r.key for r in read_records(tmp_path / "curated" / "records")} == {"good"}
    assert len([d for d in read_dropped(tmp_path / "curated" / "dropped.csv") if "row" in d.detail]) >= 60
