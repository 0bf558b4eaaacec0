"""Read the sources, know their inputs again at the next start, and refuse values that no vocabulary has."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lmod_train.core.errors import BadArgument, BadSample, LmodError
from lmod_train.core.types import Cut, Dropped, Question, Sample
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.modalities import combined, unknown_words, words_of
from lmod_train.core.vocabulary.phantoms import LICENCE
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.curation.keys import is_utf8, unusable_key
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
                samples[item.source, item.key] = _canonical(drawn(known) if is_phantom else known)
        if not is_phantom and samples and not _is_published(source, items):
            samples |= {place: replace(s, licence=UNSTATED) for place, s in samples.items() if s.source == source.name}
        lines = sorted(json.dumps(_row(item, source.root), sort_keys=True, ensure_ascii=False) for item in items)
        digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
        counted = {"samples": sum(isinstance(i, Sample) for i in items), "listing_sha256": digest}
        listing[source.name] = {**source.inputs(), **counted}
    conflicts = list(key_conflicts([samples[place] for place in sorted(samples)]))
    for conflict in conflicts:
        del samples[conflict.source, conflict.key]
    dropped += conflicts
    if not samples:
        failed = "".join(f"; {d.source}: {d.detail}" for d in dropped if d.reason == "source_failed")
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(Counter(d.reason for d in dropped).items()))
        cure = "look into the folders named by their roots" + failed
        raise BadArgument("sources", names, f"at least one readable sample (left out: {reasons})", cure)
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
            _check_modality(item, where)
            items.append(item)
    except LmodError:
        raise
    except Exception as error:  # whatever a damaged or hostile table makes a reader do
        return [*items, _failed(source, error)]
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


def _is_published(source: Source, items: Sequence[Sample | Dropped]) -> bool:
    """Return whether a source is the published dataset; one without a sample could not be read."""
    return not any(isinstance(item, Sample) for item in items) or source.is_published()


def _check_modality(item: Sample | Dropped, where: str) -> None:
    """Check that a sample's modality, and those of its images, are made of words of the vocabulary.

    Raises:
        BadSample: One is not; the message names source, key and the unknown words.
    """
    if isinstance(item, Sample):
        for modality in (item.modality, *(shared.modality for shared in item.shared_images)):
            if unknown := unknown_words(modality):
                problem = (
                    f"modality is {modality!r}, of which lmod_train/core/vocabulary/modalities.toml has no {unknown}"
                )
                raise BadSample(item.source, item.key, problem, where)


def _failed(source: Source, error: Exception) -> Dropped:
    """Return the line for a source whose reading ended early, with the place in the code, not on the disk."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    problem = f"{type(error).__name__}: {error}".replace(f"{source.root}/", "")[:400]
    detail = f"{problem} ({Path(at.filename).name}, line {at.lineno}); what follows in the source is missing"
    return Dropped(source.name, "all", ".", "read", "source_failed", detail)


def _canonical(sample: Sample) -> Sample:
    """Return the sample with the words of its modality in one order: ``OCT+CFP`` is ``CFP+OCT``."""
    return replace(sample, modality=combined(words_of(sample.modality)))


def drawn(sample: Sample) -> Sample:
    """Return the sample as a phantom, under the licence of drawings and not of the dataset whose shape they have."""
    return replace(sample, phantom=True, licence=LICENCE)


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
    def drop(reason: str, detail: str) -> Dropped:
        return Dropped.of(sample, "read", reason, detail)

    if (sample.source, sample.key) in known:
        return drop("key_repeated", f"also the key of {_named(known[sample.source, sample.key])}")
    unwritable = _unwritable_text(sample)
    return drop("not_utf8", unwritable) if unwritable else unusable_key(sample)


def _unwritable_text(sample: Sample) -> str:
    """Return the first text of a sample that is no UTF-8, as names of files may be; empty where all are."""
    patient = (str(value) for value in asdict(sample.patient).values())
    texts = (sample.key, sample.group, sample.licence, *sample.labels, *sample.labels.values(), *patient)
    odd = next((text for text in (*texts, *_asked_texts(sample.asked)) if not is_utf8(text)), None)
    return f"{odd[:80]!a} is not UTF-8; name the file in UTF-8" if odd is not None else ""


def _asked_texts(questions: Sequence[Question]) -> Iterator[str]:
    """Yield every text of ready questions that a record holds."""
    for q in questions:
        yield from (q.language, q.variant, q.chain, q.chain_step, q.answer, *q.choices, *q.tags, *q.tags.values())
        yield from (part.text for message in q.messages for part in message.parts)


def _row(item: Sample | Dropped, root: Path) -> dict[str, Any]:
    if isinstance(item, Dropped):
        return {**asdict(item), "file": relative(item.file, root)}
    row = asdict(item)
    row["image"] = _file(item.image, root) if item.image else None
    row["cut"] = _cut(item.cut)
    row["shared_images"] = [
        asdict(one) | {"path": _file(one.path, root), "cut": _cut(one.cut)} for one in item.shared_images
    ]
    row["masks"] = [
        {"file": _file(m.path, root), "codings": [dict(c) for c in m.codings], "cut": _cut(m.cut)} for m in item.masks
    ]
    row["outlines"] = [_without_empty(outline, "parts", "drawn_on") for outline in row["outlines"]]
    row["labels"] = dict(item.labels)
    row["asked"] = [_without_empty(question, "perturbation") for question in row["asked"]]
    return {name: value for name, value in row.items() if value or name not in ("shared_images", "asked", "split")}


