"""The command `phantom`: raw datasets of phantoms, and a contact sheet of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse.typing import NonNegativeInt, PositiveInt

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.extension import PACKAGE, merged, named
from lmod_train.core.lock import locked
from lmod_train.core.types import Dropped, Sample

if TYPE_CHECKING:
    from lmod_train.data.sources.base import Source
    from lmod_train.phantom.contact_sheet import Tile
    from lmod_train.phantom.truth import Truth

A_SOURCE = 3
"""Number of phantoms per source on the sheet."""


def phantom(
    *,
    out: Path,
    n: PositiveInt = 64,
    seed: NonNegativeInt = 0,
    sources: str = "eye_diseases,refuge",
    sheet: Path | None = None,
) -> None:
    """Draw phantoms (synthetic eye images with known labels) in the layouts of raw datasets.

    Args:
        out: Folder to write to; each source gets its own folder in it.
        n: Number of eyes per source.
        seed: Random seed; the same seed draws the same eyes.
        sources: Names of the sources to imitate, separated by commas; `all` for every source that can be drawn.
        sheet: PNG file of an overview to write: three phantoms of each source with names and true boxes.
    """
    known = drawn_folders()
    chosen = [name for name in known if name in source_names()] if sources == "all" else sources.split(",")
    for name in chosen:
        if name not in known:
            expected = f"names among {', '.join(known)}, or `all` alone"
            cure = did_you_mean("--sources", [name], list(known), f"e.g. `--sources {next(iter(known))}`")
            raise BadArgument("--sources", name, expected, cure)
    with locked(out, "--out"):
        for name in chosen:
            named(known[name]).write(out, n, seed)
            print(f"{name}: drew {n} phantoms with seed {seed} in {out}")
    if sheet is not None:
        shown = draw_sheet(out, chosen, n, seed, sheet)
        print(f"wrote {sheet}: {shown} phantoms with their true boxes")


def drawn_folders() -> dict[str, str]:
    """Return name -> module of every folder that can be drawn: those of sources by name, then others."""
    folder = PACKAGE / "phantom" / "folders"
    ours = {file.stem: f"lmod_train.phantom.folders.{file.stem}" for file in folder.glob("[a-z]*.py")}
    found = ours | merged("phantoms", taken=ours)
    sources = [name for name in source_names() if name in found]
    return {name: found[name] for name in [*sources, *sorted(found.keys() - set(sources))]}


def source_names() -> list[str]:
    """Return the names of all sources of this package and of extensions, read from the text of their modules."""
    from lmod_train.cli.catalogue import descendants, shipped_classes

    return [str(source.constants["name"]) for source in descendants("Source", shipped_classes("Source"))]


def draw_sheet(folder: Path, names: Sequence[str], n: int, seed: int, out: Path) -> int:
    """Write a PNG with phantoms of each source, with their names, labels and true boxes.

    Args:
        folder: Folder written by `phantom`; its files are read as in curation.
        names: Sources, in the order of the sheet.
        n: Number of phantoms per source that were drawn.
        seed: Seed they were drawn with.
        out: File to write.

    Returns:
        Number of phantoms on the sheet.
    """
    from lmod_train.data.sources.discovery import discover, source_classes
    from lmod_train.phantom.contact_sheet import contact_sheet

    known = source_classes()
    folders = drawn_folders()
    modules = {name: named(folders[name]) for name in names}
    layouts = {name: getattr(module, "LAYOUT", name) for name, module in modules.items()}
    wanted = [known[layout]() for layout in dict.fromkeys(layouts.values()) if layout in known]
    sources = {s.name: s for s in discover(folder, wanted=wanted).sources}
    shown = [name for name in names if layouts[name] in sources]  # a table has no layout of a source
    tiles = [t for name in shown for t in _tiles(sources[layouts[name]], modules[name].truths(n, seed))]
    if not tiles:
        expected = "phantoms in the layout of a source, whose boxes are drawn"
        raise BadArgument("--sheet", str(out), expected, "add one, e.g. `--sources refuge`, or leave `--sheet` out")
    contact_sheet(tiles, out, columns=2 * A_SOURCE if len(names) > 1 else A_SOURCE)
    return len(tiles)


def _tiles(source: Source, truths: Sequence[Truth]) -> Iterator[Tile]:
    """Yield the tiles of a source, with labels as different as possible."""
    from lmod_train.data.curation.image_files import open_image
    from lmod_train.phantom.contact_sheet import Tile

    samples = {item.key: item for item in source.samples() if isinstance(item, Sample)}
    for truth in _various([truth for truth in truths if truth.key in samples])[:A_SOURCE]:
        opened = open_image(samples[truth.key])
        if not isinstance(opened, Dropped):
            words = tuple(filter(None, (truth.key, labels_of(truth))))
            yield Tile(opened.image, f"{source.name} · {source.modality}", words, truth.boxes)


def _various(truths: Sequence[Truth]) -> list[Truth]:
    """Return truths ordered so that different patients come first, and among these different labels."""
    groups: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    order = []
    for place, truth in enumerate(truths):
        order.append((groups[truth.group], labels[labels_of(truth)], place))
        groups[truth.group] += 1
        labels[labels_of(truth)] += 1
    return [truths[place] for *_, place in sorted(order)]


def labels_of(truth: Truth) -> str:
    """Return a phantom's labels other than ``no``, in words.

    Example:
        >>> from lmod_train.phantom.truth import Truth
        >>> labels_of(Truth("1", "1", {"diagnosis": "cataract", "cataract": "yes", "glaucoma": "no", "icdr": "2"}))
        'cataract, icdr 2'
    """
    words = [
        word if concept == "diagnosis" else concept if word == "yes" else f"{concept} {word}"
        for concept, word in truth.labels.items()
        if word != "no"
    ]
    return ", ".join(dict.fromkeys(words)).replace("_", " ")
