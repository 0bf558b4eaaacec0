from lmod_train.core.tables import Table
from lmod_train.report.contents import Figure
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import Scores
from lmod_train.tasks.headline import headline
from tests.report.make import run
from tests.report.shown import tables


def test_the_table_has_the_headline_and_the_figure_its_numbers(three):
    results = read_results(three[0])
    rows = headline(three[0])
    lines = tables(Scores(), results).splitlines()[2 : 2 + len(rows)]
    assert [[cell.strip() for cell in line.split("|")[1:4]] for line in lines] == [
        [r.task, r.model, r.run] for r in rows
    ]
    (figure,) = [part for part in Scores().parts(results) if isinstance(part, Figure)]
    assert [row[4] for row in figure.table.rows] == [r.value for r in rows]


def test_warnings_stand_in_the_table_and_in_sentences_below(three):
    shown, warned = [part for part in Scores().parts(read_results(three[0])) if isinstance(part, Table)]
    assert shown.columns[-1].head == "warnings"
    phrases = {(row[0], phrase) for row in shown.rows for phrase in str(row[-1]).split("; ") if phrase}
    assert phrases == {(row[0], row[2]) for row in warned.rows}
    assert ("glaucoma", "interval includes chance") in phrases


def test_scores_of_more_than_six_models_are_a_heat_map_of_tasks_too(tmp_path):
    made = [run(tmp_path / f"m{i}", i / 7, seed=i, n=4, model=f"model {i}") for i in range(7)]
    for count, names in ((6, ["scores"]), (7, ["heatmap", "scores"])):
        figures = [part for part in Scores().parts(read_results(made[:count])) if isinstance(part, Figure)]
        assert [figure.name for figure in figures] == names
    heat = {(model, task): score for _, model, task, score in figures[0].table.rows}
    assert heat == {(row.model, row.task): row.value for row in headline(made)} and len(heat) == 21
