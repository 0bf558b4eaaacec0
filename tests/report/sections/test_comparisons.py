def test_the_comparisons_stand_there(three):
    text = (three[1] / "tables.md").read_text()
    assert text.count("| base (untuned) | base (tuned) |") == 3
    assert "Cochran's Q" in text
