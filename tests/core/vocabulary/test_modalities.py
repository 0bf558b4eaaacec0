"""Imaging modalities and their combinations."""

from itertools import permutations

from lmod_train.core.vocabulary.modalities import JOINT, MODALITIES, combined, in_order, unknown_words, words_of


def test_names_are_unique_and_valid_in_combinations_and_subsets() -> None:
    names = [m.name for m in MODALITIES]
    assert len({name.casefold() for name in names}) == len(names)
    assert not [name for name in names if set(name) & set(f"{JOINT};=, ")]
    assert all(m.meaning and m.reference for m in MODALITIES)
    assert {"CFP", "OCT", "SLO", "LP", "SS", "EP", "RetCam", "FFA", "ICGA"} <= set(names)


def test_a_combination_has_one_order() -> None:
    assert {combined(some) for some in permutations(["OCT", "CFP", "FFA"])} == {"CFP+OCT+FFA"}
    assert combined(["CFP", "CFP"]) == "CFP" and words_of("CFP+OCT+FFA") == ("CFP", "OCT", "FFA")
    assert in_order(["FFA", "CFP+FFA", "CFP+OCT", "CFP"]) == ["CFP", "CFP+OCT", "CFP+FFA", "FFA"]


def test_unknown_names_are_returned() -> None:
    assert unknown_words("CFP+cfp") == ["cfp"] and unknown_words("+") == ["", ""]


def test_unknown_names_of_a_combination_come_last_wherever_they_are_in_the_alphabet():
    known = [modality.name for modality in MODALITIES]
    for first in range(len(known)):
        for unknown in ("!", "AAA", "zzz"):
            assert combined([unknown, *known[first::2][::-1]]).split(JOINT) == [*known[first::2], unknown]
    assert combined(["zzz", known[-1], "AAA"]) == JOINT.join([known[-1], "AAA", "zzz"])
