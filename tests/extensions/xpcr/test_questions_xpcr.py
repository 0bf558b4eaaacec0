"""Questions about phantoms: the answer is one of the options, in a random place."""

from collections import Counter

from lmod_train.extensions.xpcr import phantom as xpcr
from lmod_train.extensions.xpcr.questions import listed_options


def test_the_truth_is_an_option_and_its_place_varies():
    places = Counter()
    for row in xpcr.rows(100, 2):
        for place, question in enumerate(row.questions):
            written = question.row(1000 * row.number + place)
            options = listed_options(written["question"].partition("\nOptions:")[2])
            assert sorted(options) == sorted(question.options) and len(set(options)) == len(options)
            assert written["answer"] == question.options[0]
            places[options.index(written["answer"])] += 1
    assert all(places[n] > 0.15 * places.total() for n in range(3)), places
