"""Phantoms are drawn and curated in the process of the test: one that starts anew imports for seconds.

That several processes give the same files is tested in tests/phantom and tests/data/curation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def in_process() -> Iterator[None]:
    """Start no further process for phantoms and curation in the block, whatever number is asked for."""
    from lmod_train.data.curation.workers import local_crew

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lmod_train.phantom.shots.FEW", 10**6)
        patched.setattr("lmod_train.data.curation.pipeline.local_crew", lambda workers: local_crew(min(workers, 1)))
        yield
