import re

from lmod_train.data.sources.discovery import source_classes
from lmod_train.data.sources.spelling import YES_NO, plain_name
from tests.tabled import tabled


@tabled(
    ("given", "plain"),
    [
        ("Images", "images"),
        ("%49mages", "images"),
        ("Fundus%20Photos ", "fundus photos"),
        ("GRÖSSE", "grösse"),
        ("", ""),
    ],
)
def test_names_in_whatever_spelling_are_the_same(given, plain):
    assert plain_name(given) == plain


def test_a_flag_is_yes_or_no_as_text_number_or_boolean():
    assert {word: [flag for flag in YES_NO if YES_NO[flag] == word] for word in ("yes", "no")} == {
        "yes": ["1", "1.0", "true"],
        "no": ["0", "0.0", "false"],
    }


def test_creative_commons_licences_are_spelled_as_their_publisher_does():
    licences = {name: kind.licence for name, kind in source_classes().items()}
    named = {name: re.findall(r"\bCC[ -]?BY\S*(?: \d\.\d)?", licence) for name, licence in licences.items()}
    assert {one for every in named.values() for one in every} == {"CC BY 4.0", "CC BY-NC 4.0", "CC BY-NC-ND 4.0"}
    assert {"cau001", "cataract_detection_2", "idrid", "fairseg"} < {name for name, found in named.items() if found}
