"""Every source keeps the promises of a source, over phantoms in its own layout."""

import pytest

from lmod_train.data.sources.discovery import discover, source_classes
from tests.contracts import SourceContract


class TestEverySource(SourceContract):
    @pytest.fixture(params=source_classes())
    def source(self, eight, request):
        (source,) = discover(eight / f"of {request.param}").sources
        return source
