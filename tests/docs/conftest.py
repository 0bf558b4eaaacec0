"""Order of the documentation's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

IS_CHECKOUT = (Path(__file__).resolve().parents[2] / "mkdocs.yml").is_file()
collect_ignore_glob = [] if IS_CHECKOUT else ["*"]
"""A container or a source archive may leave the pages out; then there is nothing to test."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, the commands of a page, so that no worker is left alone with one."""
    items.sort(key=lambda item: not item.name.startswith("test_the_commands_of_a_page_run"))
