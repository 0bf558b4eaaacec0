from lmod_train.report.tables import p_value


def test_the_account_is_the_one_of_the_predictions(three):
    from lmod_train.artifacts import read_predictions

    runs, out, _ = three
    predictions = [p for p in read_predictions(runs[0] / "predictions.parquet") if p.record.task == "four_way"]
    status = [p.status for p in predictions]
    right = sum(p.record.answer == f"DISEASE: {p.answer}" for p in predictions)
    counts = [len(status), status.count("answered"), status.count("answered") - right]
    counts += [status.count(s) for s in ("refused", "unparsed", "truncated", "failed")]
    text = (out / "tables.md").read_text()
    part = text[text.index("How the replies ended") : text.index("Runs compared")]
    (line,) = [row for row in part.splitlines() if row.startswith("| four_way | base (untuned)")]
    assert [int(cell) for cell in line.split("|")[3:-1]] == counts
    assert status.count("refused") + status.count("unparsed") > 0, "the fixture must have something to account for"


def test_the_comparisons_stand_there(three):
    text = (three[1] / "tables.md").read_text()
    assert text.count("| base (untuned) | base (tuned) |") == 3
    assert "Cochran's Q" in text


def test_p_values_are_never_printed_as_zero():
    assert p_value(1e-12) == "< 0.001"
