"""Refusals in English and Chinese, and answers that are none."""

from __future__ import annotations

from tests.tabled import stored, tabled
from tests.tasks.parsing.asked import ASKS, parse

CANNOT = ("I cannot", "I can't", "I am unable to", "I'm not able to", "It is not possible to", "I would rather not")
DO = ("comment on this image", "give an opinion on it", "judge this picture", "assess it", "make a diagnosis")
MISSING = stored(__file__, "refusal.MISSING")  # fmt: skip


@tabled("ask", ASKS)
def test_every_task_reads_a_refusal_as_refused(ask: str) -> None:
    texts = [*(f"{cannot} {do}." for cannot in CANNOT for do in DO), *MISSING]
    read = {text: parse(ask, text) for text in texts}
    assert {text: answer for text, answer in read.items() if getattr(answer, "reason", "") != "refused"} == {}
