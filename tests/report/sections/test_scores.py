from lmod_train.report.contents import Figure
from lmod_train.report.headline import headline
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import Scores
from tests.report.shown import tables


def test_the_table_has_the_headline_and_the_figure_its_numbers(three):
    results = read_results(three[0])
    rows = headline(three[0])
    lines = tables(Scores(), results).splitlines()[2:]
    assert [[cell.strip() for cell in line.split("|")[1:4]] for line in lines] == [
        [r.task, r.model, r.run] for r in rows
    ]
    (figure,) = [part for part in Scores().parts(results) if isinstance(part, Figure)]
    assert [row[5] for row in figure.table.rows] == [r.value for r in rows]
