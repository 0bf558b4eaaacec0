from lmod_train.core.artifacts.series import seed_name
from lmod_train.core.tables import Table
from lmod_train.report.contents import Text, noted
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import Scores
from lmod_train.report.seed_spread import NOTE, seeds_table
from tests.report.make import classify


def test_the_section_explains_both_numbers_and_is_empty_without_a_series(tmp_path):
    runs = [classify(tmp_path / "CNN" / seed_name(seed), 1.0, seed=seed, n=20) for seed in range(2)]
    text, table = noted(NOTE, seeds_table(read_results(runs)))
    assert isinstance(text, Text) and "repeated on the same patients" in text.text and "on\nother patients" in text.text
    assert isinstance(table, Table) and {row[1] for row in table.rows} == {"CNN"}
    assert seeds_table(read_results(runs[:1])).rows == ()
    other = [classify(tmp_path / "OTHER" / seed_name(seed), 3.0, seed=seed, n=20) for seed in range(2)]
    *_, differences = (p for p in Scores().parts(read_results([*runs, *other])) if isinstance(p, Table))
    assert differences.name == "seed_differences" and {row[1:3] for row in differences.rows} == {("CNN", "OTHER")}
