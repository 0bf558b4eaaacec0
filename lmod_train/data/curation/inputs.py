"""Read the sources, know their inputs again at the next start, and refuse values that no vocabulary has."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lmod_train.core.errors import BadArgument, BadSample, LmodError
from lmod_train.core.types import Dropped, Sample, fields_of
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.modalities import combined, unknown_words, words_of
from lmod_train.core.vocabulary.phantoms import LICENCE
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.curation.sample_keys import is_utf8, unusable_key
from lmod_train.data.curation.sharing import key_conflicts
from lmod_train.data.sources.base import UNSTATED, Source


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the sources hold.

    Attributes:
        samples: Sorted by source and key.
        dropped: What the sources left out, and samples whose key cannot serve.
        listing: For each source the number of samples and a fingerprint of all that the source yields, with the size of
            every file in bytes. A file changed in place without changing its size is not noticed.
    """

    samples: list[Sample]
    dropped: list[Dropped]
    listing: dict[str, Any]


def read_sources(sources: Sequence[Source]) -> Inputs:
    """Verify every source and list its samples; one that yields none is listed among what is dropped.

    Raises:
        LeavesFolder: A link below a source's folder leads out of it, and links are not allowed.
        BadSample: A source yielded a value of another type than `lmod_train.core.types` declares.
        SourceNotFound: A layout is not as expected.
        BadArgument: Two sources have one name, or together they hold no sample.
    """
    names = [s.name for s in sources]
    if len(set(names)) < len(names):
        raise BadArgument("sources", names, "each source once", "curate the second copy into another folder")
    samples: dict[tuple[str, str], Sample] = {}
    dropped: list[Dropped] = []
    listing: dict[str, Any] = {}
    for source in sorted(sources, key=lambda s: s.name):
        source.check_links()
        is_phantom, items = source.is_phantom, _items(source)
        for item in items:
            problem = item if isinstance(item, Dropped) else _unusable(item, samples)
            if problem is not None:
                dropped.append(problem)
            elif isinstance(item, Sample):
                known, unknown = with_known_values(item)
                dropped += unknown
                known = replace(known, modality=combined(words_of(known.modality)))  # OCT+CFP is CFP+OCT
                samples[item.source, item.key] = replace(known, phantom=True, licence=LICENCE) if is_phantom else known
        if not is_phantom and any(isinstance(item, Sample) for item in items) and not source.is_published():
            samples |= {place: replace(s, licence=UNSTATED) for place, s in samples.items() if s.source == source.name}
        lines = sorted(_listed(item, source.root) for item in items)
        digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
        counted = {"samples": sum(isinstance(i, Sample) for i in items), "listing_sha256": digest}
        listing[source.name] = {**source.inputs(), **counted}
    conflicts = list(key_conflicts([samples[place] for place in sorted(samples)]))
    for conflict in conflicts:
        del samples[conflict.source, conflict.key]
    dropped += conflicts
    if not samples:
        first = {d.reason: f"{d.source}: {d.detail}"[:300] for d in reversed(dropped)}
        lost = Counter(d.reason for d in dropped)
        reasons = "; ".join(f"{reason} {n}, e.g. {first[reason]}" for reason, n in sorted(lost.items()))
        raise BadArgument("sources", names, f"at least one readable sample (left out: {reasons})", sources[0].mend)
    return Inputs([samples[place] for place in sorted(samples)], dropped, listing)


def _items(source: Source) -> list[Sample | Dropped]:
    """Verify a source and return all that it yields, held to its types.

    Where reading it raises what no source should, the last line states it: what was yielded before is kept, and the
    other sources are curated.
    """
    items: list[Sample | Dropped] = []
    where = f"{type(source).__module__}.{type(source).__qualname__}"
    try:
        source.verify()
        for item in source.samples():
            check(item, source.name, where)
            items.append(item)
    except LmodError:
        raise
    except Exception as error:  # whatever a damaged or hostile table makes a reader do
        at = traceback.extract_tb(error.__traceback__)[-1]  # the place in the code, not on the disk
        problem = f"{type(error).__name__}: {error}".replace(f"{source.root}/", "")[:400]
        detail = f"{problem} ({Path(at.filename).name}, line {at.lineno}); what follows in the source is missing"
        return [*items, Dropped(source.name, "all", ".", "read", "source_failed", detail)]
    if not any(isinstance(item, Sample) for item in items):
        items.append(
            Dropped(source.name, "all", ".", "read", "no samples", f"of {len(items)} things listed none is one")
        )
    return items


