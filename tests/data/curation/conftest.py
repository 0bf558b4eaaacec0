"""Cases with ready questions, drawn and curated once."""

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.cases import SETTINGS, Cases, Staged


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    return Cases.write(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="session")
def curated_cases(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated") / "out"
    curate([source], [Staged(), Staged(language="zh")], out, **SETTINGS)
    return out


@pytest.fixture(scope="session")
def records(curated_cases):
    return read_records(curated_cases / "records")
