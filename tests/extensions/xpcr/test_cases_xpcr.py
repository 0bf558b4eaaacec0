"""Cases drawn as phantoms: every combination of truths, and files that stay."""

from collections import Counter

from lmod_train.extensions.xpcr.phantom import cases, write_cases


def test_sixty_four_cases_hold_every_combination_once_and_answers_are_balanced():
    drawn = cases(128, 1)
    truths = Counter(
        (c.pair.raised, c.pair.retinopathy, c.pair.hole, c.pair.dark_photograph, c.pair.dark_scan) for c in drawn
    )
    assert set(truths.values()) == {2} and len(truths) == 64
    for place, category in enumerate(("correspondence", "integration", "selection")):
        asked = [case.questions[place] for case in drawn]
        assert {q.category for q in asked} == {category} and len({q.text for q in asked}) == 1
        assert sorted(Counter(q.options[0] for q in asked).values()) == [32] * 4


def test_options_are_in_random_order():
    places = Counter(
        pair["question"].partition("Options: ")[2].index(repr(pair["answer"])) > 20
        for case in cases(32, 1)
        for pair in case.table["qa_pairs"]
    )
    assert min(places.values()) > 15


def test_files_are_written_once(tmp_path):
    write_cases(tmp_path, cases(1, 4), 32)
    files = {file.name: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert set(files) == {"cfp.jpg", "oct.png", "case.json"}
    write_cases(tmp_path, cases(1, 4), 64)
    assert (tmp_path / "case_001" / "cfp.jpg").read_bytes() == files["cfp.jpg"]