def licence_of(source: Source) -> str:
    """Return the licence of a source's images: that of drawings, of the published dataset, or that none is known."""
    if source.is_phantom:
        return LICENCE
    return source.licence if source.is_published() else UNSTATED


def relative(file: str | Path, root: Path | None) -> str:
    """Return a path relative to its source's root, with forward slashes; as it is where it lies elsewhere.

    Example:
        >>> relative("raw/refuge/a.jpg", Path("raw"))
        'refuge/a.jpg'
    """
    path = Path(file)
    if root is not None and file and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.as_posix() if file else ""


def _unusable(sample: Sample, known: Mapping[tuple[str, str], Sample]) -> Dropped | None:
    """Return the line for a sample that is left out: its key is known or no path, or a text of it is no UTF-8."""
    if (first := known.get((sample.source, sample.key))) is not None:
        named = first.image.name if first.image else "a sample without an image of its own"
        return Dropped.of(sample, "read", "key_repeated", f"also the key of {named}")
    patient = (str(value) for value in fields_of(sample.patient).values())
    texts = [sample.key, sample.group, sample.licence, *sample.labels, *sample.labels.values(), *patient]
    for q in sample.asked:
        texts += [q.language, q.variant, q.chain, q.chain_step, q.answer, *q.choices, *q.tags, *q.tags.values()]
        texts += [part.text for message in q.messages for part in message.parts]
    odd = next((text for text in texts if not is_utf8(text)), None)
    if odd is not None:
        return Dropped.of(sample, "read", "not_utf8", f"{odd[:80]!a} is not UTF-8; name the file in UTF-8")
    return unusable_key(sample)


def _listed(item: Sample | Dropped, root: Path) -> str:
    """Return all that a source yielded as a line, files relative to its root and with their sizes."""

    def plain(value: Any) -> Any:
        if not isinstance(value, Path):
            return fields_of(value)
        try:
            return [relative(value, root), value.stat().st_size]
        except (OSError, ValueError):  # not there, or not readable; listed when it is read
            return [relative(value, root), None]

    row = fields_of(item) | ({"file": relative(item.file, root)} if isinstance(item, Dropped) else {})
    return json.dumps(row, sort_keys=True, ensure_ascii=False, default=plain)


def check(item: object, source: str, where: str) -> None:
    """Check that one thing a source yielded is a sample or a drop of its own, every value of the declared type.

    Args:
        item: What was yielded.
        source: Name of the source.
        where: The source's class path, for the error.

    Raises:
        BadSample: The message names source, key, field, value and the expected type.
    """
    if not isinstance(item, Sample | Dropped):
        raise BadSample(source, "", f"{_shown(item)} was yielded, expected Sample or Dropped", where)
    wrong = wrong_field(item)
    if not wrong and item.source != source:
        wrong = f"source is {_shown(item.source)}, expected {source!r}, the name of its class"
    parts = () if wrong or isinstance(item, Dropped) else (item.modality, *(one.modality for one in item.shared_images))
    for modality in parts:
        if unknown := unknown_words(modality):
            wrong = f"modality is {modality!r}, of which lmod_train/core/vocabulary/modalities.py has no {unknown}"
    if wrong:
        raise BadSample(source, item.key, wrong, where)


def wrong_field(item: Sample | Dropped) -> str:
    """Return the first value of another type than declared, in words; the empty text where all are right.

    Example:
        >>> wrong_field(Dropped("clinic", 7, "a.csv", "read", "unusable row"))
        'key is 7 (int), expected str'
    """
    return _wrong(item, type(item), "")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind) if is_dataclass(kind) else {}


