"""Whether the pictures that a page shows may leave the machine, and under which licence."""

import pytest

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.report.thumbnails import Licence, licences
from tests.tiny import record

SHOWN = [record(image=["images/refuge/a.jpg"], source="refuge", licence="CC BY 4.0")]


def curated(folder, **manifest):
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION, **manifest})
    return folder


@pytest.mark.parametrize(
    "stated", [{}, {"redistributable": None}, {"redistributable": False}, {"redistributable": "yes"}]
)
def test_images_stay_unless_the_manifest_says_that_they_may_leave(tmp_path, stated):
    known = {"licence": "CC BY-ND 4.0"}
    assert licences(curated(tmp_path, sources={"refuge": known | stated}), SHOWN) == [
        Licence("refuge", "CC BY-ND 4.0", stays=True)
    ]
    free = curated(tmp_path, sources={"refuge": known | {"redistributable": True}})
    assert licences(free, SHOWN) == [Licence("refuge", "CC BY-ND 4.0", stays=False)]


def test_images_of_an_unknown_source_or_without_a_manifest_stay(tmp_path):
    unknown = [Licence("refuge", "CC BY 4.0", stays=True)]
    assert licences(None, SHOWN) == licences(tmp_path / "none", SHOWN) == unknown
    other = curated(tmp_path, sources={"g1020": {"licence": "CC0", "redistributable": True}})
    assert licences(other, SHOWN) == unknown


def test_a_foreign_photograph_has_its_own_licence_and_nothing_of_the_records(tmp_path):
    shown = [*SHOWN, record(image=["images/foreign/china.jpg"], source="refuge", licence="CC BY 4.0")]
    silent = curated(tmp_path, sources={"refuge": {"redistributable": True}})
    expected = [Licence("foreign", "not known", stays=True), Licence("refuge", "CC BY 4.0", stays=False)]
    assert licences(silent, shown) == expected
    free = curated(tmp_path, sources={}, foreign={"licence": "CC BY 2.0", "redistributable": True})
    assert licences(free, shown)[0] == Licence("foreign", "CC BY 2.0", stays=False)
