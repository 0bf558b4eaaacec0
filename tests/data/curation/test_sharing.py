"""Samples with ready questions and several images: each image is curated once, each question is a record."""

from dataclasses import replace

import datasets
import pytest
from PIL import Image

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.files import sha256_of
from lmod_train.data.curation.pipeline import curate
from tests.contracts import SourceContract
from tests.data.curation.cases import SETTINGS, Changed, N, Staged, drops
from tests.data.curation.world import Folders, Glaucoma, tree


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


def test_images_stand_in_the_order_of_their_places_and_are_written_once(curated_cases, records):
    by_id = {r.id: r for r in records}
    own, scan = "images/cases/cfp/3.jpg", "images/cases/scan 3.jpg"
    assert by_id["staged/cases/case%203"].image == (own, scan) == by_id["staged/cases/case%203"].image_plain
    assert by_id["staged/cases/case%203/scan"].image == (scan,)
    assert by_id["staged/cases/case%203/scan"].scale == 0.5
    assert by_id["staged/cases/case%203/turned"].image == (scan, own)
    assert by_id["staged/cases/case%203/blind"].image == by_id["staged/cases/case%203/blind"].image_sha256 == ()
    assert by_id["staged/cases/cfp/3/IQA"].image == (own,)
    for record in records:
        assert record.image_sha256 == tuple(sha256_of(curated_cases / name) for name in record.image)
        assert sum(p.type == "image" for m in record.messages for p in m.parts) == len(record.image)
    written = {f.relative_to(curated_cases).as_posix() for f in (curated_cases / "images").rglob("*.jpg")}
    assert written == {name for r in records for name in r.image} and len(written) == N + N // 3
    with Image.open(curated_cases / scan) as image:
        assert image.size == (100, 50)


def test_the_modality_of_a_case_is_a_combination_in_one_order(records):
    assert {r.modality for r in records} == {"CFP", "CFP+OCT"}


def test_two_workers_give_the_same_bytes(source, curated_cases, tmp_path):
    curate([source], [Staged(), Staged(language="zh")], tmp_path / "out", **SETTINGS | {"workers": 2})
    assert tree(tmp_path / "out") == tree(curated_cases)


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


def test_records_with_chains_load_beside_those_of_other_tasks(curated_cases, tmp_path):
    (tmp_path / "raw").mkdir()
    curate([Folders.write(tmp_path / "raw", 8)], [Glaucoma()], tmp_path / "out", balance=[], workers=1, progress=False)
    files = [str(f) for out in (curated_cases, tmp_path / "out") for f in (out / "records").glob("*.parquet")]
    loaded = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert len(loaded) == N * 6 + N // 3 * 4 + 8
    (last,) = (row for row in loaded if row["id"] == "staged/cases/cfp/0/LC")
    assert (last["tags"], last["chain_step"]) == ([{"key": "level", "value": "R"}], "LC")
    assert last["needs"] == ["staged/cases/cfp/0/IQA", "staged/cases/cfp/0/AL/1"]


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, source):
        return source


class Translated(Staged):
    """The same questions, whose variants end with their language."""

    def ask(self, sample):
        for question in super().ask(sample):
            yield replace(question, variant=f"{question.variant or 1}-{question.language}", needs=(), chain="")


def test_ids_of_a_translation_differ_in_the_end_of_the_variant_only(source, tmp_path):
    curate([source], [Translated(), Translated(language="zh")], tmp_path / "out", **SETTINGS)
    ids = [r.id for r in read_records(tmp_path / "out" / "records")]
    chinese = {i.removesuffix("zh") for i in ids if i.endswith("zh")}
    assert len(chinese) == 3 * N and chinese <= {i.removesuffix("en") for i in ids if i.endswith("-en")}
    assert not any("/zh/" in i for i in ids)
