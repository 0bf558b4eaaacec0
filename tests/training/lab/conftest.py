from collections.abc import Iterator

import pytest

from tests.in_process import in_process


@pytest.fixture(scope="package", autouse=True)
def _in_process() -> Iterator[None]:
    """Commands draw and curate in this process."""
    with in_process():
        yield
