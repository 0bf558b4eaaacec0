"""The account of a run: written as shares and read back as counts."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Score
from lmod_train.scoring.completeness import Account, account_in, share_failed, share_not_asked


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_an_account_is_read_back_from_the_shares_as_written(replied, failed, not_asked):
    asked, records = replied + failed, replied + failed + not_asked
    shares = [share_failed("t", failed, asked)]
    shares += [share_not_asked("t", not_asked, records)] if not_asked else []
    rounded = [replace(s, value=None if s.value is None else round(s.value, 6)) for s in shares]
    found = account_in(rounded, "t")
    assert found == Account(replied, failed, not_asked) and found.complete == (failed + not_asked == 0)
    assert str(found).startswith(f"{replied} of {records} records have a reply")


def test_scores_of_earlier_versions_state_no_account():
    assert account_in([Score("t", "all", "accuracy_strict", 5, 0.5)], "t") is None
