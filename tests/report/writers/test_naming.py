import pytest

from lmod_train.report.writers.naming import file_name


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", ".hidden", "a b", "con:x", "人", "x" * 20, "a\x00b", "..", ""])
def test_a_name_is_one_part_of_a_path(name, tmp_path):
    made = tmp_path / f"{file_name(name)}.csv"
    assert made.resolve().parent == tmp_path.resolve() and not made.name.startswith("..")
