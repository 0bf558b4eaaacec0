"""The section counts the relations, lists the numbers, and groups what is refused."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Table
from lmod_train.extensions.papers.ledger import Ledger
from lmod_train.report.contents import Text
from lmod_train.report.results import Results
from tests.extensions.papers.make import curated, results, staged


def parts(*runs):
    found = list(Ledger().parts(results(*runs)))
    return {p.name: p for p in found if isinstance(p, Table)}, [p.text for p in found if isinstance(p, Text)]


def rows(table):
    return [dict(zip([c.head for c in table.columns], row, strict=True)) for row in table.rows]


def test_relations_are_counted_and_their_numbers_are_in_the_printed_unit(tmp_path):
    made = curated(tmp_path / "c")
    found, texts = parts(
        staged(tmp_path / "a", 23, model="Mini-InternVL-Chat-2B-V1-5-hf", curated=made),
        staged(tmp_path / "b", 60, model="llava_med_7b", curated=made),
    )
    counts = {(r["run"], r["paper"]): r for r in rows(found["ledger"])}
    intern, med = "Mini-InternVL-Chat-2B-V1-5-hf", "llava_med_7b"
    assert counts[intern, "LMOD"]["same"] == counts[med, "LMOD"]["different"] == 1
    assert counts[intern, "LMOD v1"]["refused"] == 2 and counts[intern, "LMOD+"]["refused"] == 12
    (row,) = [r for r in rows(found["ledger_cells"]) if r["run"] == intern and r["where"] == "LMOD, Table 2"]
    assert (row["printed"], row["here"], row["n"], row["relation"]) == ("30.26", "30.26", 76, "same")
    assert row["cell"] == "InternVL-2B: mh_staging OCT accuracy" and 0 < row["95 % interval"][0] < 30.26
    assert "a balanced draw of the same size" in row["reason and remark"]
    refused = rows(found["ledger_refused"])
    assert sum(r["cells"] for r in refused) == sum(c["refused"] for c in counts.values()) == 28
    assert all("words (asked in other words)" in r["differs"] for r in refused)
    assert {"n (3,859 in the paper, 76 here)" in r["differs"] for r in refused if "LMOD+" in r["where"]} == {True}
    assert any("`refused`" in text for text in texts)


def test_what_is_left_out_is_named(tmp_path):
    made = curated(tmp_path / "c")
    found, texts = parts(staged(tmp_path / "a", 9, model="cnn", curated=made))
    assert found == {} and texts == ["Not compared, as the papers have no row of this model name: cnn."]
    drawn = staged(tmp_path / "b", 9, model="llava_med_7b", curated=made, phantom=True)
    found, texts = parts(drawn)
    assert found == {} and texts == ["Not compared, as they have records of phantoms: macular_hole_stage."]


def test_only_the_papers_named_are_compared_with(tmp_path):
    made = staged(tmp_path / "a", 60, model="llava_med_7b", curated=curated(tmp_path / "c"))
    (counts,) = [p for p in Ledger(["lmod_naacl"]).parts(results(made)) if getattr(p, "name", "") == "ledger"]
    assert [row[1] for row in counts.rows] == ["LMOD"]
    with pytest.raises(BadArgument, match="lmod_2"):
        Ledger(["lmod_2"])


def test_without_a_run_there_is_nothing():
    assert list(Ledger().parts(Results((), {}, {}))) == []
