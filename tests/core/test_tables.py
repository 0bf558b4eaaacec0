import pytest

from lmod_train.core.tables import Estimate, cell_text


@pytest.mark.parametrize(
    ("cell", "format", "text"),
    [
        (None, "number", "-"), (None, "interval", "none"), ((None, None), "interval", "none"), ("none", "p", "none"),
        (0.12345, "number", "0.123"), (0.12345, "signed", "+0.123"), (-0.5, "signed", "-0.500"), (12, "count", "12"),
        ((-0.1, 0.2), "signed_interval", "-0.100 to +0.200"), (1e-12, "p", "< 0.001"), (3.14159, "statistic", "3.14"),
        (0.0, "percent", "0.0 %"), (Estimate(None), "estimate", "-"), (Estimate(0.5), "estimate", "0.500"),
        (Estimate(0.5, 0.4, 0.6), "estimate", "0.500 (0.400-0.600)"), (None, "estimate", "-"),
    ],
)  # fmt: skip
def test_each_format_has_its_notation(cell, format, text):
    assert cell_text(cell, format) == text


def test_p_values_are_never_printed_as_zero():
    assert cell_text(1e-12, "p") == "< 0.001"
