import hashlib
import json

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.report.contents import Figure, Remark, Text
from lmod_train.report.results import read_results
from lmod_train.report.sections import examples
from lmod_train.report.sections.examples import Examples, chosen
from lmod_train.report.viewer.outcome_text import answer_text, outcome_of
from lmod_train.report.writers.picture_files import write_picture
from lmod_train.scoring.items import Item
from tests.report.make import curate, run


def figures(parts):
    return {p.name: p for p in parts if isinstance(p, Figure)}


def remarks(parts):
    return [p.text for p in parts if isinstance(p, Remark)]


def test_rows_are_the_predictions_of_the_runs(three):
    results = read_results(three[0])
    found = figures(Examples().parts(results))
    assert set(found) == {"examples-four_way", "examples-glaucoma", "examples-anatomy"}
    for task in ("four_way", "glaucoma", "anatomy"):
        rows = found[f"examples-{task}"].table.rows
        assert len(rows) == 3 * 3
        for _, id, image, boxes, truth, model, outcome, reply in rows:
            item = next(i for i in results.items[model][task] if i.id == id)
            prediction = next(p for p in results.outcomes[model].predictions if p.record.id == id)
            assert (truth, outcome, reply) == (answer_text(item.truth), outcome_of(item), prediction.reply.reply)
            assert image == f"images/phantoms/{id.rpartition('/')[2]}.jpg" == prediction.record.image[0]
            assert json.loads(boxes) == [[r.id, 0, 0, 9, 9] for r in prediction.record.regions]


def test_records_are_chosen_by_turns_in_the_order_of_their_hashes():
    right = {"a": "0123", "b": "0145"}  # 0, 1: both; 2, 3, 4, 5: one; 6 to 9: none
    asked = {
        m: {k: Item(k, "answered", "x" if k in own else "y", "x") for k in "0123456789"} for m, own in right.items()
    }
    kinds = [sorted(own, key=lambda k: hashlib.sha256(k.encode()).hexdigest()) for own in ("6789", "2345", "01")]
    first = [own[0] for own in kinds]
    assert chosen(asked, 3) == first and chosen(asked, 5) == [*first, kinds[0][1], kinds[1][1]]
    assert sorted(chosen(asked, 99)) == list("0123456789")
    asked["b"] = {k: v for k, v in asked["b"].items() if k in "34"}
    assert set(chosen(asked, 99)) == {"3", "4"}, "records of all models"
    assert chosen({}, 3) == []


def test_named_records_are_shown_in_their_order(three):
    parts = list(Examples(ids=["glaucoma/phantoms/7", "gone/1", "glaucoma/phantoms/2"]).parts(read_results(three[0])))
    (figure,) = figures(parts).values()
    assert list(dict.fromkeys(row[1] for row in figure.table.rows)) == ["glaucoma/phantoms/7", "glaucoma/phantoms/2"]
    assert any("gone/1" in text for text in remarks(parts))
    with pytest.raises(BadArgument, match="count"):
        Examples(count=0)


def test_images_that_must_stay_are_named_beside_the_figure(three, tmp_path):
    parts = list(Examples(count=1).parts(read_results(three[0])))
    note = "must stay on this machine: phantoms (CC0)"
    assert note in remarks(parts) and all(note in f.title and note in f.alt for f in figures(parts).values())
    open_ = run(tmp_path / "run", 0.5, curated=curate(tmp_path / "curated"), n=4)
    parts = list(Examples(count=1).parts(read_results([open_])))
    assert isinstance(parts[0], Text) and not any("must stay" in text for text in remarks(parts))
    assert not any("must stay" in f.title + f.alt for f in figures(parts).values())


def test_four_of_six_runs_and_no_path_of_the_machine(tmp_path):
    curated = curate(tmp_path / "curated", n=4)
    runs = [run(tmp_path / f"r{i}", 0.5, model=f"m{i}", seed=i, curated=curated, n=4) for i in range(6)]
    figure = figures(Examples(count=1).parts(read_results(runs)))["examples-anatomy"]
    assert [row[5] for row in figure.table.rows] == ["m0", "m1", "m2", "m3"]
    write_picture(figure, tmp_path)
    for file in tmp_path.glob("examples-anatomy.*"):
        assert str(tmp_path).encode() not in file.read_bytes()
    assert (tmp_path / "examples-anatomy.png").exists()


def test_characters_that_no_font_has_are_a_remark(three, monkeypatch):
    monkeypatch.setattr(examples, "undrawn", lambda text: "\u9752")
    assert any("no installed font" in text for text in remarks(Examples(count=1).parts(read_results(three[0]))))
