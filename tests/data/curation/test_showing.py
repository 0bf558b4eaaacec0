from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError, StrictDrops
from lmod_train.core.files import sha256_of
from lmod_train.core.types import ImageFile, Question, Sample
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.prepare import Prepared
from lmod_train.data.curation.question_records import show_all
from lmod_train.data.curation.records import PlacedQuestion, own_pictures
from tests.data.curation.probe import Without
from tests.data.curation.world import Discs, Folders, Glaucoma, Regions, asked, photograph, tree


def one(key, answer, shows="another", source="s", modality="CFP", split="train", own=True, **fields):
    sample = Sample(source, key, modality, Path(f"{key}.png"), key, f"licence of {source}")
    if not own:
        sample = replace(sample, image=None, shared_images=(ImageFile(Path(f"{key}.png"), key),))
    perturbed = {name: f"{key}-{name}" for name in [fields.get("perturbation")] if name}
    done = Prepared(source, key, (40, 30), plain=fields.pop("plain", f"{source}-{key}"), scale=0.5, perturbed=perturbed)
    question = Question("t", asked("?"), ("a", "b"), answer, shows=shows, **fields)
    return PlacedQuestion(None, question, sample, split, own_pictures(question, sample, {(source, key): done}))


def key_of(shown):
    return shown.pictures[0].plain.removeprefix("images/").removesuffix(".jpg")


def show(questions, seed=0):
    return show_all(questions, list, seed)


def test_another_is_of_the_same_split_modality_and_source_and_of_another_class():
    places = product("st", ("CFP", "OCT"), ("train", "test"), "abc", range(4))
    questions = [one(f"{s}{m}{p}{c}{i}", c, source=s, modality=m, split=p) for s, m, p, c, i in places]
    shown, dropped = show(questions)
    assert not dropped and [a.sample.key for a in shown] == [a.sample.key for a in questions]
    owners = {f"{a.sample.source}/{a.sample.key}": a for a in questions}
    for a in shown:
        other = owners[key_of(a)]
        same = lambda x: (x.sample.source, x.sample.modality, x.split)  # noqa: E731
        assert same(other) == same(a) and other.question.answer != a.question.answer
        assert (
            a.pictures[0].sha256 == other.pictures[0].sha256
            and a.pictures[0].licence == f"licence of {a.sample.source}"
        )
    assert len({key_of(a) for a in shown}) > len(shown) / 3, "not one image for all"


def test_the_stratum_goes_before_the_answer():
    questions = [one("1", "x", stratum="a"), one("2", "y", stratum="a"), one("3", "x", stratum="b")]
    shown, dropped = show(questions)
    assert [key_of(a) for a in shown] == ["s/3", "s/3", shown[2].pictures[0].plain[7:10]] and not dropped
    assert key_of(shown[2]) in ("s/1", "s/2")


def test_order_does_not_matter_the_seed_does_and_languages_show_the_same():
    questions = [one(str(i), "ab"[i % 2]) for i in range(40)]
    chosen = {a.sample.key: key_of(a) for a in show(questions)[0]}
    assert chosen == {a.sample.key: key_of(a) for a in show(questions[::-1])[0]}
    assert chosen != {a.sample.key: key_of(a) for a in show(questions, seed=1)[0]}
    chinese = [replace(a, question=replace(a.question, language="zh")) for a in questions]
    shown, _ = show([*questions, *chinese])
    assert [key_of(a) for a in shown[:40]] == [key_of(a) for a in shown[40:]] == list(chosen.values())


def test_another_source_serves_where_the_own_has_one_class_and_both_licences_are_told():
    shown, dropped = show([one("1", "a"), one("2", "a"), one("3", "b", source="t"), one("4", "b", modality="OCT")])
    assert [key_of(a) for a in shown[:2]] == ["t/3", "t/3"]
    assert shown[0].pictures[0].licence == "licence of s; image: licence of t"
    assert [(d.key, d.step, d.reason) for d in dropped] == [("4", "show", "no_image_of_another_class")]


def test_a_copy_of_the_own_image_is_not_another():
    copies = [one("1", "a", plain="x"), one("2", "b", plain="x"), one("3", "b", plain="x"), one("4", "b", plain="y")]
    shown, _ = show(copies)
    assert key_of(shown[0]) == "s/4"
    shown, dropped = show(copies[:3])
    assert not shown and len(dropped) == 3


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    root = tmp_path_factory.mktemp("raw")
    Folders.write(root / "f", 16)
    return root


def make(raw, out, **changed):
    settings = {"longest_side": 64, "workers": 1, "progress": False, "ratios": (0.5, 0.5, 0.0)} | changed
    return curate([Folders(raw / "f")], [Without(), Glaucoma()], out, **settings)


