"""The confidence that a reply states."""

from lmod_train.parsing.confidence import parse_confidence, without_confidence


def test_the_requested_form_is_read() -> None:
    assert parse_confidence("Answer: B; Confidence: 80%") == 0.8
    assert parse_confidence("答案：B；置信度：80%", "zh") == 0.8
    assert parse_confidence("Answer: B") is None


def test_no_option_is_read_in_a_confidence() -> None:
    assert "C" not in without_confidence("Answer: B; Confidence: C.").replace("Confidence", "")
