"""LLaVA conversations in, a curated folder out, as `curate` writes it.

One record a human turn: what was said before stands in its messages, the next turn of gpt is its answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lmod_train.artifacts.manifest import write_json
from lmod_train.artifacts.records import record_id, write_records
from lmod_train.curation import manifest
from lmod_train.curation.copies import thumbnail
from lmod_train.curation.families import likenesses
from lmod_train.curation.images import FORMAT, shrink, write_image
from lmod_train.curation.leakage import Shown, account, find_pairs
from lmod_train.curation.prepare import image_path, open_guarded
from lmod_train.curation.splits import Place, split
from lmod_train.errors import BadArgument
from lmod_train.files import clear_parts, sha256_of, whole
from lmod_train.formats.conversation_file import STEP, Item, read_items
from lmod_train.lock import NAME, is_empty
from lmod_train.tasks.conversation import Conversation
from lmod_train.types import Dropped, Record, Sample, Split

TASK = Conversation()


@dataclass(frozen=True, slots=True)
class Origin:
    """What an imported file tells nothing about, and its user must.

    Attributes:
        name: Of the source that the records get; letters, digits and underscores.
        licence: Under which images and words came.
        redistributable: Whether they may be passed on; `export` refuses otherwise.
        modality: CFP, OCT, SLO, LP or SS; empty where it is another or mixed.
        language: ISO 639-1 code of the words.
    """

    name: str
    licence: str = "not stated"
    redistributable: bool = False
    modality: str = ""
    language: str = "en"


@dataclass(frozen=True, slots=True)
class _Image:
    """A curated image: its path in the folder, hash of the raw and the written file, scale, thumbnail."""

    path: str
    raw_sha256: str
    sha256: str
    scale: float
    thumbnail: str


def import_conversations(
    file: Path,
    images: Path,
    out: Path,
    origin: Origin,
    *,
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: int = 0,
    command: str = "",
    progress: bool = False,
) -> dict[str, Any]:
    """Make a curated folder of a file of LLaVA conversations; it appears whole or not at all.

    Conversations that share an image file, also by way of others, come into one split; one without an image stands by
    itself. What cannot be used is left out and listed in ``dropped.csv``. The same file, images and arguments give the
    same bytes but for the manifest's `command`.

    Args:
        file: ``.json`` or ``.jsonl``.
        images: Folder that its image paths are relative to.
        out: New or empty folder.
        origin: What the file does not tell.
        ratios: Shares of train, val and test.
        longest_side: Pixels of the curated images' longer side; never enlarged; None keeps originals.
        seed: Of the splits.
        command: What was typed, for the manifest.
        progress: Show a bar.

    Returns:
        The manifest, as written.

    Raises:
        BadArgument: An argument cannot be used, or nothing in the file can.
    """
    _check(images, out, origin, longest_side)
    split((), ratios)  # refuses shares that are none before an hour of images
    clear_parts(out)
    with whole(out) as part:
        part.mkdir()
        items, dropped = _read(file, images, origin.name)
        seen, unreadable = _take_images(items, images, part, origin, longest_side, progress)
        kept, lost = _with_images(items, unreadable, images)
        if not kept:
            said = manifest.drop_counts([*dropped, *lost])
            raise BadArgument(
                "file", str(file), f"at least one conversation that can be used (left out: {said})", _CURE
            )
        written = _write(kept, [*dropped, *lost], seen, images, part, origin, ratios, seed)
        settings = {
            "protocol": "conversation",
            "seed": seed,
            "ratios": list(ratios),
            "split_by": "group",
            "longest_side": longest_side,
            "tasks": {f"{TASK.name}/{origin.language}": manifest.task_settings(TASK)},
        }
        inputs = {origin.name: {"file": file.name, "sha256": sha256_of(file)}}
        written |= {**manifest.header(settings, inputs), "protocol": "conversation", "command": command, "seed": seed}
        written["images"] = {**FORMAT, "longest_side": longest_side, "files": written["images"]}
        write_json(part / "manifest.json", written)
        (out / NAME).unlink(missing_ok=True)  # the whole folder takes the place of this one, which holds a lock
    return written


_CURE = "correct the file, or name the folder its image paths are relative to with `--images DIR`"


def _check(images: Path, out: Path, origin: Origin, longest_side: int | None) -> None:
    if not origin.name.isidentifier():
        expected = "letters, digits and underscores, no digit first"
        raise BadArgument("--name", origin.name, expected, "name the source with e.g. `--name llava_instruct`")
    if not images.is_dir():
        raise BadArgument("--images", str(images), "an existing folder", _CURE)
    if longest_side is not None and longest_side < 1:
        raise BadArgument(
            "--longest_side", longest_side, "at least 1 pixel, or null for originals", "leave it out: 1024"
        )
    if out.exists() and (not out.is_dir() or not is_empty(out)):
        raise BadArgument("--out", str(out), "a new or empty folder", "name another folder with `--out DIR`")


def _read(file: Path, images: Path, source: str) -> tuple[list[Item], list[Dropped]]:
    found = list(read_items(file, images, source))
    return [i for i in found if isinstance(i, Item)], [d for d in found if isinstance(d, Dropped)]


def _place_of(path: Path, images: Path) -> str:
    """Return where an image lies below the images folder, suffix and all, as a.png and a.jpg may both be there."""
    return path.relative_to(images.absolute()).as_posix()


def _take_images(
    items: Sequence[Item], images: Path, part: Path, origin: Origin, longest_side: int | None, progress: bool
) -> tuple[dict[Path, _Image], dict[Path, Dropped]]:
    """Shrink and write every image once, however many conversations are about it."""
    paths = list(dict.fromkeys(path for item in items for path in item.images))
    seen, unreadable = {}, {}
    for path in tqdm(paths, desc="import", unit="image", disable=not progress):
        key = _place_of(path, images)
        sample = _sample(origin, key, path, key)
        opened = open_guarded(sample)
        if isinstance(opened, Dropped):
            unreadable[path] = opened
            continue
        small, scale = shrink(opened.image, longest_side)
        name = image_path(origin.name, key, marked=False)
        seen[path] = _Image(name, opened.sha256, write_image(part / name, small), scale, thumbnail(small))
    return seen, unreadable


def _with_images(
    items: Sequence[Item], unreadable: Mapping[Path, Dropped], images: Path
) -> tuple[list[Item], list[Dropped]]:
    kept, lost = [], []
    for item in items:
        bad = next((unreadable[p] for p in item.images if p in unreadable), None)
        if bad is None:
            kept.append(item)
        else:
            file = _place_of(Path(bad.file), images)
            lost.append(Dropped(bad.source, item.key, file, STEP, bad.reason, bad.detail))
    return kept, lost


def _sample(origin: Origin, key: str, path: Path, group: str) -> Sample:
    return Sample(origin.name, key, origin.modality, path, group, origin.licence)


def _write(
    items: Sequence[Item],
    dropped: Sequence[Dropped],
    seen: Mapping[Path, _Image],
    images: Path,
    part: Path,
    origin: Origin,
    ratios: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Write records and drops, remove images that no record shows, and return the manifest's account of it."""
    groups = _groups(items, images)
    placed = split((_sample(origin, i.key, Path(), groups[i.key]) for i in items), ratios, seed=seed)
    path = part / "records" / f"{TASK.name}.parquet"
    write_records(path, (r for item in items for r in records_of(item, seen, placed, groups[item.key], origin)))
    manifest.write_dropped(part / "dropped.csv", dropped, {})
    parts = {p: placed[origin.name, i.key] for i in items for p in i.images}
    shown = {seen[p].path for i in items for p in i.images}
    for image in seen.values():
        if image.path not in shown:
            (part / image.path).unlink()
    shown_at = {_place_of(p, images): p for p in parts}
    thumbnails = {(origin.name, place): seen[p].thumbnail for place, p in shown_at.items()}
    pairs = find_pairs(
        (Shown(origin.name, place, parts[p], place, seen[p].raw_sha256) for place, p in shown_at.items()),
        likenesses([_sample(origin, place, p, place) for place, p in shown_at.items()], thumbnails),
    )
    if pairs:
        manifest.write_table(part / "leakage.csv", manifest.LEAK_COLUMNS, (p.row() for p in pairs))
    return {
        "sources": {origin.name: _notes(origin, len(items), [seen[p].raw_sha256 for p in parts])},
        "counts": {TASK.name: _count(items, placed, groups, origin)},
        "dropped": manifest.drop_counts(dropped),
        "dropped_boxes": {},
        "balance": {},
        "leakage": account(pairs),
        "images": len(shown),
    }


