"""A curated folder, written as another tool reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.extension import merged, named
from lmod_train.data.formats.chosen_records import select
from lmod_train.data.formats.folder import ExportFolder, Images

_OURS = "llava", "sharegpt", "vlmevalkit", "lmms_eval", "hugging_face"


def formats() -> dict[str, str]:
    """Return name -> module of every format, those of extensions behind ours.

    Example:
        >>> list(formats())[:2]
        ['llava', 'sharegpt']
    """
    ours = {name: f"{__package__}.{name}" for name in _OURS}
    return ours | merged("formats", taken=ours)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: records, and how many were left out by reason."""

    records: int
    written: int
    left_out: dict[str, int]


def export(
    curated: Path,
    to: str,
    out: Path,
    *,
    tasks: Sequence[str] = (),
    split: str = "all",
    sources: Sequence[str] = (),
    images: Images = "copy",
    for_own_use: bool = False,
    progress: bool = False,
    trust: Sequence[str] = (),
) -> Exported:
    """Write records of a curated folder in the format of another tool; the folder appears whole or not at all.

    Args:
        curated: Folder that `curate` or `import` wrote.
        to: Name of a format.
        out: New or empty folder.
        tasks: Names; empty for every task.
        split: train, val, test or all.
        sources: Names; empty for every source.
        images: ``copy``, ``link`` or ``none``; formats with the images inside know no link.
        for_own_use: Export what must not be passed on, with a NOTICE.
        progress: Show a bar.
        trust: Modules whose task classes may be imported where records name them.

    Raises:
        Untrusted: Records name a task class of neither this package nor these modules.
        NotRedistributable: A source must not be passed on, and `for_own_use` is not set.
        BadArgument: A name is unknown, nothing is left, or `out` holds something.
        ArtifactError: The curated folder is not whole.
    """
    known = formats()
    if to not in known:
        expected = f"one of {', '.join(known)}"
        raise BadArgument("--to", to, expected, did_you_mean("--to", [to], list(known), "e.g. `--to llava`"))
    form = named(known[to])
    if form.EMBEDS and images == "link":
        raise BadArgument("--images", images, f"copy or none, as {to} holds the images in its files", "leave it out")
    selection = select(curated, tasks, split, sources, for_own_use=for_own_use, progress=progress, trust=trust)
    with ExportFolder(out, selection, images) as folder:
        form.write(selection, folder)
        reasons = [d.reason for d in folder.left_out]
        if not folder.written:
            listed = ", ".join(dict.fromkeys(reasons))
            raise BadArgument("--to", to, f"a format that can hold these records ({listed})", "choose another format")
    return Exported(len(selection), folder.written, {r: reasons.count(r) for r in dict.fromkeys(reasons)})
