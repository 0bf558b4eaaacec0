from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Patient, Sample
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.curation.balance import Candidate, absent, draw
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.records import PlacedQuestion, draw_balanced, left_out
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma as OneGlaucoma
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from tests.data.curation.world import Folders, Glaucoma, photograph


def candidates(counts, language="en", split="train"):
    return [
        Candidate("t", language, split, "", c, "s", f"{c}{i}", f"patient-{c}{i // 2}")
        for c, n in counts.items()
        for i in range(n)
    ]


def test_the_smallest_class_sets_the_number():
    items = candidates({"a": 7, "b": 3, "c": 12})
    drawn, (account,) = draw(items, 0)
    assert Counter(items[i].stratum for i in drawn) == {"a": 3, "b": 3, "c": 3}
    assert account["n_per_class"] == 3 and account["before"] == {"a": 7, "b": 3, "c": 12} and account["items"] == 9
    assert account["groups"] == len({items[i].group for i in drawn}) and account["over"] == "split"
    assert account["groups_per_class"]["b"] == 2 and account["items_per_split"] == {"train": 9}


def test_patients_of_two_sources_with_one_name_count_twice():
    own = candidates({"a": 6, "b": 4})
    items = own + [replace(c, source="other") for c in own]
    drawn, (account,) = draw(items, 0)
    patients = {
        stratum: {(items[i].source, items[i].group) for i in drawn if items[i].stratum == stratum} for stratum in "ab"
    }
    assert account["groups_per_class"] == {stratum: len(found) for stratum, found in patients.items()}
    assert account["groups_per_class"]["b"] == 4 and account["groups"] == len(patients["a"] | patients["b"])


def test_order_does_not_matter_and_the_seed_does():
    items = candidates({"a": 30, "b": 5})
    keys = lambda pool, seed: {pool[i].key for i in draw(pool, seed)[0]}  # noqa: E731
    assert keys(items, 0) == keys(items[::-1], 0) != keys(items, 1)


def test_cells_are_balanced_apart_and_a_missing_class_is_named():
    items = candidates({"a": 4, "b": 2}) + candidates({"a": 3}, split="test")
    drawn, (test, train) = draw(items, 0)
    assert len(drawn) == 4 + 3
    assert test["missing"] == ["b"] and test["items"] == 3 and train["missing"] == []


def test_a_class_that_no_sample_has_is_named_where_the_task_states_its_classes():
    stated = tuple("abc")
    items = [replace(c, classes=stated) for c in candidates({"a": 4, "b": 2}) + candidates({"a": 3}, split="test")]
    for over, missing in (("split", [["b", "c"], ["c"]]), ("all", [["c"]])):
        drawn, accounts = draw(items, 0, over)
        assert [a["missing"] for a in accounts] == missing and len(drawn) == {"split": 7, "all": 4}[over]
        assert absent(accounts) == ["t: no sample of c; balanced over the 2 classes that there are"]
    assert absent(draw(candidates({"a": 4, "b": 2}), 0)[1]) == []
    drusen, scar = (replace(items[0], variant=name, classes=("a", "b")) for name in ("drusen", "scar"))
    _, accounts = draw([drusen, scar, replace(scar, stratum="b", key="other")], 0)
    assert absent(accounts) == ["t drusen: no sample of b; of one class only"]


def test_over_all_the_smallest_class_of_the_task_sets_the_number_and_splits_stay():
    items = candidates({"a": 9, "b": 5}) + [replace(c, key=f"test-{c.key}") for c in candidates({"a": 6}, split="test")]
    drawn, (account,) = draw(items, 0, "all")
    assert Counter(items[i].stratum for i in drawn) == {"a": 5, "b": 5}
    assert account["cell"] == ["t", "en", "all", ""] and account["over"] == "all" and account["missing"] == []
    assert account["items_per_split"] == Counter(items[i].split for i in drawn)
    assert account["before"] == {"a": 15, "b": 5} and account["items"] == 10


def test_languages_ask_about_the_same_images():
    items = candidates({"a": 20, "b": 4}) + candidates({"a": 20, "b": 4}, "zh")
    for over in ("split", "all"):
        drawn, accounts = draw(items, 0, over)
        keys = [sorted(items[i].key for i in drawn if items[i].language == lang) for lang in ("en", "zh")]
        assert keys[0] == keys[1] and len(accounts) == 2


def test_no_candidates_no_account():
    assert draw([], 0) == draw([], 0, "all") == (set(), [])


SCANS = {"1": (1, 19), "2": (4, 30), "3": (6, 42), "4": (8, 64)}  # stage: patients, scans


DIAGNOSIS = {"1": "cataract", "2": "scar", "3": "drusen", "4": "nevus"}  # what stands for a stage as a label


class Scans(Folders):
    """Scans of four stages in the manner of OIMHS: all 19 of stage 1 come from one patient."""

    name = "scans"

    def samples(self):
        for stage, (patients, scans) in SCANS.items():
            for i in range(scans):
                image, group = self.root / f"{stage}-{i}.png", f"{stage}-{i % patients}"
                yield Sample("scans", f"{stage}/{i}", "OCT", image, group, "CC0", {"diagnosis": DIAGNOSIS[stage]})


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    found = Scans(tmp_path_factory.mktemp("scans"))
    for number, sample in enumerate(found.samples()):
        photograph(sample.image, number, size=(24, 18))
    return found


