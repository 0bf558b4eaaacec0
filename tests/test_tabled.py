"""A table tests each of its rows, whatever the others do, and says which fail."""

import inspect

import pytest

from tests.tabled import tabled


@tabled("letter", "ab")
@tabled(("number", "double"), [(1, 2), (2, 4)])
def test_each_row_has_a_folder_of_its_own(tmp_path, request, number, double, letter):
    assert not list(tmp_path.iterdir()) and request.node.name == "test_each_row_has_a_folder_of_its_own"
    (tmp_path / f"{letter}{number}{double}").touch()


def test_tables_are_combined():
    ran = []

    @tabled("letter", "ab")
    @tabled(("number", "double"), [(1, 2), (2, 4)])
    def body(number, double, letter):
        ran.append((letter, number, double))

    body()
    assert ran == [("a", 1, 2), ("a", 2, 4), ("b", 1, 2), ("b", 2, 4)]


def test_each_failing_row_is_named_and_the_others_are_run():
    ran = []

    @tabled("number, wanted", [(1, 1), (2, 3), (3, 3), (4, 5)])
    def body(number, wanted):
        ran.append(number)
        assert number == wanted, f"{number} is odd"

    with pytest.raises(AssertionError, match=r"(?s)2 of 4 rows:.*number=2, wanted=3: .*2 is odd.*number=4, wanted=5"):
        body()
    assert ran == [1, 2, 3, 4] and list(inspect.signature(body).parameters) == []


def test_an_error_that_was_expected_and_any_other_fail_a_row():
    def unexpected():
        with pytest.raises(KeyError):
            int("1")

    @tabled("work", [int, lambda: int("x"), unexpected])
    def body(work):
        work()

    with pytest.raises(AssertionError, match="2 of 3 rows") as caught:
        body()
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_table_without_rows_fails():
    @tabled("number", [])
    def body(number):
        pass

    with pytest.raises(AssertionError, match="no rows"):
        body()


def test_rows_of_a_function_are_made_when_the_test_runs():
    ran, made = [], []

    @tabled("number", lambda: made.append("made") or [1, 2])
    def body(number):
        ran.append(number)

    assert made == []
    body()
    assert made == ["made"] and ran == [1, 2]
