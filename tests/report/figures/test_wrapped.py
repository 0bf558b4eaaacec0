from lmod_train.report.figures.wrapped import wrapped


def test_a_long_name_keeps_beginning_and_end_and_no_line_is_too_long():
    text = wrapped("a" * 200 + " seed 3", 26)
    assert text.startswith("a" * 26) and text.endswith("seed 3") and "…" in text
    assert max(map(len, text.split("\n"))) <= 26 and text.count("\n") <= 2


def test_control_characters_are_visible_and_an_empty_name_is_a_line():
    assert wrapped("a\u202eb") == "a\\u202eb" and wrapped("a\n b") == "a b" and wrapped("") == ""
