"""A run of known accuracy against the printed rows of its model."""

import pytest

from lmod_train.extensions.papers.ledger import cells_of, entries, unknown_models
from tests.extensions.papers.make import curated, results, staged
from tests.tabled import stored

TABLE = ("lmod_naacl", "Table 2")


def relations(run, table=TABLE):
    return {e.cell.model: (e.found.relation, e.found.why, e.found.remark) for e in entries(results(run))
            if (e.cell.paper, e.cell.table) == table}  # fmt: skip


def relation(run, table=TABLE):
    ((found),) = relations(run, table).values()
    return found


@pytest.mark.parametrize(
    ("model", "right", "expected"),
    stored(__file__, "ledger.the_stage_of_macular_holes_in_lmod"),
)
def test_the_stage_of_macular_holes_in_lmod(tmp_path, model, right, expected):
    run = staged(tmp_path / "run", right, model=model, curated=curated(tmp_path / "c"))
    assert relation(run)[:2] == (expected, "")


def test_accuracy_is_over_the_answered_items_where_the_paper_scores_so(tmp_path):
    run = staged(tmp_path / "run", 16, model="VILA1.5-8b", curated=curated(tmp_path / "c"), refused=5)
    assert relations(run)["VILA-8B"][0] == "same"  # 16 of 71 answered is 22.53 %
    first = curated(tmp_path / "v1", "lmod_v1")
    run = staged(tmp_path / "run_v1", 16, model="VILA1.5-8b", curated=first, refused=5, wording="lmod_v1")
    assert relations(run, ("lmod_v1", "Table 4"))["VILA-1.5-8B"][:2] == (
        "cannot be told", "what is counted as a rejection is not stated",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "protocol", "balanced", "why"),
    stored(__file__, "ledger.refused"),
)
def test_refused(tmp_path, changes, protocol, balanced, why):
    made = curated(tmp_path / "c", protocol, balanced)
    run = staged(tmp_path / "run", 19, model="llava_med_7b", curated=made, **changes)
    assert relation(run)[:2] == ("refused", why)


def test_both_prompts_that_lmod_prints_for_macular_holes_are_its_words(tmp_path):
    made = curated(tmp_path / "c")
    for wording, place in (("lmod_naacl_example", "the example in appendix G"), ("lmod_naacl", "appendix A.2")):
        run = staged(tmp_path / wording, 19, model="llava_med_7b", curated=made, wording=wording)
        assert relation(run)[0] == "same" and "two prompts are printed" in relation(run)[2]
        assert relation(run)[2].endswith(f"; asked here in the words of {place}")


def test_stages_of_lmod_plus_are_refused_on_76_images(tmp_path):
    run = staged(tmp_path / "run", 19, model="llava_med_7b", curated=curated(tmp_path / "c", "lmod_plus"),
                 wording="lmod_plus")  # fmt: skip
    found = [e for e in entries(results(run)) if e.cell.table == "Table 5"]
    assert len(found) == 12 and {e.found.relation for e in found} == {"refused"}
    assert {e.found.why for e in found} == {
        "n (3,859 in the paper, 76 here); balance (not balanced in the paper, balanced here)"
    }


def test_icdr_of_lmod_plus_stage_by_stage(tmp_path):
    made = curated(tmp_path / "c", "lmod_plus", ("icdr",))
    run = staged(tmp_path / "run", 390, n=390, model="InternVL2-8B", curated=made, task="icdr", wording="lmod_plus")
    found = [e for e in entries(results(run)) if e.cell.table == "Table 5"]
    assert len(found) == 15 and {e.found.relation for e in found} == {"different"}
    assert all("identical" in e.found.remark for e in found)  # the printed row equals another model's
    assert {e.here.n for e in found} == {390}


def test_without_a_curated_folder_it_cannot_be_told(tmp_path):
    run = staged(tmp_path / "run", 19, model="llava_med_7b", split="all")
    found = relation(run)
    assert (found[0] in ("cannot be told", "refused") and "not recorded" in found[1]) or "split" in found[1]


def test_a_suspect_cell_keeps_its_remark(tmp_path):
    made = curated(tmp_path / "c", "lmod_v1")
    run = staged(tmp_path / "run", 16, n=76, model="VILA1.5-3b", curated=made, refused=10, wording="lmod_v1")
    found = relation(run, ("lmod_v1", "Table 3"))
    assert found[0] == "same" and "fit only if one of the two columns is swapped" in found[2]  # 16 of 66 is 24.24 %


def test_phantoms_and_models_of_no_paper_have_no_entry(tmp_path):
    made = curated(tmp_path / "c")
    drawn = staged(tmp_path / "drawn", 19, model="llava_med_7b", curated=made, phantom=True)
    own = staged(tmp_path / "own", 19, model="cnn", curated=made)
    assert list(entries(results(drawn))) == [] and list(entries(results(own))) == []
    assert unknown_models(results(own)) == ["cnn"] and unknown_models(results(drawn)) == []
    assert list(cells_of(())) == []
