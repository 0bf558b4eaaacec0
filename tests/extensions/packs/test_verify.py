import json
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import read_records, write_records
from lmod_train.extensions.packs.pack import PackedTask, read_pack, write_pack
from lmod_train.extensions.packs.packing import pack
from lmod_train.extensions.packs.verifying import Refused, Verified, _remarks, read_folder, verified
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.settings import plain
from tests.report import packs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The pack of a run with two tasks, and its curated folder as read."""
    root = tmp_path_factory.mktemp("packs")
    place = packs.curated(root / "curated")
    run = packs.run(root / "run", place, tasks=[Glaucoma(), Anatomy()])
    pack(run, root / "run.lmodpack")
    return read_pack(root / "run.lmodpack"), read_folder(place), place


def judged(made, tmp_path, folder=None, **changed):
    """Return what verification finds about the pack with changes."""
    write_pack(tmp_path / "x.lmodpack", replace(made[0], **changed))
    return verified(tmp_path / "x.lmodpack", folder or made[1])


def reasons(found):
    assert isinstance(found, Refused)
    return "\n".join(found.reasons)


def test_an_unchanged_pack_holds_with_every_score(made, tmp_path):
    found = judged(made, tmp_path)
    assert isinstance(found, Verified)
    assert dict(found.whole) == dict(found.answered) == {"glaucoma": 48, "anatomy": 24}
    assert found.remarks == {"glaucoma": (), "anatomy": ()}
    accuracy = {(s.task, s.subset, s.metric): s.value for s in found.scores}["glaucoma", "all", "accuracy_strict"]
    wrong = sum(packs.question("open", i).key.endswith(("0", "5")) for i in range(24))
    assert accuracy == pytest.approx(1 - wrong / 24)


def test_a_changed_score_is_named(made, tmp_path):
    at = next(i for i, s in enumerate(made[0].scores) if s.metric == "accuracy_strict" and s.subset == "all")
    scores = list(made[0].scores)
    scores[at] = replace(scores[at], value=0.99)
    assert "glaucoma, all, accuracy_strict: 0.9900 stated, 0.7917 found" in reasons(
        judged(made, tmp_path, scores=tuple(scores))
    )


def test_scores_that_are_missing_more_or_twice_are_named(made, tmp_path):
    scores = made[0].scores
    assert "1 scores are missing" in reasons(judged(made, tmp_path, scores=scores[1:]))
    more = (*scores, replace(scores[0], metric="invented"))
    assert "1 scores have no replies" in reasons(judged(made, tmp_path, scores=more))
    assert "stated more than once" in reasons(judged(made, tmp_path, scores=(*scores, scores[0])))


def test_a_changed_reply_is_found_even_with_matching_scores(made, tmp_path):
    row = made[0].predictions[0]
    other = (replace(row, reply=("Region ID: 1; Type: optic cup\nRegion ID: 2; Type: optic cup",)),)
    assert "read as another answer" in reasons(judged(made, tmp_path, predictions=other + made[0].predictions[1:]))


def test_an_unsigned_change_of_reply_and_answer_changes_the_scores(made, tmp_path):
    rows = [replace(p, reply=(), answer='{"unparsed": "empty"}') for p in made[0].predictions[:3]]
    found = reasons(judged(made, tmp_path, predictions=(*rows, *made[0].predictions[3:])))
    assert "scores differ" in found and "another answer" not in found


def test_missing_twice_and_foreign_records_are_named(made, tmp_path):
    rows = made[0].predictions
    assert "scores differ" in reasons(judged(made, tmp_path, predictions=rows[1:]))
    assert "1 records are answered more than once" in reasons(judged(made, tmp_path, predictions=(*rows, rows[0])))
    plain = replace(rows[0], way={"repeat": "1"})
    assert "more than once" in reasons(judged(made, tmp_path, predictions=(*rows, plain)))
    foreign = replace(rows[0], id="withheld/" + "0" * 64)
    assert "1 records are not in the curated folder" in reasons(judged(made, tmp_path, predictions=(*rows, foreign)))
    assert "holds no predictions" in reasons(judged(made, tmp_path, predictions=()))


@pytest.mark.parametrize("change", [{"question": "0" * 64}, {"images": ("0" * 64,)}, {"way": {"mood": "good"}}])
def test_records_that_ask_something_else_are_named(change, made, tmp_path):
    rows = made[0].predictions
    found = judged(made, tmp_path, predictions=(replace(rows[0], **change), *rows[1:]))
    assert "1 records ask something else" in reasons(found)


def test_another_manifest_is_named_by_its_parts(made, tmp_path):
    place = packs.curated(tmp_path / "curated", manifest={"protocol": "lmod_plus", "seed": 7})
    found = reasons(judged(made, tmp_path, read_folder(place)))
    assert found == "another manifest: protocol, seed differ (protocol 'own', here 'lmod_plus')"


def test_a_folder_on_another_machine_is_the_same(made, tmp_path):
    assert isinstance(judged(made, tmp_path, read_folder(packs.curated(tmp_path / "there"))), Verified)


def test_other_words_and_other_truths_are_found(made, tmp_path):
    place = packs.curated(tmp_path / "curated")
    file = place / "records" / "glaucoma.parquet"
    own = read_records(file)
    write_records(file, [replace(own[0], messages=own[1].messages), *own[1:]])
    assert "1 records ask something else" in reasons(judged(made, tmp_path, read_folder(place)))
    write_records(file, [replace(own[0], answer=own[1].answer, key="x"), *own[1:]])
    assert own[0].answer != own[1].answer
    assert "scores differ" in reasons(judged(made, tmp_path, read_folder(place)))


def test_another_task_version_is_named(made, tmp_path):
    tasks = tuple(replace(t, version=t.version + 1) for t in made[0].tasks)
    assert f"scored by version {Glaucoma.version + 1}" in reasons(judged(made, tmp_path, tasks=tasks))
    assert "states scores of the tasks" in reasons(judged(made, tmp_path, tasks=made[0].tasks[:1]))


@pytest.mark.parametrize("path", ["os.system", "evil.Task", "lmod_train_evil.X"])
def test_classes_of_other_modules_are_not_imported(path, made, tmp_path, monkeypatch):
    marker = tmp_path / "imported"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    tasks = (PackedTask("glaucoma", path, 3, (3,)), *made[0].tasks)
    assert f"glaucoma is scored by another class, {path}, and" in reasons(judged(made, tmp_path, tasks=tasks))
    tasks = (PackedTask("another", path, 3, (3,)), *made[0].tasks)
    assert "expected a class of this package" in reasons(judged(made, tmp_path, tasks=tasks))
    within = json.dumps({"sources": {"class_path": path}})
    tasks = tuple(replace(t, arguments=within) for t in made[0].tasks)
    assert "expected a class of this package" in reasons(judged(made, tmp_path, tasks=tasks))
    assert not marker.exists()


@pytest.mark.parametrize("text", ["[" * 9999, "1", '{"lesions": 5}', '{"nonsense": 1}', "null", '{"sources": []}'])
def test_arguments_that_do_not_fit_refuse_or_change_nothing(text, made, tmp_path):
    tasks = tuple(replace(t, arguments=text) for t in made[0].tasks)
    found = judged(made, tmp_path, tasks=tasks)
    assert isinstance(found, Verified) == (text == '{"sources": []}') or "arguments do not fit" in reasons(found)


def test_a_run_of_a_part_and_of_mixed_settings_is_marked(made, tmp_path):
    run = packs.run(tmp_path / "run", made[2], keep=lambda r: r.source == "open")
    pack(run, tmp_path / "part.lmodpack")
    packed = read_pack(tmp_path / "part.lmodpack")
    found = judged((packed, *made[1:]), tmp_path, settings=('{"t": 0}', '{"t": 1}'))
    assert found.remarks["glaucoma"] == ("24 records of its splits have no reply", "replies of 2 settings")


def test_settings_other_than_curated_are_marked(made, tmp_path):
    asked = {"glaucoma/en": {"settings": {"image_type": "a photograph", "sources": None}}}
    place = packs.curated(tmp_path / "curated", manifest={"settings": {"tasks": asked}})
    pack(packs.run(tmp_path / "run", place), tmp_path / "p.lmodpack")
    found = verified(tmp_path / "p.lmodpack", read_folder(place))
    assert found.remarks["glaucoma"] == ("scored with other settings than curated: image_type",)


@pytest.mark.parametrize("same", [True, False])
def test_settings_whose_keys_stand_in_another_order_are_the_same(same, made):
    words = {"SS": ["pupil", "cornea"], "CFP": ["optic disc"]}
    asked = Anatomy(options=words)
    folder = replace(made[1], settings={"anatomy": plain(asked.settings(), "anatomy")})
    packed = Anatomy(
        options=dict(sorted(words.items())) if same else {"CFP": ["optic disc"], "SS": ["cornea", "pupil"]}
    )
    assert packed.choices != asked.choices
    found = list(_remarks(packed, made[0], folder, 0))
    assert found == ([] if same else ["scored with other settings than curated: options"])


def test_a_file_that_is_no_pack_is_refused_and_not_raised(made, tmp_path):
    write_json(tmp_path / "x.lmodpack", {})
    found = verified(tmp_path / "x.lmodpack", made[1])
    assert found.reasons[0].startswith("is no pack that can be read") and str(tmp_path) not in found.reasons[0]


def test_likelihoods_of_any_size_do_not_stop_the_others(made, tmp_path):
    rows = tuple(replace(p, likelihoods={"0": 1e308, "1": -1e308}) for p in made[0].predictions)
    assert isinstance(judged(made, tmp_path, predictions=rows), Refused)