def records_of(
    item: Item, seen: Mapping[Path, _Image], placed: Mapping[Place, Split], group: str, origin: Origin
) -> Iterator[Record]:
    """Yield one record a human turn, in their order; each shows the images that stand in its messages."""
    asked = [n for n, turn in enumerate(item.turns) if turn.role == "user"]
    for variant, n in enumerate(asked, 1):
        messages, answer = item.turns[: n + 1], item.turns[n + 1].parts[0].text
        places = sum(p.type == "image" for m in messages for p in m.parts)
        shown = [seen[path] for path in item.images[:places]]
        names = tuple(image.path for image in shown)
        language = origin.language if origin.language != "en" else ""
        yield Record(
            id=record_id(TASK.name, origin.name, item.key, language, str(variant)),
            task=TASK.name,
            task_class=f"{Conversation.__module__}.{Conversation.__qualname__}",
            task_version=TASK.version,
            source=origin.name,
            key=item.key,
            modality=origin.modality,
            image=names,
            image_plain=names,
            image_sha256=tuple(image.sha256 for image in shown),
            split=placed[origin.name, item.key],
            group=group,
            language=origin.language,
            messages=messages,
            choices=(),
            answer=answer,
            scale=shown[0].scale if shown else 1.0,
            variant=str(variant),
            licence=origin.licence,
        )


def _groups(items: Iterable[Item], images: Path) -> dict[str, str]:
    """Return key -> group: the first image file by name of all that hang together; the key itself without an image."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = name = above[above[name]]
        return name

    first: dict[str, str] = {}
    for item in items:
        names = [_place_of(p, images) for p in item.images] or [f"without an image: {item.key}"]
        first[item.key] = names[0]
        for name in names:
            low, high = sorted((top(names[0]), top(name)))
            above[high] = low
    return {key: top(name) for key, name in first.items()}


def _notes(origin: Origin, conversations: int, files: Sequence[str]) -> dict[str, Any]:
    """Return what the manifest says about the source, with the keys that `curate` writes."""
    return {
        "licence": origin.licence,
        "redistributable": origin.redistributable,
        "reference": "",
        "modality": origin.modality,
        "root": "",
        "samples": conversations,
        "files": len(files),
        "sha256": hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest(),
    }


def _count(
    items: Sequence[Item], placed: Mapping[Place, Split], groups: Mapping[str, str], origin: Origin
) -> dict[str, Any]:
    """Return for each split the number of records, conversations (as samples) and groups."""
    counts: dict[str, Any] = {}
    for name in sorted({placed[origin.name, i.key] for i in items}):
        here = [i for i in items if placed[origin.name, i.key] == name]
        counts[name] = {
            "records": sum(t.role == "user" for i in here for t in i.turns),
            "samples": len(here),
            "groups": len({groups[i.key] for i in here}),
            "strata": {},
            "structures": {},
        }
    return counts
