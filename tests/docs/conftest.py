"""Order of the documentation's tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest test, the pages' commands one after another, so that no worker is left alone with it."""
    items.sort(key=lambda item: item.name != "test_marked_blocks_run_and_print_what_is_shown")
