from lmod_train.report.contents import Figure
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
    assert [p.name for p in figures(results)] == ["radar"]
    assert [p.name for p in figures(read_results(three[0]))] == ["modalities"]


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
