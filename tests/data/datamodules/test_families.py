"""Families of records: patients, copies, files and chains stay together."""

from __future__ import annotations

from lmod_train.data.datamodules.selection import families_of
from tests.tiny import record


def of(name, source="a", group="", **fields):
    return record(
        f"glaucoma/{source}/{name}", key=name, source=source, group=group, **{"image_sha256": (name,), **fields}
    )


def test_group_file_chain_and_copy_join_what_they_share(tmp_path):
    records = [
        of("1", group="p1"), of("2", group="p1"), of("3", source="b", group="p1"),
        of("4"), of("5", image_sha256=("4",)),
        of("6", chain="c"), of("7", chain="c"),
        of("8"), of("9", source="b"), of("10", source="b"),
    ]  # fmt: skip
    copies = "kind,first_source,first_key,second_source,second_key\nnear,a,8,b,9\nnear,b,9,c,of another task\n"
    (tmp_path / "leakage.csv").write_text(copies)
    found = families_of(records, tmp_path)
    together: dict[str, set[str]] = {}
    for r in records:
        together.setdefault(found[r.id], set()).add(r.key)
    assert sorted(map(sorted, together.values())) == [["1", "2"], ["10"], ["3"], ["4", "5"], ["6", "7"], ["8", "9"]]
    assert families_of([], tmp_path) == {}


def test_names_do_not_depend_on_the_order_and_copies_need_the_list(tmp_path):
    records = [of("8"), of("9", source="b"), of("1", group="p"), of("2", group="p")]
    assert families_of(records, tmp_path) == families_of(records[::-1], tmp_path)
    found = families_of(records, tmp_path)
    assert found[records[0].id] != found[records[1].id] and found[records[2].id] == found[records[3].id]


def test_images_shown_in_the_place_of_the_own_join_nobody(tmp_path):
    """The mean image is that of all patients, and each image is another patient's in some question."""
    shown = {"as_is": lambda i: i, "evidence_removed.blur": lambda i: f"{i} filled", "other_answer": lambda i: 1 - i,
             "own-same_answer": lambda i: 1 - i, "blank": lambda i: "mean", "foreign": lambda i: "cat"}  # fmt: skip
    records = [of(f"{i}/{v}", group=f"p{i}", variant=v, image_sha256=(str(file(i)),))
               for i in range(2) for v, file in shown.items()]  # fmt: skip
    found = families_of(records, tmp_path)
    assert [len({found[r.id] for r in records if r.group == f"p{i}"}) for i in range(2)] == [1, 1]
    assert len(set(found.values())) == 2
