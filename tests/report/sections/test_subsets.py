from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Text
from lmod_train.report.figures.groups import draw_radar
from lmod_train.report.results import read_results
from lmod_train.report.sections.subsets import Subsets, subset_rows
from tests.report.make import run
from tests.report.scored import scored
from tests.report.shown import shown, tables


def test_a_subset_has_the_score_of_its_items(tmp_path):
    results = read_results([run(tmp_path / "one", 0.7, modalities=("CFP", "OCT"))])
    items = [i for i in results.items["base"]["four_way"] if i.modality == "OCT"]
    right = sum(i.answer == i.truth for i in items) / len(items)
    (line,) = [
        line for line in tables(Subsets(), results).splitlines() if "four_way" in line and "modality=OCT" in line
    ]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[2:5] == ["base", str(len(items)), f"{right:.3f}"] and cells[6] == "0.250"


def test_one_modality_has_no_table_of_it(three):
    assert "modality=" not in shown(Subsets(), three[0])


def test_kinds_and_grades_of_perturbations_are_left_to_their_own_section():
    names = ("perturbation=blur", "grade=2", "perturbation=blur;grade=2")
    (_, found) = Subsets().parts(scored({(name, "accuracy_strict"): 0.5 for name in names}))
    assert [row[1] for row in found.rows] == ["perturbation=blur", "grade=2"]


def figures(results):
    return [part for part in Subsets().parts(results) if isinstance(part, Figure)]


def test_figures_by_the_number_of_modalities(tmp_path, three):
    results = read_results([run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT", "SLO"))])
    assert [p.name for p in figures(results)] == ["radar", "regions-anatomy"]
    assert [p.name for p in figures(read_results(three[0]))] == ["modalities"]


F1 = "f1_lmod_plus"


def regions(results):
    return next(p for p in figures(results) if p.name.startswith("regions-"))


def test_precision_recall_f1_and_hr_by_modality_are_those_of_scores_csv():
    names = {"precision": "precision", "recall": "recall", F1: "F1", "hr": "HR"}
    places = [(metric, modality) for metric in names for modality in ("CFP", "OCT", "SLO")]
    known = {(f"modality={m}", k): i / 20 for i, (k, m) in enumerate(places)}
    results = scored({("all", F1): 0.5, **known})
    figure = regions(results)
    assert figure.draw is draw_radar
    cells = {(row[0], row[2]): row[4] for row in figure.table.rows}
    assert cells == {(names[k], m): known[f"modality={m}", k] for k, m in places}
    (absent,) = [part.text for part in Subsets().parts(results) if isinstance(part, Text)][:1]
    assert absent == "t: of LMOD's five modalities, no run has images of SS, LP."


def test_of_many_models_the_five_best_by_f1_are_in_the_radar_charts():
    names = tuple("abcdefgh")
    held = scored({}, names)
    for run_, best in zip(held.runs, (0.1, 0.8, 0.7, 0.2, 0.9, 0.3, 0.6, 0.5), strict=True):
        cells = [("all", F1, best), *((f"modality={m}", k, best) for m in ("SS", "OCT", "CFP") for k in (F1, "hr"))]
        object.__setattr__(run_, "scores", tuple(Score("t", s, k, 30, v, None, None) for s, k, v in cells))
    figure = regions(held)
    assert {row[1] for row in figure.table.rows} == set("bcegh") and "the 5 best of 8 runs by F1" in figure.title


def test_scores_by_number_of_boxes_have_a_figure_and_rows(tmp_path):
    scores = {(f"boxes={k}", m): v for k, v in (("1", 0.9), ("6+", 0.3)) for m in ("accuracy_strict", "chance")}
    (figure,) = figures(scored(scores))
    assert figure.name == "boxes-t" and [(row[2], row[4]) for row in figure.table.rows] == [("1", 0.9), ("6+", 0.3)]
    assert "boxes=6+" in tables(Subsets(), scored(scores))


def test_a_row_per_model_and_condition():
    scores = {("condition=drusen", "accuracy_strict"): 0.7, ("condition=scar", "accuracy_strict"): None}
    (figure,) = figures(scored(scores, ("a", "b")))
    assert figure.name == "conditions-t"
    assert [row[1:5] for row in figure.table.rows] == [
        (model, *cells) for model in "ab" for cells in (("drusen", 30, 0.7), ("scar", 30, None))
    ]


def test_a_panel_for_each_of_precision_recall_and_f1_and_no_figure_without_stages():
    scores = {(f"stage={k}", m): k / 10 for m in ("precision", "recall", "f1") for k in (1, 2)}
    (figure,) = figures(scored(scores))
    cells = [(row[0], row[2], row[4]) for row in figure.table.rows]
    names = ("precision", "recall", "F1")
    assert cells == [(f"t: {name} by stage", str(k), k / 10) for name in names for k in (1, 2)]
    assert figures(scored({})) == []


HELD = [("refuge", "CFP"), ("origa", "CFP"), ("oimhs", "OCT"), ("mixed", "CFP"), ("mixed", "OCT")]


def test_sources_of_one_modality_alone_are_shown_beside_chance():
    scores = {(f"source={s}", m): 0.5 for s, _ in HELD for m in ("accuracy_strict", "chance")}
    (figure,) = figures(scored(scores, sources=HELD))
    assert [(row[2], row[4], row[6]) for row in figure.table.rows] == [("refuge", 0.5, 0.5), ("origa", 0.5, 0.5)]


def test_rows_of_one_key_and_metric():
    held = scored({("sex=male", "f1"): 0.2, ("sex=male;age=60+", "f1"): 0.3, ("age=60+", "f1"): 0.4, ("sex=x", "k"): 1})
    assert list(subset_rows(held, "t", "sex", "f1", "p")) == [["p", "a", "male", 30, 0.2, (None, None), None]]
    assert list(subset_rows(held, "t", "sex", "f1", "p", among=["female"])) == []
