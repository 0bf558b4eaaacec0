"""Polarity is symmetric: every layout reads every answer and its opposite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.core.vocabulary.findings import Finding
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.finding import parse_finding
from lmod_train.tasks.parsing.reading import read
from tests.tabled import stored, tabled
from tests.tasks.parsing import grids

LAYOUTS = (*grids.SIGNED, *grids.LOOSE)
NAMES: list[tuple[Finding | None, str]] = [*grids.NAMES, (None, "Glaucoma"), (None, "GLAUCOMA")]
NAMES_ZH: list[tuple[Finding | None, str]] = [*grids.NAMES_ZH, (None, "青光眼")]
IN_TEXT: list[tuple[Finding | None, str]] = [*((f, n) for f, n in NAMES if n.islower()), (None, "glaucoma")]


def outcome(finding: Finding | None, text: str) -> str:
    """Return yes, no, or the reason of an `Unparsed`; without a finding the question is for glaucoma."""
    if finding is None:
        answer = read(Reply("a", text), parse_choice, ("GLAUCOMA", "NON-GLAUCOMA"))
    else:
        answer = read(Reply("a", text), lambda text, choices: parse_finding(text, choices, finding), ("TRUE", "FALSE"))
    if isinstance(answer, Unparsed):
        return answer.reason
    return "yes" if answer in ("GLAUCOMA", "TRUE") else "no"


Names = Sequence[tuple[Finding | None, str]]
Words = Sequence[Sequence[tuple[str, str]]]
"""Words that belong together, as a word and its opposite, each with yes, no, or why it is no answer."""


def opposites(pairs: Sequence[Sequence[str]]) -> Words:
    return [list(zip(pair, ("yes", "no"), strict=True)) for pair in pairs]


def each_once(names: Names, words: Words, shift: int) -> Iterator[tuple[Finding | None, str, str, str]]:
    """Yield every name and all words, a name not with each of them; `shift` says with which.

    Over the layouts of a grid every name meets every word; the slow tests have all three together.
    """
    for i in range(max(len(names), len(words))):
        finding, name = names[i % len(names)]
        for word, wanted in words[(i + shift) % len(words)]:
            yield finding, name, word, wanted


def wrong(asked: Iterable[tuple[Finding | None, str, str, str]], layout: str) -> list[tuple[str, str]]:
    """Return the replies of a layout that are not read as wanted, `unread` standing for any reason, and the reading."""
    found = []
    for finding, name, word, wanted in asked:
        text = layout.format(x=name, v=word)
        read_as = outcome(finding, text)
        if read_as in ("yes", "no") if wanted == "unread" else read_as != wanted:
            found.append((text, read_as))
    return found


def answer_words(layout: str) -> Words:
    pairs = (*grids.PAIRS, *(grids.NUMBERS if layout in grids.SIGNED else ()))
    cased = [[grids.cases(w)[i % len(grids.cases(w))] for w in pair] for i, pair in enumerate(pairs)]
    return opposites(cased)


def values_left_open(layout: str) -> Words:
    left_open = [w for w in grids.OPEN if (layout, w) != ("{x} ({v})", "-")]  # "(-)" is clinical notation for absent
    left_open = left_open[:4] if layout in grids.REQUESTED else left_open
    return [[(w, "refused")] for w in grids.REFUSED] + [[(w, "no_match")] for w in left_open]


NUMBERED = (*grids.REQUESTED, "{x} ({v})", "{x} ({v}); Explanations: as seen", "{x} {v}.")
NO_ANSWER_ZH = [[(w, "refused")] for w in grids.REFUSED_ZH] + [[(w, "no_match")] for w in grids.OPEN_ZH]
GRIDS: dict[str, tuple[Sequence[str], Names, Callable[[str], Words]]] = {
    "answer words": (LAYOUTS, NAMES, answer_words),
    "numbers and letters": (NUMBERED, [*NAMES, *NAMES_ZH], lambda layout: opposites(grids.NUMBERS)),
    "leftovers": ((*grids.REQUESTED, *grids.SIGNED), NAMES, lambda layout: [[(w, "unread")] for w in grids.JUNK]),
    "Chinese answer words": (grids.CHINESE, NAMES_ZH, lambda layout: opposites(grids.PAIRS_ZH)),
    "no answer": ((*LAYOUTS, *grids.REQUESTED), NAMES, values_left_open),
    "no answer in Chinese": (grids.CHINESE, NAMES_ZH, lambda layout: NO_ANSWER_ZH),
}
"""What is read -> layouts, names, and the words of a layout."""


@pytest.mark.parametrize("what", GRIDS)
def test_every_name_and_word_is_read_in_every_layout(what: str) -> None:
    layouts, names, words_of = GRIDS[what]
    asked = [(layout, each_once(names, words_of(layout), i)) for i, layout in enumerate(layouts)]
    assert [misread for layout, words in asked for misread in wrong(words, layout)] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", GRIDS)
def test_every_name_with_every_word_is_read_in_every_layout(what: str) -> None:
    layouts, names, words_of = GRIDS[what]
    for layout in layouts:
        asked = [(f, name, w, wanted) for f, name in names for words in words_of(layout) for w, wanted in words]
        assert wrong(asked, layout) == []


def test_the_grids_have_every_name_with_every_word() -> None:
    for what, (layouts, names, words_of) in GRIDS.items():
        met = {(name, w) for i, one in enumerate(layouts) for _, name, w, _ in each_once(names, words_of(one), i)}
        used = {w for layout in layouts for words in words_of(layout) for w, _ in words}
        assert met == {(name, w) for _, name in names for w in used}, what


@tabled(("sign", "wanted"), [("(+)", "yes"), ("(-)", "no"), ("+", "no_match"), ("-", "no_match")])
def test_clinical_notation_needs_its_brackets(sign: str, wanted: str) -> None:
    assert wrong([(finding, name, sign, wanted) for finding, name in NAMES], "{x} {v}") == []


@tabled(("before", "after"), stored(__file__, "slots.denials_in_free_text"))
def test_denials_in_free_text(before: str, after: str) -> None:
    for finding, name in IN_TEXT:
        assert outcome(finding, f"{before}{name}{after}.") == "no", name


@tabled(("before", "after"), stored(__file__, "slots.hedges_in_free_text"))
def test_hedges_in_free_text(before: str, after: str) -> None:
    for finding, name in IN_TEXT:
        assert outcome(finding, f"{before}{name}{after}.") not in ("yes", "no"), name


def test_denying_a_subtype_does_not_deny_the_disease() -> None:
    (retinopathy,) = {f for f, name in grids.NAMES if name == "DR"}
    assert outcome(retinopathy, "NPDR. No PDR.") == "yes"
    assert outcome(retinopathy, "There is no proliferative diabetic retinopathy.") == "no_match"
    assert outcome(retinopathy, "非增殖期糖尿病视网膜病变") == "yes"
