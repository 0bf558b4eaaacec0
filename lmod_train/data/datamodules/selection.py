"""Which records of a curated folder a command uses: of some sources, divided into folds, with a share of the training.

The draws depend on the names of families and a seed only, so that every command of a run draws the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_warn

from lmod_train.core.artifacts.series import FEWEST_FOLDS
from lmod_train.core.connected_components import join
from lmod_train.core.csv_files import read_csv
from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import OTHERS_IMAGES, Record
from lmod_train.data.datamodules.class_balance import class_of

GOLDEN = (5**0.5 - 1) / 2
"""Golden ratio: the fractional parts of its multiples are spread evenly over [0, 1), however many there are."""

FAR = 0.2
"""Relative difference from the share that is asked for, above which the share that is drawn is a warning."""

Stratum = tuple[tuple[str, str, str], ...]
"""Source, task and class of the questions about a family."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Options of the selection.

    Attributes:
        sources: Names of sources to use, separated by commas; empty for all.
        exclude_sources: Names of sources to leave out.
        share: Share of the training split to train on, in (0, 1].
        fold: Fold that is the test split, ``i/n``; empty for the curated splits.
        seed: Seed of the folds and of the share.

    Raises:
        BadArgument: The share or the fold is out of its range.
    """

    sources: str = ""
    exclude_sources: str = ""
    share: float = 1.0
    fold: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check share and fold."""
        if not 0 < self.share <= 1:
            raise BadArgument("data.share", self.share, "a share of the training split in (0, 1]", "e.g. 0.1")
        if self.fold:
            _parsed(self.fold)

    @property
    def divides(self) -> bool:
        """Whether families of records are divided."""
        return bool(self.fold) or self.share < 1

    def of(self, records: Sequence[Record], families: Mapping[str, str]) -> list[Record]:
        """Return the records to use, in their order; those of a fold have the split of the fold.

        Args:
            records: Records of a curated folder.
            families: Record id -> family (`lmod_train.data.datamodules.selection`); used only where it `divides` them.

        Raises:
            BadArgument: A source does not exist, or there are fewer families than folds.
        """
        sources = self._chosen({r.source for r in records})
        chosen = [r for r in records if r.source in sources]
        if not self.divides:
            return chosen
        if self.fold:
            chosen = in_fold(chosen, families, self.fold, self.seed)
        training = [r for r in chosen if r.split == "train"]
        kept = set(drawn_share(training, families, self.share, self.seed))
        if self.share < 1 and training:
            self._say(len(kept), len(training))
        return [r for r in chosen if r.split != "train" or r.id in kept]

    def _say(self, kept: int, whole: int) -> None:
        """Print the number of records of a share, as a warning if it is not the share that was asked for."""
        text = f"data.share={self.share:g}: {kept} of {whole} training records, {kept / whole:.1%}"
        if abs(kept / whole - self.share) <= FAR * self.share:
            rank_zero_info(text)
        else:
            rank_zero_warn(f"{text}: whole families are drawn, and at least one of each class. Next: state this number")

    def _chosen(self, known: set[str]) -> set[str]:
        """Return the sources to use."""
        wanted, unwanted = _names(self.sources), _names(self.exclude_sources)
        for option, names in (("data.sources", wanted), ("data.exclude_sources", unwanted)):
            if strange := sorted(set(names) - known):
                expected = f"sources of the records, separated by commas (there are: {', '.join(sorted(known))})"
                cure = did_you_mean(f"--{option}", strange, known, "name one of them, or leave it out")
                raise BadArgument(option, ",".join(strange), expected, cure)
        left = (set(wanted) or known) - set(unwanted)
        if known and not left:
            raise BadArgument("data.exclude_sources", self.exclude_sources, "some but not all sources", "name fewer")
        return left


def drawn_share(records: Sequence[Record], families: Mapping[str, str], share: float, seed: int) -> list[str]:
    """Return the ids of a share of training records: whole families, in proportion to sources and classes.

    Shares are nested: the records of a smaller share are among those of every larger one, of the same records and seed.
    A family is drawn from its position in [0, 1) on. Positions are evenly spaced within a stratum (a source, task and
    class, or several of a family with several questions), and shifted from stratum to stratum by the golden ratio, so
    that numbers that are rounded up in one are rounded down in another. Every class keeps at least one family, so that
    very small shares are larger than asked for.

    Args:
        records: The training records.
        families: Record id -> family.
        share: Share of the records, in (0, 1].
        seed: Seed of the draw.
    """
    members, strata = _members(records, families), _strata(records, families)
    place: dict[str, float] = {}
    first: dict[tuple[str, str], str] = {}
    largest = sorted(strata, key=lambda stratum: (-len(strata[stratum]), shuffle_key(seed, "share", stratum)))
    for i, stratum in enumerate(largest):
        own, shift = strata[stratum], (0.5 + i * GOLDEN) % 1
        total, seen = sum(len(members[name]) for name in own), 0
        for name in sorted(own, key=lambda family: shuffle_key(seed, "share", family)):
            place[name] = (seen + len(members[name]) * shift) / total
            seen += len(members[name])
    for name in sorted(place, key=lambda family: (place[family], shuffle_key(seed, "share", family))):
        for record in members[name]:
            first.setdefault((record.task, class_of(record)), name)
    kept = {name for name, position in place.items() if position <= share} | set(first.values())
    return [r.id for r in records if families[r.id] in kept]


