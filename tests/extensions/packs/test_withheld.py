from dataclasses import replace

from lmod_train.core.artifacts.leaving import open_sources, sources_touched
from lmod_train.core.types import Patient
from lmod_train.extensions.packs.packing import _sources
from lmod_train.extensions.packs.withheld import Keys, identity
from tests.report.packs import question

MANIFEST = {"sources": {"open": {"redistributable": True}, "closed": {"redistributable": False}}}
RECORDS = [question(source, i) for source in ("open", "closed", "unknown") for i in range(4)]


def test_only_what_is_stated_as_redistributable_is_open():
    keys = Keys(RECORDS, MANIFEST)
    assert [keys.is_open(r) for r in RECORDS[::4]] == [True, False, False]
    assert open_sources({"sources": {"a": {"redistributable": "yes"}, "b": None}}) == frozenset()
    assert open_sources({}) == frozenset()


def test_a_record_with_the_image_of_a_withheld_source_is_withheld():
    probe = replace(RECORDS[0], image=("images/closed/x.jpg",))
    assert sources_touched(probe) == {"closed", "open"} and not Keys([probe, *RECORDS], MANIFEST).is_open(probe)


def test_no_hash_changes_with_truth_or_patient():
    keys = Keys(RECORDS, MANIFEST)
    other = replace(RECORDS[5], answer="other", patient=Patient(), group="x")
    assert keys.question_of(other) == keys.question_of(RECORDS[5])
    assert Keys([*RECORDS[:5], other, *RECORDS[6:]], MANIFEST).id_of(other) == keys.id_of(RECORDS[5])


def test_hashes_change_with_words_choices_and_images():
    keys = Keys(RECORDS, MANIFEST)
    others = [{"choices": ("a", "b")}, {"messages": ()}, {"image_sha256": ("0" * 64,)}, {"split": "val"}]
    found = {keys.question_of(replace(RECORDS[5], **other)) for other in others}
    assert len(found | {keys.question_of(RECORDS[5])}) == 5


def test_questions_without_an_image_have_a_key_too():
    blind = [replace(r, image=(), image_sha256=()) for r in RECORDS]
    ids = {Keys(part, MANIFEST).id_of(blind[5]) for part in (blind, blind[:6])}
    assert len(ids) == 2


def test_the_identity_of_a_manifest_does_not_depend_on_the_machine():
    def told(root, **more):
        sources = {"a": {"root": root, "sha256": "1"}}
        return {"schema_version": 4, "command": f"curate {root}", "sources": sources, "seed": 0, **more}

    assert identity(told("/srv/ada", versions={"x": 1})) == identity(told("/srv/x"))
    first, other = identity(told("/x")), identity(told("/x", seed=1))
    assert [name for name in first if first[name] != other[name]] == ["seed"]


def test_the_key_of_a_record_is_of_the_images_of_each_source_that_it_shows():
    probe = replace(RECORDS[0], image=("images/closed/x.jpg",))
    others = [replace(r, image_sha256=("1" * 64,)) if r.source == "closed" else r for r in RECORDS]
    assert Keys([probe, *RECORDS], MANIFEST).id_of(probe) != Keys([probe, *others], MANIFEST).id_of(probe)


def test_a_pack_states_the_licence_of_each_source_that_it_shows():
    probe = replace(RECORDS[0], image=("images/closed/x.jpg",))
    assert [(one.name, one.open) for one in _sources(MANIFEST, [probe])] == [
        ("closed", False),
        ("open", True),
    ]
