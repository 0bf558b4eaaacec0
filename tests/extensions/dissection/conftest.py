"""Families with random weights and pictures, as the tests of `models/chat` have them."""

from tests.models.chat.conftest import eyes, kin

__all__ = ["eyes", "kin"]
