"""Numbers with units in replies and in cells; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.tasks.parsing.number import number_of, parse_number


@given(st.decimals(-9999, 9999, places=2).map(str), st.sampled_from(["", "mmHg", "µm", "D", "%"]))
def test_every_decimal_number_is_read_with_either_sign(number: str, unit: str) -> None:
    for written in (number, number.replace(".", ",")):
        for reply in (f"Answer: {written} {unit}", f"{written}{unit}", f'{{"answer": "{written} {unit}"}}'):
            assert parse_number(reply.strip(), unit) == float(number)
        assert number_of(written) == number
