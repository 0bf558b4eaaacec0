from lmod_train.report.sections.sources import SourceScores
from tests.report.scored import scored

HELD = [("refuge", "CFP"), ("origa", "CFP"), ("oimhs", "OCT"), ("mixed", "CFP"), ("mixed", "OCT")]


def test_sources_of_the_modality_alone_are_shown_beside_chance():
    scores = {(f"source={s}", m): 0.5 for s, _ in HELD for m in ("accuracy_strict", "chance")}
    (figure,) = SourceScores().parts(scored(scores, sources=HELD))
    assert [(row[2], row[4], row[6]) for row in figure.table.rows] == [("refuge", 0.5, 0.5), ("origa", 0.5, 0.5)]
    assert list(SourceScores("OCT").parts(scored(scores, sources=HELD))) == [], "a single source is no comparison"
