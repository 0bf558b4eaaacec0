"""The command `draft captions`: a model writes questions in two languages from a user's own captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.ended import Ended
from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.core.types import Record
    from lmod_train.data.formats.caption_drafts import Folder
    from lmod_train.tasks.captioned.caption import Caption


def captions(
    others: Sequence[str],
    table: Path,
    *,
    model: str,
    out: Path,
    kinds: str = "",
    filter: Literal["paper", "none", "own"] = "paper",
    keywords: Path | None = None,
    balance: Literal["points_of_all", "share_of_true"] = "points_of_all",
    balance_with: Literal["seed", "model"] = "seed",
    seed: NonNegativeInt = 0,
    limit: NonNegativeInt = 0,
) -> int:
    """Let a model write balanced questions in Chinese and English from your captions.

    The steps are those of OphthalWeChat: the model gets each caption, without the image, with the paper's prompt for
    each kind of question; questions are read, checked, filtered by keywords and balanced. OUT/generation and
    OUT/rewriting are runs: the same command again asks only for what has no reply. OUT/questions.csv lists the
    questions, OUT/left_out.csv, OUT/counts.csv and OUT/keywords.csv what was left out. No question becomes a record
    before people have reviewed a sample (`draft review-captions`). Other options, such as --model.backend.base_url and
    --trainer.devices, are those of `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        table: CSV file or workbook with the columns image (a path beside the table) and caption, and optionally id,
            group (patient), modality, subspecialty, text_in_image (yes or no) and licence.
        model: The model: YAML file, or name of a shipped one (`list models`), as in `validate`.
        out: Folder to write the drafts to; it gets copies of the images.
        kinds: Kinds of question, separated by commas: binary_question, single_choice_question, open_question; default:
            all.
        filter: Keywords by which questions about the patient are left out: those of the paper, none, or your own.
        keywords: With `--filter own`: CSV file with a column keyword.
        balance: What "21.2 % of the True" means: points of all statements, after which half are True and the surplus
            is left out; or a share of those that are True.
        balance_with: Who moves the right options: a permutation by the seed, or the model with the paper's prompt.
        seed: Seed of all draws.
        limit: Maximum number of captions, the first of the table; 0 for all.
    """
    from lmod_train.cli.names import check_names
    from lmod_train.core.lock import locked
    from lmod_train.data.formats.caption_drafts import Folder
    from lmod_train.data.formats.caption_table import copy_images, read_captions
    from lmod_train.tasks.drafting.captions.steps import Settings

    chosen = _kinds(kinds)
    options = ["--model", model, *others]
    check_names("validate", options)
    found, left = read_captions(table)
    found = found[: limit or None]
    settings = Settings(_keywords(filter, keywords), balance, balance_with, seed)
    folder = Folder(out, {one.key: one for one in found}, settings, tuple(left))
    with locked(out, "--out"):
        folder.write()
        copy_images(found, table, out)
        return _questions(folder, found, chosen, options)


def _questions(folder: Folder, found: Sequence[Caption], kinds: Sequence[str], options: Sequence[str]) -> int:
    """Ask for the questions of captions and balance them; return the exit status."""
    from lmod_train.data.formats.caption_drafts import GENERATION, REWRITING, lines, write_lists
    from lmod_train.tasks.captioning import CaptionQuestions
    from lmod_train.tasks.drafting.captions.steps import requests

    generated = _asked(folder, GENERATION, CaptionQuestions().records(found, kinds), options)
    if not generated.scored:
        return generated.status
    altering = requests(folder.prepared(), folder.captions, folder.settings)
    rewritten = _asked(folder, REWRITING, altering, options) if altering else Ended(True)
    status = max(generated.status, rewritten.status)
    if not rewritten.scored:
        return status
    drafts = folder.balanced()
    write_lists(folder, drafts)
    print("\n".join(lines(folder, drafts)))
    if drafts.items:
        print(f"next: `python -m lmod_train draft review-captions {folder.path} --blank SHEET.csv`")
    return status


def _asked(folder: Folder, name: str, records: Sequence[Record], options: Sequence[str]) -> Ended:
    """Ask for the requests of a run that have no reply."""
    from lmod_train.cli.captioning import start
    from lmod_train.core.artifacts.records import write_records

    write_records(folder.requests(name), records)
    return start(folder.requests(name), folder.path / name, records[0].task_class, options)


def _kinds(typed: str) -> list[str]:
    from lmod_train.tasks.captioned.pair import KINDS

    names = [name.strip() for name in typed.split(",") if name.strip()] or list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        raise BadArgument("--kinds", ",".join(unknown), f"some of {','.join(KINDS)}", f"e.g. `--kinds {KINDS[0]}`")
    return names


def _keywords(filter: str, keywords: Path | None) -> tuple[str, ...]:
    from lmod_train.data.formats.caption_table import read_keywords
    from lmod_train.tasks.drafting.captions.keywords import paper_keywords

    if (filter == "own") != (keywords is not None):
        expected = "`--filter own` together with `--keywords FILE.csv`"
        raise BadArgument("--filter, --keywords", f"{filter}, {keywords}", expected, "give both, or none of them")
    if keywords is not None:
        return read_keywords(keywords)
    return paper_keywords() if filter == "paper" else ()
