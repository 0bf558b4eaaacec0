from lmod_train.report.results import read_results
from lmod_train.report.sections.subsets import Subsets
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
