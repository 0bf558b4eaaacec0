"""Cells of phantom workbooks: many forms of the same."""

from lmod_train.data.sources.spellings import plain
from lmod_train.extensions.ophthalwechat.phantom import HEADERS, images, question_cells
from lmod_train.extensions.ophthalwechat.words import words


def test_headers_are_known_and_every_row_is_as_long():
    known = words()["columns"]
    for kind, by_language in HEADERS.items():
        for language, headers in by_language.items():
            assert all(plain(header) in known for header in headers)
            if kind == "questions":
                (shown,) = images(1, 0)
                assert len(question_cells(shown.questions[0], "zh", 1, 1, language, 0)) == len(headers)


def test_marks_and_answers_have_many_forms():
    asked = [q for shown in images(120, 0) for q in shown.questions]
    cells = [question_cells(q, language, n, 1, "zh", 0) for n, q in enumerate(asked) for language in ("zh", "en")]
    answers = {str(row[-1]) for row in cells if row[2] == "判断题"}
    assert answers == {"对", "对。", "正确", "错", "错。", "错误", "True", "TRUE", "False", "FALSE"}
    listed = [row[4] for row in cells if row[2] == "单选题"]
    assert {mark for mark in "：:、．.)" if any(f"A{mark}" in text or f"Ａ{mark}" in text for text in listed)} == set(
        "：:、．.)"
    )
    assert any("Ａ" in text for text in listed) and any("\n" in text for text in listed)
    assert question_cells(asked[0], "zh", 1, 1, "en", 0) == question_cells(asked[0], "zh", 1, 1, "en", 0)
