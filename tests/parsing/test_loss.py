"""The loss of healthy tissue does not deny a disease; the absence of signs does."""

from __future__ import annotations

import pytest

from lmod_train.parsing.loss import without_losses
from tests.parsing.asked import parse

LOSSES = ("no rim left", "no healthy rim is left", "hardly any neuroretinal rim remains", "not a trace of rim remains")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lead", ["GLAUCOMA - {}", "GLAUCOMA: {}.", "Glaucoma – {}", "Glaucoma, {}."])
def test_a_loss_does_not_deny(lead: str, loss: str) -> None:
    assert parse("glaucoma", lead.format(loss)) == "GLAUCOMA"


@pytest.mark.parametrize("text", ["Drusen - no drusen left", "GLAUCOMA - no cupping seen", "Glaucoma: no sign remains"])
def test_denials_are_unchanged(text: str) -> None:
    assert without_losses(text) == text


def test_a_loss_alone_is_no_answer() -> None:
    assert parse("conditions drusen", "Drusen: no drusen left") == "FALSE"
