from collections import Counter

from lmod_train.report.contents import Figure
from lmod_train.report.results import read_results
from lmod_train.report.sections.confusions import Confusions


def test_the_numbers_of_the_figure_are_counts_of_truth_and_answer(three):
    results = read_results(three[0])
    figures = {p.name: p for p in Confusions().parts(results) if isinstance(p, Figure)}
    assert set(figures) == {"confusion-four_way", "confusion-glaucoma"}, "regions have none"
    counted = Counter()
    for name, tasks in results.items.items():
        for i in tasks["four_way"]:
            counted[name, i.truth, i.answer if i.status == "answered" else "no answer"] += 1
    rows = figures["confusion-four_way"].table.rows
    assert {row[:3]: row[3] for row in rows if row[3]} == counted and len(rows) == 3 * 4 * 5
