from lmod_train.report.contents import Figure
from lmod_train.report.results import read_results
from lmod_train.report.sections.outcomes import OutcomesOfReplies


def test_the_account_is_the_one_of_the_predictions(three):
    from lmod_train.core.artifacts.predictions import read_predictions

    runs, out, _ = three
    predictions = [p for p in read_predictions(runs[0] / "predictions.parquet") if p.record.task == "four_way"]
    status = [p.status for p in predictions]
    right = sum(p.record.answer == f"DISEASE: {p.answer}" for p in predictions)
    counts = [len(status), status.count("answered"), status.count("answered") - right]
    counts += [status.count(s) for s in ("refused", "unparsed", "truncated", "failed")]
    text = (out / "tables.md").read_text()
    part = text[text.index("Outcomes of the replies") : text.index("Pairwise comparisons")]
    (line,) = [row for row in part.splitlines() if row.startswith("| four_way | base (untuned)")]
    assert [int(cell) for cell in line.split("|")[3:-1]] == counts
    assert status.count("refused") + status.count("unparsed") > 0, "the fixture must have something to account for"


def test_the_figure_has_every_item_once(three):
    results = read_results(three[0])
    (figure,) = [part for part in OutcomesOfReplies().parts(results) if isinstance(part, Figure)]
    for name, outcomes in results.outcomes.items():
        own = {row[2]: row[3] for row in figure.table.rows if row[1] == name}
        assert sum(own.values()) == len(outcomes.predictions)
        regions = [i for i in outcomes.items["anatomy"] if i.status == "answered"]
        assert own["answered, graded in parts"] == len(regions)
