"""What a short answer names, and which of it is denied, in English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from lmod_train.core.vocabulary import flips
from lmod_train.tasks.parsing.cues import any_of

_TOKEN = re.compile(
    rf"(?P<neutral>{any_of(flips.NEUTRAL_EN, flips.NEUTRAL_ZH)})"
    rf"|(?P<contrast>{any_of(flips.CONTRASTS_EN, flips.CONTRASTS_ZH)}|[;!?\n。]|\.(?![0-9]))"
    rf"|(?P<absence>{any_of(flips.ABSENT_EN)})"
    rf"|(?P<denial>{any_of(flips.DENYING_EN, flips.DENYING_ZH)})"
    rf"|(?P<assertion>{any_of(flips.ASSERTING_EN, flips.ASSERTING_ZH)})"
    rf"|(?P<frame>{any_of(flips.FRAMES_EN, flips.FRAMES_ZH)})"
    r"|(?P<comma>,)"
    r"|(?P<word>[a-z0-9]+(?:[.'-][a-z0-9]+)*|[^\W_])",
    re.IGNORECASE,
)
_LATIN = re.compile(r"[a-z]+", re.IGNORECASE)
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ed|es|e|(?<![sui])s)$")
_LEAST = 4
"""Letters behind ``un`` from which on it can be a prefix."""


@dataclass(slots=True)
class Polarity:
    """The words of an answer, without those that deny, assert or only frame.

    Attributes:
        words: The words, spelled alike where British and American English differ, without endings.
        denied: Of each, whether it is denied.
        bare: Whether the last denial holds, not counting words: the polarity of "no" and 未见 by themselves.
        cue: Where the first denial is.
    """

    words: list[str] = field(default_factory=list)
    denied: list[bool] = field(default_factory=list)
    bare: bool = False
    cue: tuple[int, int] | None = None


def polarity(text: str, other: str = "") -> Polarity:
    """Return the words of an answer and which of them are denied.

    A denial reaches to the next contrast, sentence or asserting word, and from behind ("edema is absent", "edema is not
    seen at the fovea") back to the last comma. Two denials in a row are none. Linear in the length of the texts.

    Args:
        text: The answer.
        other: An answer that it is compared with: "un" before one of its words is a denial.

    Example:
        >>> polarity("No macular hole, but edema").words, polarity("No macular hole, but edema").denied
        (['macular', 'hol', 'edema'], [True, True, False])
        >>> polarity("并非没有出血").denied, polarity("unchanged", "no change").denied
        ([False, False], [True])
    """
    reader = _Reader({_root(word) for word in _LATIN.findall(other)})
    for m in _TOKEN.finditer(text):
        reader.take(str(m.lastgroup), m)
    reader.close()
    return reader.found


class _Reader:
    """Reads tokens from left to right; `denies` is whether a denial reaches here, `open` whether it has met no word."""

    def __init__(self, roots: Collection[str]) -> None:
        self.found, self.roots = Polarity(), roots
        self.denies = self.open = False
        self.first = 0

    def take(self, kind: str, token: re.Match[str]) -> None:
        if kind in ("denial", "absence"):
            self.deny(token.span(), behind=kind == "absence")
        elif kind == "word":
            self.add(token.group().casefold())
        elif kind == "assertion":
            self.denies = self.denies and self.open
        elif kind in ("comma", "contrast"):
            self.close(whole=kind == "contrast")

    def deny(self, span: tuple[int, int], behind: bool) -> None:
        self.denies = not (self.open and self.denies)
        if behind:
            self.found.denied[self.first :] = [self.denies] * (len(self.found.denied) - self.first)
        self.open, self.found.bare = True, self.denies
        self.found.cue = self.found.cue or span

    def add(self, word: str) -> None:
        root = _root(word)
        inside = word.startswith("un") and len(word) >= _LEAST + 2 and _root(word[2:]) in self.roots
        self.found.words.append(_root(word[2:]) if inside else root)
        self.found.denied.append(self.denies != inside)
        self.open = False

    def close(self, whole: bool = True) -> None:
        """End a part: a denial behind its last word denies the part."""
        if self.open:
            self.found.denied[self.first :] = [self.denies] * (len(self.found.denied) - self.first)
        self.denies = self.denies and not (whole or self.open)
        self.open, self.first = False, len(self.found.words)


def _root(word: str) -> str:
    return _ENDING.sub("", word.casefold().replace("ae", "e").replace("oe", "e"))
