from lmod_train.report.figures.wrapped import wrapped


def test_a_long_name_keeps_beginning_and_end_and_no_line_is_too_long():
    text = wrapped("a" * 200 + " seed 3", 26)
    assert text.startswith("a" * 26) and text.endswith("seed 3") and "…" in text
    assert max(map(len, text.split("\n"))) <= 26 and text.count("\n") <= 2


def test_control_characters_are_visible_and_an_empty_name_is_a_line():
    assert wrapped("a\u202eb") == "a\\u202eb" and wrapped("a\n b") == "a b" and wrapped("") == ""


def test_a_line_breaks_after_a_slash_or_at_a_space_and_not_inside_a_word():
    assert wrapped("Retina/Vitreous", 12) == "Retina/\nVitreous" and wrapped("Retina/Vitreous", 15) == "Retina/Vitreous"
    assert wrapped("Cataract/Anterior Segment", 12) == "Cataract/\nAnterior\nSegment"
    assert wrapped("a / b/c, 1/2", 40) == "a / b/c, 1/2"
