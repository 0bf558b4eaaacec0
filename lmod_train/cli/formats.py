"""The commands `export` and `import`: records to and from the formats of other tools."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.curation import print_copies, print_drops


def export(
    curated: Path,
    *,
    to: Literal["llava", "sharegpt", "vlmevalkit", "lmms_eval", "hugging_face"],
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
        to: Format: LLaVA's training file; `sharegpt` for LLaMA-Factory and ms-swift; tables for VLMEvalKit; a task
            folder for lmms-eval; Parquet with a dataset card for the `datasets` library.
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


_RULES = {"yes_no_conversation": ", whose whole answer is yes or no; scored by accuracy"}


def import_(
    file: Path,
    *,
    images: Path,
    out: Path,
    name: str = "",
    licence: str = "not stated",
    redistributable: bool = False,
    modality: str = "",
    language: str = "en",
    patient: str = "",
    ratios: tuple[float, float, float] = (0.8, 0.15, 0.05),
    longest_side: int | None = 1024,
    seed: NonNegativeInt = 0,
) -> None:
    """Convert conversations in LLaVA's format to a curated folder for training and evaluation.

    Each human turn becomes a record of the task `conversation`; if its whole answer is yes or no, of
    `yes_no_conversation`, which has accuracies. Items that cannot be used are left out and listed in dropped.csv.

    Args:
        file: LLaVA's training file: a JSON list of items with id, image and conversations, or .jsonl with an item per
            line.
        images: Folder that the image paths in the file are relative to.
        out: Curated folder to write; new, empty, or from the same command.
        name: Name of the source in the records; default: the name of the file.
        licence: Licence of images and text.
        redistributable: Whether the licence permits redistribution; if not, `export` refuses it.
        modality: Modality of the images, an abbreviation in lmod_train/core/vocabulary/modalities.toml such as CFP, or
            a combination such as CFP+OCT. Leave it out for other or mixed modalities.
        language: Language of the text, an ISO 639-1 code.
        patient: Field of an item with the patient, e.g. `patient_id`; a patient's conversations are in one split.
        ratios: Shares of train, val and test. Conversations about the same image are in the same split.
        longest_side: Maximum length of the longer side of curated images in pixels; smaller images keep their size, and
            `null` keeps all sizes.
        seed: Seed of the splits.
    """
    import re

    from lmod_train.core.lock import locked
    from lmod_train.data.formats.conversations import Conversations, import_conversations

    source = name or re.sub(r"\W|^(?=\d)", "_", file.stem)
    with locked(out, "--out"):
        manifest = import_conversations(
            Conversations(file, images, source, licence, redistributable, modality, language, patient),
            out,
            ratios=ratios,
            longest_side=longest_side,
            seed=seed,
            command=shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]]),
            progress=sys.stderr.isatty(),
        )
    print_copies(manifest, out)
    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{part} {c['records']}" for part, c in counts.items()) or "none"
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts}){_RULES.get(task, '')}")
    print_drops(out)
    print(f"wrote {out / 'manifest.json'}")