@cache
def _parts_of(expected: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(expected), get_args(expected)


def _wrong(value: object, expected: Any, place: str) -> str:
    """Return what is wrong with a value of a declared type in words; the empty text if nothing is."""
    kind, inside = _parts_of(expected)
    named = "None" if expected is NoneType else getattr(expected, "__name__", str(expected))
    within: Iterable[str] | None = None
    if kind in (Union, UnionType):
        within = () if not all(_wrong(value, one, place) for one in inside) else None
        named = " or ".join("None" if one is NoneType else getattr(one, "__name__", str(one)) for one in inside)
    elif kind is Literal:
        within, named = () if value in inside else None, f"one of {', '.join(map(repr, inside))}"
    elif kind is tuple and isinstance(value, tuple):
        each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        named = f"{len(inside)} values"
        if len(each) == len(value):
            pairs = enumerate(zip(value, each, strict=True))
            within = (_wrong(one, of, f"{place}[{at}]") for at, (one, of) in pairs if not _plainly(one, of))
    elif kind is not None and kind is not tuple and isinstance(value, Mapping):
        keys = (_wrong(key, inside[0], f"a key of {place}") for key in value if not _plainly(key, inside[0]))
        odd = (item for item in value.items() if not _plainly(item[1], inside[1]))
        within = chain(keys, (_wrong(one, inside[1], f"{place}[{key!r}]") for key, one in odd))
    elif kind is None and _is(value, expected):
        above = f"{place}." if place else ""
        held = ((name, getattr(value, name), of) for name, of in _hints(expected).items())
        within = (_wrong(one, of, f"{above}{name}") for name, one, of in held if not _plainly(one, of))
    if within is not None:
        return next(filter(None, within), "")
    return f"{place} is {_shown(value)}, expected {named}"


def _plainly(value: object, expected: Any) -> bool:
    """Return whether a value is of the very type and has no parts to look at, as most values are."""
    return not _hints(expected) and type(value) is expected


def _is(value: object, expected: type) -> bool:
    """Return whether a value is of a type; a whole number serves as a float, and a truth value as no number."""
    if isinstance(value, bool) and expected is not bool:
        return False
    return isinstance(value, expected) or (expected is float and isinstance(value, int))


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


# Labels and demographics of samples held to the vocabulary: an unknown word costs its own value, which is listed.
OLDEST = 130
"""Years; an age at or above it is an error."""

_YES_NO = ("no", "yes")

_WORDS: Mapping[str, tuple[str, ...]] = {
    "diagnosis": tuple(term.name for term in CONDITIONS),
    **{term.name: _YES_NO for term in (*STRUCTURES, *CONDITIONS)},
    **{scale.name: scale.levels for scale in SCALES},
}
"""Label -> its words; labels of other names are those of a user's own task or table, and may have any."""

_DEMOGRAPHICS: Mapping[str, tuple[str, ...]] = {
    "sex": tuple(term.name for term in SEXES),
    "laterality": ("left", "right"),
}


def with_known_values(sample: Sample) -> tuple[Sample, list[Dropped]]:
    """Return a sample without the values that the vocabulary does not have, and a line for each of these.

    Example:
        >>> from lmod_train.core.types import Patient
        >>> sample = Sample("a", "1", "CFP", None, "p", "CC0", {"diagnosis": "poag"}, patient=Patient(sex="F", age=70))
        >>> known, lost = with_known_values(sample)
        >>> known.labels, known.patient.sex, known.patient.age, [line.reason for line in lost]
        ({}, None, 70, ['unknown word', 'unknown word'])
    """
    labels = {
        name: _expected(name, word, _WORDS[name])
        for name, word in sample.labels.items()
        if name in _WORDS and word not in _WORDS[name]
    }
    patient = {
        name: _expected(name, word, words)
        for name, words in _DEMOGRAPHICS.items()
        if (word := getattr(sample.patient, name)) is not None and word not in words
    }
    if (age := sample.patient.age) is not None and not 0 <= age < OLDEST:
        patient["age"] = f"age {age:g}: expected years from 0 to {OLDEST}"
    if not labels and not patient:
        return sample, []
    kept = {name: word for name, word in sample.labels.items() if name not in labels}
    known = replace(sample, labels=kept, patient=replace(sample.patient, **dict.fromkeys(patient)))
    lines = [Dropped.of(sample, "read", "unknown word", why, "part") for why in (*labels.values(), *patient.values())]
    return known, lines


def _expected(name: str, word: str, words: tuple[str, ...]) -> str:
    listed = ", ".join(words) if len(words) <= 6 else "a name in lmod_train/core/vocabulary/conditions.py"
    return f"{name} {word!r}: expected {listed}"
