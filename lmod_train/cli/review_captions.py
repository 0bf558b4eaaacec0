"""The command `draft review-captions`: people review questions from captions, and those that pass are released."""

from __future__ import annotations

from pathlib import Path

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.review import check_arguments, lines, read_sheets, write_sheet
from lmod_train.core.errors import BadArgument


def review_captions(
    draft: Path,
    *,
    blank: Path | None = None,
    sheets: list[Path] | None = None,
    share: float = 0.1,
    seed: NonNegativeInt = 0,
    kappa: float = 0.85,
) -> None:
    """Let people review a sample of questions from captions; release those that pass.

    `draft review-captions DRAFT --blank SHEET.csv` draws a share of the questions of each kind and language, and writes
    a table to fill in and a folder with images and a page. Questions whose languages a judge calls different
    (`draft judge`) come first, besides the sample. It shows neither captions nor which option the model calls
    right. Copy the table for each reviewer.

    `draft review-captions DRAFT --sheets ADA.csv BEN.csv` reads two or more filled-in tables, as `draft review` does. A
    kind in one language passes if Cohen's kappa of two reviewers (Fleiss' of more), and that of each reviewer with the
    questions, are at least --kappa. Questions that are released in both languages are written to DRAFT/released.jsonl;
    `curate --config configs/curate/captions.yaml --roots.captions DRAFT` makes records of them.

    Args:
        draft: Folder written by `draft captions`.
        blank: CSV file to write.
        sheets: Filled-in tables, one for each reviewer, who is named after the file: CSV in UTF-8 or UTF-16, or xlsx.
        share: With `--blank`: share of the questions of each kind and language in the sample, above 0, up to 1.
        seed: Seed of the sample and of the order of its images.
        kappa: Least kappa of a kind and language that is released.
    """
    from lmod_train.core.lock import locked
    from lmod_train.data.formats.caption_drafts import read_folder
    from lmod_train.data.formats.caption_source import RELEASED, write_released
    from lmod_train.data.formats.review_sheet import FILE
    from lmod_train.data.formats.selection import Licence
    from lmod_train.tasks.drafting.captions.compared import differing
    from lmod_train.tasks.drafting.captions.reviewing import accepted, faults_of_drafts, halves_of, to_review

    check_arguments("draft review-captions", blank, sheets, share, kappa)
    folder = read_folder(draft)
    items = folder.balanced().items
    drafts = to_review(items, folder.captions, folder.settings.seed)
    if not drafts:
        cure = f"see {draft / 'left_out.csv'} for the reasons"
        raise BadArgument("draft", str(draft), "a folder with a question that was kept", cure)
    differ = differing(folder.compared(items))
    if blank is not None:
        stated = "; ".join(sorted({one.licence for one in folder.captions.values()}))
        licence = Licence("captions", stated, False, "", any(one.phantom for one in folder.captions.values()))
        write_sheet(draft, draft, [licence], drafts, blank, share, seed, halves_of(items, differ))
        return
    if not (draft / FILE).exists():
        cure = f"write a sheet: `python -m lmod_train draft review-captions {draft} --blank SHEET.csv`"
        raise BadArgument("draft", str(draft), "a folder of which a sheet was written", cure)
    found = read_sheets(draft, drafts, sheets or (), kappa, faults_of_drafts)
    print("\n".join(lines(found, kappa)))
    released, left = accepted(items, found, differ)
    with locked(draft, "draft"):
        write_released(draft / RELEASED, released, folder.captions)
    print("\n".join(f"left out: {id}: {why}" for id, why in sorted(left.items())[:20]))
    more = f" (20 of {len(left)} shown)" if len(left) > 20 else ""
    print(f"released {len(released)} of {len(items)} questions in both languages{more}")
    if released:
        cure = (
            f"python -m lmod_train curate --config configs/curate/captions.yaml --roots.captions {draft} --out CURATED"
        )
        print(f"next: `{cure}`")
