"""The command `draft judge`: a model judges whether both languages of questions from captions say the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.data.formats.caption_drafts import Folder


def judge_captions(
    others: Sequence[str], draft: Path, *, model: str, share: float = 0.2, seed: NonNegativeInt = 0
) -> int:
    """Let a model judge whether both languages of questions from captions say the same.

    The model gets the English and the Chinese half of each question of a sample as text, without image and caption. Its
    replies are stored in DRAFT/parity as those of a run: the same command again asks only for what has no reply, and a
    larger --share only for the questions that it adds. DRAFT/parity.csv lists the questions that were compared: agrees,
    differs or unparsed. A question whose languages differ is not left out: `draft review-captions` puts it first on the
    sheet, and releases it only if people have read both halves. Other options, such as --model.backend.base_url and
    --trainer.devices, are those of `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        draft: Folder written by `draft captions`.
        model: The judge: YAML file, or name of a shipped one (`list models`), as in `validate`; another model than the
            one that wrote the questions.
        share: Share of the questions of each kind that are compared, above 0, up to 1.
        seed: Seed of the sample.
    """
    from lmod_train.cli.names import check_names
    from lmod_train.core.artifacts.records import write_records
    from lmod_train.core.lock import locked
    from lmod_train.data.formats.caption_drafts import PARITY, read_folder
    from lmod_train.tasks.drafting.captions.compared import comparisons, sampled

    if not 0 < share <= 1:
        raise BadArgument("--share", share, "a share above 0, up to 1", "e.g. `--share 0.2`")
    options = ["--model", model, *others]
    check_names("validate", options)
    folder = read_folder(draft)
    items = folder.balanced().items
    if not items:
        cure = f"see {draft / 'left_out.csv'} for the reasons"
        raise BadArgument("draft", str(draft), "a folder with a question that was kept", cure)
    records = comparisons(sampled(items, share, seed), folder.captions)

    from lmod_train.cli.captioning import Comparing, start

    with locked(draft, "draft"):
        write_records(folder.requests(PARITY), records)
        ended = start(folder.requests(PARITY), folder.path / PARITY, records[0].task_class, options, Comparing)
        if ended.scored:
            _report(folder)
    return ended.status


def _report(folder: Folder) -> None:
    """Write the lists of a folder anew, and print the outcome."""
    from lmod_train.core.artifacts.run import Run
    from lmod_train.data.formats.caption_drafts import COMPARED, GENERATION, PARITY, write_lists
    from lmod_train.report.judgements import judges_itself
    from lmod_train.tasks.drafting.captions.compared import differing, summary

    drafts = folder.balanced()
    write_lists(folder, drafts)
    found = folder.compared(drafts.items)
    print("\n".join(summary(found, len(drafts.items))))
    print(f"wrote {folder.path / COMPARED}")
    if judges_itself(Run(folder.path / GENERATION), Run(folder.path / PARITY)):
        print("warning: the judge is the model that wrote the questions; models tend to prefer their own texts")
    if failed := sum(one.reason == "failed" for one in found.values()):
        print(f"{failed} requests failed; the same command asks them again")
    first = f"; the {n} that differ come first on the sheet" if (n := len(differing(found))) else ""
    print(f"next: `python -m lmod_train draft review-captions {folder.path} --blank SHEET.csv`{first}")
