"""Every source keeps the promises of a source, over phantoms in its own layout."""

import pytest

from lmod_train.data.sources.discovery import discover
from tests.contracts import SourceContract
from tests.drawn import drawn_sources


class TestEverySource(SourceContract):
    @pytest.fixture(params=drawn_sources())
    def source(self, eight, request):
        (source,) = discover(eight / f"of {request.param}").sources
        return source