def _without_empty(row: dict[str, Any], *fields: str) -> dict[str, Any]:
    """Return a row without fields that are empty, so that folders curated before they existed stay the same."""
    return {name: value for name, value in row.items() if value or name not in fields}


def _cut(cut: Cut) -> dict[str, Any]:
    """Return the fields of a cut, without column and row where it is not in a Parquet file, as they were before."""
    return {name: value for name, value in asdict(cut).items() if cut.column or name not in ("column", "row")}


def _named(sample: Sample) -> str:
    return sample.image.name if sample.image else "a sample without an image of its own"


def _file(path: Path, root: Path) -> list[Any]:
    try:
        return [relative(path, root), path.stat().st_size]
    except (OSError, ValueError):  # not there, or not readable; listed when it is read
        return [relative(path, root), None]


_DECLARED: dict[Any, tuple[tuple[str, Any], ...]] = {}


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
    if wrong:
        raise BadSample(source, item.key, wrong, where)


def wrong_field(item: Sample | Dropped) -> str:
    """Return the first value of another type than declared, in words; the empty text where all are right.

    Example:
        >>> wrong_field(Dropped("clinic", 7, "a.csv", "read", "unusable row"))
        'key is 7 (int), expected str'
    """
    return next(_in_fields(item, ""), "")


def _in_fields(item: object, place: str) -> Iterator[str]:
    for name, expected in _hints(type(item)):
        yield from _wrong(getattr(item, name), expected, f"{place}{name}")


def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and declared type of every field, worked out once for each class."""
    if kind not in _DECLARED:
        hints = get_type_hints(kind)
        _DECLARED[kind] = tuple((field.name, hints[field.name]) for field in fields(kind))
    return _DECLARED[kind]


def _wrong(value: object, expected: Any, place: str) -> Iterator[str]:
    """Yield what is wrong with a value in words."""
    kind, inside = get_origin(expected), get_args(expected)
    if kind in (Union, UnionType):
        if not any(next(_wrong(value, one, place), None) is None for one in inside):
            yield _said(place, value, " or ".join(_name(one) for one in inside))
    elif kind is Literal:
        if value not in inside:
            yield _said(place, value, f"one of {', '.join(map(repr, inside))}")
    elif kind is tuple and isinstance(value, tuple):
        yield from _in_tuple(value, inside, place)
    elif kind is not None and kind is not tuple and isinstance(value, Mapping):
        for key, one in value.items():
            yield from _wrong(key, inside[0], f"a key of {place}")
            yield from _wrong(one, inside[1], f"{place}[{key!r}]")
    elif kind is not None or not _is(value, expected):
        yield _said(place, value, _name(expected))
    elif is_dataclass(expected):
        yield from _in_fields(value, f"{place}.")


def _in_tuple(value: tuple[object, ...], inside: tuple[Any, ...], place: str) -> Iterator[str]:
    if inside[-1] is not Ellipsis and len(value) != len(inside):
        yield _said(place, value, f"{len(inside)} values")
        return
    each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
    for at, (one, expected) in enumerate(zip(value, each, strict=True)):
        yield from _wrong(one, expected, f"{place}[{at}]")


def _is(value: object, expected: type) -> bool:
    """Return whether a value is of a type; a whole number serves as a float, and a truth value as no number."""
    if isinstance(value, bool) and expected is not bool:
        return False
    return isinstance(value, expected) or (expected is float and isinstance(value, int))


def _name(expected: Any) -> str:
    return "None" if expected is NoneType else getattr(expected, "__name__", str(expected))


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _said(place: str, value: object, expected: str) -> str:
    return f"{place} is {_shown(value)}, expected {expected}"


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
    labels = dict(_unknown_labels(sample))
    patient = dict(_unknown_demographics(sample))
    if not labels and not patient:
        return sample, []
    kept = {name: word for name, word in sample.labels.items() if name not in labels}
    known = replace(sample, labels=kept, patient=replace(sample.patient, **dict.fromkeys(patient)))
    lines = [Dropped.of(sample, "read", "unknown word", why, "part") for why in (*labels.values(), *patient.values())]
    return known, lines


def _unknown_labels(sample: Sample) -> Iterator[tuple[str, str]]:
    for name, word in sample.labels.items():
        if name in _WORDS and word not in _WORDS[name]:
            yield name, _expected(name, word, _WORDS[name])


def _unknown_demographics(sample: Sample) -> Iterator[tuple[str, str]]:
    for name, words in _DEMOGRAPHICS.items():
        word = getattr(sample.patient, name)
        if word is not None and word not in words:
            yield name, _expected(name, word, words)
    age = sample.patient.age
    if age is not None and not 0 <= age < OLDEST:
        yield "age", f"age {age:g}: expected years from 0 to {OLDEST}"


def _expected(name: str, word: str, words: tuple[str, ...]) -> str:
    listed = ", ".join(words) if len(words) <= 6 else "a name in lmod_train/core/vocabulary/conditions.toml"
    return f"{name} {word!r}: expected {listed}"
