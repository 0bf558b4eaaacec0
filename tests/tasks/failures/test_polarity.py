"""The words of an answer with what is denied of it: reach, double negation, prefixes and spelling."""

from lmod_train.tasks.failures.rules import polarity
from tests.tabled import tabled


@tabled(
    ("text", "words", "denied"),
    [
        ("no drusen but edema", ["drusen", "edema"], [1, 0]),
        ("no drusen, no edema", ["drusen", "edema"], [1, 1]),
        ("drusen, edema absent", ["drusen", "edema"], [0, 1]),
        ("Drusen are not absent.", ["drusen"], [0]),
        ("not only drusen but also edema", ["drusen", "edema"], [0, 0]),
        ("without drusen with edema", ["drusen", "edema"], [1, 0]),
        ("No. Drusen", ["drusen"], [0]),
        ("无渗出，有裂孔", list("渗出裂孔"), [1, 1, 0, 0]),
        ("不仅渗出", list("渗出"), [0, 0]),
        ("不是没有渗出", list("渗出"), [0, 0]),
        ("不存在渗出", list("渗出"), [1, 1]),
        ("没有", [], []),
    ],
)
def test_a_denial_has_a_reach(text, words, denied):
    found = polarity(text.replace("，", ","))
    assert (found.words, found.denied) == (words, list(map(bool, denied)))


def test_the_bare_polarity_is_that_of_the_last_denial():
    assert polarity("No, it is not.").bare and polarity("没有").bare and polarity("No.").bare
    assert not polarity("Yes.").bare and not polarity("不是没有").bare


def test_spelling_endings_and_prefixes_do_not_change_a_word():
    assert polarity("haemorrhages").words == polarity("Hemorrhage").words
    assert polarity("unchanged", "changed").words == polarity("changed").words
    assert polarity("unchanged", "changed").denied == [True] and polarity("not unchanged", "change").denied == [False]
    assert polarity("uniform", "iris").denied == [False]


def test_the_place_of_the_first_denial_is_kept():
    text = "图中未见裂孔, 无出血"
    start, end = polarity(text).cue
    assert text[start:end] == "未见" and polarity("裂孔").cue is None
