"""Images by subspecialty, condition and modality, counted from known records, and the tree of conditions."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from lmod_train.core.tables import table
from lmod_train.core.types import Prediction, Reply
from lmod_train.extensions.ophthalwechat import composition
from lmod_train.extensions.ophthalwechat.composition import Composition, draw_shares, draw_tree
from lmod_train.extensions.ophthalwechat.pairs import CONDITION, Pictures
from lmod_train.extensions.ophthalwechat.words import words
from lmod_train.report.contents import Figure, Text
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import subsets_of
from lmod_train.tasks.run_scores import RunScores
from tests.report.figures.drawing import axes_of, check_texts, shown
from tests.scoring.make import record

ROWS = [("Glaucoma", "angle closure", "UBM")] * 3 + [("Retina/Vitreous", "macular hole", "OCT"), ("", "", "CFP+OCT")]


def items(task="binary_question"):
    for image, (subspecialty, condition, modality) in enumerate(ROWS):
        tags = {key: name for key, name in (("subspecialty", subspecialty), (CONDITION, condition)) if name}
        for language in ("zh", "en"):  # an image counts once
            id = f"{task}/{image}/{language}"
            yield Item(id, "answered", "x", "x", image=str(image), modality=modality, tags=tags, language=language)


def results(phantom=False):
    made = replace(record("1", task="binary_question"), phantom=phantom)
    outcomes = Outcomes((Prediction(made, Reply(made.id, "x"), "x"),), {"binary_question": list(items())}, {}, None)
    return Results((RunScores(Path("a"), "a", "a", ()),), {"a": outcomes}, {"a": None})


def figures(found):
    return {part.name: part.table.rows for part in Composition().parts(found) if isinstance(part, Figure)}


def test_shares_are_of_the_images_that_have_a_value_beside_the_printed_ones():
    found = figures(results())
    assert [row[1:5] for row in found["composition"]] == [
        ("subspecialty", "Glaucoma", 3, 0.75), ("subspecialty", "Retina/Vitreous", 1, 0.25),
        ("condition", "angle closure", 3, 0.75), ("condition", "macular hole", 1, 0.25),
        ("modality", "UBM", 3, 0.6), ("modality", "CFP+OCT", 1, 0.2), ("modality", "OCT", 1, 0.2),
    ]  # fmt: skip
    by_name = {row[2]: row[5] for row in found["composition"]}
    assert math.isclose(by_name["OCT"], 645 / 3469, rel_tol=0.01) and by_name["angle closure"] is None
    assert 0 < by_name["Glaucoma"] < 1
    assert found["conditions"] == ((1, "Glaucoma", "angle closure", 3), (2, "Retina/Vitreous", "macular hole", 1))


def test_printed_shares_do_not_stand_beside_phantoms_and_nothing_is_shown_without_such_questions():
    assert {row[5] for row in figures(results(phantom=True))["composition"]} == {None}
    assert list(Composition().parts(Results((), {}, {}))) == []


def test_a_condition_is_a_tag_of_the_image_and_no_subset_of_the_scores():
    class Row:
        stated = {"image": "7", "condition": " macular\n hole ", "subspecialty": "Glaucoma"}  # noqa: RUF012

        def text(self, name, required=False):
            return self.stated.get(name, "")

    pictures = Pictures()
    assert pictures.add(Row(), "row 1", words()) == []
    assert pictures.by_id["7"].tags == {"subspecialty": "Glaucoma", CONDITION: "macular hole"}
    assert not [name for name in subsets_of(list(items())) if CONDITION in name]


def drawn(name, found, out, monkeypatch):
    part = next(p for p in Composition().parts(found) if isinstance(p, Figure) and p.name == name)
    axes = axes_of(part.draw, part.table, out, monkeypatch)
    if name == "composition":  # the axes of a tree are off, and its labels turned
        check_texts(axes.flat[0].figure)
    return axes


def words_in(axes):
    return [t.get_text() for t in shown(axes.flat[0].figure)]


EYE = "\U0001f441"
"""No font of figures has it."""


def test_a_condition_that_no_font_has_is_one_number_in_both_figures_and_named_beside_them(tmp_path, monkeypatch):
    """A condition of two subspecialties, too, whose numbers by image differ from those of their pairs."""
    rows = [("Glaucoma", f"{EYE} a", "OCT")] * 3 + [("Glaucoma", "plain", "OCT")] * 4 + [("", f"{EYE} b", "CFP")] * 2
    monkeypatch.setattr(f"{__name__}.ROWS", [*rows, *[("Retina/Vitreous", f"{EYE} b", "CFP")] * 3])
    (text,) = [p.text for p in Composition().parts(results()) if isinstance(p, Text) and "font" in p.text]
    assert f"1 {EYE} b; 3 {EYE} a." in text and "plain" not in text
    bars = words_in(drawn("composition", results(), tmp_path, monkeypatch))
    assert [word for word in bars if word.startswith("no. ") or word == "plain"] == ["no. 1", "plain", "no. 3"]
    leaves = words_in(drawn("conditions", results(), tmp_path, monkeypatch))
    assert sorted(w for w in leaves if "(" in w) == ["no. 1 (2)", "no. 1 (3)", "no. 3 (3)", "plain (4)"]
    assert any("column group of composition.csv has the name of each condition" in word for word in bars)
    assert any("column condition of conditions.csv" in word for word in leaves)
    monkeypatch.setattr(f"{__name__}.ROWS", [row for row in rows if row[1] == "plain"])
    assert not any("csv" in word for word in words_in(drawn("composition", results(), tmp_path, monkeypatch)))
    assert len([p for p in Composition().parts(results()) if isinstance(p, Text)]) == 1


def test_shares_of_all_panels_are_drawn_on_one_scale_from_zero(tmp_path, monkeypatch):
    panels = drawn("composition", results(), tmp_path, monkeypatch).flat
    largest = [max(bar.get_window_extent().width for bar in panel.patches) for panel in panels]
    np.testing.assert_allclose(np.divide(largest, largest[0]), np.divide([0.75, 0.75, 0.6], 0.75), rtol=1e-3)
    assert all(panel.get_xlim()[0] == 0 and len(panel.get_xticks()) > 2 for panel in panels)


def test_both_figures_are_written_with_few_and_many_rows_and_characters_that_no_font_has(tmp_path, monkeypatch):
    for count in (1, 200):
        bars = [[i, "condition", f"{'name ' * (i % 9)}{i} \U0001f441", 9, 0.1, None] for i in range(1, count + 1)]
        axes_of(draw_shares, table("t", composition._HEADS["bars"], bars, "T"), tmp_path, monkeypatch)
        leaves = [[i, f"part {i % 9}", f"condition {i}", 201 - i] for i in range(1, count + 1)]
        axes_of(draw_tree, table("t", composition._HEADS["tree"], leaves, "T"), tmp_path, monkeypatch)
    text = (tmp_path / "t.svg").read_text()
    assert "condition 90 (111)" in text and "condition 91" not in text
    assert composition._label({"no.": 4, "group": "\u4ec5 \U0001f441"}, "group", 30) == "no. 4"