def curated(scans, out, **changed):
    curate([scans], [Glaucoma()], out, workers=1, progress=False, ratios=(0.6, 0.2, 0.2), **changed)
    return read_manifest(out), read_records(out / "records")


def test_a_class_of_one_patient_gives_the_published_76(scans, tmp_path):
    manifest, records = curated(scans, tmp_path / "all", balance_over="all")
    assert len(records) == 19 * 4 and set(Counter(r.answer for r in records).values()) == {19}
    (account,) = manifest["balance"]["glaucoma"]
    assert account["items"] == 76 and account["n_per_class"] == 19 and account["groups_per_class"]["CATARACT"] == 1
    assert account["items_per_split"] == Counter(r.split for r in records) and len(account["items_per_split"]) == 3
    assert manifest["settings"]["balance_over"] == account["over"] == "all"
    homes = {}
    for record in records:
        assert homes.setdefault(record.group, record.split) == record.split


def test_by_split_the_class_of_one_patient_limits_only_its_own_split(scans, tmp_path):
    manifest, records = curated(scans, tmp_path)
    accounts = manifest["balance"]["glaucoma"]
    assert [a["over"] for a in accounts] == ["split"] * 3
    assert sorted(a["missing"] for a in accounts) == [[], ["CATARACT"], ["CATARACT"]]
    for account in accounts:
        counts = Counter(r.answer for r in records if r.split == account["cell"][2])
        assert set(counts.values()) == {account["n_per_class"]} == {min(account["before"].values())}


def test_every_task_states_the_classes_it_balances_by(tmp_path):
    labels = {"diagnosis": "normal", "glaucoma": "no", "drusen": "no", **{row.name: row.levels[0] for row in SCALES}}
    patient = Patient(age=64, sex="male")
    sample = Sample("s", "1", "CFP", tmp_path / "1.png", "1", "CC0", labels, patient=patient)
    tasks = [AgeGroup(), AgeGroup("lmod_v1"), Conditions(), FourWay(), OneGlaucoma(), Sex()]
    for task in [*tasks, *(Staging(row.name) for row in SCALES)]:
        asked = [PlacedQuestion(task, q, sample, "train", ()) for q in task.ask(sample)]
        _, accounts = draw_balanced(asked, 0, "all")
        assert accounts
        for account, one in zip(accounts, asked, strict=True):
            assert account["missing"] == sorted(set(task.choices) - {one.question.stratum})


def test_the_missing_groups_of_an_age_are_in_the_manifest(scans, tmp_path):
    class Ages(Scans):
        def samples(self):
            for s in super().samples():
                yield replace(s, patient=Patient(age=10.0 * int(s.key[0]) + 15))

    curate([Ages(scans.root)], [AgeGroup()], tmp_path / "out", workers=1, progress=False, balance_over="all")
    (account,) = read_manifest(tmp_path / "out")["balance"]["age_group"]
    assert account["missing"] == ["60–69", "70–79", "80+", "<18"]
    (line,) = absent([account])
    assert line == "age_group: no sample of 60–69, 70–79, 80+, <18; balanced over the 4 classes that there are"


def test_an_unknown_span_is_refused(scans, tmp_path):
    with pytest.raises(BadArgument, match="balance_over"):
        curated(scans, tmp_path / "out", balance_over="task")


def of_sources(counts):
    """Candidates of one task: (source, split, class) -> how many."""
    return [
        Candidate("glaucoma", "en", split, "", stratum, source, f"{split}{stratum}{i}", f"{i}")
        for (source, split, stratum), n in counts.items()
        for i in range(n)
    ]


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["train", "test"]), st.sampled_from(["yes", "no"])),
        st.integers(1, 6),
        min_size=1,
    )
)
def test_within_a_source_the_source_tells_nothing(counts):
    """What `source` keeps has equal classes in every source and split; what it leaves out lacks a class there."""
    candidates = of_sources(counts)
    drawn, accounts = draw(candidates, 0, "source")
    kept = Counter((candidates[i].source, candidates[i].split, candidates[i].stratum) for i in drawn)
    classes = {stratum for *_, stratum in counts}
    for source, split in {(source, split) for source, split, _ in counts}:
        here = {c: counts.get((source, split, c), 0) for c in ("yes", "no")}
        whole = {c for (s, _, c) in counts if s == source} == classes
        mixed = len({s for s, *_ in counts}) > 1
        expected = min(here.values()) if whole and mixed else 0
        if not mixed:  # as every split by itself
            assert sum(kept[source, split, c] for c in here) > 0
            continue
        assert {kept[source, split, c] for c in ("yes", "no")} == {expected}
        (account,) = [a for a in accounts if a["cell"] == ["glaucoma", "en", split, "", source]]
        assert ("left_out" in account) == (expected == 0) and account["n_per_class"] == expected


def test_a_source_without_all_classes_is_listed_as_a_drop():
    counts = {("refuge", "train", "yes"): 4, ("refuge", "train", "no"): 9, ("g1020", "train", "no"): 30}
    drawn, accounts = draw(of_sources(counts), 0, "source")
    assert len(drawn) == 8
    (dropped,) = left_out(accounts)
    assert (dropped.source, dropped.reason, dropped.extent) == ("g1020", "source_without_all_classes", "part")
    assert dropped.detail == "glaucoma en, train: 30 questions, as the source has no yes"
    together, _ = draw(of_sources(counts), 0)  # as it was: "no" comes from g1020 mostly, and the source answers
    assert len(together) == 8 and left_out(draw(of_sources(counts), 0)[1]) == []
