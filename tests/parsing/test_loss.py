"""The loss of a healthy part is a reason for a disease; that there is none of the disease is not."""

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
def test_what_denies_stays(text: str) -> None:
    assert without_losses(text) == text


def test_nothing_is_invented_of_what_is_gone() -> None:
    assert parse("conditions drusen", "Drusen: no drusen left") == "FALSE"
