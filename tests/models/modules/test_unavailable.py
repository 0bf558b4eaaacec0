"""A model that cannot be run is refused with the reason."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.models.modules.unavailable import Unavailable


def test_the_reason_and_what_to_run_instead_are_named():
    with pytest.raises(BadArgument, match=r"'a/gone': expected a model .*: it was shut down\.\nNext: use b"):
        Unavailable("a/gone", "it was shut down", "use b")
