from lmod_train.extensions.papers.sections import PublishedScores
from tests.report.shown import shown


def test_a_published_score_stands_there_with_its_place_and_note(compared):
    (line,) = [line for line in shown(PublishedScores(), compared[0]).splitlines() if "| macro F1 (LMOD)" in line]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[:4] == ["anatomy", "CNN", "macro F1 (LMOD), accuracy (LMOD+)", "0.9436"]
    assert "LMOD, Table 4" in cells[5]
