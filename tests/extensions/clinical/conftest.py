"""Three runs on the same records, as the tests of `report` have them."""

from tests.report.conftest import compared

__all__ = ["compared"]
