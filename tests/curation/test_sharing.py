"""Samples with ready questions and several images: curated once, kept together, one record a question."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace

import pytest
from PIL import Image

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.artifacts.records import read_records
from lmod_train.curation.pipeline import curate
from lmod_train.errors import LmodError
from lmod_train.files import sha256_of
from lmod_train.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.tasks.probe import Probe
from lmod_train.types import ImageFile, Message, Need, Part, Question, Sample
from tests.curation.world import photograph, tree

N = 12


def words(text, images=1):
    return (Message("user", (*[Part("image")] * images, Part("text", text))),)


class Staged(Task):
    """Asks the ready questions of its name."""

    version, choices = 1, ("yes", "no")

    def __init__(self, name="staged", language="en"):
        self.name, self.language = name, language

    def ask(self, sample):
        yield from self.ready_questions(sample)

    def parse(self, reply, record):
        return reply.reply

    def score(self, predictions):
        return []


def chain(key):
    """Three steps in two languages; the last one needs both earlier ones."""
    for language in ("en", "zh"):
        fields = {"language": language, "chain": key, "tags": {"level": "R"}}
        yield Question("staged", words("Good?"), ("yes", "no"), "yes", chain_step="IQA", **fields)
        one = Need("IQA")
        yield Question("staged", words("{answer 1}?"), (), "no", chain_step="AL", needs=(one,), variant="1", **fields)
        yield Question(
            "staged",
            words("{answer 1} {answer 2}?"),
            (),
            "no",
            chain_step="LC",
            needs=(one, Need("AL", "", "1")),
            **fields,
        )


class Cases(Source):
    """Photographs with chains, and every third with a case of that photograph, a scan of its own and a common one."""

    name, modality, licence, redistributable, reference = "cases", "CFP", "CC0", True, "https://example.org"

    @classmethod
    def found_in(cls, folder):
        return (folder / "cases").is_dir()

    @classmethod
    def write(cls, root):
        for n in range(N):
            photograph(root / "cfp" / f"{n}.png", n)
        for n in range(0, N, 3):
            photograph(root / "cases" / f"{n}.png", 100 + n, size=(200, 100))
        photograph(root / "common.png", 999)
        return cls(root)

    def verify(self):
        assert self.root.is_dir()

    def samples(self):
        for n in range(N):
            key, file = f"cfp/{n}", self.root / "cfp" / f"{n}.png"
            yield Sample(self.name, key, "CFP", file, f"eye {n}", self.licence, asked=tuple(chain(key)))
        for n in range(0, N, 3):
            images = (
                ImageFile(self.root / "cfp" / f"{n}.png", f"cfp/{n}", "CFP"),
                ImageFile(self.root / "cases" / f"{n}.png", f"scan {n}", "OCT"),
                *((ImageFile(self.root / "common.png", "common", "OCT"),) if n < 6 else ()),
            )
            asked = (
                Question("staged", words("Both?", 2), (), "all"),
                Question("staged", words("Scan?"), (), "scan", variant="scan", images=(1,)),
                Question("staged", words("Turned?", 2), (), "turned", variant="turned", images=(1, 0)),
                Question("staged", words("Blind?", 0), (), "none", variant="blind"),
            )
            yield Sample(
                self.name, f"case {n}", "OCT+CFP", None, f"case {n}", self.licence, shared_images=images, asked=asked
            )


SETTINGS = {"longest_side": 100, "workers": 1, "progress": False, "ratios": (0.5, 0.25, 0.25)}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Cases.write(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def curated(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated") / "out"
    curate([source], [Staged(), Staged(language="zh")], out, **SETTINGS)
    return out


@pytest.fixture(scope="module")
def records(curated):
    return read_records(curated / "records")


def test_every_ready_question_is_a_record_with_its_words(source, records):
    asked = [(s.key, q) for s in source.samples() for q in s.asked]
    assert len(records) == len(asked) == N * 6 + N // 3 * 4
    found = {(r.key, r.language, r.chain_step, r.variant): r for r in records}
    for key, question in asked:
        record = found[key, question.language, question.chain_step, question.variant]
        assert (record.messages, record.choices, record.answer) == (
            question.messages,
            question.choices,
            question.answer,
        )
        assert (record.tags, record.chain) == (
            question.tags,
            f"cases/{key.replace('/', '%2F')}" if question.chain else "",
        )


def test_ids_name_language_step_and_variant_and_needs_name_ids(records):
    by_id = {r.id: r for r in records}
    assert len(by_id) == len(records)
    last = by_id["staged/cases/cfp/0/zh/LC"]
    assert last.needs == ("staged/cases/cfp/0/zh/IQA", "staged/cases/cfp/0/zh/AL/1") and set(last.needs) <= set(by_id)
    assert all(set(r.needs) <= set(by_id) for r in records) and by_id["staged/cases/cfp/0/IQA"].needs == ()


def test_images_stand_in_the_order_of_their_places_and_are_written_once(curated, records):
    by_id = {r.id: r for r in records}
    own, scan = "images/cases/cfp/3.jpg", "images/cases/scan 3.jpg"
    assert by_id["staged/cases/case%203"].image == (own, scan) == by_id["staged/cases/case%203"].image_plain
    assert by_id["staged/cases/case%203/scan"].image == (scan,)
    assert by_id["staged/cases/case%203/scan"].scale == 0.5
    assert by_id["staged/cases/case%203/turned"].image == (scan, own)
    assert by_id["staged/cases/case%203/blind"].image == by_id["staged/cases/case%203/blind"].image_sha256 == ()
    assert by_id["staged/cases/cfp/3/IQA"].image == (own,)
    for record in records:
        assert record.image_sha256 == tuple(sha256_of(curated / name) for name in record.image)
        assert sum(p.type == "image" for m in record.messages for p in m.parts) == len(record.image)
    written = {f.relative_to(curated).as_posix() for f in (curated / "images").rglob("*.jpg")}
    assert written == {name for r in records for name in r.image} and len(written) == N + N // 3
    with Image.open(curated / scan) as image:
        assert image.size == (100, 50)


def test_the_modality_of_a_case_is_a_combination_in_one_order(records):
    assert {r.modality for r in records} == {"CFP", "CFP+OCT"}


def test_what_shares_an_image_or_a_chain_is_in_one_split(curated, records):
    homes = defaultdict(set)
    for record in records:
        for name in (*record.image, record.chain or record.id):
            homes[name].add(record.split)
    assert all(len(splits) == 1 for splits in homes.values())
    groups = {r.key: r.group for r in records}
    # cases 0 and 3 show the common scan, though no question asks about it
    assert groups["cfp/0"] == groups["case 0"] == groups["case 3"] == groups["cfp/3"] == "case 0"
    assert groups["cfp/6"] == groups["case 6"] == "case 6" and groups["cfp/7"] == "eye 7"
    assert len({r.split for r in records}) == 3
    assert read_manifest(curated)["sources"]["cases"]["files"] == N + N // 3 + 1
    assert read_manifest(curated)["leakage"]["counts"]["exact"]["pairs"] == 0


@pytest.mark.filterwarnings("ignore:split_by='image'")
def test_the_published_split_keeps_them_together_too(source, tmp_path):
    curate([source], [Staged()], tmp_path / "out", split_by="image", **SETTINGS)
    homes = defaultdict(set)
    for record in read_records(tmp_path / "out" / "records"):
        for name in (*record.image, record.chain or record.id):
            homes[name].add(record.split)
    assert all(len(splits) == 1 for splits in homes.values())


def test_two_workers_give_the_same_bytes(source, curated, tmp_path):
    curate([source], [Staged(), Staged(language="zh")], tmp_path / "out", **SETTINGS | {"workers": 2})
    assert tree(tmp_path / "out") == tree(curated)


class Changed(Cases):
    """The same with one change."""

    def __init__(self, root, change):
        super().__init__(root)
        self.change = change

    def samples(self):
        yield from (self.change(s) for s in super().samples())


def drops(out):
    with (out / "dropped.csv").open(newline="") as file:
        return sorted((r["key"], r["reason"], r["extent"]) for r in csv.DictReader(file))


def test_an_unreadable_shared_image_costs_the_samples_that_show_it(source, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")

    def change(sample):
        images = [replace(i, path=tmp_path / "bad.png") if i.key == "common" else i for i in sample.shared_images]
        return replace(sample, shared_images=tuple(images))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert drops(tmp_path / "out") == [("case 0", "image_unreadable", "gone"), ("case 3", "image_unreadable", "gone")]
    assert "cfp/0" in {r.key for r in read_records(tmp_path / "out" / "records")}


def test_one_key_for_two_files_costs_the_second_sample(source, tmp_path):
    def change(sample):
        images = [replace(i, key="same") if i.key.startswith("scan") else i for i in sample.shared_images]
        return replace(sample, shared_images=tuple(images))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert drops(tmp_path / "out") == [(f"case {n}", "image_key_repeated", "gone") for n in (3, 6, 9)]


def test_a_need_that_is_not_asked_leaves_out_all_that_depends_on_it(source, tmp_path):
    def change(sample):
        asked = [q for q in sample.asked if sample.key != "cfp/1" or q.chain_step != "IQA"]
        return replace(sample, asked=tuple(asked))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert drops(tmp_path / "out") == [("cfp/1", "needed_question_missing", "part")] * 2
    records = read_records(tmp_path / "out" / "records")
    assert "cfp/1" not in {r.key for r in records} and len(records) == N * 3 + 16 - 3


def test_questions_that_need_each_other_are_left_out(source, tmp_path):
    def change(sample):
        asked = [replace(q, needs=(Need("LC"),)) if q.chain_step == "IQA" else q for q in sample.asked]
        return replace(sample, asked=tuple(asked))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    assert len(drops(tmp_path / "out")) == N * 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"messages": words("?", 2)}, "2 image places"),
        ({"images": (1,)}, "1 images"),
        ({"messages": words("{answer 3}")}, "answer 3"),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error_that_names_it(source, tmp_path, changed, said):
    def change(sample):
        asked = [replace(q, **changed) if q.chain_step == "AL" else q for q in sample.asked]
        return replace(sample, asked=tuple(asked))

    with pytest.raises(LmodError, match=said):
        curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)


def test_probes_show_as_many_other_images(source, tmp_path):
    def change(sample):
        return replace(sample, asked=tuple(q for q in sample.asked if q.answer in ("all", "none", "scan")))

    curate([Changed(source.root, change)], [Probe(Staged())], tmp_path / "out", **SETTINGS)
    records = {r.id: r for r in read_records(tmp_path / "out" / "records")}
    foreign = records["staged_probe/cases/case%203/foreign"]
    assert len(set(foreign.image)) == 2 and all(name.startswith("images/foreign/") for name in foreign.image)
    assert records["staged_probe/cases/case%203/none"].image == ()
    assert records["staged_probe/cases/case%203/blind-foreign"].image == ()