@pytest.fixture(scope="module")
def curated(raw, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated") / "out"
    make(raw, out)
    return out


def probes(curated, kind):
    return [r for r in read_records(curated / "records") if r.id.endswith(f"/{kind}")]


def test_nothing_shown_is_nothing_in_the_record(curated):
    records = probes(curated, "none")
    assert len(records) == 16
    for record in records:
        assert record.image == record.image_plain == record.image_sha256 == ()
        assert [p.type for m in record.messages for p in m.parts] == ["text"]
        assert record.messages[0].parts[0].text == "Glaucoma?" and record.scale == 1.0


def test_the_image_of_another_and_its_hash(curated):
    truth = {r.image_plain: r for r in read_records(curated / "records") if r.task == "glaucoma"}
    records = probes(curated, "another")
    assert len(records) == 16
    for record in records:
        (image,) = record.image
        assert image == record.image_plain[0] != f"images/folders/{record.key}.jpg"
        assert record.image_sha256 == (sha256_of(curated / image),) and record.scale == 64 / 160
        shown = truth.get((image,))
        assert shown is None or (shown.split == record.split and shown.answer != record.answer)
        assert image.split("/")[2].upper() != record.answer


def test_the_manifest_counts_what_is_shown(curated):
    manifest = read_manifest(curated)
    for part in manifest["counts"]["glaucoma_probe"].values():
        assert part["shows"] == dict.fromkeys(("another", "foreign", "none"), part["samples"])
    assert {k for c in manifest["counts"]["glaucoma"].values() for k in c["shows"]} == {"own"}
    shown = {p for r in read_records(curated / "records") for p in (*r.image, *r.image_plain)}
    assert {f.relative_to(curated).as_posix() for f in (curated / "images").rglob("*.jpg")} == shown
    assert Counter(r.task for r in read_records(curated / "records"))["glaucoma_probe"] == 48


@pytest.mark.slow
def test_two_workers_give_the_same_bytes(raw, curated, tmp_path):
    make(raw, tmp_path / "out", workers=2)
    assert tree(tmp_path / "out") == tree(curated)


def test_a_question_without_another_image_is_dropped_and_counted(tmp_path):
    for i in range(4):
        photograph(tmp_path / "raw" / "normal" / f"{i}.png", i)
    source = Folders(tmp_path / "raw")
    options = {"workers": 1, "progress": False}
    manifest = curate([source], [Without()], tmp_path / "out", **options)
    assert manifest["dropped"] == {"folders": {"show": {"no_image_of_another_class": 4}}}
    assert (tmp_path / "out" / "dropped.csv").read_text().count("glaucoma_probe another, NORMAL") == 4
    assert len(read_records(tmp_path / "out" / "records")) == 8
    with pytest.raises(StrictDrops, match="no_image_of_another_class: 4"):
        curate([source], [Without()], tmp_path / "strict", refusal=Refusal(strict=True), **options)
    assert not (tmp_path / "strict" / "records").exists()


class Marked(Regions):
    def ask(self, sample):
        for question in super().ask(sample):
            yield replace(question, shows="another")


def test_markers_on_another_image_are_refused(tmp_path):
    with pytest.raises(LmodError, match="marked=False"):
        curate([Discs.write(tmp_path / "d", 2)], [Marked()], tmp_path / "out", workers=1, progress=False)


def with_group(asked, group, camera=None):
    patient = replace(asked.sample.patient, camera=camera)
    return replace(asked, sample=replace(asked.sample, group=group, patient=patient))


def test_swapped_images_are_of_other_patients_with_the_answer_asked_for():
    """Two eyes of each patient: the second eye is no other patient's image, whatever its answer."""
    questions = [with_group(one(f"{n}", "ab"[n // 2 % 2], shows), f"p{n // 2}") for n in range(12) for shows in SWAPS]
    shown, dropped = show(questions)
    owners = {a.sample.key: a for a in questions}
    assert len(shown) == len(questions) and not dropped
    for before, after in zip(questions, shown, strict=True):
        other = owners[key_of(after).removeprefix("s/")]
        assert other.sample.group != before.sample.group and after.question.answer == other.question.answer
        assert (other.question.answer == before.question.answer) == (before.question.shows == "same_answer")


def test_the_mean_of_few_images_shows_each_and_is_not_asked():
    questions = [one(f"{n}", "ab"[n % 2], shows) for n in range(4) for shows in ("own", "blank")]
    shown, dropped = show(questions)
    assert [a.question.shows for a in shown] == ["own"] * 4
    assert [(d.key, d.reason, d.extent) for d in dropped] == [(str(n), "too_few_for_a_mean", "part") for n in range(4)]


@pytest.mark.parametrize("sizes", ({"a": 40, "b": 40}, {"a": 60, "b": 7}, {"a": 20, "b": 30, "c": 50}))
def test_swapped_images_are_shown_about_equally_often(sizes):
    """As often as the numbers of classes ask for, and once more at most, or twice where an own image is passed over."""
    keys = [(c, f"{c}{n}") for c, size in sizes.items() for n in range(size)]
    every = [with_group(one(key, c, shows, variant=shows), key) for c, key in keys for shows in SWAPS]
    shown, dropped = show(every)
    assert not dropped
    for cls, size in sizes.items():
        for shows, others in (("same_answer", size), ("other_answer", sum(sizes.values()) - size)):
            after = [
                a for a, b in zip(shown, every, strict=True) if b.question.answer == cls and b.question.shows == shows
            ]
            used = Counter(key_of(a) for a in after)
            assert max(used.values()) <= -(-size // others) + (shows == "same_answer")
            assert len(used) >= min(size, others) * (0.8 if shows == "same_answer" else 1)


def test_the_same_camera_goes_before_the_same_source():
    questions = [
        with_group(one(f"{n}", "ab"[n % 2], shows), f"p{n}", f"camera {n // 4 % 2}")
        for n in range(16)
        for shows in SWAPS
    ]
    cameras = {a.sample.key: a.sample.patient.camera for a in questions}
    shown, _ = show(questions)
    assert all(cameras[key_of(a).removeprefix("s/")] == a.sample.patient.camera for a in shown)


def test_a_class_of_one_patient_has_no_swap_and_is_listed():
    questions = [
        with_group(one(f"{n}", "a" if n < 2 else "b", "same_answer"), "p" if n < 2 else f"q{n}") for n in range(5)
    ]
    shown, dropped = show(questions)
    assert len(shown) == 3 and [d.reason for d in dropped] == ["no_image_of_the_class"] * 2


SWAPS = ("same_answer", "other_answer")
