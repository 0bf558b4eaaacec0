"""The command `export`: records in the formats of other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal


def export(
    curated: Path,
    *,
    to: str,
    out: Path,
    tasks: str = "",
    split: Literal["train", "val", "test", "all"] = "all",
    sources: str = "",
    images: Literal["copy", "link", "none"] = "copy",
    for_own_use: bool = False,
    trust: list[str] | None = None,
) -> None:
    """Convert a curated folder to the format of another tool, with unchanged wording and the licence of every source.

    Sources whose licence does not permit redistribution are left out, unless `--for_own_use` is set.

    Args:
        curated: Folder written by `curate` or `import`.
        to: Format: `llava` for LLaVA's training file; `sharegpt` for LLaMA-Factory and ms-swift; `vlmevalkit` for its
            tables; `lmms_eval` for a task folder; `hugging_face` for Parquet with a dataset card for the `datasets`
            library; or one of an extension, which are listed where a name is unknown.
        out: Folder to write; new or empty.
        tasks: Names of tasks to export, separated by commas; default: all.
        split: Split to export. With `all`, each split has its own file (VLMEvalKit: a column).
        sources: Names of sources to export, separated by commas; default: all.
        images: `copy` the images, `link` to those of the curated folder, or `none` for paths relative to the curated
            folder. Formats that contain images (vlmevalkit, lmms_eval, hugging_face) have no `link`.
        for_own_use: Also export sources that must not be redistributed, with a NOTICE in the folder.
        trust: Module outside this package with task classes that records name, which may be imported; can be repeated.
    """
    from lmod_train.data.formats import export as formats

    done = formats.export(
        curated,
        to,
        out,
        tasks=[name for name in tasks.split(",") if name],
        split=split,
        sources=[name for name in sources.split(",") if name],
        images=images,
        for_own_use=for_own_use,
        trust=trust or (),
        progress=sys.stderr.isatty(),
    )
    if done.left_out:
        reasons = ", ".join(f"{reason} {n}" for reason, n in done.left_out.items())
        print(f"left out: {reasons}; listed in {out / 'dropped.csv'}")
    print(f"wrote {out}: {done.written} of {done.records} records; its README.md describes how {to} reads them")
    if (out / "NOTICE").exists():
        print(f"do not redistribute this folder: see {out / 'NOTICE'}")
