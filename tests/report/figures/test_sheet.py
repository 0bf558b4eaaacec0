from lmod_train.core.tables import table
from lmod_train.report.figures.sheet import sheet


def test_files_have_the_escaped_name_of_the_table_and_the_same_bytes_each_time(tmp_path):
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        with sheet(table("../a b", ["x"], [], title="Title"), folder, 1.0, width=2) as axes:
            axes[0, 0].plot([0, 1], [0, 1])
    names = {f.name for f in (tmp_path / "a").iterdir()}
    assert names == {"%2E%2E%2Fa%20b.png", "%2E%2E%2Fa%20b.svg"}
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