def in_fold(records: Sequence[Record], families: Mapping[str, str], fold: str, seed: int) -> list[Record]:
    """Return the records with the splits of a fold: it is the test split, the next one the validation split.

    Folds are of whole families and similar in number of records of each source and class. Over all folds every record
    is in the test split once.

    Args:
        records: Records of all splits.
        families: Record id -> family.
        fold: Number of the fold and number of folds, ``i/n``.
        seed: Seed of the division.

    Raises:
        BadArgument: There are fewer families than folds.
    """
    number, count = _parsed(fold)
    members = _members(records, families)
    if len(members) < count:
        expected = f"at most as many folds as families of patients or photographs, {len(members)}"
        raise BadArgument("data.fold", fold, expected, "use fewer folds")
    placed: dict[str, int] = {}
    totals = [0] * count
    strata = _strata(records, families)
    for stratum in sorted(strata, key=lambda s: (len(strata[s]), s)):
        own = [0] * count
        order = sorted(strata[stratum], key=lambda f: (-len(members[f]), shuffle_key(seed, "fold", f)))
        for family in order:
            best = min(range(count), key=lambda i: (own[i], totals[i], i))
            placed[family] = best
            own[best] += len(members[family])
            totals[best] += len(members[family])
    splits = {(number - 1) % count: "test", number % count: "val"}
    return [replace(r, split=splits.get(placed[families[r.id]], "train")) for r in records]  # type: ignore[arg-type]


def _parsed(fold: str) -> tuple[int, int]:
    """Return number and count of a fold ``i/n``."""
    found = re.fullmatch(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})", fold)
    if not found or int(found[1]) > int(found[2]) or int(found[2]) < FEWEST_FOLDS:
        expected = f"i/n, number i of n folds counted from 1, n from {FEWEST_FOLDS}"
        raise BadArgument("data.fold", fold, expected, "`--folds 5` runs all of five folds")
    return int(found[1]), int(found[2])


def _members(records: Iterable[Record], families: Mapping[str, str]) -> dict[str, list[Record]]:
    """Return family -> its records."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[families[record.id]].append(record)
    return dict(members)


def _strata(records: Sequence[Record], families: Mapping[str, str]) -> dict[Stratum, list[str]]:
    """Return stratum -> its families, in the order of their first record."""
    strata: defaultdict[Stratum, list[str]] = defaultdict(list)
    for family, own in _members(records, families).items():
        counts = Counter((r.source, r.task, class_of(r)) for r in own)
        strata[tuple(sorted(counts))].append(family)
    return dict(strata)


def _names(text: str) -> list[str]:
    """Return the names in a list separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


Member = tuple[str, ...]


def families_of(records: Sequence[Record], curated: Path) -> dict[str, str]:
    """Return record id -> name of its family, which no division may separate.

    A family shares a group (patient or copies of a photograph within a source), an image file, a chain, or a photograph
    with a copy in another source, as ``leakage.csv`` of the curated folder lists it. An image that is shown in place
    of a record's own, such as another patient's or the mean image, joins nothing.

    Args:
        records: Records of the folder; the families are those among them.
        curated: The curated folder; without ``leakage.csv`` copies in other sources are not known.
    """
    links: list[tuple[Member, Member]] = [(("id", r.id), other) for r in records for other in _shared(r)]
    known = {member for pair in links for member in pair}
    links += [(first, second) for first, second in _copies(curated) if first in known and second in known]
    return {
        member[1]: min("/".join(own[1:]) for own in family if own[0] != "id")
        for family in join(links)
        for member in family
        if member[0] == "id"
    }


def _shared(record: Record) -> Iterator[Member]:
    """Yield what a record shares with others."""
    yield ("image of", record.source, record.key)
    yield from (("group", record.source, record.group),) if record.group else ()
    if record.variant.rpartition("-")[2] not in OTHERS_IMAGES:  # a mean image would make the folder one family
        yield from (("file", digest) for digest in record.image_sha256)
    yield from (("chain", record.chain),) if record.chain else ()


def _copies(curated: Path) -> Iterator[tuple[Member, Member]]:
    """Yield the pairs of images that the curation found to be of one photograph."""
    path = curated / "leakage.csv"
    for row in read_csv(path) if path.exists() else ():
        first, second = (("image of", row[f"{side}_source"], row[f"{side}_key"]) for side in ("first", "second"))
        yield first, second
