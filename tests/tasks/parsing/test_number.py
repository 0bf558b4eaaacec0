"""Numbers with units in replies and in cells; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.number import number_of, parse_number
from lmod_train.tasks.parsing.reading import read
from tests.tabled import tabled


@tabled(
    ("unit", "reply", "answer"),
    [
        ("", "Answer: 0,6", 0.6), ("", "about 0.6", 0.6), ("", "60 %", 0.6), ("", "0.6 ± 0.1", 0.6),
        ("", "0.5-0.6", "?ambiguous"), ("", "between 0.5 and 0.6", "?ambiguous"), ("", "> 0.5", "?ambiguous"),
        ("", "at least 0.5", "?ambiguous"), ("", "0.5 or 0.6", "?ambiguous"), ("", "1,250", "?ambiguous"),
        ("", "1,250.5", 1250.5), ("", "20/40", "?no_match"), ("", "It is not 0.6.", "?no_match"),
        ("", '{"answer": 0.6, "confidence": 0.9}', 0.6), ("", "\\boxed{0.6}", 0.6), ("", "minus 2.5", -2.5),
        ("", "It is 0.5. Final answer: 0.7", 0.7), ("", "1. The cup is large.\n2. It is 0.6.", 0.6),
        ("", "I cannot tell.", "?refused"), ("", "Answer: <NUMBER>", "?no_match"), ("", "", "?empty"),
        ("mmHg", "21 mm Hg", 21.0), ("mmHg", "21 mmHg at 500 µm", 21.0), ("mmHg", "500 µm", "?no_match"),
        ("µm", "300 microns", 300.0), ("µm", "0.3 mm", "?no_match"), ("%", "60 percent", 60.0),
        ("D", "−2,25 dpt", -2.25),
    ],
)  # fmt: skip
def test_a_number(unit: str, reply: str, answer: object) -> None:
    found = read(Reply("a", reply), lambda text, _: parse_number(text, unit), ())
    assert (f"?{found.reason}" if isinstance(found, Unparsed) else found) == answer


@given(st.decimals(-9999, 9999, places=2).map(str), st.sampled_from(["", "mmHg", "µm", "D", "%"]))
def test_every_decimal_number_is_read_with_either_sign(number: str, unit: str) -> None:
    for written in (number, number.replace(".", ",")):
        for reply in (f"Answer: {written} {unit}", f"{written}{unit}", f'{{"answer": "{written} {unit}"}}'):
            assert parse_number(reply.strip(), unit) == float(number)
        assert number_of(written) == number
